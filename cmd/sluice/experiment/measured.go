package experiment

import (
	"fmt"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/measure"
	"github.com/sluice-go/sluice/cmd/sluice/stat"
)

// Measured is what findings are drawn from: sections with their outcomes, which
// may be incomplete.
type Measured struct {
	sections []Section
	outcomes map[*measure.Point]*measure.Outcome
}

// NewMeasured joins the sections of an experiment with the outcomes of its
// points.
func NewMeasured(sections []Section, outcomes []measure.Outcome) *Measured {
	m := &Measured{sections, make(map[*measure.Point]*measure.Outcome)}
	for i := range outcomes {
		m.outcomes[outcomes[i].Point] = &outcomes[i]
	}
	return m
}

// Samples returns the figures of one contender at one place, nil if there are
// none.
func (m *Measured) Samples(section, panel, x, contender, unit string) []float64 {
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
func (m *Measured) xs(section, panel string) []string {
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
func (m *Measured) panels(section string) []string {
	var panels []string
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

// change returns how the time of one contender relates to that of another at
// the same point; ok is false if either was not measured.
func (m *Measured) change(section, panel, x, base, other string) (c stat.Change, ok bool) {
	c = stat.Compare(
		m.Samples(section, panel, x, base, measure.NsPerOp),
		m.Samples(section, panel, x, other, measure.NsPerOp))
	return c, c.N > 0
}

// A verdict says in words what becomes of a time when other takes the place of
// base: "saves 12 % ± 3 %".
func verdict(c stat.Change) string {
	switch {
	case c.Confidence == 0:
		return fmt.Sprintf("changes it by %s, of too few repetitions to tell from noise", signed(c.Median))
	case !c.Clear():
		return "makes no difference beyond noise"
	case c.Median < 0:
		return "saves " + c.String()
	}
	return "costs " + c.String() + " more"
}

func signed(fraction float64) string { return fmt.Sprintf("%+.0f %%", 100*fraction) }

// A place is a setting, such as "GOMAXPROCS 2", and what was found there.
type place struct {
	name    string
	verdict string
}

// sentence joins places: "what: verdict at place and place, verdict at place."
// Places with the same verdict are named together.
func sentence(what string, places []place) string {
	var parts []string
	for len(places) > 0 {
		said := places[0].verdict
		var names []string
		var rest []place
		for _, p := range places {
			if p.verdict == said {
				names = append(names, p.name)
			} else {
				rest = append(rest, p)
			}
		}
		parts = append(parts, said+" "+enumerate(names))
		places = rest
	}
	return what + " " + strings.Join(parts, "; ") + "."
}

// enumerate joins names: "a, b and c".
func enumerate(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
