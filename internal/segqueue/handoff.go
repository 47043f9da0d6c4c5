package segqueue

import "context"

// Hand-off. In a channel that is mostly empty each value wakes a receiver. A Recv that finds the
// channel empty, and no other receiver waiting, waits alone (see waitq), and a Send hands its
// value off to it: the value goes through no slot, and neither side takes a lock.
//
//	Recv   empty -> WaitAlone -> empty? -> park ---------> Handed: take the value, LeaveAlone
//	                               \-> no: Withdraw, poll   woken: Resume, poll
//	Send   empty and open -> Claim -> put the value -> Unpark
//
// Who owns what: the place for the value belongs to the sender from its Claim until its Unpark,
// then to the receiver until LeaveAlone, which is when the next goroutine can wait alone. The
// number of hand-offs is a part of the word that the claim changes: such a value counts as sent
// and as received, and never as queued.
//
// The flag drained belongs to receivers. It only means that a receiver should compare the two words
// before it takes the lock. A Recv that finds the channel empty under the lock sets it, unless
// there is a segment to replace or to drop; the next one that takes a value out of a slot clears it.
//
// Linearization. A hand-off is a send and the receive of the same value, both at one moment at
// which the channel is empty and open, so the value does not overtake one that is queued. The
// sender sees at a moment s that the channel is empty and open. The receiver that it claims later
// has seen the same at a moment r of its own call, before it waited. If that call had begun by s, s
// is the moment: both calls are in progress then. Otherwise r is, which is later than s and before
// the claim.
//
// One outcome for each wait: a receiver that waits alone takes no value by itself. If the channel is
// not empty when it looks again, or its context ends, it withdraws, which fails if it was claimed.
// Then the operation has happened, and Recv returns the value even if its context has ended; or it
// was woken, and polls.
//
// No wake-up is lost. A receiver waits alone by a read-modify-write and then looks; a sender whose
// value went through a slot moves tail and then loads the queue's signal. While a hand-off is in
// progress that receiver counts as awake: it has yet to return, and finds what is queued in its next
// call. Other receivers, which wait in the list, are woken as if it did not exist. A receiver that
// was woken passes the wake-up on, as any other.
//
// In a channel with several lanes the same holds of each lane: see lane.go.
//
// Batches, and values of a Metered, are not handed off, nor any value once Ready is in use: these go
// through the slots, and the receiver is woken to poll. Nor are values for a RecvBatch or a Select, or where
// several receivers wait: one wake-up then serves a run of values.

// A handOff is where a value is while it is handed off. The first one allocates it.
type handOff[T any] struct {
	value T
	full  bool // only if asserting
	_     [cacheLine]byte
}

// sendToLone is Send while a receiver waits alone: it hands v off if it can. word is the send word
// as the caller has read it, without flags. Send ends with this call, so that its fast path need
// not keep v on the stack.
func (e *Engine[T]) sendToLone(ctx context.Context, word uint64, v T) error {
	// In this order: see WouldBlock.
	if e.recv.word.Load()&^flags == word && e.send.word.Load() == word {
		if to, ok := e.receivers.Claim(); ok {
			e.putHandOff(v)
			to.Unpark()
			return nil
		}
	}
	return e.sendOne(ctx, v, false)
}

// putHandOff puts the value of a hand-off where its receiver takes it.
func (e *Engine[T]) putHandOff(v T) {
	if e.handOff == nil {
		e.handOff = new(handOff[T])
	}
	if asserting {
		e.handOff.assert(false)
	}
	e.handOff.value = v
}

// TakeHandOff ends the wait of the caller, which was handed a value, and returns that.
func (e *Engine[T]) TakeHandOff() T {
	if asserting {
		e.handOff.assert(true)
	}
	v := e.handOff.value
	if e.clear {
		var zero T
		e.handOff.value = zero
	}
	e.receivers.LeaveAlone()
	return v
}

// assert asserts that there is a value, or none, and that the caller changes that.
func (h *handOff[T]) assert(full bool) {
	if h.full != full {
		panic("segqueue: two hand-offs in progress, or a receiver was handed no value")
	}
	h.full = !full
}

// finishAlone completes a Recv that has waited alone, and has its token. done is ctx.Done(): a
// context is user code and may panic, so it is not asked before the wait has ended.
func (e *Engine[T]) finishAlone(ctx context.Context, done <-chan struct{}) (v T, err error) {
	q := e.receivers
	if !q.Handed() {
		return e.recvOne(ctx, &call{wait: q.Resume(done)}, false)
	}
	return e.TakeHandOff(), nil
}
