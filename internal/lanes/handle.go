package lanes

import (
	"context"
	"runtime"

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
		if s.closed {
			l.Close()
			return &Handle[T]{e.config.OnDrop, e, l}
		}
		if e.exchange(s, s.with(l)) {
			h := &Handle[T]{e.config.OnDrop, e, l}
			runtime.AddCleanup(h, forget, l)
			return h
		}
	}
}

// forget lets the receiver who drains the lane of a handle that nobody has any
// more remove it. It touches nothing else: it runs in a goroutine of the runtime,
// outside of any testing/synctest bubble.
func forget[T any](l *lane[T]) { l.forgotten.Store(true) }

// Send sends v in the handle's lane.
func (h *Handle[T]) Send(ctx context.Context, v T) error {
	if h.e.config.Overflow == engine.Block {
		return h.l.Send(ctx, v)
	}
	vs := [1]T{v}
	_, err := h.e.sendIn(ctx, h.l, h.OnDrop, vs[:])
	return err
}

// TrySend is Send that never waits.
func (h *Handle[T]) TrySend(v T) error {
	if h.e.config.Overflow == engine.Block {
		return h.l.TrySend(v)
	}
	return h.Send(nil, v) //nolint:staticcheck // nil: never wait
}

// SendBatch sends vs in the handle's lane.
func (h *Handle[T]) SendBatch(ctx context.Context, vs []T) (int, error) {
	return h.e.sendIn(ctx, h.l, h.OnDrop, vs)
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
