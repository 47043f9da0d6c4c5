package broadcast

import (
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/selection"
	"github.com/sluice-go/sluice/internal/waitq"
)

// An entry is a Select's entry in the wait queue of a subscription.
type entry[T any] struct {
	*waitq.Entry
	s      *Subscription[T]
	joined bool
}

// NewEntry returns an entry for a Select that receives.
func (s *Subscription[T]) NewEntry(_ *T, _ bool) engine.Entry {
	return &entry[T]{Entry: waitq.NewEntry(&s.receivers, func() bool { return !s.enlist() }), s: s}
}

// Join implements engine.Entry. The Select polls after that: if there is a value now, it finds
// it then.
func (e *entry[T]) Join(s *selection.State, index int) {
	e.joined = true
	e.Entry.Join(s, index)
	e.s.enlist()
	e.s.hub.wakeNext()
}

// Leave implements engine.Entry.
func (e *entry[T]) Leave() {
	e.Entry.Leave()
	if e.joined {
		e.joined = false
		e.s.hub.wakeNext()
	}
}

// WouldBlock reports that TryRecv would have failed with ErrEmpty at a moment during the call,
// and tail at that moment: while tail is the same, the queue stays empty.
func (s *Subscription[T]) WouldBlock(*T) (engine.Mark, bool) {
	s.acquire()
	defer s.release()
	tail := s.hub.tail.Load()
	empty := s.word.Load()>>1 == tail
	if s.owns {
		empty = s.own.Len() == 0
	}
	return engine.Mark(tail), empty && s.err == nil && !s.hub.closed.Load()
}

// NewEntry returns an entry for a Select that publishes.
func (h *Hub[T]) NewEntry(_ *T, _ bool) engine.Entry { return waitq.NewEntry(&h.senders, h.hasRoom) }

// Overflow is Block: a publisher may wait, for a subscription to come.
func (h *Hub[T]) Overflow() engine.Overflow { return engine.Block }

// WouldBlock reports that TrySend would have failed with ErrFull at a moment during the call.
// Room goes only to a value, or to a new subscription, and the mark counts both.
func (h *Hub[T]) WouldBlock(*T) (engine.Mark, bool) {
	h.acquire()
	defer h.lock.Unlock()
	tail := h.tail.Load()
	blocked := !h.closed.Load() && tail >= h.gate && h.blocked(tail)
	return engine.Mark(tail + h.joins), blocked
}
