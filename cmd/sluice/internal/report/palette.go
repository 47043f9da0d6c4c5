package report

import (
	"fmt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/plot"
)

// A family is who made a contender. Charts tell families apart by color, by shape
// and by dashes: page.css says why these.
type family struct {
	Name   string // in the key
	Class  string // in the style: of its first member
	Sign   string // in the key, what Shape draws
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

// A palette gives each contender of an experiment one color class, the same in
// all its charts: the letter of its family, numbered by appearance.
type palette map[lab.ContenderID]string

// shades is how many classes of each family page.css knows.
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
