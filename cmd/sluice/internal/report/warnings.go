package report

import (
	"fmt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// A warning is what a reader must know before any figure.
type warning struct {
	Title string
	Text  string
	List  []string
	Grave bool // figures are missing, not only to be read with care
}

// Short reports whether the list can be shown without asking for it.
func (w warning) Short() bool { return len(w.List) <= textShown }

// warnings returns what stands in the way of trusting the figures, the worst first.
func (r *Report) warnings() []warning {
	var all []warning
	if len(r.Failures) > 0 {
		all = append(all, warning{Title: "Failed", Text: "A contender did not do its work.", List: r.Failures, Grave: true})
	}
	if r.Interrupted {
		text := "All was measured before that."
		if n := len(r.Missing); n > 0 {
			text = fmt.Sprintf("Missing in whole or in part: %s.", format.Plural(n, "point"))
		}
		all = append(all, warning{Title: "Interrupted", Text: text, List: r.Missing, Grave: len(r.Missing) > 0})
	}
	if r.Size == lab.Quick.String() {
		all = append(all, warning{Title: "Quick size", Text: "Each figure comes from a millisecond or two of work. " +
			"That shows that all works; take the standard size before you decide anything."})
	}
	if remarks := r.Remarks(); len(remarks) > 0 {
		all = append(all, warning{Title: "The machine", Text: "Read the figures with this in mind.", List: remarks})
	}
	if disturbed := r.DisturbedPoints(); len(disturbed) > 0 {
		all = append(all, warning{Title: "Disturbed", Text: fmt.Sprintf("Others used the machine, or the collector much of it, during the measurement of %s.",
			format.Plural(len(disturbed), "point")), List: disturbed})
	}
	points, over, few := r.count()
	if few > 0 {
		all = append(all, warning{Title: "Too few repetitions", Text: fmt.Sprintf("At %s of %d fewer than %d repetitions were made: "+
			"too few for an interval. Bars show their range.", format.Plural(few, "point"), points, stat.MinSamples)})
	}
	if over > 0 {
		all = append(all, warning{Title: "Oversubscribed", Text: fmt.Sprintf("At %s of %d GOMAXPROCS exceeds the %s of this machine. "+
			"Those figures tell how robust a channel is, and nothing about how it scales.", format.Plural(over, "point"), points, format.Plural(r.Machine.Whole(), "CPU"))})
	}
	return all
}

// count returns how many points have figures, how many of them are oversubscribed,
// and how many have an entry with too few repetitions for an interval.
func (r *Report) count() (points, over, few int) {
	for _, e := range r.Experiments {
		for _, s := range e.Sections {
			for _, p := range s.Points {
				measured, short := p.repetitions()
				if !measured {
					continue
				}
				points++
				if p.Oversubscribed {
					over++
				}
				if short {
					few++
				}
			}
		}
	}
	return points, over, few
}

// repetitions reports whether any entry has some, and whether any has some but too
// few.
func (p *Point) repetitions() (measured, short bool) {
	for _, entry := range p.Entries {
		if n := len(entry.Repetitions); n > 0 {
			measured = true
			short = short || n < stat.MinSamples
		}
	}
	return measured, short
}
