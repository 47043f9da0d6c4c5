package watch

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A Query is what to ask a service for. Package debug says what its parts mean;
// what is empty or 0 is left to the service.
type Query struct {
	Channel        uint64 // only this one, and nothing else counts then
	Filter, Kind   string
	Sort, Order    string
	Page           int // from 1
	channelsOnPage int // at most maxSize
}

// maxSize is the most channels that package debug gives on a page.
const maxSize = 200

// A sorting is one way to sort, and its name for people.
type sorting struct {
	key, name string
	figure    bool // the largest come first
}

// sortings are all there are. The one by name is what a service does unasked.
var sortings = []sorting{
	{"name", "name", false}, {"fill", "fill", true}, {"sent", "rate in", true}, {"received", "rate out", true},
	{"dropped", "drop rate", true}, {"senders", "waiting senders", true}, {"receivers", "waiting receivers", true},
	{"oldestsender", "oldest sender", true}, {"oldestreceiver", "oldest receiver", true},
	{"oldestvalue", "oldest value", true},
	{"len", "queued", true}, {"high", "high-water mark", true}, {"bytes", "memory", true}, {"lanes", "lanes", true},
	{"kind", "kind", false}, {"id", "age", false},
}

// kinds can be asked for by themselves; the first is all.
var kinds = []string{"", "rendezvous", "bounded", "elastic", "sharded", "other"}

// Sortings returns what [Query.Sort] may be.
func Sortings() []string {
	keys := make([]string, len(sortings))
	for i, s := range sortings {
		keys[i] = s.key
	}
	return keys
}

// Kinds returns what [Query.Kind] may be.
func Kinds() []string { return slices.Clone(kinds[1:]) }

// sorting returns the one that q asks for, and whether the largest come first.
func (q *Query) sorting() (s sorting, descends bool) {
	i := max(0, slices.IndexFunc(sortings, func(s sorting) bool { return s.key == q.Sort }))
	s = sortings[i]
	if q.Order != "" {
		return s, q.Order == "desc"
	}
	return s, s.figure
}

// sortBy goes on to the sorting so many steps away.
func (q *Query) sortBy(step int) {
	s, _ := q.sorting()
	at := slices.Index(sortings, s) + step
	q.Sort = sortings[(at+len(sortings))%len(sortings)].key
	q.Order, q.Page = "", 1
}

// turn turns the order around.
func (q *Query) turn() {
	_, descends := q.sorting()
	q.Order, q.Page = "desc", 1
	if descends {
		q.Order = "asc"
	}
}

// nextKind goes on to the next kind, and from the last to all.
func (q *Query) nextKind() {
	q.Kind = kinds[(slices.Index(kinds, q.Kind)+1)%len(kinds)]
	q.Page = 1
}

// encode is q as the part of an address behind its question mark.
func (q *Query) encode() string {
	v := url.Values{"format": {"json"}}
	if q.Channel != 0 {
		v.Set("channel", strconv.FormatUint(q.Channel, 10))
		return v.Encode()
	}
	for name, value := range map[string]string{"filter": q.Filter, "kind": q.Kind, "sort": q.Sort, "order": q.Order} {
		if value != "" {
			v.Set(name, value)
		}
	}
	v.Set("page", strconv.Itoa(max(1, q.Page)))
	if q.channelsOnPage > 0 {
		v.Set("size", strconv.Itoa(min(q.channelsOnPage, maxSize)))
	}
	return v.Encode()
}

// read takes what the address of a page in a browser asks for. The format does not
// matter, nor how many channels the browser had on a page.
func (q *Query) read(raw string) error {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return errors.New("the address asks for something that cannot be understood")
	}
	for name, given := range values {
		value := given[0]
		switch name {
		case "filter":
			q.Filter = value
		case "kind":
			q.Kind = value
		case "sort":
			q.Sort = value
		case "order":
			q.Order = value
		case "page":
			q.Page, err = strconv.Atoi(value)
		case "channel":
			q.Channel, err = strconv.ParseUint(value, 10, 64)
		case "format", "size":
		default:
			err = errors.New("there is no such parameter")
		}
		if err != nil || len(given) > 1 {
			return fmt.Errorf("the address asks for %s=%s, which cannot be understood", clean(name), clean(value))
		}
	}
	return q.Check()
}

// Check says what is wrong with a query.
func (q *Query) Check() error {
	switch {
	case !slices.Contains(kinds, q.Kind):
		return fmt.Errorf("there is no kind %q, but %s", q.Kind, strings.Join(Kinds(), ", "))
	case q.Sort != "" && !slices.Contains(Sortings(), q.Sort):
		return fmt.Errorf("nothing is sorted by %q, but by %s", q.Sort, strings.Join(Sortings(), ", "))
	case q.Order != "" && q.Order != "asc" && q.Order != "desc":
		return fmt.Errorf("the order is %q, not asc or desc", q.Order)
	case q.Page < 1:
		return fmt.Errorf("page %d does not exist, they count from 1", q.Page)
	}
	return nil
}
