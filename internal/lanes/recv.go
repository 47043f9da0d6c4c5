package lanes

import (
	"context"
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/engine"
)

// turnEvery is how many values of a lane are received in a row before the next
// lane has its turn, or how long a longer run is.
const turnEvery = 256

// Recv implements engine.Engine. It is the fast path: the lane at the cursor has
// a value.
func (e *Engine[T]) Recv(ctx context.Context) (v T, err error) {
	s := e.set.Load()
	cursor := &e.receiving[here()]
	at := cursor.Load()
	if at < uint32(len(s.from)) {
		l := s.from[at]
		if v, err = l.TryRecv(); err == nil {
			if l.Head()%turnEvery == 0 {
				cursor.Store(at + 1)
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
	return e.Recv(nil) //nolint:staticcheck // nil: never wait
}

// RecvBatch implements engine.Engine.
func (e *Engine[T]) RecvBatch(ctx context.Context, buf []T) (int, error) {
	return e.recvSlow(ctx, &e.receiving[here()], buf)
}

// recvSlow fills buf with what the lanes have, at least one value, and waits for
// that as long as needed; with a nil ctx it never waits.
func (e *Engine[T]) recvSlow(ctx context.Context, cursor *atomic.Uint32, buf []T) (n int, err error) {
	var t turn
	for {
		s := e.set.Load()
		if n = e.sweep(s, cursor, buf); n > 0 {
			if s.ready != nil && !e.allEmpty() {
				s.ready.Post()
			}
			break
		}
		if s.closed { // before the sweep: nothing was added meanwhile
			err = engine.ErrClosed
			break
		}
		if ctx == nil || t.ended {
			if !e.empty(s) {
				continue
			}
			err = engine.ErrEmpty
			break
		}
		t.wait(ctx, &e.receivers, e.pauseForValues)
	}
	if t.leave(&e.receivers) && !e.allEmpty() {
		e.receivers.Wake()
	}
	if err == engine.ErrEmpty && ctx != nil {
		err = engine.ContextError(ctx)
	}
	return n, err
}

// sweep takes values from the lanes in turn, beginning at the cursor, until buf is
// full or it has seen all. It leaves the cursor at the lane to begin with next
// time: not always the same one, so that no lane waits for ever.
func (e *Engine[T]) sweep(s *set[T], cursor *atomic.Uint32, buf []T) (n int) {
	lanes := uint32(len(s.all))
	start := cursor.Load()
	for i := range lanes {
		at := (start + i) % lanes
		l := s.all[at]
		empty, shut := l.empty()
		if empty {
			if shut && l.private {
				e.remove(l)
			}
			continue
		}
		m, _ := l.RecvBatch(nil, buf[n:]) //nolint:staticcheck // nil: never wait
		if n += m; n < len(buf) {
			continue
		}
		if l.Head()%turnEvery < uint64(m) { // or it has just been
			at++
		}
		if at != start {
			cursor.Store(at)
		}
		return n
	}
	return n
}

// allEmpty reports whether each lane was empty when it was looked at.
func (e *Engine[T]) allEmpty() bool {
	for _, l := range e.set.Load().all {
		if empty, _ := l.empty(); !empty {
			return false
		}
	}
	return true
}

// empty reports whether all lanes were empty, and the channel open, at one
// moment: see the package comment.
func (e *Engine[T]) empty(s *set[T]) bool {
	var tails, again uint64
	for _, l := range s.all {
		tail, _ := l.Tail()
		tails += tail
		if empty, _ := l.empty(); !empty {
			return false
		}
	}
	for _, l := range s.all {
		tail, _ := l.Tail()
		again += tail
	}
	return tails == again && e.set.Load() == s
}
