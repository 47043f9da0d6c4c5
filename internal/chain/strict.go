package chain

import "time"

// A batch that finds no room waits in line, and those who run already take what room
// there is before it is awake. That is what makes a channel fast, but each of them may
// fill all of it before the next one in line is served: of 64 senders at GOMAXPROCS=1
// the last one waited while 64 times the capacity went through. So if a batch in line
// has waited for long, the channel is strict: batches that come by join the line too.
//
//   - Each batch that was woken and got room makes the channel strict, or ends that,
//     by how long it has waited. So a channel whose line moves fast never is.
//   - For each goroutine that is served in line, others may still send overtaking
//     values, and the rest of the batch that goes beyond these: a goroutine put to sleep
//     for each batch would be dear if these are short.
//   - While the queue is short, others may send what they like: receivers must not
//     wait for a goroutine that has yet to come to a P.
//   - A Try call, and a Send of one value, never stand back.
//   - Who stands back does nothing for one that starves: that is the first in line.
//   - strict and served, which is where the tail was when one in line was served last,
//     belong to the holder of the send lock.
//
// Why nobody waits for ever with room in the channel: who stands back in line has
// found room. Either a wake-up is on its way: whoever holds it takes the room, and
// passes the wake-up on if some is left. Or none is: then who stands back wakes the
// first in line, be it itself, as a receiver would.
//
// Batches of 64 from 64 connections of examples/logagg, 4096 slots: 99 % of the lines
// were counted 60, 19 and 19 ms after they were read, at GOMAXPROCS 1, 2 and 8, and now
// 7.4, 7.6 and 6.3; of an Elastic 57, 23 and 19, and now 8.1, 6.8 and 8.1; of a chan of
// slices, which gives room to those in line first, 4, 6 and 7. Lines a second are 1.00,
// 0.99 and 1.04 of what they were, of an Elastic 0.98, 0.99 and 1.03; those of the chan,
// which is the same before and after, 1.02, 1.03 and 1.06 (medians of 6 rounds, in turns).
// Rows of bench/cmd/ratios, before by after: 1.00 of batches, 1.00 of single values
// (geometric means of 18 and 39, 12 rounds in turns). What it costs shows where the channel
// is always full and nothing is made of the values, as more goroutines sleep: of what it
// was, 0.83 to 1.08 of the values with batches of 64 from 8 and 64 senders, 128 and 1024
// slots, and 0.66 to 0.93 with batches of 8 from 64 senders (medians of 4 rounds). All on
// 2026-11-21, AMD EPYC Zen 5 VM with 2 cores, Go 1.26.8.
//
// Tried: a line that is strict whatever the waits. With 128 slots and batches of 64 of
// which nothing is made, 8 to 1, 0.7 to 0.8 of the values at GOMAXPROCS 2 and 8. So, at
// GOMAXPROCS=1: 1024 values that overtake double the delays, and a queue that is short
// below a half does too; 64 values gain nothing that lasts.

const (
	// As long as a sync.Mutex lets a goroutine wait before it is handed over.
	long       = time.Millisecond
	overtaking = 256
	// The queue is short below this part of the limit.
	shortPart = 8
)

// standsBack reports whether a sender must leave the room that there is to those in
// line. The caller holds the lock and got word with it.
func (e *Engine[T]) standsBack(word uint64, t *turn) bool {
	s := &e.send
	switch {
	case !s.strict || !t.batch || e.senders.Idle():
		return false
	case t.stay.Woken() || t.stay.Ended():
		return false
	case uint32(word>>shift)-s.served < overtaking:
		return false
	}
	queued := e.between(word, e.recv.word.Load())
	return queued >= e.limit/shortPart && queued < e.limit
}

// serve notes that the tail has come to index by what a sender sent; if that was woken
// in line, it was served.
func (s *side[T]) serve(t *turn, index uint64) {
	if !t.stay.Woken() {
		return
	}
	s.served = uint32(index >> shift)
	if t.batch {
		s.strict = t.waited >= long
	}
}
