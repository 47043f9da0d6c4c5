package shard

import (
	"context"
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/engine"
)

// turnEvery is the most values of a lane that are received in a row before the next
// lane has its turn, unless one run is longer.
const turnEvery = 256

// Recv implements engine.Engine. This is the fast path: the lane at the cursor has
// a value.
func (e *Engine[T]) Recv(ctx context.Context) (v T, err error) {
	if ctx == nil {
		panic(engine.RecvNilContext)
	}
	s := e.set.Load()
	cursor := &e.receiving[hintIndex()]
	was := cursor.Load()
	if at := was & numberMask; at < uint32(len(s.from)) {
		l := s.from[at]
		if v, err = l.TryRecv(); err == nil {
			if turnOf(l.Head()) != was>>numberBits {
				cursor.Store(s.turnAt(at + 1))
			}
			return v, nil
		}
	}
	var buf [1]T
	_, err = e.recvSlow(ctx, cursor, buf[:])
	return buf[0], err
}

// TryRecv implements engine.Engine.
func (e *Engine[T]) TryRecv() (T, error) {
	return e.Recv(engine.NoWait{})
}

// RecvBatch implements engine.Engine.
func (e *Engine[T]) RecvBatch(ctx context.Context, buf []T) (int, error) {
	return e.recvSlow(ctx, &e.receiving[hintIndex()], buf)
}

// recvSlow moves queued values into buf. It waits until there is at least one; under
// engine.NoWait it never waits.
func (e *Engine[T]) recvSlow(ctx context.Context, cursor *atomic.Uint32, buf []T) (n int, err error) {
	t := receiving[T]{cursor: cursor}
	for {
		s := e.set.Load()
		if n = e.take(s, &t, buf); n > 0 {
			if s.ready && !e.allEmpty() {
				e.ready.Post()
			}
			break
		}
		if s.closed { // and was before the sweep, so nothing was added meanwhile
			err = engine.ErrClosed
			break
		}
		if !engine.MayWait(ctx) || t.wait.Canceled() {
			if _, empty := e.empty(s); !empty {
				continue
			}
			err = engine.ErrEmpty
			break
		}
		e.recordLoss(&t.turn, &t.starvation, nil)
		t.step(ctx, &e.receivers, e.spinForValues)
	}
	e.leave(&t.starvation)
	if t.wait.Leave() && !e.allEmpty() {
		e.receivers.Wake()
	}
	if err == engine.ErrEmpty && engine.MayWait(ctx) {
		err = engine.ContextError(ctx)
	}
	return n, err
}

// A cursor is the index of a lane in set.all and, in the upper bits, the turn of
// that lane in which the cursor reached it. The cursor advances when the lane's
// head, which other receivers move too, has reached another turn. So no lane
// starves.

func turnOf(head uint64) uint32 { return uint32(head/turnEvery) & numberMask }

// turnAt returns a cursor at the lane with the given index, or the first one after
// the last.
func (s *set[T]) turnAt(at uint32) uint32 {
	if at >= uint32(len(s.all)) || at > numberMask {
		at = 0
	}
	return at | turnOf(s.all[at].Head())<<numberBits
}

// sweep receives from the lanes in turn, beginning at the cursor, until buf is full
// or it has polled all.
func (e *Engine[T]) sweep(s *set[T], cursor *atomic.Uint32, buf []T) (n int) {
	lanes := uint32(len(s.all))
	if lanes == 0 {
		return 0
	}
	was := cursor.Load()
	start, turn := was&numberMask, was>>numberBits
	for i := range lanes {
		at := (start + i) % lanes
		l := s.all[at]
		queued, shut := l.queued()
		if queued == 0 {
			if shut && l.private {
				e.remove(l)
			}
			continue
		}
		if at != start {
			turn = turnOf(l.Head())
		}
		// Not more than was queued: to look for more would take the line of the tail from
		// the sender again.
		m, _ := l.RecvBatch(engine.NoWait{}, buf[n:min(len(buf), n+queued)])
		if n += m; n < len(buf) {
			continue
		}
		now := at&numberMask | turn<<numberBits
		if turnOf(l.Head()) != turn {
			now = s.turnAt(at + 1)
		}
		if now != was {
			cursor.Store(now)
		}
		return n
	}
	return n
}

// allEmpty reports whether each lane was empty when it was polled.
func (e *Engine[T]) allEmpty() bool {
	for _, l := range e.set.Load().all {
		if empty, _ := l.empty(); !empty {
			return false
		}
	}
	return true
}

// empty reports whether all lanes were empty and the channel was open at one
// moment: see the package comment. It returns the sum of all tails at that moment.
func (e *Engine[T]) empty(s *set[T]) (tails uint64, empty bool) {
	var again uint64
	for _, l := range s.all {
		tail, _ := l.Tail()
		tails += tail
		if empty, _ := l.empty(); !empty {
			return tails, false
		}
	}
	for _, l := range s.all {
		tail, _ := l.Tail()
		again += tail
	}
	return tails, tails == again && e.set.Load() == s
}
