package sluice_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/locked"
	"github.com/sluice-go/sluice/internal/selection"
	"github.com/sluice-go/sluice/internal/waitq"
)

// A staged is a channel whose engine is the test: [sluice.OnRecv] takes it for a kind.
type staged struct {
	sluice.TryReceiver[int] // nil
	engine.Owner
	queue  waitq.Queue
	joined func()      // called after a Select has joined the queue
	able   func() bool // reports whether there is a value, 0
}

func newStaged(joined func(), able func() bool) *staged {
	s := &staged{joined: joined, able: able}
	engine.Own(&s.Owner, s, s)
	return s
}

func (s *staged) TryRecv() (int, error) {
	if s.able() {
		return 0, nil
	}
	return 0, engine.ErrEmpty
}

func (s *staged) WouldBlock(*int) (engine.Mark, bool) { return 0, !s.able() }

func (s *staged) NewEntry(*int, bool) engine.Entry {
	return &stagedEntry{waitq.NewEntry(&s.queue, func() bool { return false }), s.joined}
}

type stagedEntry struct {
	*waitq.Entry
	joined func()
}

func (e *stagedEntry) Join(s *selection.State, index int) {
	e.Entry.Join(s, index)
	e.joined()
}

// TestSelectContextAmongWakeUps: a Select that never parks, because a spurious wake-up
// arrives before each park, still notices that its context is done.
func TestSelectContextAmongWakeUps(t *testing.T) {
	const enough, tooMany = 9, 1000
	ctx, cancel := context.WithCancel(t.Context())
	var s *staged
	polls := 0
	s = newStaged(func() { s.queue.Wake() }, func() bool {
		if polls++; polls == enough {
			cancel()
		}
		return polls >= tooMany // ends a Select that would hang
	})
	if chosen, err := sluice.Select(ctx, sluice.OnRecv[int](s)); chosen != nil || err != context.Canceled {
		t.Errorf("a case was chosen: %v, %v, after %d polls", chosen != nil, err, polls)
	}
	if q := s.queue.Snapshot(0, nil); !s.queue.Idle() || q.Waiting != 0 || q.Waits != 0 {
		t.Errorf("%d entries in the queue, %d waits", q.Waiting, q.Waits)
	}
}

// TestSelectIsFairAfterJoin: if two cases can proceed once the Select has joined all
// wait queues, it chooses each equally often.
func TestSelectIsFairAfterJoin(t *testing.T) {
	const n = 20_000
	for _, size := range []int{5, 12} { // with and without scratch space on the stack
		joined := 0
		cases := make([]sluice.Case, size)
		for i := range cases {
			cases[i] = sluice.OnRecv[int](newStaged(func() { joined++ }, func() bool { return joined == size && (i == 1 || i == 2) }))
		}
		first := 0
		for range n {
			joined = 0
			if chosen, _ := sluice.Select(t.Context(), cases...); chosen == cases[1] {
				first++
			}
		}
		if first < n/2-n/40 || first > n/2+n/40 {
			t.Errorf("%d cases, 2 can proceed: the first was chosen %d of %d times", size, first, n)
		}
	}
}

// A watched is a channel with a locked engine, and hooks.
type watched struct {
	*locked.Engine[int]
	engine.Owner
	tries  func()
	before func() // the lock is taken
}

func newWatched() *watched {
	w := &watched{Engine: locked.New(engine.Config[int]{Limit: 1})}
	engine.Own(&w.Owner, w, w)
	return w
}

func (w *watched) TryRecv() (int, error) {
	w.tries()
	return w.Engine.TryRecv()
}

func (w *watched) NewEntry(value *int, sends bool) engine.Entry {
	return &watchedEntry{w.Engine.NewEntry(value, sends).(engine.HandoffEntry), w}
}

type watchedEntry struct {
	engine.HandoffEntry
	of *watched
}

func (e *watchedEntry) Lock() {
	e.of.before()
	e.HandoffEntry.Lock()
}

// TestDefaultWhileTokenMoves: a value that moves from the channel that is looked at last to
// the one that was looked at first, and is in the next one before it leaves the last one, is
// not missed. TestSelectDefaultIsOneMoment has a case that is not asked under the locks.
func TestDefaultWhileTokenMoves(t *testing.T) {
	a, b := newWatched(), newWatched() // in the order in which they are locked
	move := func(from, to *watched) {
		if from.Engine.Len() == 1 {
			_ = to.Engine.TrySend(1)
			_, _ = from.Engine.TryRecv()
		}
	}
	attempts := 0
	tries := func(from, to *watched) func() {
		return func() {
			if attempts++; attempts <= 2 { // the first attempt at each channel fails
				move(from, to)
			}
		}
	}
	a.tries, b.tries = tries(a, b), tries(b, a)
	moved := make(chan struct{})
	a.before = func() {
		if attempts == 2 {
			move(a, b)
		}
	}
	b.before = func() {
		if attempts > 2 {
			return
		}
		go func() {
			defer close(moved)
			move(b, a)
		}()
		for range 1000 {
			runtime.Gosched()
		}
	}
	_ = b.Engine.TrySend(1)
	chosen, err := sluice.Select(t.Context(), sluice.OnRecv[int](a), sluice.OnRecv[int](b), sluice.Default)
	if <-moved; chosen == sluice.Default || err != nil || attempts < 3 {
		t.Errorf("after %d attempts: Default %v, %v; Len %d and %d", attempts, chosen == sluice.Default, err, a.Len(), b.Len())
	}
}
