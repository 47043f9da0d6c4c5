package lab

import (
	"slices"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// A place is a setting or a contender, such as "2", with what was found there.
type place struct{ name, found string }

// finding states what was found and where. Places where the same was found share it: "A
// hand-off takes 0.88 (0.86 to 0.90) times as long at GOMAXPROCS 2; as long, within noise,
// at GOMAXPROCS 1 and 8." It returns "" without places.
func finding(subject, where string, places []place) string {
	var found []string
	names := make(map[string][]string)
	for _, p := range places {
		if names[p.found] == nil {
			found = append(found, p.found)
		}
		names[p.found] = append(names[p.found], p.name)
	}
	if len(found) == 0 {
		return ""
	}
	for i, f := range found {
		found[i] = f + where + " " + format.And(names[f])
	}
	return subject + " " + strings.Join(found, "; ") + "."
}

// atProcs is where most findings hold.
const atProcs = " at " + AxisProcs

// compare states how fast other is compared with base, at each value of GOMAXPROCS.
func (m Measured) compare(subject string, base, other ContenderID) string {
	return m.compareBy(subject+" is", speed, atProcs, spot.ps, base, other)
}

// compareBy is compare for another quantity, and for places of another name.
func (m Measured) compareBy(subject string, say func(stat.Change) string, where string, name func(spot) string, base, other ContenderID) string {
	var places []place
	for _, p := range m {
		if c := p.change(base, other); c.N > 0 {
			places = append(places, place{name(p), say(c)})
		}
	}
	return finding(subject, where, places)
}

// speed writes a change of a time: "1.14 (1.11 to 1.16) times as fast", "2.0 (1.9 to 2.2)
// times as slow", or "as fast, within noise,".
func speed(c stat.Change) string {
	if c.Lo > 0 {
		return multiple(c, "as slow")
	}
	return multiple(stat.Change{Summary: c.Above(-1).Inverse(1).Above(1)}, "as fast")
}

// multiple writes a change as a factor with its interval: "0.88 (0.86 to 0.90) times as
// much". If a clear change is not known more precisely, the end closer to 1 is written. A
// change that is not clear is no change only if its whole interval is small. An undecided
// change needs more repetitions.
func multiple(c stat.Change, as string) string {
	f := c.Above(-1)
	times := " times " + as
	switch {
	case c.Confidence == 0:
		return "between " + format.Figure(f.Lo) + " and " + format.Figure(f.Hi) + times + " (too few repetitions)"
	case c.Clear() && f.Known():
		return format.Interval(f.Median, f.Lo, f.Hi) + times
	case c.Lo > 0:
		return "at least " + format.Figure(f.Lo) + times
	case c.Hi < 0:
		return "at most " + format.Figure(f.Hi) + times
	case c.Lo > -small && c.Hi < small:
		return as + ", within noise,"
	}
	return "between " + format.Figure(f.Lo) + " and " + format.Figure(f.Hi) + times + " (undecided)"
}

// faster reports whether a change of a time is a decrease beyond noise.
func faster(c stat.Change) bool { return c.Clear() && c.Hi < 0 }

// small is the change below which two figures are alike, if the whole interval is below it.
const small = 0.25

// said returns the findings that say something.
func said(findings ...string) []string {
	return slices.DeleteFunc(findings, func(f string) bool { return f == "" })
}
