package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// WriteHeader describes the machine and its noise.
func (r *Report) WriteHeader(w io.Writer, s format.Screen) error {
	b := &prose{width: s.Width}
	m := r.Machine
	b.paragraph(fmt.Sprintf("%s on %s, %d CPUs%s, %s/%s", Tool, m.CPU, m.CPUs, topology(m), m.OS, m.Arch), "  ")
	parts := []string{m.Go, fmt.Sprintf("GOMAXPROCS %d", m.Procs), "cgroup quota " + m.QuotaText(), "sluice " + m.VersionText()}
	if m.Load != "" {
		parts = append(parts, "load "+m.Load)
	}
	parts = append(parts, r.Started.Format("2006-01-02 15:04 MST"))
	b.paragraph(strings.Join(parts, ", "), "  ")
	for _, line := range r.NoiseLines() {
		b.paragraph(line, "  ")
	}
	for _, warning := range m.Warnings() {
		b.paragraph("Warning: "+warning, "  ")
	}
	return b.write(w)
}

// topology describes the layout of the CPUs, if known.
func topology(m Machine) string {
	if m.Sockets == 0 || m.Caches == 0 {
		return ""
	}
	return fmt.Sprintf(" (sockets: %d, last-level caches: %d)", m.Sockets, m.Caches)
}

// NoiseLines describes the noise of the machine before each sitting.
func (r *Report) NoiseLines() []string {
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

// Remarks has what a reader must know about the run beyond the header:
// warnings, changes of the machine meanwhile, and whether the run was resumed.
func (r *Report) Remarks() []string {
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
		if i > 0 && sitting.Before != nil && r.Sittings[0].Before != nil {
			for _, change := range r.Sittings[0].Before.Changed(*sitting.Before) {
				remarks = append(remarks, fmt.Sprintf("The machine changed between runs 1 and %d: %s.", i+1, change))
			}
		}
		if sitting.Before == nil || sitting.After == nil {
			continue
		}
		for _, change := range sitting.Before.Changed(*sitting.After) {
			remarks = append(remarks, "The machine changed during the run: "+change+".")
		}
	}
	return remarks
}

// Footnotes explains the tables of the report: what is not known, and what was
// far from the rest.
func (r *Report) Footnotes() []string {
	figures, vague, outliers := 0, 0, 0
	r.eachPoint(func(_ *Experiment, p *Point) {
		for i := range p.Entries {
			for _, s := range p.Entries[i].Summaries {
				figures++
				if !s.Known() {
					vague++
				}
			}
			for _, indices := range p.Entries[i].Outliers {
				outliers += len(indices)
			}
		}
	})
	var notes []string
	if vague > 0 {
		notes = append(notes, fmt.Sprintf("%s: the interval reaches further than 100%% from the figure, or over more than a decade (%d of %s); "+
			"more repetitions narrow it: %s", format.NotKnown, vague, format.Plural(figures, "figure"), format.RepeatMore))
	}
	if outliers > 0 {
		notes = append(notes, fmt.Sprintf("outliers, repetitions far from the others of their figure: %d; they count in all figures, "+
			"and results.json lists them", outliers))
	}
	return notes
}

// DisturbedPoints lists the points that were disturbed, with the disturbances,
// and those with much garbage collection.
func (r *Report) DisturbedPoints() []string {
	var lines []string
	r.eachPoint(func(e *Experiment, p *Point) {
		reasons := p.Disturbed
		if p.Collecting != "" {
			reasons = append(reasons[:len(reasons):len(reasons)], p.Collecting)
		}
		if len(reasons) > 0 {
			lines = append(lines, fmt.Sprintf("%s, %s: %s", e.Name, p.Name, strings.Join(reasons, "; ")))
		}
	})
	return lines
}

func (r *Report) eachPoint(f func(*Experiment, *Point)) {
	for i := range r.Experiments {
		e := &r.Experiments[i]
		for j := range e.Sections {
			for k := range e.Sections[j].Points {
				f(e, &e.Sections[j].Points[k])
			}
		}
	}
}
