package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/host"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// A warning is a reason to distrust the figures of a report.
type warning struct {
	Title string
	Text  string
	List  []string
	Grave bool // figures are missing
	Loud  bool // the screen has it, and the header of the page has its title
	holds bool
}

// loudNoise is the variation of a simple loop above which a report begins with a
// warning.
const loudNoise = 0.20

// noise returns the largest variation that was measured in any sitting, and whether it
// was measured after one, too.
func (r *Report) noise() (spread float64, known, after bool) {
	for _, sitting := range r.Sittings {
		if sitting.Before != nil {
			spread, known = max(spread, sitting.Before.Spread), true
		}
		if sitting.After != nil {
			spread, known, after = max(spread, sitting.After.Spread), true, true
		}
	}
	return spread, known, after
}

// A tally counts the points of a report.
type tally struct {
	all, measured, few, reduced int      // few have too few repetitions
	disturbed                   int      // by other programs
	disturbances                []string // with those by garbage collection
}

func (r *Report) tally() tally {
	var t tally
	r.eachPoint(func(e *Experiment, p *Point) {
		t.all++
		least, most := math.MaxInt, 0
		for _, entry := range p.Entries {
			if n := len(entry.Repetitions); n > 0 {
				least, most = min(least, n), max(most, n)
			}
		}
		if most > 0 {
			t.measured++
		}
		if least < stat.MinSamples {
			t.few++
		}
		if p.Reduced > 0 {
			t.reduced++
		}
		if len(p.Disturbed) > 0 {
			t.disturbed++
		}
		reasons := p.Disturbed
		if p.Collecting != "" {
			reasons = append(slices.Clone(reasons), p.Collecting)
		}
		if len(reasons) > 0 {
			t.disturbances = append(t.disturbances, fmt.Sprintf("%s, %s: %s", e.Name, p.Name, strings.Join(reasons, "; ")))
		}
	})
	return t
}

// often reports whether other programs took the CPUs at more than a fifth of the points.
func (t tally) often() bool { return 5*t.disturbed > t.measured }

// warnings returns the reasons to distrust the figures, the worst first.
func (r *Report) warnings() []warning {
	t := r.tally()
	of := func(n, all int) string { return fmt.Sprintf("%d of %s", n, format.Plural(all, "measurement")) }
	spread, _, _ := r.noise()
	remarks := r.remarks()
	return slices.DeleteFunc([]warning{
		{holds: spread > loudNoise, Title: "Noisy machine", Loud: true,
			Text: fmt.Sprintf("The time of a fixed loop varied by %.0f%%: figures are rough.", 100*spread)},
		{holds: len(r.Failures) > 0, Title: "Failed", List: r.Failures, Grave: true, Loud: true,
			Text: format.Plural(len(r.Failures), "contender") + " did not do the work of a point."},
		{holds: r.Interrupted, Title: "Interrupted", List: r.Missing, Grave: len(r.Missing) > 0, Loud: true,
			Text: of(len(r.Missing), t.all) + " " + format.Are(len(r.Missing)) + " missing or incomplete."},
		{holds: r.Size == lab.Quick.String(), Title: "Quick size", Loud: true,
			Text: "Each figure comes from a few milliseconds of work: a first impression. Use the standard size before a decision."},
		{holds: len(r.Sittings) > 1, Title: "Resumed", Loud: true, Text: fmt.Sprintf("The run was interrupted and resumed. All figures of one "+
			"point are from one of its %d parts; a comparison of two points may be across parts.", len(r.Sittings))},
		{holds: len(remarks) > 0, Title: "The machine", Text: "These facts affect the figures.", List: remarks},
		{holds: len(t.disturbances) > 0, Title: "Disturbed", List: t.disturbances, Loud: t.often(),
			Text: "Other programs, or garbage collection, took much of the machine in " + of(len(t.disturbances), t.measured) + ". Run again when idle."},
		{holds: t.reduced > 0, Title: "Reduced", Loud: true,
			Text: of(t.reduced, t.all) + " have fewer repetitions than planned, because the machine was too slow or too busy for the time of the run. " +
				"Run again when idle, or set -count."},
		{holds: t.few > 0, Title: "Too few repetitions", Loud: 2*t.few > t.measured,
			Text: fmt.Sprintf("%s have fewer than %d repetitions, too few for an interval: nothing there is known to be beyond noise.", of(t.few, t.measured), stat.MinSamples)},
	}, func(w warning) bool { return !w.holds })
}

// remarks has what a reader must know about the machine: warnings, and changes meanwhile.
func (r *Report) remarks() []string {
	remarks := r.Machine.Warnings()
	var last *host.Noise
	for _, sitting := range r.Sittings {
		for _, noise := range []*host.Noise{sitting.Before, sitting.After} {
			if noise == nil {
				continue
			}
			if last != nil {
				for _, change := range last.Changed(*noise) {
					remarks = append(remarks, "The machine changed during the run: "+change+".")
				}
			}
			last = noise
		}
	}
	return remarks
}
