package foreign

import (
	"sync"
	"time"

	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/selection"
)

// The first and the longest delay between two attempts of a waiting Select.
const (
	firstDelay = time.Millisecond
	maxDelay   = 100 * time.Millisecond
)

// A SendEntry waits for room in a foreign channel, which cannot announce it: a timer
// notifies the Select after 1 ms, 2 ms, 4 ms, up to 100 ms. The zero value is ready to
// use.
//
//   - armed implies that the timer is running, or that fire is about to run.
//   - fire notifies a Select only between Join and Leave: after Leave it finds state nil.
type SendEntry struct {
	mu    sync.Mutex
	timer *time.Timer
	state *selection.State // nil outside Join and Leave
	index int
	armed bool
	delay time.Duration // of the next attempt
	tally park.Tally
}

// Join implements [engine.Entry].
func (e *SendEntry) Join(s *selection.State, index int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state == nil {
		e.delay = firstDelay
	}
	e.state, e.index = s, index
	if e.armed {
		return
	}
	e.armed = true
	if e.timer == nil {
		e.timer = time.AfterFunc(e.delay, e.fire)
	} else {
		e.timer.Reset(e.delay)
	}
	e.delay = min(2*e.delay, maxDelay)
}

func (e *SendEntry) fire() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state != nil && e.armed {
		e.armed = false
		notify(e.state, e.index)
	}
}

// Leave implements [engine.Entry].
func (e *SendEntry) Leave() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.state, e.armed = nil, false
	if e.timer != nil {
		e.timer.Stop()
	}
}

// Tally implements [engine.Entry].
func (e *SendEntry) Tally() *park.Tally { return &e.tally }
