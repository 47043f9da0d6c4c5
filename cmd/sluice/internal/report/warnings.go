package report

import (
	"fmt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// A warning precedes the figures of a report.
type warning struct {
	Title string
	Text  string
	List  []string
	Grave bool   // figures are missing
	Flag  string // at the top of the page, instead of the title
}

const quickSize = "Quick size"

// Short reports whether the page shows the list without a click.
func (w warning) Short() bool { return len(w.List) <= textShown }

// warnings returns the reasons to distrust the figures, the worst first.
func (r *Report) warnings() []warning {
	var all []warning
	if len(r.Failures) > 0 {
		all = append(all, warning{Title: "Failed", Text: "A contender did not do its work.", List: r.Failures, Grave: true})
	}
	if r.Interrupted {
		text := "All points were measured before the interrupt."
		if n := len(r.Missing); n > 0 {
			text = fmt.Sprintf("Missing or incomplete: %s.", format.Plural(n, "point"))
		}
		all = append(all, warning{Title: "Interrupted", Text: text, List: r.Missing, Grave: len(r.Missing) > 0})
	}
	if r.Size == lab.Quick.String() {
		all = append(all, warning{Title: quickSize, Flag: "short run: rough figures", Text: "A first impression: each figure comes from a few milliseconds of work. " +
			"Use the standard size before a decision."})
	}
	if remarks := r.Remarks(); len(remarks) > 0 {
		all = append(all, warning{Title: "The machine", Text: "These facts affect the figures.", List: remarks})
	}
	if disturbed := r.DisturbedPoints(); len(disturbed) > 0 {
		all = append(all, warning{Title: "Disturbed", Text: fmt.Sprintf("Other programs, or garbage collection, took much of the machine during the measurement of %s.",
			format.Plural(len(disturbed), "point")), List: disturbed})
	}
	if text := r.reducedText(); text != "" {
		all = append(all, warning{Title: "Reduced", Text: text})
	}
	points, over, few := r.count()
	if few > 0 {
		all = append(all, warning{Title: "Too few repetitions", Text: fmt.Sprintf("At %s of %d there are fewer than %d repetitions, "+
			"too few for an interval. Bars show their range.", format.Plural(few, "point"), points, stat.MinSamples)})
	}
	if over > 0 {
		all = append(all, warning{Title: "Oversubscribed", Text: fmt.Sprintf("At %s of %d GOMAXPROCS exceeds the %s of this machine. "+
			"Those figures show the robustness of a channel, not its scaling.", format.Plural(over, "point"), points, format.Plural(r.Machine.Whole(), "CPU"))})
	}
	return all
}

// count returns the numbers of points with figures, of oversubscribed points,
// and of points with an entry that has too few repetitions for an interval.
func (r *Report) count() (points, over, few int) {
	r.eachPoint(func(_ *Experiment, p *Point) {
		measured, short := p.repetitions()
		if !measured {
			return
		}
		points++
		if p.Oversubscribed {
			over++
		}
		if short {
			few++
		}
	})
	return points, over, few
}

// repetitions reports whether any entry has repetitions, and whether any has
// too few.
func (p *Point) repetitions() (measured, short bool) {
	for _, entry := range p.Entries {
		if n := len(entry.Repetitions); n > 0 {
			measured = true
			short = short || n < stat.MinSamples
		}
	}
	return measured, short
}

// reducedText reports how many points have fewer repetitions than planned, or is empty.
func (r *Report) reducedText() string {
	reduced, points := 0, 0
	r.eachPoint(func(_ *Experiment, p *Point) {
		points++
		if p.Reduced > 0 {
			reduced++
		}
	})
	if reduced == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %s have fewer repetitions than planned, because the machine was too slow or too busy for the time of the run. "+
		"Run again when idle, or set -count.", reduced, format.Plural(points, "measurement"))
}
