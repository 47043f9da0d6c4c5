// Package live checks the page of package debug in a real browser, with a real program
// behind it: that rows move, sort, filter and turn, that a channel's own page draws its
// inside, that nothing but the program is asked and nothing but the page's own script
// runs, and that the page comes back when the program does.
//
// What may enter: what must hold of that page (list.go, inside.go, guard.go), how it is
// asked (live.go), and the program behind it (service). The browser, and what holds of
// every page, are package page's. Run it by `make live`.
package live

import (
	"fmt"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/sluice-go/sluice/tools/page"
)

// A Session is the page in a tab. Its checks are made one after the other; the first
// complaint ends them, as what comes later builds on what came before.
type Session struct {
	*page.Page
	origin string // of the program: all that may be asked
	wrong  []string
}

// NewSession is of a page of the program at an origin, such as http://127.0.0.1:6060.
func NewSession(p *page.Page, origin string) *Session { return &Session{Page: p, origin: origin} }

// Wrong returns the complaints.
func (s *Session) Wrong() []string { return s.wrong }

func (s *Session) complain(format string, args ...any) {
	s.wrong = append(s.wrong, fmt.Sprintf(format, args...))
}

// eval evaluates an expression in the page; what it says is the zero value after a
// complaint.
func eval[T any](s *Session, expression string) (value T) {
	if len(s.wrong) > 0 {
		return value
	}
	value, err := chromedp.Run(s.Context(), chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		s.complain("%s: %v", expression, err)
	}
	return value
}

// do has the page do something.
func (s *Session) do(statement string, args ...any) {
	eval[bool](s, "("+fmt.Sprintf(statement, args...)+", true)")
}

// How long is waited for what must happen. It is counted in updates of the page, which
// come once a second: a slow machine has no fewer of them. A page that stands still is
// given up after a time in which every machine has one.
const (
	maxUpdates = 3
	maxStill   = 10 * time.Second
)

// until waits for an expression to be true, and complains by saying what is not so.
func (s *Session) until(expression, otherwise string) {
	if len(s.wrong) > 0 {
		return
	}
	const update = `document.getElementById("status")?.textContent`
	last, updates, since := "", 0, time.Now()
	for {
		is, err := chromedp.Run(s.Context(), chromedp.Evaluate[[2]string](
			fmt.Sprintf("[String(Boolean(%s)), String(%s)]", expression, update)))
		switch { // between two pages there may be nothing to ask
		case err == nil && is[0] == "true":
			return
		case err == nil && is[1] != last:
			last, since = is[1], time.Now()
			updates++
		}
		if updates > maxUpdates || time.Since(since) > maxStill {
			s.complain("%s (%s; %v)", otherwise, last, err)
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}
