package handoff

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/ring"
)

type outcome uint8

const (
	delivered outcome = iota
	closed
	again
)

const (
	pending uint32 = iota
	parked
	finished
)

type waiter[T any] struct {
	next, prev *waiter[T]
	queued     bool
	outcome    outcome
	state      atomic.Uint32
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
	if w != nil {
		l.remove(w)
	}
	return w
}

type Engine[T any] struct {
	mu        sync.Mutex
	buf       ring.Ring[T]
	limit     int
	senders   line[T]
	receivers line[T]
	closed    bool
	ready     chan struct{}
	free      *waiter[T]
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
	w.state.Store(pending)
	return w
}

func (e *Engine[T]) recycle(w *waiter[T]) {
	var zero T
	w.value = zero
	e.mu.Lock()
	w.next = e.free
	e.free = w
	e.mu.Unlock()
}

func (w *waiter[T]) finish(o outcome) {
	w.outcome = o
	if w.state.Swap(finished) == parked {
		w.parker.Unpark()
	}
}

func (e *Engine[T]) announce() {
	if e.ready != nil && !e.closed {
		select {
		case e.ready <- struct{}{}:
		default:
		}
	}
}

// wait waits for w's outcome; it returns false if ctx ended the wait first.
func (e *Engine[T]) wait(ctx context.Context, l *line[T], w *waiter[T], spent *atomic.Int64) bool {
	done := ctx.Done()
	if w.state.CompareAndSwap(pending, parked) {
		if !w.parker.Park(done) {
			e.mu.Lock()
			if w.queued {
				l.remove(w)
				e.mu.Unlock()
				return false
			}
			e.mu.Unlock()
			w.parker.Park(nil)
		}
	}
	return true
}

func (e *Engine[T]) Send(ctx context.Context, v T) error { _, err := e.send(ctx, v, true); return err }

func (e *Engine[T]) TrySend(v T) error { _, err := e.send(nil, v, false); return err }

func (e *Engine[T]) send(ctx context.Context, v T, block bool) (bool, error) {
	e.mu.Lock()
	for {
		if e.closed {
			e.mu.Unlock()
			return false, engine.ErrClosed
		}
		if w := e.receivers.pop(); w != nil {
			w.value = v
			e.stats.Sent++
			e.stats.Received++
			e.mu.Unlock()
			w.finish(delivered)
			return true, nil
		}
		if e.buf.Len() < e.limit {
			e.buf.Push(v)
			e.stats.Sent++
			e.stats.HighWater = max(e.stats.HighWater, e.buf.Len())
			e.announce()
			e.mu.Unlock()
			return true, nil
		}
		switch e.config.Overflow {
		case engine.Reject:
			e.mu.Unlock()
			return false, engine.ErrFull
		case engine.DropNewest:
			e.stats.Dropped++
			e.mu.Unlock()
			if e.config.OnDrop != nil {
				e.config.OnDrop(v)
			}
			return false, nil
		case engine.DropOldest:
			old := e.buf.Pop()
			e.buf.Push(v)
			e.stats.Sent++
			e.stats.Dropped++
			e.mu.Unlock()
			if e.config.OnDrop != nil {
				e.config.OnDrop(old)
			}
			return true, nil
		}
		if !block {
			e.mu.Unlock()
			return false, engine.ErrFull
		}
		e.mu.Unlock()
		if err := ctx.Err(); err != nil {
			return false, err
		}
		e.mu.Lock()
		if e.closed || e.receivers.head != nil || e.buf.Len() < e.limit {
			continue
		}
		w := e.waiter()
		w.value = v
		e.senders.push(w)
		e.stats.SendWaits++
		e.announce()
		e.mu.Unlock()
		if !e.wait(ctx, &e.senders, w, &e.sendTime) {
			e.recycle(w)
			return false, ctx.Err()
		}
		o := w.outcome
		e.recycle(w)
		if o == closed {
			return false, engine.ErrClosed
		}
		return true, nil
	}
}

func (e *Engine[T]) SendBatch(ctx context.Context, vs []T) (int, error) {
	for i, v := range vs {
		if err := e.Send(ctx, v); err != nil {
			return i, err
		}
	}
	return len(vs), nil
}

// take returns the next value. e.mu is held and stays so; served, if not nil,
// must be finished after it is released.
func (e *Engine[T]) take() (v T, served *waiter[T], ok bool) {
	if e.buf.Len() > 0 {
		v = e.buf.Pop()
		if served = e.senders.pop(); served != nil {
			e.buf.Push(served.value)
			e.stats.Sent++
		}
	} else if served = e.senders.pop(); served != nil {
		v = served.value
		e.stats.Sent++
	} else {
		return v, nil, false
	}
	e.stats.Received++
	if e.buf.Len() > 0 || e.senders.head != nil {
		e.announce()
	}
	return v, served, true
}

func (e *Engine[T]) Recv(ctx context.Context) (T, error) { return e.recv(ctx, true) }

func (e *Engine[T]) TryRecv() (T, error) { return e.recv(nil, false) }

func (e *Engine[T]) recv(ctx context.Context, block bool) (T, error) {
	var zero T
	for range 2 {
		e.mu.Lock()
		v, served, ok := e.take()
		if ok {
			e.mu.Unlock()
			if served != nil {
				served.finish(delivered)
			}
			return v, nil
		}
		if e.closed {
			e.mu.Unlock()
			return zero, engine.ErrClosed
		}
		if !block {
			e.mu.Unlock()
			return zero, engine.ErrEmpty
		}
		e.mu.Unlock()
		if err := ctx.Err(); err != nil {
			return zero, err
		}
		e.mu.Lock()
		if e.closed || e.buf.Len() > 0 || e.senders.head != nil {
			e.mu.Unlock()
			continue
		}
		break
	}
	w := e.waiter()
	e.receivers.push(w)
	e.stats.RecvWaits++
	e.mu.Unlock()
	if !e.wait(ctx, &e.receivers, w, &e.recvTime) {
		e.recycle(w)
		return zero, ctx.Err()
	}
	v, o := w.value, w.outcome
	e.recycle(w)
	if o == closed {
		return zero, engine.ErrClosed
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
	var woken []*waiter[T]
	for w := e.senders.pop(); w != nil; w = e.senders.pop() {
		woken = append(woken, w)
	}
	for w := e.receivers.pop(); w != nil; w = e.receivers.pop() {
		woken = append(woken, w)
	}
	e.mu.Unlock()
	for _, w := range woken {
		w.finish(closed)
	}
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
