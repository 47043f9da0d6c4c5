package watch

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/clipperhouse/displaywidth"
	"github.com/gdamore/tcell/v3"

	"github.com/sluice-go/sluice/livepage"
)

// retryPause is the interval of retries after an error.
const retryPause = 2 * time.Second

// Live shows a service on a terminal, starting with a first report, until the
// user quits or ctx is done; then it returns the error of ctx. It restores the
// terminal, even in a panic.
func Live(ctx context.Context, s *Service, q Query, first *livepage.Report, period time.Duration) error {
	screen, err := tcell.NewScreen(tcell.OptEscapeTimeout(50 * time.Millisecond))
	if err != nil {
		return fmt.Errorf("cannot use this terminal: %w", err)
	}
	return live(ctx, screen, s, q, first, period, retryPause)
}

// A watcher is a model with its screen and the events that it waits for.
type watcher struct {
	screen  tcell.Screen
	service *Service
	model   *model
	period  time.Duration
	retry   time.Duration

	requested Query              // query of the last request
	cancel    context.CancelFunc // ends it
	answers   chan answer        // of the last request alone, so a response to an older one is never received
	next      *time.Timer        // time of the next request
}

type answer struct {
	report *livepage.Report
	err    error
	panic  any // rethrown where the terminal is restored
}

func live(ctx context.Context, screen tcell.Screen, s *Service, q Query, first *livepage.Report, period, retry time.Duration) error {
	if err := screen.Init(); err != nil {
		return fmt.Errorf("cannot use this terminal: %w", err)
	}
	defer screen.Fini() // even in a panic: this goroutine owns the screen
	w := &watcher{
		screen: screen, service: s, model: newModel(s.short(), q), period: period, retry: retry,
		next: time.NewTimer(period), cancel: func() {},
	}
	defer w.next.Stop()
	defer func() { w.cancel() }()
	w.model.resize(screen.Size())
	w.model.show(first)
	w.request(ctx) // the screen's size determines the number of channels on a page
	for !w.model.leaving {
		w.show()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case event, open := <-screen.EventQ():
			if !open {
				return nil // the terminal was closed
			}
			w.handle(event)
		case a := <-w.answers:
			w.take(a)
		case <-w.next.C:
			if !w.model.paused && !w.model.isFinal() {
				w.request(ctx)
			}
		}
		if w.model.request() != w.requested {
			w.request(ctx)
		}
	}
	return nil
}

// request sends the model's query, and cancels the previous request.
func (w *watcher) request(ctx context.Context) {
	w.cancel()
	asking, cancel := context.WithCancel(ctx)
	q, answers := w.model.request(), make(chan answer, 1)
	w.cancel, w.requested, w.answers = cancel, q, answers
	w.next.Stop()
	go func() {
		var a answer
		defer func() {
			if p := recover(); p != nil {
				a.panic = fmt.Sprintf("%v\n%s", p, debug.Stack())
			}
			answers <- a
		}()
		a.report, a.err = w.service.Fetch(asking, q)
	}()
}

// take processes a response, and schedules the next request.
func (w *watcher) take(a answer) {
	switch {
	case a.panic != nil:
		panic(a.panic)
	case a.err == nil:
		w.model.show(a.report)
	case a.err == errGone:
		w.model.fail(a.err, 0)
	default:
		w.model.fail(a.err, w.retry)
		w.next.Reset(w.retry)
		return
	}
	w.next.Reset(w.period)
}

func (w *watcher) handle(event tcell.Event) {
	switch e := event.(type) {
	case *tcell.EventResize:
		w.screen.Sync()
		w.model.resize(w.screen.Size())
	case *tcell.EventKey:
		paused := w.model.paused
		if k := pressed(e); k != "" {
			w.model.press(k)
		}
		if paused && !w.model.paused {
			w.next.Reset(0)
		}
	}
}

// keys are the model's names of keys that are no characters.
var keys = map[tcell.Key]key{
	tcell.KeyUp: keyUp, tcell.KeyDown: keyDown, tcell.KeyHome: keyHome, tcell.KeyEnd: keyEnd,
	tcell.KeyPgDn: keyNext, tcell.KeyRight: keyNext, tcell.KeyPgUp: keyPrevious, tcell.KeyLeft: keyPrevious,
	tcell.KeyEnter: keyEnter, tcell.KeyEscape: keyEscape, tcell.KeyBackspace: keyErase, tcell.KeyCtrlU: keyClear, tcell.KeyCtrlC: keyInterrupt,
}

// pressed returns the model's name of a key, or "".
func pressed(e *tcell.EventKey) key {
	if e.Key() == tcell.KeyRune && e.Modifiers()&(tcell.ModCtrl|tcell.ModAlt|tcell.ModMeta) == 0 {
		return key(e.Str())
	}
	return keys[e.Key()]
}

// words returns text as this terminal can show it.
func (w *watcher) words(text string) string {
	if w.screen.CharacterSet() == "US-ASCII" {
		return plainer.Replace(text)
	}
	return text
}

// show draws the model on the screen.
func (w *watcher) show() {
	w.screen.Clear()
	for y, r := range w.model.draw().rows {
		x := 0
		for _, span := range r.Line {
			w.screen.PutStrStyled(x, y, w.words(span.Text), look[span.Role])
			x += displaywidth.String(span.Text)
		}
	}
	w.screen.Show()
}
