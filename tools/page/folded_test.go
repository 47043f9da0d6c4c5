package page

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/internal/suite"
)

// The overview fills the first screen of a report, and the folded page is short.
func TestFirstScreen(t *testing.T) {
	dir := pages(t)
	for _, report := range []struct{ name, file string }{{"made-up", "made-up.html"}, {"quick", "quick/report.html"}} {
		for _, view := range []View{Phone, PhoneDark, Desk, DeskDark} {
			t.Run(report.name+"/"+view.Name, func(t *testing.T) {
				p := open(t, filepath.Join(dir, report.file), view)
				for _, wrong := range p.Ask("first") {
					t.Error(wrong)
				}
				picture, err := p.Screen()
				if err != nil {
					t.Fatal(err)
				}
				keep(t, report.name+"-first-"+view.Name+".png", picture)
				if view.Width < 1000 {
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
	suite.Proves(t, "that the checks of the page fail")
	style := func(planted string) [2]string { return [2]string{"</style>", planted + "</style>"} }
	for _, planted := range []struct {
		name, check string
		view        View
		change      [2]string
		says        string
	}{
		{"long answers", "first", Desk, style(`.answers { font-size: 4rem !important }`), "of 800 pixels"},
		{"large chart", "first", Phone, style(`.few .strip { height: 90px }`), "of 844 pixels"},
		{"more on the screen", "first", Phone, [2]string{"<h1>", "<p>More.</p><h1>"}, "“More.” is on the first screen, too"},
		{"what follows", "first", Phone, style(`section.first { min-height: 0 !important; overflow: hidden; height: 500px }`), "is on the first screen, too"},
		{"a long page", "folded", Phone, style(`.study { min-height: 6000px }`), "pixels high when folded"},
	} {
		t.Run(planted.name, func(t *testing.T) {
			p := open(t, plant(t, func(page string) string { return strings.Replace(page, planted.change[0], planted.change[1], 1) }), planted.view)
			if wrong := p.Ask(planted.check); !strings.Contains(strings.Join(wrong, "\n"), planted.says) {
				t.Errorf("reported: %q", wrong)
			}
		})
	}
}
