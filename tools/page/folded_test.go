package page

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// screens are the screens that must have the whole overview.
var screens = []struct {
	view   View
	height int64
}{{Phone, 844}, {PhoneDark, 844}, {Desk, 800}, {DeskDark, 800}}

// The first screen of a report has one sentence, one chart and at most four
// answers, and the folded page is short.
func TestFirstScreen(t *testing.T) {
	dir := pages(t)
	for _, report := range []struct{ name, file string }{{"made-up", "made-up.html"}, {"quick", "quick/report.html"}} {
		for _, screen := range screens {
			t.Run(report.name+"/"+screen.view.Name, func(t *testing.T) {
				p := open(t, filepath.Join(dir, report.file), screen.view)
				if err := p.Resize(screen.view.Width, screen.height); err != nil {
					t.Fatal(err)
				}
				for _, wrong := range p.Ask("first") {
					t.Error(wrong)
				}
				if report.name == "made-up" {
					for _, wrong := range p.Ask("filled") {
						t.Error(wrong)
					}
				}
				picture, err := p.Screen()
				if err != nil {
					t.Fatal(err)
				}
				keep(t, report.name+"-first-"+screen.view.Name+".png", picture)
				if screen.view.Width < 1000 {
					return
				}
				for _, wrong := range p.Ask("folded") {
					t.Error(wrong)
				}
			})
		}
	}
}

// A link to a folded part opens it, and so does a key.
func TestUnfold(t *testing.T) {
	file := filepath.Join(pages(t), "made-up.html")
	p := open(t, file+"#crowded-memory", Desk)
	if got := p.Ask("opened"); !slices.Equal(got, []string{"crowded-memory"}) {
		t.Errorf("the link opens %q", got)
	}
	p = open(t, file, Phone)
	if got := p.Ask("opened"); len(got) != 0 {
		t.Errorf("open without a link: %q", got)
	}
	p.Ask("parts") // has the focus on the last
	for _, key := range []string{"\r", " "} {
		before := len(p.Ask("opened"))
		if err := p.Press(key); err != nil {
			t.Fatal(err)
		}
		if after := len(p.Ask("opened")); after == before {
			t.Errorf("the key %q does nothing", key)
		}
	}
}

// Each check of the first screen fails for a page with one planted fault.
func TestPlantedFolds(t *testing.T) {
	style := func(planted string) [2]string { return [2]string{"</style>", planted + "</style>"} }
	for _, planted := range []struct {
		name, check string
		change      [2]string
		says        string
	}{
		{"long answers", "first", style(`.answers { font-size: 1.3rem !important }`), "of 844 pixels"},
		{"large chart", "first", style(`.few .chart { height: 500px }`), "of 844 pixels"},
		{"a fifth answer", "first", [2]string{`<ul class="answers">`, `<ul class="answers"><li>x</li>`}, "has 5 of: answers"},
		{"a second chart", "first", [2]string{`<ul class="answers">`, `<svg class="chart"></svg><ul class="answers">`}, "has 2 of: chart"},
		{"no sentence", "filled", [2]string{"<h1>", "<h4>"}, "has none of: sentence"},
		{"more on the screen", "first", [2]string{"<h1>", "<p>More.</p><h1>"}, "“More.” is on the first screen, too"},
		{"what follows", "first", style(`section.first { min-height: 0 !important; overflow: hidden; height: 500px }`), "is on the first screen, too"},
		{"a linear axis", "filled", [2]string{"log scale", "scale"}, "not logarithmic"},
		{"an open part", "folded", [2]string{"<details>", "<details open><summary>x</summary><table><tr><td>x</td></tr></table></details><details>"}, "shows a table"},
		{"a long page", "folded", style(`.study { min-height: 6000px }`), "pixels high when folded"},
		{"no advice", "filled", [2]string{`class="advice"`, `class="gone"`}, "shows no advice"},
		{"two answers", "folded", [2]string{`<p class="answer">`, `<p class="answer">x</p><p class="answer">`}, "shows 2 of: answer"},
	} {
		t.Run(planted.name, func(t *testing.T) {
			p := open(t, plant(t, func(page string) string { return strings.Replace(page, planted.change[0], planted.change[1], 1) }), Phone)
			if err := p.Resize(Phone.Width, 844); err != nil {
				t.Fatal(err)
			}
			if wrong := p.Ask(planted.check); !strings.Contains(strings.Join(wrong, "\n"), planted.says) {
				t.Errorf("reported: %q", wrong)
			}
		})
	}
}
