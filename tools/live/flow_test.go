package live

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/tools/page"
)

// Maps of all sizes are readable in all views.
func TestMaps(t *testing.T) {
	for name, make := range flows {
		views := []page.View{page.Phone, page.PhoneDark, page.Desk, page.DeskDark}
		if name == "long texts" { // the narrowest page with a table
			views = append(views, page.View{Name: "tablet", Width: 1060, Height: 800, Scheme: "light", Media: "screen"})
		}
		for _, view := range views {
			t.Run(name+"/"+view.Name, func(t *testing.T) {
				t.Parallel()
				flow := make()
				s := visit(t, serve(t, flow), view)
				s.Mapped(len(flow.Stages), len(flow.Channels))
				report(t, s.wrong, s.Sound(s.address))
				keep(t, s, view, name)
			})
		}
	}
}

// slow makes a stage of the program slow.
func (p *program) slow(stage string) error { return p.ask("/slow?stage=" + url.QueryEscape(stage)) }

// drop makes the program drop the channel fleeting.
func (p *program) drop() error { return p.ask("/drop") }

func (p *program) ask(query string) error {
	answer, err := http.Get(strings.TrimSuffix(p.address, "/debug/sluice") + query)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// The map and the list keep what they promise, for flows that are made up.
func TestFlows(t *testing.T) {
	changes, stays := changing()
	for name, test := range map[string]struct {
		flows []*drawing
		check func(*Session)
	}{
		"stays":      {changes, stays},
		"still":      {[]*drawing{twoChannels()}, (*Session).Still},
		"accessible": {[]*drawing{eightChannels()}, (*Session).Accessible},
		"marked":     {[]*drawing{eightChannels()}, (*Session).Marked},
		"grows":      {growing(), (*Session).Grows},
		"first":      {[]*drawing{eightChannels(), nil}, (*Session).First},
		"sparks":     {[]*drawing{eightChannels(), nil}, (*Session).Sparks},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			view := page.Desk
			view.Still = name == "still"
			s := visit(t, serve(t, test.flows...), view)
			test.check(s)
			report(t, s.wrong)
		})
	}
}

// The bottleneck of a program moves from stage to stage; the sentence and the highlight
// follow it.
func TestBottleneckMoves(t *testing.T) {
	for _, view := range []page.View{page.Desk, page.Phone} {
		t.Run(view.Name, func(t *testing.T) {
			t.Parallel()
			p := begin(t, "-pipeline")
			s := visit(t, p.address, view)
			s.Follows(p.slow)
			s.Alone()
			report(t, s.wrong, s.Quiet())
			keep(t, s, view, "pipeline")
		})
	}
}

func TestGone(t *testing.T) {
	p := begin(t)
	s := visit(t, p.address, page.Desk)
	s.Gone(p.drop)
	s.Alone()
	report(t, s.wrong)
}

// The page also works with a slash at the end of its address.
func TestTrailingSlash(t *testing.T) {
	p := begin(t)
	s := visit(t, p.address+"/", page.Desk)
	s.Moves()
	s.Alone()
	report(t, s.wrong, s.Quiet())
}
