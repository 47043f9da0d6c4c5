package broadcast

import "github.com/sluice-go/sluice/internal/engine"

// A hook gets a value that its subscription does not deliver. discarded is whether that was
// closed, rather than full.
type hook[T any] func(v T, discarded bool)

// Hooks. A value that a subscription with a hook does not deliver moves to Hub.lost, under the
// lock of the Hub. The goroutine that moved it there takes it out before it releases the lock,
// and calls the hook after that, and after it has left the wait queue.
//
// The values that a cursor passes may be gone from the log by then. So a subscription with policy
// DropOldest and a hook has a queue of its own, like each one with policy DropNewest. The
// queue under the other policies is in the log, as tail <= next+capacity+1, even at an eviction.

// A loss is a value for a hook.
type loss[T any] struct {
	hook      hook[T]
	value     T
	discarded bool
}

// lose adds a value to lost, if there is a hook. The lock of the Hub is held.
func (s *Subscription[T]) lose(v T, discarded bool) {
	if s.undelivered != nil {
		s.hub.lost = append(s.hub.lost, loss[T]{s.undelivered, v, discarded})
	}
}

// loseQueue adds what is queued to lost, for a subscription that ends with err. Both locks are
// held.
func (s *Subscription[T]) loseQueue(next, tail uint64, err error) {
	if s.undelivered == nil {
		return
	}
	discarded := err == engine.ErrClosed
	if s.owns {
		for s.own.Len() > 0 {
			s.lose(s.own.Pop().value, discarded)
		}
		return
	}
	for ; next < tail; next++ {
		s.lose(s.hub.log.at(next), discarded)
	}
}

// takeLost empties lost. The lock is held.
func (h *Hub[T]) takeLost() []loss[T] {
	lost := h.lost
	if lost != nil {
		h.lost = nil
	}
	return lost
}

// report calls each hook once. If one of them panics or ends the goroutine, it calls the others
// first, and then the first panic goes on, unless one of them ends the goroutine.
func report[T any](lost []loss[T]) {
	next := 0
	defer func() { reportRest(lost[next:]) }()
	call(lost, &next)
}

// reportRest is report after a hook has panicked or ended the goroutine: another panic is
// dropped.
func reportRest[T any](lost []loss[T]) {
	if len(lost) == 0 {
		return
	}
	next := 0
	defer func() {
		_ = recover()
		reportRest(lost[next:])
	}()
	call(lost, &next)
}

// call calls the hooks from next on, and moves next past each before its call.
func call[T any](lost []loss[T], next *int) {
	for *next < len(lost) {
		l := &lost[*next]
		*next++
		l.hook(l.value, l.discarded)
	}
}
