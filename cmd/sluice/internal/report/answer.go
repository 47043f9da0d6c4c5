package report

import (
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
)

// answer draws the answers and the overview of a report that was written before
// reports had them, from its figures. It leaves an experiment without an answer
// if the lab no longer has it.
func (r *Report) answer() {
	size, _ := lab.SizeNamed(r.Size)
	scale := lab.Scale{Size: size, Procs: r.Procs, Count: r.Count, CPUs: r.Machine.Whole()}
	for i := range r.Experiments {
		e := &r.Experiments[i]
		planned, err := lab.Select([]string{e.Name})
		if err != nil {
			continue
		}
		sections := planned[0].Sections(scale)
		summary, findings, tables := e.Summary, e.Findings, e.Tables
		e.Conclusion = planned[0].Conclude(lab.NewMeasured(sections, e.outcomes(sections)))
		e.Summary, e.Findings, e.Tables = summary, findings, tables // as that version wrote them
	}
	r.Overview = r.overview()
}

// outcomes returns the stored figures of planned points, by their places: the
// number of values, which is in their names, may have changed.
func (e *Experiment) outcomes(sections []lab.Section) []measure.Outcome {
	var outcomes []measure.Outcome
	for _, section := range sections {
		for _, planned := range section.Points {
			outcome := measure.Outcome{Point: &planned.Point}
			if stored := e.stored(section.Name, planned.Panel.String(), planned.X); stored != nil {
				for _, entry := range stored.Entries {
					outcome.Results = append(outcome.Results, entry.Result)
				}
			}
			outcomes = append(outcomes, outcome)
		}
	}
	return outcomes
}

// stored returns the point at a place, or nil.
func (e *Experiment) stored(section lab.SectionID, panel, x string) *Point {
	for i := range e.Sections {
		for j := range e.Sections[i].Points {
			if p := &e.Sections[i].Points[j]; e.Sections[i].Name == section && p.Panel == panel && p.X == x {
				return p
			}
		}
	}
	return nil
}
