package handoff

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/ring"
)

type waiter[T any] struct {
	next, prev *waiter[T]
	queued     bool
	parked     bool
	closed     bool
	parker     park.Parker
	value      T
}

type line[T any] struct {
	head, tail *waiter[T]
	n          int
}

func (l *line[T]) push(w *waiter[T]) {
	w.queued = true
	w.prev = l.tail
	if l.tail == nil {
		l.head = w
	} else {
		l.tail.next = w
	}
	l.tail = w
	l.n++
}

func (l *line[T]) remove(w *waiter[T]) {
	w.queued = false
	if w.prev == nil {
		l.head = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		l.tail = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.next, w.prev = nil, nil
	l.n--
}

func (l *line[T]) pop() *waiter[T] {
	w := l.head
	l.head = w.next
	if w.next == nil {
		l.tail = nil
	} else {
		w.next.prev = nil
		w.next = nil
	}
	w.queued = false
	l.n--
	return w
}

type Engine[T any] struct {
	mu        park.Lock
	closed    bool
	limit     int
	senders   line[T]
	receivers line[T]
	free      *waiter[T]
	buf       ring.Ring[T]
	ready     chan struct{}
	config    engine.Config[T]
	stats     engine.Stats
	sendTime  atomic.Int64
	recvTime  atomic.Int64
}

func New[T any](config engine.Config[T]) *Engine[T] {
	return &Engine[T]{config: config, limit: config.Limit}
}

func (e *Engine[T]) waiter() *waiter[T] {
	w := e.free
	if w == nil {
		return &waiter[T]{parker: park.NewParker()}
	}
	e.free = w.next
	w.next = nil
	w.parked = false
	return w
}

func (e *Engine[T]) recycle(w *waiter[T]) {
	var zero T
	w.value = zero
	w.next = e.free
	e.free = w
}

var Yields = 1

func (e *Engine[T]) announce() {
	if e.ready != nil && !e.closed {
		select {
		case e.ready <- struct{}{}:
		default:
		}
	}
}

// wait waits until w is served, and returns with the lock held; it returns
// false if ctx ended the wait first.
func (e *Engine[T]) wait(ctx context.Context, l *line[T], w *waiter[T]) bool {
	done := ctx.Done()
	if done != nil && ctx.Err() != nil {
		e.mu.Lock()
		if w.queued {
			l.remove(w)
			return false
		}
		return true
	}
	for range Yields {
		runtime.Gosched()
	}
	e.mu.Lock()
	if !w.queued {
		return true
	}
	w.parked = true
	e.mu.Unlock()
	ok := w.parker.Park(done)
	e.mu.Lock()
	if !ok {
		if w.queued {
			l.remove(w)
			return false
		}
		e.mu.Unlock()
		w.parker.Park(nil)
		e.mu.Lock()
	}
	return true
}

func (e *Engine[T]) Send(ctx context.Context, v T) error {
	e.mu.Lock()
	if e.receivers.head != nil {
		w := e.receivers.pop()
		w.value = v
		parked := w.parked
		e.stats.Sent++
		e.mu.Unlock()
		if parked {
			w.parker.Unpark()
		}
		return nil
	}
	if e.closed {
		e.mu.Unlock()
		return engine.ErrClosed
	}
	if e.buf.Len() < e.limit {
		e.buf.Push(v)
		e.stats.Sent++
		e.stats.HighWater = max(e.stats.HighWater, e.buf.Len())
		e.announce()
		e.mu.Unlock()
		return nil
	}
	if ctx == nil {
		e.mu.Unlock()
		return engine.ErrFull
	}
	w := e.waiter()
	w.value = v
	e.senders.push(w)
	e.stats.SendWaits++
	e.announce()
	e.mu.Unlock()
	ok := e.wait(ctx, &e.senders, w)
	closed := w.closed
	e.recycle(w)
	e.mu.Unlock()
	if !ok {
		return ctx.Err()
	}
	if closed {
		return engine.ErrClosed
	}
	return nil
}

func (e *Engine[T]) TrySend(v T) error { return e.Send(nil, v) }

func (e *Engine[T]) SendBatch(ctx context.Context, vs []T) (int, error) {
	for i, v := range vs {
		if err := e.Send(ctx, v); err != nil {
			return i, err
		}
	}
	return len(vs), nil
}

func (e *Engine[T]) TryRecv() (T, error) { return e.Recv(nil) }

func (e *Engine[T]) Recv(ctx context.Context) (v T, err error) {
	e.mu.Lock()
	if e.buf.Len() > 0 {
		v = e.buf.Pop()
		if e.senders.head != nil {
			w := e.senders.pop()
			e.buf.Push(w.value)
			e.stats.Sent++
			parked := w.parked
			e.mu.Unlock()
			if parked {
				w.parker.Unpark()
			}
			return v, nil
		}
		e.mu.Unlock()
		return v, nil
	}
	if e.senders.head != nil {
		w := e.senders.pop()
		v = w.value
		e.stats.Sent++
		parked := w.parked
		e.mu.Unlock()
		if parked {
			w.parker.Unpark()
		}
		return v, nil
	}
	if e.closed {
		e.mu.Unlock()
		return v, engine.ErrClosed
	}
	if ctx == nil {
		e.mu.Unlock()
		return v, engine.ErrEmpty
	}
	w := e.waiter()
	e.receivers.push(w)
	e.stats.RecvWaits++
	e.mu.Unlock()
	ok := e.wait(ctx, &e.receivers, w)
	v = w.value
	closed := w.closed
	e.recycle(w)
	e.mu.Unlock()
	if !ok {
		return v, ctx.Err()
	}
	if closed {
		return v, engine.ErrClosed
	}
	return v, nil
}

func (e *Engine[T]) RecvBatch(ctx context.Context, buf []T) (int, error) {
	v, err := e.Recv(ctx)
	if err != nil {
		return 0, err
	}
	buf[0] = v
	n := 1
	for n < len(buf) {
		if buf[n], err = e.TryRecv(); err != nil {
			break
		}
		n++
	}
	return n, nil
}

func (e *Engine[T]) Ready() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ready == nil {
		e.ready = make(chan struct{}, 1)
		if e.closed {
			close(e.ready)
		} else if e.buf.Len() > 0 || e.senders.head != nil {
			e.announce()
		}
	}
	return e.ready
}

func (e *Engine[T]) Close() {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return
	}
	e.closed = true
	if e.ready != nil {
		close(e.ready)
	}
	for _, l := range []*line[T]{&e.senders, &e.receivers} {
		for l.head != nil {
			w := l.pop()
			w.closed = true
			if w.parked {
				w.parker.Unpark()
			}
		}
	}
	e.mu.Unlock()
}

func (e *Engine[T]) Len() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.buf.Len()
}

func (e *Engine[T]) Cap() int { return e.limit }

func (e *Engine[T]) Stats() engine.Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.stats
	s.Name = e.config.Name
	s.Len = e.buf.Len()
	s.Cap = e.limit
	s.Lanes = 1
	s.Closed = e.closed
	s.SendersWaiting = e.senders.n
	s.ReceiversWaiting = e.receivers.n
	s.SendWaitTime = time.Duration(e.sendTime.Load())
	s.RecvWaitTime = time.Duration(e.recvTime.Load())
	return s
}
