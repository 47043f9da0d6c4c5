package shard

import (
	"context"
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/segqueue"
)

// turnEvery is the most values of a lane that are received in a row before the next
// lane has its turn, unless one run is longer.
const turnEvery = 256

// Recv implements engine.Engine. This is the fast path: there is only one lane, or the
// lane at the cursor has a value.
func (e *Engine[T]) Recv(ctx context.Context) (v T, err error) {
	s := e.set.Load()
	if l := s.only; l != nil {
		if v, err = l.Recv(ctx); err == nil || e.set.Load() == s {
			return v, err
		}
	} else {
		if ctx == nil {
			panic(engine.RecvNilContext)
		}
		cursor := &e.receiving[hintIndex()]
		was := cursor.Load()
		if at := was & numberMask; at < uint32(len(s.from)) {
			l := s.from[at]
			if v, err = l.queue.TryRecv(); err == nil {
				if turnOf(l.queue.Head()) != was>>numberBits {
					cursor.Store(s.turnAt(at + 1))
				}
				return v, nil
			}
		}
		err = engine.ErrEmpty
	}
	var buf [1]T
	_, err = e.recvSlow(ctx, buf[:], err)
	return buf[0], err
}

// TryRecv implements engine.Engine.
func (e *Engine[T]) TryRecv() (T, error) {
	return e.Recv(engine.NoWait{})
}

// RecvBatch implements engine.Engine.
func (e *Engine[T]) RecvBatch(ctx context.Context, buf []T) (n int, err error) {
	err = engine.ErrEmpty
	s := e.set.Load()
	if l := s.only; l != nil {
		if n, err = l.RecvBatch(ctx, buf); err == nil || e.set.Load() == s {
			return n, err
		}
	}
	return e.recvSlow(ctx, buf, err)
}

// recvSlow moves queued values into buf. It waits until there is at least one; under
// engine.NoWait it never waits. err is how a receive from the only lane has failed: if its
// context has ended, so has this call's.
func (e *Engine[T]) recvSlow(ctx context.Context, buf []T, err error) (n int, _ error) {
	t := turn[T]{hint: &e.receiving[hintIndex()], one: len(buf) == 1}
	moved, ok := err.(*segqueue.Moved)
	if ok {
		t.wait, err = moved.Wait, engine.ErrEmpty
	}
	ended := err != engine.ErrEmpty && err != engine.ErrClosed
	for {
		s := e.set.Load()
		if n = e.take(s, &t, buf); n > 0 {
			err = nil
			if s.ready && e.anyAble(receives) {
				e.ready.Post()
			}
			break
		}
		if s.closed { // and was before the sweep, so nothing was added meanwhile
			err = engine.ErrClosed
			break
		}
		if ended || !engine.MayWait(ctx) || t.wait.Canceled() {
			if _, empty := e.stuck(s, receives); !empty {
				continue
			}
			if !ended {
				err = engine.ErrEmpty
			}
			break
		}
		var none T
		e.recordLoss(&t, receives, none)
		e.step(ctx, &t, receives)
		if t.handed {
			buf[0], n, err = s.all[0].queue.TakeHandOff(), 1, nil
			break
		}
	}
	if r := t.request; e.endStarvation(&t, receives) {
		buf[0], n, err = r.one[0], 1, nil
	}
	if t.wait.Leave() && e.anyAble(receives) {
		e.receivers.Wake()
	}
	if err == engine.ErrEmpty && engine.MayWait(ctx) {
		err = engine.ContextError(ctx)
	}
	return n, err
}

// take receives values into buf and returns their number. For a goroutine that starves it
// does so first.
func (e *Engine[T]) take(s *set[T], t *turn[T], buf []T) (n int) {
	if r := s.starving[receives]; r != nil {
		if !e.rescue(r, receives) {
			return 0
		}
		if e.endStarvation(t, receives) {
			buf[0], n = r.one[0], 1
		}
	}
	return n + e.sweep(s, t.hint, buf[n:])
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
	return at | turnOf(s.all[at].queue.Head())<<numberBits
}

// sweep receives from the lanes in turn, beginning at the cursor, until buf is full
// or it has polled all.
func (e *Engine[T]) sweep(s *set[T], cursor *atomic.Uint32, buf []T) (n int) {
	if len(buf) == 0 {
		return 0
	}
	lanes := uint32(len(s.all))
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
			turn = turnOf(l.queue.Head())
		}
		// Not more than was queued: to look for more would take the line of the tail from
		// the sender again.
		m, _ := l.queue.RecvBatch(engine.NoWait{}, buf[n:min(len(buf), n+queued)])
		if n += m; n < len(buf) {
			continue
		}
		now := at&numberMask | turn<<numberBits
		if turnOf(l.queue.Head()) != turn {
			now = s.turnAt(at + 1)
		}
		if now != was {
			cursor.Store(now)
		}
		return n
	}
	return n
}
