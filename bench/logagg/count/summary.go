package count

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sluice-go/sluice/bench/logagg/parse"
)

// Limits of a Summary: lines beyond them appear only in the sums.
const (
	maxServices = 1000
	maxMinutes  = 60
)

// A Summary sums up all tables for the final report. Its size does not grow
// with the running time of the service.
type Summary struct {
	services map[string]*total
	others   total // sum of the services beyond maxServices
	all      total
	latest   parse.Minute // latest minute with a bar
	ahead    int64        // lines with a future time
	now      func() time.Time
}

// maxAhead is the maximum accepted lead of a sender's clock or time zone.
const maxAhead = 24 * time.Hour

// A total contains the counts of one service.
type total struct {
	lines, bytes int64
	classes      [10]int64              // lines by the first digit of the status
	minutes      map[parse.Minute]int64 // lines of the last maxMinutes minutes
}

// NewSummary returns an empty summary. Lines more than a day after now get no
// bar: otherwise a single line of the year 9999 would displace the bars of the
// others. A nil now accepts lines of any time.
func NewSummary(now func() time.Time) *Summary {
	return &Summary{services: map[string]*total{}, now: now}
}

// Add adds the counts of t.
func (s *Summary) Add(t *Table) {
	horizon := s.horizon()
	for i, k := range t.keys {
		isPast := k.minute <= horizon
		if isPast {
			s.latest = max(s.latest, k.minute)
		} else {
			s.ahead += t.tally[i].lines
		}
		s.all.add(k, t.tally[i], isPast)
		s.of(k.service.Value()).add(k, t.tally[i], isPast)
	}
	oldest := s.latest - min(s.latest, maxMinutes-1)
	for _, sum := range append(s.totals(), &s.all) {
		for minute := range sum.minutes {
			if minute < oldest {
				delete(sum.minutes, minute)
			}
		}
	}
}

// horizon returns the last accepted minute.
func (s *Summary) horizon() parse.Minute {
	if s.now != nil {
		if minute, ok := parse.MinuteOf(s.now().Add(maxAhead)); ok {
			return minute
		}
	}
	return math.MaxUint32
}

// of returns the total for lines of a service.
func (s *Summary) of(service string) *total {
	sum, known := s.services[service]
	switch {
	case known:
		return sum
	case len(s.services) == maxServices:
		return &s.others
	}
	sum = new(total)
	s.services[service] = sum
	return sum
}

func (s *Summary) totals() []*total {
	sums := []*total{&s.others}
	for _, sum := range s.services {
		sums = append(sums, sum)
	}
	return sums
}

func (t *total) add(k key, more tally, inBar bool) {
	t.lines += more.lines
	t.bytes = sum(t.bytes, more.bytes)
	t.classes[min(k.status/100, 9)] += more.lines
	if !inBar {
		return
	}
	if t.minutes == nil {
		t.minutes = map[parse.Minute]int64{}
	}
	t.minutes[k.minute] += more.lines
}

// WriteTo writes a table with one line per service, the busiest first.
func (s *Summary) WriteTo(w io.Writer) (int64, error) {
	names := slices.SortedFunc(maps.Keys(s.services), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.services[b].lines, s.services[a].lines), strings.Compare(a, b))
	})
	width := len(otherServices)
	for _, name := range names {
		width = max(width, utf8.RuneCountInString(name))
	}
	first, last := s.period()
	text := fmt.Appendf(nil, "%-*s %10s %10s %10s %10s %10s %10s\n", width, "service", "lines", "2xx", "3xx", "4xx", "5xx", "MB")
	for _, name := range names {
		text = s.services[name].append(text, width, name, first, last)
	}
	if s.others.lines > 0 {
		text = s.others.append(text, width, otherServices, first, last)
	}
	text = s.all.append(text, width, "all", first, last)
	if len(s.all.minutes) > 0 {
		text = fmt.Appendf(text, "Each bar is a minute, from %s to %s; the tallest bar of a line is its busiest minute.\n",
			first.Time().Format("15:04"), last.Time().Format("15:04 on 2 January 2006"))
	}
	if s.ahead > 0 {
		text = fmt.Appendf(text, "Lines without a bar, because their times are in the future: %d.\n", s.ahead)
	}
	n, err := w.Write(text)
	return int64(n), err
}

// otherServices is the label of the services beyond the limit.
const otherServices = "(others)"

// period returns the first and the last minute with lines.
func (s *Summary) period() (first, last parse.Minute) {
	first = s.latest
	for minute := range s.all.minutes {
		first = min(first, minute)
	}
	return first, s.latest
}

func (sum *total) append(text []byte, width int, name string, first, last parse.Minute) []byte {
	text = fmt.Appendf(text, "%-*s %10d %10d %10d %10d %10d %10.2f   %s", width, name,
		sum.lines, sum.classes[2], sum.classes[3], sum.classes[4], sum.classes[5], float64(sum.bytes)/1e6, sum.curve(first, last))
	return append(bytes.TrimRight(text, " "), '\n')
}

var bars = []rune(" ▁▂▃▄▅▆▇█")

// curve draws the minutes, the busiest one as a full bar.
func (sum *total) curve(first, last parse.Minute) string {
	most := int64(1)
	for _, n := range sum.minutes {
		most = max(most, n)
	}
	var curve strings.Builder
	for minute := first; len(sum.minutes) > 0 && minute <= last; minute++ {
		n := sum.minutes[minute]
		// Rounded up: a minute with one line is not empty.
		curve.WriteRune(bars[(n*int64(len(bars)-1)+most-1)/most])
	}
	return curve.String()
}
