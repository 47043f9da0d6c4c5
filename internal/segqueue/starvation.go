package segqueue

// Starvation. A waiter starves after maxLosses spurious wake-ups: each time a
// barging goroutine was faster. The starving waiter sets the starving bit of its
// side, which turns the fast path off, and rejoins at the front of its queue. The
// next goroutine that takes the lock of the side, even for a Try call, first
// completes the operation of the starving waiter (it rescues it) and then attempts
// its own. Its own result, "empty" or "full", is therefore still true.
//
//   - A rescue moves the index at once, while the lock is held. The rescuer loads the
//     other side's word afterwards, so its own result is true of a channel that has
//     the rescued operation behind it, for Len and for the other side, too.
//   - At most one goroutine per side starves: while the bit is set, the starving
//     waiter is the first in its queue or holds the wake-up, so no other one is
//     woken, and none can wait alone.
//   - A batch that made progress does not starve: it rejoins at the end.
//   - side.rescue is the value that a starving sender sends, or the place for the
//     value of a starving receiver. rescue and rescued belong to the holder of the
//     side's lock.
//   - The rescuer sets rescued and clears the bit. It wakes no waiter: the
//     goroutine that made the operation possible wakes the front of the queue,
//     which is the starving one.
//   - The starving goroutine checks rescued under the lock. If it is set, its
//     operation has happened, even if its context has ended meanwhile or the
//     channel was closed.
//   - If it can proceed by itself, or gives up, it clears the bit.
//
// The alternative, to make other goroutines wait while the bit is set, is wrong: a
// Try call would either take the last value all the same, or report a channel as
// empty that is not.

// maxLosses is the number of spurious wake-ups after which a waiter starves.
const maxLosses = 16

// recordLoss records that the call could not proceed. It returns the word to unlock
// the side with. v is the value to send, nil for a receiver.
func (s *side[T]) recordLoss(c *call, word uint64, v *T) uint64 {
	if c.wait.Canceled() || c.moves {
		return s.endStarvation(c, word)
	}
	if !c.wait.Woken() || c.wait.Progressed() || word&starving != 0 {
		return word
	}
	if c.losses++; c.losses < maxLosses {
		return word
	}
	c.starving = true
	if s.rescue == nil {
		s.rescue = new(T)
	}
	if v != nil {
		*s.rescue = *v
	}
	return word | starving
}

// endStarvation clears the starving bit if the call has set it. It returns the word
// to unlock the side with.
func (s *side[T]) endStarvation(c *call, word uint64) uint64 {
	if !c.starving {
		return word
	}
	c.starving = false
	var zero T
	*s.rescue = zero
	return word &^ starving
}

// takeRescued reports whether another goroutine has completed the operation of the
// call, which starves.
func (s *side[T]) takeRescued(c *call) bool {
	if !c.starving || !s.rescued {
		return false
	}
	c.starving, s.rescued = false, false
	c.progress()
	return true
}

// progress records that a part of a batch, or all of it, was sent.
func (c *call) progress() {
	c.wait.Progress()
	c.losses = 0
}

// rescueSender sends the value of the starving sender, if there is one other than
// the caller, and room. The caller has locked the side and got word; it must unlock
// the side with the result.
func (e *Engine[T]) rescueSender(c *call, word uint64) uint64 {
	s := &e.send
	if word&starving == 0 || c.starving {
		return word
	}
	index := word &^ flags
	if index == s.bound && !e.room(index, e.recv.word.Load()) {
		return word
	}
	var zero T
	s.buf[(index>>shift)&uint64(len(s.buf)-1)] = *s.rescue
	*s.rescue = zero
	return s.finishRescue(word)
}

// rescueReceiver receives on behalf of the starving receiver, in the same way.
func (e *Engine[T]) rescueReceiver(c *call, word uint64) uint64 {
	r := &e.recv
	if word&starving == 0 || c.starving {
		return word
	}
	index := word &^ flags
	if index == r.bound && !e.run(index, e.send.word.Load()) {
		return word
	}
	*r.rescue = e.takeSlot(index)
	return r.finishRescue(word)
}

// finishRescue marks the operation of the starving goroutine as done, moves the index
// past its value, which hands the slot over to the other side, and clears the bit. It adds
// and does not store, because a goroutine that waits for the lock may set sleepers.
func (s *side[T]) finishRescue(word uint64) uint64 {
	s.rescued = true
	s.word.Add(one - starving)
	return (word + one) &^ starving
}
