package lab

import (
	"slices"
	"strconv"

	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// Measured has points of an experiment with their outcomes, which may be incomplete, in
// order. Findings are drawn from it.
type Measured []spot

// A spot is a measured point. Findings, charts and tables read its figures in one unit.
type spot struct {
	*Point
	section SectionID
	outcome *measure.Outcome
	unit    string // of samples
}

// NewMeasured joins the sections of an experiment with the outcomes of its points.
func NewMeasured(sections []Section, outcomes []measure.Outcome) Measured {
	of := make(map[*measure.Point]*measure.Outcome)
	for i := range outcomes {
		of[outcomes[i].Point] = &outcomes[i]
	}
	var m Measured
	for _, section := range sections {
		for _, point := range section.Points {
			m = append(m, spot{point, section.Name, of[&point.Point], measure.NsPerOp})
		}
	}
	return m
}

// Samples returns the figures of one contender at the place of a published figure, or nil.
func (m Measured) Samples(at Published, contender ContenderID, unit string) []float64 {
	return m.in(at.Section).inUnit(unit).panel(at.Panel).at(at.X).one().samples(contender)
}

// in returns the points of a section.
func (m Measured) in(section SectionID) Measured {
	return m.where(func(s spot) bool { return s.section == section })
}

func (m Measured) where(keep func(spot) bool) Measured {
	return slices.DeleteFunc(slices.Clone(m), func(s spot) bool { return !keep(s) })
}

// at returns the points at one place of the axis.
func (m Measured) at(x string) Measured { return m.where(func(s spot) bool { return s.X == x }) }

// of returns the points with one load.
func (m Measured) of(l Load) Measured { return m.where(func(s spot) bool { return s.Panel.Load == l }) }

// panel returns the points of one chart.
func (m Measured) panel(p Panel) Measured { return m.where(func(s spot) bool { return s.Panel == p }) }

// counted returns the points that are not oversubscribed.
func (m Measured) counted() Measured { return m.where(func(s spot) bool { return !s.Beyond }) }

// with returns the points at which a contender was measured.
func (m Measured) with(id ContenderID) Measured {
	return m.where(func(s spot) bool { return len(s.samples(id)) > 0 })
}

// inUnit returns the points with their figures in another unit than ns/op.
func (m Measured) inUnit(unit string) Measured {
	m = slices.Clone(m)
	for i := range m {
		m[i].unit = unit
	}
	return m
}

// one returns the first point, or one without figures.
func (m Measured) one() spot {
	if len(m) == 0 {
		return spot{Point: new(Point)}
	}
	return m[0]
}

// last returns the last point, or one without figures.
func (m Measured) last() spot { return m[max(0, len(m)-1):].one() }

// panels divides the points by their charts.
func (m Measured) panels() []Measured {
	var panels []Measured
	for _, p := range m {
		i := slices.IndexFunc(panels, func(other Measured) bool { return other[0].Panel == p.Panel })
		if i < 0 {
			i, panels = len(panels), append(panels, nil)
		}
		panels[i] = append(panels[i], p)
	}
	return panels
}

// home returns the point with two Ps or, without one, the one with the most Ps that have
// a CPU each. ok is false if the contender was measured at none.
func (m Measured) home(id ContenderID) (home spot, ok bool) {
	for _, p := range m.with(id) {
		if ok && p.Beyond {
			continue
		}
		home, ok = p, true
		if p.Procs == 2 {
			break
		}
	}
	return home, ok
}

// samples returns the figures of a contender, or nil.
func (s spot) samples(id ContenderID) []float64 {
	if s.outcome == nil {
		return nil
	}
	if result := s.outcome.Result(id); result != nil {
		return result.Samples(s.unit)
	}
	return nil
}

func (s spot) summary(id ContenderID) stat.Summary { return stat.Summarize(s.samples(id)) }

// change returns the change from base to other, repetition by repetition, or the zero
// Change if either was not measured.
func (s spot) change(base, other ContenderID) stat.Change {
	return stat.Compare(s.samples(base), s.samples(other))
}

// ps returns the point's GOMAXPROCS: "2". With more Ps than CPUs, a finding is about
// robustness: "4 (oversubscribed)".
func (s spot) ps() string {
	if s.Beyond {
		return strconv.Itoa(s.Procs) + " (oversubscribed)"
	}
	return strconv.Itoa(s.Procs)
}

// under returns conditions with the point's GOMAXPROCS: "1 sender, 1 receiver, GOMAXPROCS 2".
func (s spot) under(conditions string) string { return conditions + ", " + AxisProcs + " " + s.ps() }
