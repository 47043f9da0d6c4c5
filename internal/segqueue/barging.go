package segqueue

import "time"

// Anti-barging mode. A batch that finds no room waits, and running senders barge:
// they take the room before the waiter is awake. That makes a channel fast, but
// each of them may fill all of it before the next waiter is served, so with many
// senders the tail latency grows with their number. If a waiting batch has waited
// for long, the senders enter anti-barging mode: other batches yield to the waiters
// and join the queue.
//
//   - One in sampleEvery batches that were woken and found room enters the mode if
//     it has waited at least longWait, and leaves it if it has waited at most
//     shortWait.
//   - For each waiter that is served, other batches may still send bargeLimit
//     values, and the rest of the batch that exceeds them: parking a goroutine for
//     each batch would be expensive if batches are short.
//   - A batch does not yield while tail-head < limit/shortFraction: receivers must
//     not wait for a goroutine that is not running yet.
//   - Try calls, and a Send of one value, never yield. Nor does yielding affect a
//     starving sender, which is the first in the queue.
//   - antiBarging, samples (a counter) and served (the tail when a waiter was last
//     served) belong to the holder of the send lock. antiBarging is beside the
//     word, because each batch reads it.
//
// No goroutine waits forever while there is room: a batch that yields has seen
// room. If a wake-up is in flight, its holder takes the room and passes the wake-up
// on if some is left. If not, the yielding batch wakes the first waiter, possibly
// itself, as a receiver would.
//
// A bargeLimit of 1024 doubles the delays at GOMAXPROCS=1; 64 gains nothing.

const (
	// longWait exceeds the 10 ms for which a goroutine may run before the runtime
	// preempts it: a shorter wait does not mean that the queue is unfair.
	longWait = 12 * time.Millisecond
	// shortWait is the least time in which a queue of 64 batches of 64 values moves
	// on.
	shortWait = time.Millisecond
	// sampleEvery bounds the readings of the clock.
	sampleEvery   = 4
	bargeLimit    = 256
	shortFraction = 8
)

// yieldToWaiters reports whether a sender to a channel in anti-barging mode must
// leave the room to the waiters. The caller has locked the send side and got word.
// If the result is true, the lock is released and a waiter is awake, since no other
// goroutine may come.
func (e *Engine[T]) yieldToWaiters(word uint64, c *call) bool {
	switch {
	case !c.batch || e.senders.Idle():
		return false
	case c.wait.Woken() || c.wait.Canceled():
		return false
	case uint32(word>>shift)-e.send.served < bargeLimit:
		return false
	}
	queued := e.between(word, e.recv.word.Load())
	if queued < e.limit/shortFraction || queued >= e.limit {
		return false
	}
	e.send.unlock(word)
	if e.senders.Waiting() {
		e.senders.Wake()
	}
	return true
}

// recordServed records that a sender that was woken has moved tail to index.
func (s *side[T]) recordServed(c *call, index uint64) {
	s.served = uint32(index >> shift)
	if !c.batch {
		return
	}
	if s.samples++; s.samples%sampleEvery == 0 {
		age := c.wait.Age()
		s.antiBarging = age >= longWait || s.antiBarging && age > shortWait
	}
}
