package segqueue

// A goroutine that was woken maxLosses times, and found each time that another
// had been faster, starves. It raises the starving bit of its side, which turns
// off the fast path there, and goes back to the front of the line. Whoever comes
// to the side next, even with a Try call, first does the operation of the
// starving one and then its own: so what it reports, empty or full, is true.
//
//   - At most one goroutine of a side starves: the bit is set while it does, and
//     from then on it is the first in line until it has looked again. So no other
//     is woken, and can starve, before it has found what was done for it.
//   - A batch of which a part went does not starve: it goes to the end.
//   - side.debt is the value it wants to send, or the place for the value it
//     receives; debt and paid belong to the holder of the side's lock.
//   - Whoever does its operation sets paid and clears the bit. It need not wake
//     anybody: whoever made the operation possible wakes the front of the line,
//     and that is the starving goroutine.
//   - It looks under the lock, finds paid, and its operation has happened: also
//     if its context has ended meanwhile, or the channel was closed.
//   - If it finds something to do itself, or gives up, it clears the bit.
//
// Tried: to make others wait as long as the bit is set. Then a Try call either
// takes the last value all the same, or calls a channel empty that is not.

// maxLosses is how often a goroutine may be woken in vain before it starves.
const maxLosses = 16

// lost notes that the call found nothing to do, and returns the word to unlock
// its side with. v is what it would send, nil for a receiver.
func (s *side[T]) lost(t *turn, word uint64, v *T) uint64 {
	if t.stay.Canceled() {
		return s.sated(t, word)
	}
	if !t.stay.Woken() || t.stay.Progressed() || word&starving != 0 {
		return word
	}
	if t.losses++; t.losses < maxLosses {
		return word
	}
	t.starving = true
	if s.debt == nil {
		s.debt = new(T)
	}
	if v != nil {
		*s.debt = *v
	}
	return word | starving
}

// sated ends the starving of the call, if it does, and returns the word to
// unlock its side with.
func (s *side[T]) sated(t *turn, word uint64) uint64 {
	if !t.starving {
		return word
	}
	t.starving = false
	var zero T
	*s.debt = zero
	return word &^ starving
}

// collect reports whether the operation of the starving call has been done.
func (s *side[T]) collect(t *turn) bool {
	if !t.starving || !s.paid {
		return false
	}
	t.starving, s.paid = false, false
	t.progress()
	return true
}

// progress notes that a part of a batch, or all of it, went: it has had its turn.
func (t *turn) progress() {
	t.stay.Progress()
	t.losses = 0
}

// sendForStarving sends the value of the sender that starves, if there is one,
// it is not the caller, and there is room. The caller holds the lock and got word
// with it, and must unlock with the word returned.
func (e *Engine[T]) sendForStarving(t *turn, word uint64) uint64 {
	s := &e.send
	if word&starving == 0 || t.starving {
		return word
	}
	index := word &^ flags
	if index == s.bound && !e.room(index, e.recv.word.Load()) {
		return word
	}
	var zero T
	s.buf[(index>>shift)&uint64(len(s.buf)-1)] = *s.debt
	*s.debt, s.paid = zero, true
	return (word + one) &^ starving
}

// recvForStarving receives for the receiver that starves, in the same way.
func (e *Engine[T]) recvForStarving(t *turn, word uint64) uint64 {
	r := &e.recv
	if word&starving == 0 || t.starving {
		return word
	}
	index := word &^ flags
	if index == r.bound && !e.run(index, e.send.word.Load()) {
		return word
	}
	*r.debt, r.paid = e.empty(index), true
	return (word + one) &^ starving
}
