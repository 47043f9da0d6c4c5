package lab

import (
	"slices"
	"strconv"

	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// Measured has the points of an experiment with their outcomes, which may be
// incomplete. Findings are drawn from it.
type Measured struct{ spots spots }

// A spot is a measured point. Findings, charts and tables read its figures in one unit.
type spot struct {
	*Point
	section SectionID
	outcome *measure.Outcome
	unit    string // of samples
}

// spots are some of the measured points, in order.
type spots []spot

// NewMeasured joins the sections of an experiment with the outcomes of its points.
func NewMeasured(sections []Section, outcomes []measure.Outcome) *Measured {
	of := make(map[*measure.Point]*measure.Outcome)
	for i := range outcomes {
		of[outcomes[i].Point] = &outcomes[i]
	}
	m := new(Measured)
	for _, section := range sections {
		for _, point := range section.Points {
			m.spots = append(m.spots, spot{point, section.Name, of[&point.Point], measure.NsPerOp})
		}
	}
	return m
}

// Samples returns the figures of one contender at the place of a published figure, or nil.
func (m *Measured) Samples(at Published, contender ContenderID, unit string) []float64 {
	return m.in(at.Section).in(unit).where(func(s spot) bool { return s.Panel == at.Panel }).at(at.X).one().samples(contender)
}

// in returns the points of a section.
func (m *Measured) in(section SectionID) spots {
	return m.spots.where(func(s spot) bool { return s.section == section })
}

func (s spots) where(keep func(spot) bool) spots {
	return slices.DeleteFunc(slices.Clone(s), func(s spot) bool { return !keep(s) })
}

// at returns the points at one place of the axis.
func (s spots) at(x string) spots { return s.where(func(s spot) bool { return s.X == x }) }

// of returns the points with one load.
func (s spots) of(l Load) spots { return s.where(func(s spot) bool { return s.Panel.Load == l }) }

// counted returns the points that are not oversubscribed.
func (s spots) counted() spots { return s.where(func(s spot) bool { return !s.Beyond }) }

// with returns the points at which a contender was measured.
func (s spots) with(id ContenderID) spots {
	return s.where(func(s spot) bool { return len(s.samples(id)) > 0 })
}

// in returns the points with their figures in another unit than ns/op.
func (s spots) in(unit string) spots {
	s = slices.Clone(s)
	for i := range s {
		s[i].unit = unit
	}
	return s
}

// one returns the first point, or one without figures.
func (s spots) one() spot {
	if len(s) == 0 {
		return spot{Point: new(Point)}
	}
	return s[0]
}

// last returns the last point, or one without figures.
func (s spots) last() spot { return s[max(0, len(s)-1):].one() }

// panels divides the points by their charts.
func (s spots) panels() []spots {
	var panels []spots
	for i, p := range s {
		if i == 0 || s[i-1].Panel != p.Panel {
			panels = append(panels, nil)
		}
		panels[len(panels)-1] = append(panels[len(panels)-1], p)
	}
	return panels
}

// home returns the point with two Ps or, without one, the one with the most Ps that have
// a CPU each. ok is false if the contender was measured at none.
func (s spots) home(id ContenderID) (home spot, ok bool) {
	for _, p := range s.with(id) {
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

// oversubscribed is the remark on a place with more Ps than CPUs: a finding
// there is about robustness.
const oversubscribed = " (oversubscribed)"

func (s spot) remark() string {
	if s.Beyond {
		return oversubscribed
	}
	return ""
}

// ps returns the point's GOMAXPROCS, with the remark: "4 (oversubscribed)".
func (s spot) ps() string { return strconv.Itoa(s.Procs) + s.remark() }

// title returns the title of a panel whose points share a GOMAXPROCS, with the remark:
// "GOMAXPROCS 8 (oversubscribed), 10 workers".
func (s spot) title() string { return s.Panel.title(s.remark()) }

// conditions returns GOMAXPROCS for a chart: "GOMAXPROCS=2".
func (s spot) conditions() string {
	text := AxisProcs + "=" + strconv.Itoa(s.Procs)
	if s.Beyond {
		text += ", oversubscribed"
	}
	return text
}

// A place is a setting, such as "2", and the change found there.
type place struct {
	name   string
	change stat.Change
}

// places compares two contenders at each point, which by names.
func (s spots) places(by axis, base, other ContenderID) []place {
	var places []place
	for _, p := range s {
		if c := p.change(base, other); c.N > 0 {
			places = append(places, place{by.name(p), c})
		}
	}
	return places
}
