package lab

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// An axis has the words before the first place of a finding, and before the
// others, and names the places.
type axis struct {
	first, later string
	name         func(spot) string
}

var (
	byProcs = axis{"at GOMAXPROCS ", "at ", spot.ps}
	byLoad  = axis{"with the load ", "with ", func(s spot) string { return "“" + s.Panel.Load.String() + "”" + s.remark() }}
)

// effect describes the change from base to other at each point: see [effect].
func (s spots) effect(subject string, by axis, base, other ContenderID) string {
	return effect(subject, by, s.places(by, base, other))
}

// effect describes the change of a time when subject replaces its alternative: "A
// hand-off saves 12% ± 3% at GOMAXPROCS 1 and 8% ± 2% at 2; it makes no difference
// beyond noise at 8." It returns "" without places.
func effect(subject string, by axis, places []place) string {
	verdicts := []struct {
		verb, rest string
		of         func(stat.Change) bool
		size       func(stat.Change) string
	}{
		{"saves", "", func(c stat.Change) bool { return c.Clear() && c.Median < 0 },
			func(c stat.Change) string { return c.String() + " " }},
		{"costs", "", func(c stat.Change) bool { return c.Clear() && c.Median >= 0 },
			func(c stat.Change) string { return c.String() + " more " }},
		{"makes no difference beyond noise", "", noise, func(stat.Change) string { return "" }},
		{"changes the time by", ", with too few repetitions to distinguish from noise", func(c stat.Change) bool { return c.Confidence == 0 },
			func(c stat.Change) string { return fmt.Sprintf("%+.0f%% ", 100*c.Median) }},
	}
	var parts []string
	at := by.first
	for _, verdict := range verdicts {
		var found []string
		for _, p := range places {
			if verdict.of(p.change) {
				found = append(found, verdict.size(p.change)+at+p.name)
				at = by.later
			}
		}
		if len(found) > 0 {
			parts = append(parts, verdict.verb+" "+format.And(found)+verdict.rest)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return subject + " " + strings.Join(parts, "; it ") + "."
}

// noise reports whether the interval of a change touches zero.
func noise(c stat.Change) bool { return c.Confidence > 0 && !c.Clear() }

// allNoise reports whether that holds at all of the places.
func allNoise(places []place) bool {
	return !slices.ContainsFunc(places, func(p place) bool { return !noise(p.change) })
}

// takes and carries write a time, and a throughput, relative to another: "sluice.Sharded
// carries 2.15 (1.67 to 2.40) times as much at GOMAXPROCS 2; as much, within noise, at 1".
// They return "" without places.
func takes(subject string, by axis, places []place) string {
	return multiple(subject+" takes ", "as long", by, places)
}

func carries(subject string, by axis, places []place) string {
	return multiple(subject+" carries ", "as much", by, places)
}

func multiple(subject, as string, by axis, places []place) string {
	var clear, same []string
	times, at := " times "+as, by.first // each written once
	for _, p := range places {
		if !noise(p.change) {
			clear = append(clear, factor(p.change)+times+" "+at+p.name)
			times, at = "", by.later
		}
	}
	for _, p := range places {
		if noise(p.change) {
			same = append(same, at+p.name)
			at = by.later
		}
	}
	var parts []string
	if len(clear) > 0 {
		parts = append(parts, format.And(clear))
	}
	if len(same) > 0 {
		parts = append(parts, as+", within noise, "+format.And(same))
	}
	if len(parts) == 0 {
		return ""
	}
	return subject + strings.Join(parts, "; ") + "."
}

// factor writes a change as a factor, with its interval. Of a clear change that is
// not known more precisely, it writes the end that is closer to 1.
func factor(gain stat.Change) string {
	f := gain.Above(-1)
	switch {
	case gain.Confidence == 0:
		return fmt.Sprintf("%.2f (no interval)", f.Median)
	case f.Known():
		return format.Interval(f.Median, f.Lo, f.Hi)
	case gain.Lo > 0:
		return "at least " + format.Figure(f.Lo)
	case gain.Hi < 0:
		return "at most " + format.Figure(f.Hi)
	}
	return format.NotKnownHere
}

// factorOf returns a change as a factor of at least 1.
func factorOf(c stat.Change) stat.Summary {
	f := c.Above(-1)
	if f.Median < 1 {
		f = f.Inverse(1)
	}
	return f
}

// times writes a change as a factor of at least 1, as precisely as known, with
// two digits at most: "1.4".
func times(c stat.Change) string {
	f, margin := factorOf(c), 0.25
	if f.Median >= 10 {
		margin = 2.5
	}
	if !f.Known() {
		return format.NotKnown
	}
	return format.Rounded(f.Median, min(f.Lo, f.Median-margin), max(f.Hi, f.Median+margin))
}

// more reports whether a change is clearly an increase, and less whether it is
// clearly a decrease: beyond noise, and its factor known.
func more(c stat.Change) bool { return c.Clear() && c.Lo > 0 && factorOf(c).Known() }
func less(c stat.Change) bool { return c.Clear() && c.Hi < 0 && factorOf(c).Known() }

// alike is the change below which two figures are alike, if the whole interval is
// below it.
const alike = 0.25

// within25 reports whether the interval of a change shows that two figures are
// alike: a wide interval that contains 0 does not.
func within25(c stat.Change) bool { return c.Confidence > 0 && c.Lo > -alike && c.Hi < alike }

// within writes a median and its units with the interval: "32.1% (31.0% to 33.5%)". unit
// is behind the median, and each behind both ends of the interval.
func within(s stat.Summary, unit, each string) string {
	if s.Confidence == 0 {
		return format.Figure(s.Median) + unit + " (no interval)"
	}
	return format.IntervalIn(s.Median, s.Lo, s.Hi, unit, each)
}

// inCell is within for a cell of a table, where space is short.
func inCell(s stat.Summary) string {
	if s.Confidence > 0 && !s.Known() {
		return format.NotKnown
	}
	return within(s, "", "")
}

// said returns the findings that say something.
func said(findings ...string) []string {
	return slices.DeleteFunc(findings, func(f string) bool { return f == "" })
}
