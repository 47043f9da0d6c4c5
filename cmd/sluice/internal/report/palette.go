package report

import (
	"fmt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/plot"
)

// A family shows a lab.Family in charts: by color, by shape and by dashes.
// page.css explains the choice.
type family struct {
	Name   string // in the legend
	Class  string // in the style, of its first member
	Sign   string // in the legend: as Shape is drawn
	letter string // of its color classes
	shape  plot.Shape
	dashed bool
}

var (
	builtIn   = family{Name: "built-in channels", Class: "n0", Sign: "■", letter: "n", shape: plot.Square}
	published = family{Name: "published remedies", Class: "p0", Sign: "▲", letter: "p", shape: plot.Triangle, dashed: true}
	ours      = family{Name: "sluice", Class: "s0", Sign: "●", letter: "s", shape: plot.Dot}
	families  = []family{builtIn, published, ours}
)

// familyOf returns how charts show the family of a contender.
func familyOf(contender lab.ContenderID) family {
	switch lab.FamilyOf(contender) {
	case lab.FamilyNative:
		return builtIn
	case lab.FamilySluice:
		return ours
	}
	return published
}

// A palette has one color class for each contender of an experiment, for all
// its charts: the letter of its family, and a number by appearance.
type palette map[lab.ContenderID]string

// shades is the number of classes per family in page.css.
const shades = 7

func newPalette(e *Experiment) palette {
	colors := make(palette)
	used := make(map[string]int)
	for _, section := range e.Sections {
		for _, point := range section.Points {
			for _, entry := range point.Entries {
				if _, ok := colors[entry.Contender]; ok {
					continue
				}
				letter := familyOf(entry.Contender).letter
				colors[entry.Contender] = fmt.Sprintf("%s%d", letter, used[letter]%shades)
				used[letter]++
			}
		}
	}
	return colors
}
