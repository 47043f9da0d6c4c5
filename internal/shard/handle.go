package shard

import (
	"context"
	"runtime"
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/engine"
)

// A Handle is the sending end of a private lane, for one goroutine at a time.
type Handle[T any] struct {
	// OnDrop is the channel's by default.
	OnDrop func(T)

	e *Engine[T]
	l *lane[T]
}

// Lane adds a private lane and returns its handle. If the channel is closed, so is
// the handle. The lane of an unreachable handle counts as closed: see forget.
func (e *Engine[T]) Lane() *Handle[T] {
	for {
		s := e.set.Load()
		l := e.newLane(s, true)
		l.forgotten = new(atomic.Bool)
		if s.closed {
			l.queue.Close()
			return &Handle[T]{e.config.OnDrop, e, l}
		}
		if e.exchange(s, s.with(l)) {
			h := &Handle[T]{e.config.OnDrop, e, l}
			runtime.AddCleanup(h, forget, l.forgotten)
			return h
		}
	}
}

// forget marks the lane of an unreachable handle, so that the receiver that drains
// the lane removes it. It does nothing else, because it runs in a goroutine of the
// runtime, outside of any testing/synctest bubble, and keeps its argument alive.
func forget(forgotten *atomic.Bool) { forgotten.Store(true) }

// Sender returns the sender of the handle's lane: the lane itself, or the handle, which
// applies another overflow policy. The caller keeps the handle alive during a send: the lane
// of an unreachable handle may be removed, and a value sent then would be lost.
func (h *Handle[T]) Sender() engine.Sender[T] {
	if h.e.config.Overflow == engine.Block {
		return h.l.queue
	}
	return h
}

// Overflow returns the overflow policy.
func (h *Handle[T]) Overflow() engine.Overflow { return h.e.config.Overflow }

// Send sends v in the lane.
func (h *Handle[T]) Send(ctx context.Context, v T) error {
	_, err := h.SendBatch(ctx, []T{v})
	return err
}

// TrySend is Send without waiting.
func (h *Handle[T]) TrySend(v T) error { return h.Send(engine.NoWait{}, v) }

// SendBatch sends vs in the lane.
func (h *Handle[T]) SendBatch(ctx context.Context, vs []T) (int, error) {
	return h.e.sendIn(ctx, h.l, h.OnDrop, vs)
}

// Close closes the lane. Its values can still be received.
func (h *Handle[T]) Close() {
	h.l.queue.Hold()
	h.l.queue.Shut()
	h.l.queue.Release()
	h.l.queue.Senders().WakeAll()
	if queued, _ := h.l.queued(); queued == 0 {
		h.e.remove(h.l)
	}
	runtime.KeepAlive(h)
}
