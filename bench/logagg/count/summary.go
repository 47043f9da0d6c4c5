package count

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxServices limits a Summary: lines of further services are summed up together.
const maxServices = 1000

// otherServices is the label of the services beyond the limit.
const otherServices = "(others)"

// A Summary sums up all tables for the final report. Its size does not grow
// with the running time of the service.
type Summary struct {
	services map[string]*total
	all      total
}

// A total contains the counts of one service.
type total struct {
	lines, bytes int64
	classes      [10]int64 // lines by the first digit of the status
}

// NewSummary returns an empty summary.
func NewSummary() *Summary { return &Summary{services: map[string]*total{}} }

// Add adds the counts of t.
func (s *Summary) Add(t *Table) {
	for i, k := range t.keys {
		s.all.add(k, t.tally[i])
		s.of(k.service.Value()).add(k, t.tally[i])
	}
}

// of returns the total for lines of a service.
func (s *Summary) of(service string) *total {
	if s.services[service] == nil && len(s.services) >= maxServices {
		service = otherServices
	}
	if s.services[service] == nil {
		s.services[service] = new(total)
	}
	return s.services[service]
}

func (t *total) add(k key, more tally) {
	t.lines += more.lines
	t.bytes = sum(t.bytes, more.bytes)
	t.classes[min(k.status/100, 9)] += more.lines
}

// WriteTo writes a table with one line per service, the busiest first.
func (s *Summary) WriteTo(w io.Writer) (int64, error) {
	names := slices.SortedFunc(maps.Keys(s.services), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.services[b].lines, s.services[a].lines), strings.Compare(a, b))
	})
	width := len("service")
	for _, name := range names {
		width = max(width, utf8.RuneCountInString(name))
	}
	text := fmt.Appendf(nil, "%-*s %10s %10s %10s %10s %10s %10s\n", width, "service", "lines", "2xx", "3xx", "4xx", "5xx", "MB")
	row := func(name string, t *total) {
		text = fmt.Appendf(text, "%-*s %10d %10d %10d %10d %10d %10.2f\n", width, name,
			t.lines, t.classes[2], t.classes[3], t.classes[4], t.classes[5], float64(t.bytes)/1e6)
	}
	for _, name := range names {
		row(name, s.services[name])
	}
	row("all", &s.all)
	n, err := w.Write(text)
	return int64(n), err
}
