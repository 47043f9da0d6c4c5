package debug

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A query says what to show. Each of its parameters is checked, and none is
// ignored: a misspelt filter must not look like a filter that finds everything.
type query struct {
	format  string
	channel uint64 // 0 for all
	filter  string // in lower case
	kind    string // likewise; empty for all
	sort    string
	desc    bool
	page    int
	size    int
}

const (
	defaultSize  = 50
	maxSize      = 200
	maxPage      = 1 << 30
	maxRawQuery  = 4096 // bytes
	inOneChannel = "channel"
)

// kinds are what a query calls them; what is none of ours is other.
var kinds = []string{"rendezvous", "bounded", "elastic", "sharded", other}

const other = "other"

func kindOf(kind string) string {
	if name := strings.ToLower(kind); slices.Contains(kinds, name) {
		return name
	}
	return other
}

// parse reads the part of an address behind its question mark.
func parse(raw string) (query, error) {
	q := query{format: "html", sort: "name", page: 1, size: defaultSize}
	if len(raw) > maxRawQuery {
		return q, fmt.Errorf("the query has %d bytes, more than %d", len(raw), maxRawQuery)
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return q, errors.New("the query is malformed")
	}
	names := make([]string, 0, len(values))
	for name, given := range values {
		if len(given) > 1 {
			return q, fmt.Errorf("%q is given %d times", name, len(given))
		}
		names = append(names, name)
	}
	slices.Sort(names) // of several mistakes, the same one is named each time
	for _, name := range names {
		if err := q.set(name, values.Get(name)); err != nil {
			return q, err
		}
	}
	if !values.Has("order") {
		q.desc = columns[q.sort].figure
	}
	if q.channel != 0 {
		for _, name := range names {
			if name != inOneChannel && name != "format" {
				return q, fmt.Errorf("%q does not go with %q", name, inOneChannel)
			}
		}
	}
	return q, nil
}

// set takes one parameter.
func (q *query) set(name, value string) (err error) {
	switch name {
	case "format":
		_, isAsset := assetOf[value]
		if !isAsset && value != "json" && value != "events" {
			return fmt.Errorf("format is %q, not html, json or events", value)
		}
		q.format = value
	case inOneChannel:
		q.channel, err = strconv.ParseUint(value, 10, 64)
		if err != nil || q.channel == 0 {
			return fmt.Errorf("channel is %q, not an ID from 1", value)
		}
	case "filter":
		q.filter = strings.ToLower(value)
	case "kind":
		if !slices.Contains(kinds, value) {
			return fmt.Errorf("kind is %q, not one of %s", value, strings.Join(kinds, ", "))
		}
		q.kind = value
	case "sort":
		if _, ok := columns[value]; !ok {
			return fmt.Errorf("sort is %q, not one of %s", value, strings.Join(columnNames(), ", "))
		}
		q.sort = value
	case "order":
		if value != "asc" && value != "desc" {
			return fmt.Errorf("order is %q, not asc or desc", value)
		}
		q.desc = value == "desc"
	case "page":
		q.page, err = number(name, value, maxPage)
	case "size":
		q.size, err = number(name, value, maxSize)
	default:
		return fmt.Errorf("%q is no parameter", name)
	}
	return err
}

// number reads one from 1 to most.
func number(name, value string, most int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("%s is %q, not a number from 1 to %d", name, value, most)
	}
	return n, nil
}
