package report

import (
	"fmt"
	"html/template"
	"regexp"
	"strings"

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

// families has them in the order of a legend.
var families = []family{
	{Name: "no channel", Class: "o0", Sign: "◇", letter: "o", shape: plot.Diamond},
	builtIn,
	{Name: "published remedies", Class: "p0", Sign: "▲", letter: "p", shape: plot.Triangle, dashed: true},
	{Name: "sluice", Class: "s0", Sign: "●", letter: "s", shape: plot.Dot},
}

var builtIn = family{Name: "built-in channels", Class: "n0", Sign: "■", letter: "n", shape: plot.Square}

// shown returns how charts show a family.
func shown(f lab.Family) family {
	return families[map[lab.Family]int{lab.FamilyNone: 0, lab.FamilyNative: 1, lab.FamilyPublished: 2, lab.FamilySluice: 3}[f]]
}

func familyOf(contender lab.ContenderID) family { return shown(lab.FamilyOf(contender)) }

// key returns the legend of charts: the families and signs that are drawn. Where lines have
// colors of their own, a family is its shape alone.
func key(charts ...template.HTML) (signs []family) {
	drawn := ""
	for _, chart := range charts {
		drawn += string(chart)
	}
	lines := strings.Contains(drawn, `class="series `)
	for _, f := range families {
		if regexp.MustCompile(`<g class="(series )?` + f.letter + `[0-9]">`).MatchString(drawn) {
			if lines {
				f.Class = "soft"
			}
			signs = append(signs, f)
		}
	}
	for _, sign := range []struct{ drawn, sign, name string }{
		{`<line [^>]*class="whisker"`, "├┤", "95% interval"},
		{`<line [^>]*class="whisker range"`, "├┄┤", "range of few repetitions"},
		{`class="each"`, "·", "one repetition"},
		{`class="beyond"`, "›", "one far off the scale"},
	} {
		if regexp.MustCompile(sign.drawn).MatchString(drawn) {
			signs = append(signs, family{Name: sign.name, Class: "soft", Sign: sign.sign})
		}
	}
	return signs
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
