package livepage

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/internal/registry"
)

// A query is a parsed request. Every parameter is checked and unknown ones are
// errors: a misspelled filter must not look like a filter that matches
// everything.
type query struct {
	format  string
	channel uint64 // 0 for all
	filter  string // in lower case
	kind    string // in lower case; empty for all
	sort    string
	desc    bool
	page    int
	size    int
	flow    bool // with the map
}

const (
	defaultSize  = 50
	maxSize      = 200
	maxPage      = 1 << 30
	maxRawQuery  = 4096 // bytes
	inOneChannel = "channel"
)

// kinds lists the values of the parameter kind; a kind outside package sluice
// is other.
var kinds = append(slices.Clone(registry.Kinds), other)

const other = "other"

func kindOf(kind string) string {
	if name := strings.ToLower(kind); slices.Contains(kinds, name) {
		return name
	}
	return other
}

// parse parses the query part of a URL.
func parse(raw string) (query, error) {
	q := query{format: "html", sort: "name", page: 1, size: defaultSize}
	if len(raw) > maxRawQuery {
		return q, fmt.Errorf("query of %d bytes is too long (want at most %d)", len(raw), maxRawQuery)
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return q, errors.New("malformed query (want name=value pairs joined by &)")
	}
	names := make([]string, 0, len(values))
	for name, given := range values {
		if len(given) > 1 {
			return q, fmt.Errorf("parameter %q occurs %d times (want once)", name, len(given))
		}
		names = append(names, name)
	}
	slices.Sort(names) // Among several mistakes, always report the same one.
	for _, name := range names {
		if err := q.set(name, values.Get(name)); err != nil {
			return q, err
		}
	}
	if !values.Has("order") {
		q.desc = columns[q.sort].figure
	}
	if q.format == "flow" && len(names) > 1 {
		return q, errors.New("format=flow cannot be combined with other parameters: the map shows all channels")
	}
	if q.channel != 0 {
		for _, name := range names {
			if name != inOneChannel && name != "format" {
				return q, fmt.Errorf("parameter %q cannot be combined with %q", name, inOneChannel)
			}
		}
	}
	return q, nil
}

// set parses one parameter.
func (q *query) set(name, value string) (err error) {
	switch name {
	case "format":
		_, isAsset := assetOf[value]
		if !isAsset && value != "json" && value != "events" && value != "flow" {
			return fmt.Errorf("unknown format %q (want html, json, events or flow)", value)
		}
		q.format = value
	case inOneChannel:
		q.channel, err = strconv.ParseUint(value, 10, 64)
		if err != nil || q.channel == 0 {
			return fmt.Errorf("invalid channel %q (want an ID from 1)", value)
		}
	case "flow":
		if value != "1" {
			return fmt.Errorf("invalid flow %q (want 1)", value)
		}
		q.flow = true
	case "filter":
		q.filter = strings.ToLower(value)
	case "kind":
		if !slices.Contains(kinds, value) {
			return fmt.Errorf("unknown kind %q (want %s)", value, strings.Join(kinds, ", "))
		}
		q.kind = value
	case "sort":
		if _, ok := columns[value]; !ok {
			return fmt.Errorf("unknown sort key %q (want %s)", value, strings.Join(columnNames(), ", "))
		}
		q.sort = value
	case "order":
		if value != "asc" && value != "desc" {
			return fmt.Errorf("unknown order %q (want asc or desc)", value)
		}
		q.desc = value == "desc"
	case "page":
		q.page, err = number(name, value, maxPage)
	case "size":
		q.size, err = number(name, value, maxSize)
	default:
		return fmt.Errorf("unknown parameter %q", name)
	}
	return err
}

// number parses a number from 1 to most.
func number(name, value string, most int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("invalid %s %q (want a number from 1 to %d)", name, value, most)
	}
	return n, nil
}
