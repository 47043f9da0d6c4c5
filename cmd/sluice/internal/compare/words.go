package compare

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchunit"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// warnings returns the facts that a reader must know before the figures.
func (c *Comparison) warnings() (all []string) {
	for _, d := range c.Differences {
		if !d.Expected {
			all = append(all, fmt.Sprintf("%s is %s in OLD and %s in NEW: that alone may explain a change.", d.Key, list(d.Old), list(d.New)))
		}
	}
	for _, side := range c.sides() {
		for _, s := range side.mixed() {
			if s.Key == dateKey {
				continue // joined runs, as recommended
			}
			all = append(all, fmt.Sprintf("%s has %d values of %s: %s. Their figures are combined.",
				side.word, len(s.Values), s.Key, list(s.Values)))
		}
		for _, line := range side.Failures {
			all = append(all, fmt.Sprintf("%s has a failure: %s", side.word, strings.Join(strings.Fields(line), " ")))
		}
		for i, line := range side.Skipped {
			if i == listed {
				all = append(all, fmt.Sprintf("%s: %d more malformed lines were skipped.", side.word, len(side.Skipped)-i))
				break
			}
			all = append(all, fmt.Sprintf("%s: skipped a malformed line: %s.", side.word, line))
		}
	}
	return all
}

type side struct {
	*Run
	word string
}

func (c *Comparison) sides() []side { return []side{{&c.Old, "OLD"}, {&c.New, "NEW"}} }

// twoRuns describes the limits of a comparison across runs.
func (c *Comparison) twoRuns() string {
	const machine = "The machine's changes from run to run (clock frequency, other programs, temperature)"
	const advice = "To separate them from the code's, run old and new in turns, several times each, and compare the joined files."
	if c.oneRun() {
		return fmt.Sprintf("OLD and NEW are the points of one run at GOMAXPROCS %d and %d.", c.Procs[0], c.Procs[1])
	}
	was, is := c.Old.began(), c.New.began()
	var text string
	switch c.arrangement() {
	case inTurns:
		text = fmt.Sprintf("OLD has %d runs, NEW %d, measured in turns. %s are part of the noise, not of the changes below, as far as that number of runs can show.",
			len(was), len(is), machine)
	case blocks:
		text = fmt.Sprintf("OLD has %d runs, NEW %d, all of one before all of the other. %s are partly in the noise and partly in the changes below. Run them in turns instead.",
			len(was), len(is), machine)
	case single:
		text = "These are two runs"
		if len(was) == 1 && len(is) == 1 {
			order := "after"
			if is[0].Before(was[0]) {
				order = "BEFORE"
			}
			text += fmt.Sprintf(", NEW started %s %s OLD", format.Ago(is[0].Sub(was[0]).Abs()), order)
		}
		text += ". " + machine + " are part of every change below. " + advice
	}
	if version := c.sameVersion(); version != "" {
		text += " Both are " + version + ": the changes are not due to the code of sluice."
	}
	return text
}

// sentence describes a reading of both runs, and the changes that it explains.
func (r *Reading) sentence() string {
	if r.Unit == spreadUnit {
		text := fmt.Sprintf("%s was %s%% in OLD and %s%% in NEW", r.Key, number(r.Old), number(r.New))
		if r.Explains == 0 {
			return text + "."
		}
		return text + fmt.Sprintf("; %d of the changes %s no larger (marked ?).", r.Explains, format.Are(r.Explains))
	}
	drift := r.New/r.Old - 1
	text := fmt.Sprintf("%s was %s %s in OLD and %s %[3]s in NEW (%[5]s)", r.Key, number(r.Old), r.Unit, number(r.New), format.PercentChange(drift))
	if r.Explains == 0 {
		return text + "."
	}
	return text + fmt.Sprintf("; %d of the changes %s no larger than the machine's own (marked ?).", r.Explains, format.Are(r.Explains))
}

// sentence summarizes one unit.
func (u *UnitTally) sentence(points []Point) string {
	few := u.Counts[TooFew]
	if few == u.Points {
		return fmt.Sprintf("%s: %s %s too few repetitions%s.", u.Unit, format.Plural(few, "point"), format.Have(few), u.most(TooFew, points))
	}
	verdicts := []Verdict{Worse, Better}
	if points[u.first(points)].better == 0 {
		verdicts = []Verdict{Higher, Lower}
	}
	var parts []string
	for _, verdict := range verdicts {
		parts = append(parts, count(u.Counts[verdict])+" "+u.word(verdict)+u.most(verdict, points))
	}
	text := fmt.Sprintf("%s, %s: %s, beyond the noise within each run.", u.Unit, format.Plural(u.Points, "point"), strings.Join(parts, "; "))
	switch {
	case u.Regressions > 0:
		text += fmt.Sprintf(" Regressions: %d.", u.Regressions)
	case u.Counts[Worse] > 0:
		text += " That is within the noise between runs, or within the threshold."
	}
	if few > 0 {
		text += fmt.Sprintf(" %d %s too few repetitions%s.", few, format.Have(few), u.most(TooFew, points))
	}
	if g := float64(u.Geomean); !math.IsNaN(g) {
		text += fmt.Sprintf(" Geometric mean of all points: %s.", format.PercentChange(g))
	}
	return text
}

// most names the point of a verdict with the largest change, if any.
func (u *UnitTally) most(v Verdict, points []Point) string {
	i, ok := u.Most[v]
	if !ok {
		return ""
	}
	return fmt.Sprintf(" (most: %s, %s)", points[i].title(), points[i].change())
}

func (u *UnitTally) first(points []Point) int {
	return slices.IndexFunc(points, func(p Point) bool { return p.Unit == u.Unit })
}

// word returns a verdict in the words of the unit.
func (u *UnitTally) word(v Verdict) string {
	switch {
	case v == Worse && timed(u.Unit):
		return "slower"
	case v == Better && timed(u.Unit):
		return "faster"
	}
	return string(v)
}

// only introduces the benchmarks of one file alone.
func only(word string, keys []Key) string {
	if len(keys) == 0 {
		return ""
	}
	var names []string
	for _, key := range keys {
		if !slices.Contains(names, key.Name) {
			names = append(names, key.Name)
		}
	}
	return fmt.Sprintf("Only in %s: %s", word, format.Plural(len(names), "benchmark"))
}

func (p *Point) change() string {
	if math.IsInf(float64(p.Change), 0) {
		return "from 0 to " + benchunit.Scale(p.New.Median, benchunit.ClassOf(p.Unit))
	}
	return format.PercentChange(float64(p.Change))
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

func list(values []string) string {
	if len(values) == 0 {
		return "missing"
	}
	return strings.Join(values, ", ")
}

func count(n int) string {
	if n == 0 {
		return "none"
	}
	return strconv.Itoa(n)
}
