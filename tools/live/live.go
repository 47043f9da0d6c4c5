// Package live checks the page of package livepage in a real browser, against a
// real program: the map follows the bottleneck and stays readable; rows change,
// sort, filter and page; a channel's own page draws its snapshot; the page requests
// nothing from other hosts and runs no foreign script; and it recovers when the
// program restarts.
//
// This package contains the checks of that page (flow.go, list.go, inside.go, guard.go),
// the session (live.go), and the program (service). Package page provides the
// browser and the checks that apply to every page. Run it with make live.
package live

import (
	"fmt"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/sluice-go/sluice/tools/page"
)

// A Session is the page in one tab. Its checks run in sequence and stop at the
// first complaint, because later checks depend on earlier ones.
type Session struct {
	*page.Page
	address string   // the page's; all that it requests begins with it
	wrong   []string // the complaints
}

func (s *Session) complain(format string, args ...any) {
	s.wrong = append(s.wrong, fmt.Sprintf(format, args...))
}

// eval evaluates an expression in the page. After a complaint it returns the
// zero value.
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

// do runs a statement in the page.
func (s *Session) do(statement string, args ...any) {
	eval[bool](s, "("+fmt.Sprintf(statement, args...)+", true)")
}

// reload loads the page again. What follows sees the new document:
// location.reload() returns while the old one is still there.
func (s *Session) reload() {
	if len(s.wrong) > 0 {
		return
	}
	if _, err := chromedp.Run(s.Context(), chromedp.Reload()); err != nil {
		s.complain("reload: %v", err)
	}
}

// The limits of until count updates of the page, which arrive once per second:
// a slow machine receives as many as a fast one. A page without updates fails
// after a time in which every machine receives one.
const (
	maxUpdates = 3
	// A program needs time to fill a channel after one of its stages became slow.
	maxPatience = 15
	maxStill    = 10 * time.Second
)

// until waits for an expression to become true, and complains with the message
// otherwise.
func (s *Session) until(expression, otherwise string) { s.within(maxUpdates, expression, otherwise) }

// patiently is until for something that the program must do first.
func (s *Session) patiently(expression, otherwise string) {
	s.within(maxPatience, expression, otherwise)
}

func (s *Session) within(most int, expression, otherwise string) {
	if len(s.wrong) > 0 {
		return
	}
	const update = `document.getElementById("status")?.textContent`
	last, updates, since := "", 0, time.Now()
	for {
		is, err := chromedp.Run(s.Context(), chromedp.Evaluate[[2]string](
			fmt.Sprintf("[String(Boolean(%s)), String(%s)]", expression, update)))
		switch { // during a navigation, an evaluation may fail
		case err == nil && is[0] == "true":
			return
		case err == nil && is[1] != last:
			last, since = is[1], time.Now()
			updates++
		}
		if updates > most || time.Since(since) > maxStill {
			s.complain("%s (%s; %v)", otherwise, last, err)
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}
