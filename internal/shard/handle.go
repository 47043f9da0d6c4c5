package shard

import (
	"context"
	"runtime"
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/engine"
)

// A Handle is the sending end of a private lane, for one goroutine at a time.
type Handle[T any] struct {
	// OnDrop is that of the channel, until somebody sets another one.
	OnDrop func(T)

	e *Engine[T]
	l *lane[T]
}

// Lane adds a private lane and returns its handle, which is closed from the
// start if the channel is. The lane of a handle that is garbage is as good as
// closed: see forget.
func (e *Engine[T]) Lane() *Handle[T] {
	for {
		s := e.set.Load()
		l := e.newLane(s, true)
		l.forgotten = new(atomic.Bool)
		if s.closed {
			l.Close()
			return &Handle[T]{e.config.OnDrop, e, l}
		}
		if e.exchange(s, s.with(l)) {
			h := &Handle[T]{e.config.OnDrop, e, l}
			runtime.AddCleanup(h, forget, l.forgotten)
			return h
		}
	}
}

// forget lets the receiver who drains the lane of a handle that nobody has any
// more remove it. It touches nothing else: it runs in a goroutine of the runtime,
// outside of any testing/synctest bubble, and keeps alive what it is given.
func forget(forgotten *atomic.Bool) { forgotten.Store(true) }

// Sender is what sends in the handle's lane. Its caller keeps the handle alive
// until the send is over: a lane whose handle is garbage may be removed, and what
// is sent then is lost. It is the lane itself, which knows how to wait, or one that does what another policy asks.
func (h *Handle[T]) Sender() engine.Sender[T] {
	if h.e.config.Overflow == engine.Block {
		return h.l.Engine
	}
	return overflowing[T]{h}
}

// overflowing sends in the lane of a handle under a policy other than Block.
type overflowing[T any] struct{ h *Handle[T] }

func (o overflowing[T]) Send(ctx context.Context, v T) error {
	vs := [1]T{v}
	_, err := o.SendBatch(ctx, vs[:])
	return err
}

func (o overflowing[T]) TrySend(v T) error {
	return o.Send(engine.NoWait{}, v)
}

func (o overflowing[T]) SendBatch(ctx context.Context, vs []T) (int, error) {
	return o.h.e.sendIn(ctx, o.h.l, o.h.OnDrop, vs)
}

// Close closes the lane: what is in it stays receivable.
func (h *Handle[T]) Close() {
	h.l.Hold()
	h.l.Shut()
	h.l.Release()
	h.l.Senders().WakeAll()
	if empty, _ := h.l.empty(); empty {
		h.e.remove(h.l)
	}
	runtime.KeepAlive(h)
}
