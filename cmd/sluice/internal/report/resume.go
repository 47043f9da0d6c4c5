package report

import (
	"errors"
	"fmt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
)

// Restore fills in the outcomes of all points that the report holds in full. The
// runs must be those that the report is of, laid out anew. A point that was not
// measured to its end is left to be measured anew: its figures are pairs of one
// time.
func (r *Report) Restore(runs []Run) error {
	if len(runs) != len(r.Experiments) {
		return fmt.Errorf("it has %d experiments where %d are planned", len(r.Experiments), len(runs))
	}
	for i := range runs {
		if err := r.Experiments[i].restore(&runs[i]); err != nil {
			return fmt.Errorf("experiment %s: %w", r.Experiments[i].Name, err)
		}
	}
	return nil
}

func (e *Experiment) restore(run *Run) error {
	var stored []*Point
	for i := range e.Sections {
		for j := range e.Sections[i].Points {
			stored = append(stored, &e.Sections[i].Points[j])
		}
	}
	if run.Experiment.Name != e.Name || len(stored) != len(run.Outcomes) {
		return fmt.Errorf("it has %d points where %s has %d", len(stored), run.Experiment.Name, len(run.Outcomes))
	}
	for i, point := range stored {
		if err := point.restore(&run.Outcomes[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *Point) restore(o *measure.Outcome) error {
	if p.Name != o.Point.Name || p.Count != o.Point.Count || len(p.Entries) != len(o.Results) {
		return fmt.Errorf("point %q is not what is planned there, %q", p.Name, o.Point.Name)
	}
	for i, entry := range p.Entries {
		if entry.Contender != o.Results[i].Contender {
			return fmt.Errorf("point %q has %q where %q is planned", p.Name, entry.Contender, o.Results[i].Contender)
		}
	}
	if !p.Finished {
		return nil
	}
	for i, entry := range p.Entries {
		o.Results[i].Repetitions = entry.Repetitions
		if entry.Error != "" {
			o.Results[i].Err = errors.New(entry.Error)
		}
	}
	o.Finished, o.Usage, o.Sitting = true, p.Usage, p.Sitting
	return nil
}
