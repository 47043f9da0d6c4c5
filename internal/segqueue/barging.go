package segqueue

import "time"

// A batch that finds no room waits in line, and those who run already take what room
// there is before it is awake. That is what makes a channel fast, but each of them may
// fill all of it before the next one in line is served: of 64 senders at GOMAXPROCS=1
// the last one waited while 64 times the capacity went through. So if a batch in line
// has waited for long, the channel is strict: batches that come by join the line too.
//
//   - Of the batches that were woken and got room one in askEach makes the channel strict
//     if it has waited for long, and ends that if it has for a moment only. So a channel
//     whose line moves fast never is, and one that is stays so while its line is slow,
//     though fair.
//   - For each goroutine that is served in line, others may still send overtaking
//     values, and the rest of the batch that goes beyond these: a goroutine put to sleep
//     for each batch would be dear if these are short.
//   - While the queue is short, others may send what they like: receivers must not
//     wait for a goroutine that has yet to come to a P.
//   - A Try call, and a Send of one value, never stand back.
//   - Who stands back does nothing for one that starves: that is the first in line.
//   - strict, batches, which counts those, and served, which is where the tail was when
//     one in line was served last, belong to the holder of the send lock. strict lies
//     beside the word, as each batch reads it.
//
// Why nobody waits for ever with room in the channel: who stands back in line has
// found room. Either a wake-up is on its way: whoever holds it takes the room, and
// passes the wake-up on if some is left. Or none is: then who stands back wakes the
// first in line, be it itself, as a receiver would.
//
// Batches of 64 from 64 connections of bench/logagg, 4096 slots: 99 % of the lines
// were counted 52, 23 and 12 ms after they were read, at GOMAXPROCS 1, 2 and 8, and now 7,
// 12 and 7; of an Elastic 53, 20 and 19, and now 9, 11 and 12; of a chan of slices, which
// gives room to those in line first, 2, 8 and 7. Lines a second are 0.96, 0.97 and 0.99 of
// what they were, of an Elastic 0.99, 1.01 and 1.03, and of the chan, which is the same
// before and after, 1.03, 1.02 and 1.11 (means of 2 rounds, in turns). A channel that is
// always full, where nothing is made of the values, gets 0.97, 0.99 and 0.94 of them through
// (geometric means of 10 rows each, medians of 11 rounds in turns; single rows 0.82 to
// 1.05, and those of one sender, which never stands back, 0.87 to 1.00). All on
// 2026-11-21, AMD EPYC Zen 5 VM with 2 cores, Go 1.26.8.
//
// Tried: a line that is strict whatever the waits. With 128 slots and batches of 64 of
// which nothing is made, 8 to 1, 0.7 to 0.8 of the values at GOMAXPROCS 2 and 8. So, at
// GOMAXPROCS=1: 1024 values that overtake double the delays, and a queue that is short
// below a half does too; 64 values gain nothing that lasts. Strict from a wait of 4 or 8
// ms: batches of 8 from 64 senders at GOMAXPROCS=2 get 0.9 of the values through, from 1
// ms 0.6 to 0.8, as goroutines that run for their 10 ms hold up the whole line; with 512
// values that overtake and 8 ms 0.96. Only if those in line are served 0.2 ms apart: 0.75.
// The clock read at each wake-up takes another 0.03 at GOMAXPROCS=1.

const (
	// A goroutine runs for up to 10 ms before the runtime takes the P from it, and who is
	// ready to run waits for that long: it is no sign of a line that is unfair.
	long = 12 * time.Millisecond
	// A line of 64 batches of 64 moves on in 1 to 3 ms where values are made and used.
	moment = time.Millisecond
	// One in so many batches that are served reads the clock.
	askEach    = 4
	overtaking = 256
	// The queue is short below this part of the limit.
	shortPart = 8
)

// standsBack leaves the room that there is to those in line, if a sender to a strict
// channel must, and reports that. The caller holds the lock and got word with it: who
// stands back has released it, and has seen to it that one of those in line is awake, as
// nobody else may ever come.
func (e *Engine[T]) standsBack(word uint64, t *turn) bool {
	switch {
	case !t.batch || e.senders.Idle():
		return false
	case t.stay.Woken() || t.stay.Canceled():
		return false
	case uint32(word>>shift)-e.send.served < overtaking:
		return false
	}
	queued := e.between(word, e.recv.word.Load())
	if queued < e.limit/shortPart || queued >= e.limit {
		return false
	}
	e.send.unlock(word)
	if e.senders.Waiting() {
		e.senders.Wake()
	}
	return true
}

// serve notes that the tail has come to index by what a sender that was woken in line
// sent.
func (s *side[T]) serve(t *turn, index uint64) {
	s.served = uint32(index >> shift)
	if !t.batch {
		return
	}
	if s.batches++; s.batches%askEach == 0 {
		age := t.stay.Age()
		s.strict = age >= long || s.strict && age > moment
	}
}
