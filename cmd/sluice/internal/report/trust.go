package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// A warning is a reason to distrust the figures of a report. The page has it before the
// figures; the header of the page and the screen have the short forms, if any.
type warning struct {
	Title string
	Text  string
	List  []string
	Grave bool     // figures are missing
	flag  string   // in the header of the page
	lines []string // of the screen
	loud  bool     // how the screen shows them
}

// longList is the length from which a list folds on the page, and is cut in the text.
const longList = 8

// Short reports whether the page shows the list without a click.
func (w warning) Short() bool { return len(w.List) <= longList }

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

// A tally counts the points of a report, and some among those with figures.
type tally struct {
	all, reduced            int
	measured, over, few     int      // of measured points: oversubscribed, or with too few repetitions
	figures, vague, outlier int      // of all entries
	disturbed               int      // by other programs
	disturbances            []string // with those by garbage collection
}

func (r *Report) tally() tally {
	var t tally
	r.eachPoint(func(e *Experiment, p *Point) {
		t.all++
		measured, few := false, false
		for _, entry := range p.Entries {
			n := len(entry.Repetitions)
			measured, few = measured || n > 0, few || n > 0 && n < stat.MinSamples
			for _, s := range entry.Summaries {
				t.figures++
				t.vague += one(!s.Known())
			}
			for _, indices := range entry.Outliers {
				t.outlier += len(indices)
			}
		}
		t.measured += one(measured)
		t.few += one(few)
		t.over += one(measured && p.Oversubscribed)
		t.reduced += one(p.Reduced > 0)
		t.disturbed += one(len(p.Disturbed) > 0)
		reasons := strings.Join(p.Disturbed, "; ")
		if p.Collecting != "" {
			reasons = strings.TrimPrefix(reasons+"; "+p.Collecting, "; ")
		}
		if reasons != "" {
			t.disturbances = append(t.disturbances, fmt.Sprintf("%s, %s: %s", e.Name, p.Name, reasons))
		}
	})
	return t
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

// often reports whether other programs took the CPUs at more than a fifth of the points.
func (t tally) often() bool { return 5*t.disturbed > t.measured }

// warnings returns the reasons to distrust the figures, the worst first.
func (r *Report) warnings() []warning {
	var all []warning
	t := r.tally()
	measurements := func(n int) string { return format.Plural(n, "measurement") }
	if spread, _, _ := r.noise(); spread > loudNoise {
		all = append(all, warning{
			Title: "Noisy machine", Text: fmt.Sprintf("The time of a fixed loop varied by %.0f%%: figures are rough.", 100*spread),
			flag: fmt.Sprintf("noisy machine: a fixed loop varied by %.0f%%", 100*spread),
		})
	}
	if n := len(r.Failures); n > 0 {
		w := warning{Title: "Failed", Text: "A contender did not do its work.", List: r.Failures, Grave: true, flag: "failed", loud: true}
		for _, failure := range r.Failures[:min(n, 2)] {
			w.lines = append(w.lines, "FAILED: "+failure)
		}
		if n > 2 {
			w.lines = append(w.lines, fmt.Sprintf("… and %d more failures: see the report.", n-2))
		}
		all = append(all, w)
	}
	if n := len(r.Missing); r.Interrupted && n > 0 {
		all = append(all, warning{
			Title: "Interrupted", Text: fmt.Sprintf("Missing or incomplete: %s.", format.Plural(n, "point")), List: r.Missing, Grave: true, flag: "interrupted", loud: true,
			lines: []string{fmt.Sprintf("Interrupted: %s %s missing or incomplete, of %d.", measurements(n), format.Are(n), t.all)},
		})
	} else if r.Interrupted {
		all = append(all, warning{Title: "Interrupted", Text: "All points were measured before the interrupt."})
	}
	if r.Size == lab.Quick.String() {
		all = append(all, warning{Title: "Quick size", flag: "short run: rough figures", Text: "A first impression: each figure comes from a few milliseconds of work. " +
			"Use the standard size before a decision."})
	}
	if remarks := r.remarks(); len(remarks) > 0 {
		w := warning{Title: "The machine", Text: "These facts affect the figures.", List: remarks}
		if n := len(r.Sittings); n > 1 {
			w.lines = []string{fmt.Sprintf("The run was interrupted and resumed; its %d parts started at different times.", n)}
		}
		all = append(all, w)
	}
	if len(t.disturbances) > 0 {
		w := warning{Title: "Disturbed", Text: fmt.Sprintf("Other programs, or garbage collection, took much of the machine during the measurement of %s.",
			format.Plural(len(t.disturbances), "point")), List: t.disturbances}
		if t.often() {
			w.flag = fmt.Sprintf("%d of %s disturbed: run again when idle", t.disturbed, measurements(t.measured))
			w.lines = []string{fmt.Sprintf("Disturbed: other programs ran in %d of %s, so figures are rough. Run again when idle.", t.disturbed, measurements(t.measured))}
		}
		all = append(all, w)
	}
	if t.reduced > 0 {
		text := fmt.Sprintf("%d of %s have fewer repetitions than planned, because the machine was too slow or too busy for the time of the run. "+
			"Run again when idle, or set -count.", t.reduced, measurements(t.all))
		all = append(all, warning{Title: "Reduced", Text: text, lines: []string{"Reduced: " + text}})
	}
	if t.few > 0 {
		w := warning{Title: "Too few repetitions", Text: fmt.Sprintf("At %s of %d there are fewer than %d repetitions, "+
			"too few for an interval. Bars show their range.", format.Plural(t.few, "point"), t.measured, stat.MinSamples)}
		if 2*t.few > t.measured {
			w.lines = []string{"Too few repetitions for intervals: nothing here is known to be beyond noise."}
		}
		all = append(all, w)
	}
	if t.over > 0 {
		all = append(all, warning{Title: "Oversubscribed (*)", Text: fmt.Sprintf("At %s of %d GOMAXPROCS exceeds the %s of this machine. "+
			"Those figures show the robustness of a channel, not its scaling.", format.Plural(t.over, "point"), t.measured, format.Plural(r.Machine.Whole(), "CPU"))})
	}
	return all
}

// noiseLines describes the noise of the machine before each sitting.
func (r *Report) noiseLines() []string {
	var lines []string
	for i, sitting := range r.Sittings {
		if sitting.Before == nil {
			continue
		}
		which := "Noise"
		if len(r.Sittings) > 1 {
			which = fmt.Sprintf("Noise in run %d", i+1)
		}
		lines = append(lines, which+": "+sitting.Before.String())
	}
	return lines
}

// remarks has what a reader must know about the machine: warnings, changes meanwhile,
// and whether the run was resumed.
func (r *Report) remarks() []string {
	remarks := r.Machine.Warnings()
	if n := len(r.Sittings); n > 1 {
		var starts []string
		for _, sitting := range r.Sittings {
			starts = append(starts, sitting.Started.Format(time.DateTime))
		}
		remarks = append(remarks, fmt.Sprintf("The run was interrupted and resumed; its %d parts started %s. All figures of one point are from "+
			"one part; a comparison of two points may be across parts.", n, strings.Join(starts, " and ")))
	}
	for i, sitting := range r.Sittings {
		if sitting.Before == nil {
			continue
		}
		if first := r.Sittings[0].Before; i > 0 && first != nil {
			for _, change := range first.Changed(*sitting.Before) {
				remarks = append(remarks, fmt.Sprintf("The machine changed between runs 1 and %d: %s.", i+1, change))
			}
		}
		if sitting.After != nil {
			for _, change := range sitting.Before.Changed(*sitting.After) {
				remarks = append(remarks, "The machine changed during the run: "+change+".")
			}
		}
	}
	return remarks
}

// footnotes explains the tables of the report: what is not known, and what was
// far from the rest.
func (r *Report) footnotes() []string {
	var notes []string
	t := r.tally()
	if t.vague > 0 {
		notes = append(notes, fmt.Sprintf("%s: the interval reaches further than 100%% from the figure, or over more than a decade (%d of %s); "+
			"more repetitions narrow it: %s", format.NotKnown, t.vague, format.Plural(t.figures, "figure"), format.RepeatMore))
	}
	if t.outlier > 0 {
		notes = append(notes, fmt.Sprintf("outliers, repetitions far from the others of their figure: %d; they count in all figures, "+
			"and results.json lists them", t.outlier))
	}
	return notes
}
