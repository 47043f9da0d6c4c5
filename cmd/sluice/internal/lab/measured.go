package lab

import (
	"strconv"

	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// Measured joins sections with their outcomes, which may be incomplete.
// Findings are drawn from it.
type Measured struct {
	sections []Section
	outcomes map[*measure.Point]*measure.Outcome
}

// NewMeasured joins the sections of an experiment with the outcomes of its points.
func NewMeasured(sections []Section, outcomes []measure.Outcome) *Measured {
	m := &Measured{sections, make(map[*measure.Point]*measure.Outcome)}
	for i := range outcomes {
		m.outcomes[outcomes[i].Point] = &outcomes[i]
	}
	return m
}

// Samples returns the figures of one contender at one place, or nil.
func (m *Measured) Samples(section SectionID, panel Panel, x string, contender ContenderID, unit string) []float64 {
	for _, s := range m.sections {
		if s.Name != section {
			continue
		}
		for _, point := range s.Points {
			if point.Panel != panel || point.X != x {
				continue
			}
			if result := m.outcomes[&point.Point].Result(contender); result != nil {
				return result.Samples(unit)
			}
		}
	}
	return nil
}

// xs returns the places on the axis of a panel, in order.
func (m *Measured) xs(section SectionID, panel Panel) []string {
	var xs []string
	for _, s := range m.sections {
		if s.Name != section {
			continue
		}
		for _, point := range s.Points {
			if point.Panel == panel {
				xs = append(xs, point.X)
			}
		}
	}
	return xs
}

// panels returns the panels of a section, in order.
func (m *Measured) panels(section SectionID) []Panel {
	var panels []Panel
	for _, s := range m.sections {
		if s.Name != section {
			continue
		}
		for _, point := range s.Points {
			if len(panels) == 0 || panels[len(panels)-1] != point.Panel {
				panels = append(panels, point.Panel)
			}
		}
	}
	return panels
}

// beyond reports whether a place has more Ps than CPUs.
func (m *Measured) beyond(section SectionID, panel Panel, x string) bool {
	for _, s := range m.sections {
		for _, p := range s.Points {
			if s.Name == section && p.Panel == panel && p.X == x {
				return p.Beyond
			}
		}
	}
	return false
}

// oversubscribed is the remark on a place with more Ps than CPUs: a finding
// there is about robustness.
const oversubscribed = " (oversubscribed)"

// marked returns the name of a place, with a remark if it is oversubscribed.
func (m *Measured) marked(name string, section SectionID, panel Panel, x string) string {
	if m.beyond(section, panel, x) {
		return name + oversubscribed
	}
	return name
}

// markedPanel returns the title of a panel whose points share a GOMAXPROCS, with a
// remark if that is oversubscribed: "GOMAXPROCS 8 (oversubscribed), 10 workers".
func (m *Measured) markedPanel(section SectionID, panel Panel) string {
	if xs := m.xs(section, panel); len(xs) > 0 && m.beyond(section, panel, xs[0]) {
		return panel.title(oversubscribed)
	}
	return panel.String()
}

// procs returns the GOMAXPROCS of a panel's points, for a summary: "GOMAXPROCS=2".
func (m *Measured) procs(section SectionID, panel Panel) string {
	text := "GOMAXPROCS=" + strconv.Itoa(panel.Procs)
	if xs := m.xs(section, panel); len(xs) > 0 && m.beyond(section, panel, xs[0]) {
		text += ", oversubscribed"
	}
	return text
}

// change returns the change from the time of base to the time of other at one
// point. ok is false if either was not measured.
func (m *Measured) change(section SectionID, panel Panel, x string, base, other ContenderID) (c stat.Change, ok bool) {
	c = stat.Compare(
		m.Samples(section, panel, x, base, measure.NsPerOp),
		m.Samples(section, panel, x, other, measure.NsPerOp))
	return c, c.N > 0
}

// across compares two contenders at each place on the axis of a panel.
func (m *Measured) across(section SectionID, panel Panel, base, other ContenderID) []place {
	var places []place
	for _, x := range m.xs(section, panel) {
		if c, ok := m.change(section, panel, x, base, other); ok {
			places = append(places, place{m.marked(x, section, panel, x), c})
		}
	}
	return places
}

// acrossPanels compares two contenders at the same place of each panel, and
// quotes the panel as the name of a load.
func (m *Measured) acrossPanels(section SectionID, x string, base, other ContenderID) []place {
	var places []place
	for _, panel := range m.panels(section) {
		if c, ok := m.change(section, panel, x, base, other); ok {
			places = append(places, place{m.marked("“"+panel.String()+"”", section, panel, x), c})
		}
	}
	return places
}
