package report

import (
	"errors"
	"fmt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
)

// Restore fills in the outcomes of all finished points of the report. The runs
// must be the same as the report's, planned again. An unfinished point is
// measured again from its start, because its figures are pairs of one time.
func (r *Report) Restore(runs []Run) error {
	if len(runs) != len(r.Experiments) {
		return fmt.Errorf("it has %d experiments (want %d)", len(r.Experiments), len(runs))
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
		return fmt.Errorf("it has %d points (want %d of %s)", len(stored), len(run.Outcomes), run.Experiment.Name)
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
		return fmt.Errorf("point %q differs from the planned %q", p.Name, o.Point.Name)
	}
	for i, entry := range p.Entries {
		if entry.Contender != o.Results[i].Contender {
			return fmt.Errorf("point %q has the contender %q (want %q)", p.Name, entry.Contender, o.Results[i].Contender)
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
	o.Finished, o.Usage, o.Sitting, o.Reduced = true, p.Usage, p.Sitting, p.Reduced
	return nil
}
