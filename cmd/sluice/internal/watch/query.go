package watch

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/internal/registry"
)

// A Query selects channels, as package livepage documents it. Empty or zero fields
// are the service's defaults.
type Query struct {
	Channel        uint64 // only this channel; other fields are ignored
	Filter, Kind   string
	Sort, Order    string
	Page           int // from 1
	channelsOnPage int // at most maxSize
}

// maxSize is package livepage's limit of channels on a page.
const maxSize = 200

// A sorting is a sort key with its display name.
type sorting struct {
	key, name string
	figure    bool // in descending order by default
}

// sortings are all sortings. A service sorts by name by default.
var sortings = []sorting{
	{"name", "name", false}, {"fill", "fill", true}, {"sent", "rate in", true}, {"received", "rate out", true},
	{"dropped", "drop rate", true}, {"senders", "waiting senders", true}, {"receivers", "waiting receivers", true},
	{"oldestsender", "oldest sender", true}, {"oldestreceiver", "oldest receiver", true},
	{"oldestvalue", "oldest value", true},
	{"len", "queued", true}, {"high", "high-water mark", true}, {"bytes", "memory", true}, {"lanes", "lanes", true},
	{"kind", "kind", false}, {"id", "age", false},
}

// kinds are the values of Query.Kind; the first selects all.
var kinds = slices.Concat([]string{""}, registry.Kinds, []string{"other"})

// Sortings returns the values of [Query.Sort].
func Sortings() []string {
	keys := make([]string, len(sortings))
	for i, s := range sortings {
		keys[i] = s.key
	}
	return keys
}

// Kinds returns the values of [Query.Kind].
func Kinds() []string { return slices.Clone(kinds[1:]) }

// sorting returns the sorting of q, and whether it descends.
func (q *Query) sorting() (s sorting, descends bool) {
	i := max(0, slices.IndexFunc(sortings, func(s sorting) bool { return s.key == q.Sort }))
	s = sortings[i]
	if q.Order != "" {
		return s, q.Order == "desc"
	}
	return s, s.figure
}

// sortBy changes the sorting by step columns.
func (q *Query) sortBy(step int) {
	s, _ := q.sorting()
	at := slices.Index(sortings, s) + step
	q.Sort = sortings[(at+len(sortings))%len(sortings)].key
	q.Order, q.Page = "", 1
}

// turn reverses the order.
func (q *Query) turn() {
	_, descends := q.sorting()
	q.Order, q.Page = "desc", 1
	if descends {
		q.Order = "asc"
	}
}

// nextKind selects the next kind, and all kinds after the last.
func (q *Query) nextKind() {
	q.Kind = kinds[(slices.Index(kinds, q.Kind)+1)%len(kinds)]
	q.Page = 1
}

// words are the parameters of a URL that q has as they are.
func (q *Query) words() map[string]*string {
	return map[string]*string{"filter": &q.Filter, "kind": &q.Kind, "sort": &q.Sort, "order": &q.Order}
}

// encode returns q as the query of a URL.
func (q *Query) encode() string {
	v := url.Values{"format": {"json"}}
	if q.Channel != 0 {
		v.Set("channel", strconv.FormatUint(q.Channel, 10))
		return v.Encode()
	}
	for name, word := range q.words() {
		if *word != "" {
			v.Set(name, *word)
		}
	}
	v.Set("page", strconv.Itoa(max(1, q.Page)))
	if q.channelsOnPage > 0 {
		v.Set("size", strconv.Itoa(min(q.channelsOnPage, maxSize)))
	}
	return v.Encode()
}

// read reads the query of a URL from a browser. It ignores the format, the
// page size and the map.
func (q *Query) read(raw string) error {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return errors.New("invalid query in the address")
	}
	for name, given := range values {
		value := given[0]
		switch word := q.words()[name]; {
		case word != nil:
			*word = value
		case name == "page":
			q.Page, err = strconv.Atoi(value)
		case name == "channel":
			q.Channel, err = strconv.ParseUint(value, 10, 64)
		case name != "format" && name != "size" && name != "flow":
			return fmt.Errorf("unknown parameter %s in the address", format.Clean(name)) // its value may be secret
		}
		if err != nil || len(given) > 1 {
			return fmt.Errorf("invalid parameter %s=%s in the address", format.Clean(name), format.Clean(value))
		}
	}
	return q.Check()
}

// Check validates a query.
func (q *Query) Check() error {
	switch {
	case !slices.Contains(kinds, q.Kind):
		return format.Unknown("kind", q.Kind, Kinds())
	case q.Sort != "" && !slices.Contains(Sortings(), q.Sort):
		return format.Unknown("sort key", q.Sort, Sortings())
	case q.Order != "" && q.Order != "asc" && q.Order != "desc":
		return fmt.Errorf("unknown order %q (want asc or desc)", q.Order)
	case q.Page < 1:
		return fmt.Errorf("invalid page %d (pages start at 1)", q.Page)
	}
	return nil
}
