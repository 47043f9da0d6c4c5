package segqueue

import (
	"context"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/spin"
	"github.com/sluice-go/sluice/internal/waitq"
)

// Hand-off. In a channel that is mostly empty each value wakes a receiver. A sender that
// finds one waiting, while the channel is empty, hands its value off: the value does not
// go through the chain, and the receiver does not lock the receive side again.
//
//	receiver  sit or JoinToAccept -> look -> park -----------> Handed: take the value, leave
//	                                   \-> not empty: standUp or Withdraw, poll under the lock
//	sender    empty, open -> HandOffSeat: claim it -> put the value -> Unpark
//	          lock -> empty, open, a waiter accepts: claim it -> put the value -> unlock, Unpark
//
// A receiver that is the only one sits, and a sender claims it there without a lock: see
// waitq. Where others wait, too, the sender holds the send lock.
//
// Who owns what:
//
//   - A queue has at most one hand-off in progress: it is the queue's wake-up, from
//     waitq.Queue.HandOff, which claims the first waiter, until that waiter leaves. The
//     place for the value, hand, belongs to whoever holds that wake-up: to the sender
//     until its Unpark, then to the receiver.
//   - The number of hand-offs is a part of the word that the claim changes. Such a value
//     counts as sent and as received, and never as queued.
//   - The flag quiet belongs to receivers. It only says that a receiver should look at the
//     send word before it takes the lock. A receiver that is about to wait sets it, if it has
//     the lock, the channel is empty, and there is no segment to replace or to drop; in an
//     Elastic the next one that takes a value out of the chain clears it.
//   - The receiver in the seat owns the field seat. It is set once.
//
// A receiver in the seat parks in Recv itself, or in parkUntil if a context can end the wait.
// Recv and recvOrSit are one call: recvOrSit returns the context hasToken with the receiver in
// the seat, and is called again with it when the receiver has its token.
//
// Linearization. A hand-off is a send and the receive of the same value, both at one moment
// at which the channel is empty and open, so the value does not overtake one that is queued:
//
//   - With the send lock that moment is the claim: no value is added, the word shows that the
//     channel is not closed, and head was equal to tail under that lock, so it still is.
//   - Without it, the sender sees at a moment s that the channel is empty and open. The
//     receiver that it claims later has seen the same at a moment r of its own call, before it
//     sat. If that call had begun by s, s is the moment: both calls are in progress then.
//     Otherwise r is, which is later than s and before the claim.
//
// One outcome for each wait:
//
//   - A receiver that accepts takes no value by itself while it is queued. If the look
//     after it joined, without the lock, finds the channel not empty, it withdraws first,
//     and polls then; from the seat it stands up, if it is still there. Withdrawing, standing
//     up, or leaving because the context has ended, fails if the
//     waiter was claimed: then the operation has happened, and Recv returns the value
//     even if its context has ended. No value is given back.
//   - A starving receiver accepts nothing: another receiver may have completed its
//     operation. Nor does a Select, which could be chosen by another channel at the same
//     time. If one of them is the first in the queue, no value is handed off to those
//     behind it.
//
// No wake-up is lost. A receiver joins, or sits, by a read-modify-write and then looks; a
// sender whose value went through the chain moves tail and then loads the queue's signal.
// While a hand-off is in progress, senders use the chain and wake nobody: so where receivers
// are crowded, one wake-up serves many values. The receiver passes the wake-up on when it
// leaves and values are queued, unless no other receiver waits. One that stands up leaves no
// other receiver behind, and polls.
//
// A batch is never handed off, nor is a value of a Metered, nor any value once
// Ready is in use: these go through the chain, and the waiter is woken to poll.

// A hand is where a value is while it is handed off. It is allocated by the first one.
type hand[T any] struct {
	value T
	full  bool // only if asserting
	_     [cacheLine]byte
}

// sendToWaiter is Send while a receiver waits: it hands v off if it can. word is the send
// word as the caller has read it, without flags. Send ends with this call, so that its fast
// path need not keep v on the stack.
func (e *Engine[T]) sendToWaiter(ctx context.Context, word uint64, v T) error {
	s := &e.send
	// In this order: see WouldBlock.
	if e.recv.word.Load()&^flags == word && s.word.Load() == word {
		if to, ok := e.receivers.HandOffSeat(); ok {
			e.putHanded(v)
			to.Unpark()
			return nil
		}
	}
	if !s.word.CompareAndSwap(word, word|locked) {
		return e.sendOne(ctx, v, false)
	}
	if to, ok := e.claim(word); ok {
		if asserting {
			e.assertHandOff(word)
		}
		e.putHanded(v)
		s.unlock(word)
		to.Unpark()
		return nil
	}
	if word == s.bound && !e.room(word, e.recv.word.Load()) {
		s.unlock(word)
		return e.sendOne(ctx, v, true)
	}
	s.buf[(word>>shift)&uint64(len(s.buf)-1)] = v
	s.unlock(word + one)
	if e.receivers.Waiting() {
		e.receivers.Wake()
	}
	return nil
}

// claim claims the first waiting receiver for a hand-off. It fails if the channel is not
// empty or has yet to shrink, or if that receiver does not accept. The caller has locked the
// send side and got word.
func (e *Engine[T]) claim(word uint64) (to park.Parker, ok bool) {
	if (word^e.recv.word.Load())&^flags != 0 || e.oversized() {
		return to, false
	}
	return e.receivers.HandOff()
}

// putHanded puts the value of a hand-off where its receiver takes it.
func (e *Engine[T]) putHanded(v T) {
	if e.hand == nil {
		e.hand = new(hand[T])
	}
	if asserting {
		e.assertPut()
	}
	e.hand.value = v
}

// oversized reports whether the receiver of the last value would have replaced the segment
// by a small one, and could not, since the send lock was taken. The next value then goes
// through the chain, and its receiver replaces the segment; or, if it is handed off in the
// seat, the next receiver does. The caller has locked the send side.
func (e *Engine[T]) oversized() bool {
	slots := len(e.send.buf)
	return slots > e.keepSlots && slots > e.elastic.small.slots
}

// takeHanded returns the value that was handed off to the caller, which has yet to leave
// the wait queue.
func (e *Engine[T]) takeHanded() T {
	if asserting {
		e.assertTaken()
	}
	v := e.hand.value
	if e.clear {
		var zero T
		e.hand.value = zero
	}
	return v
}

// sit takes the seat if word, the receive word as the caller has read it, has the flag quiet and the
// channel is empty, unless spins or yields pay or the wait is to be measured. done ends the wait.
func (e *Engine[T]) sit(ctx context.Context, word uint64) (done <-chan struct{}, ok bool) {
	tail := e.send.word.Load()
	if word&flags != quiet || tail != word&^quiet || e.recv.paysToTry() {
		return nil, false
	}
	q := e.receivers
	signal, ok := q.VacantSeat()
	if !ok || lucky(tail>>shift+q.HandOffs()) {
		return nil, false
	}
	if done = ctx.Done(); done != nil && ctx.Err() != nil || !q.TakeVacantSeat(signal) {
		return nil, false
	}
	e.keepSeat()
	// If the tail is where it was, so is the head.
	return done, e.send.word.Load() == tail && e.alone() || !e.standUp()
}

// keepSeat sets e.seat. The caller is in the seat.
func (e *Engine[T]) keepSeat() {
	if !e.seat.Valid() {
		e.seat = e.receivers.Parker()
	}
}

// standUp leaves the seat of a goroutine that is not to park, because the channel is not empty. It
// fails if the goroutine has its token: then the park does not wait.
func (e *Engine[T]) standUp() bool {
	q := e.receivers
	if q.StandUp() {
		return true
	}
	wait := q.Seated(nil)
	if wait.Withdraw(); wait.Handed() || wait.Woken() {
		e.seat.Unpark()
		return false
	}
	e.passOn(&wait)
	return true
}

// recvFlagged is recvOrSit if word, the receive word as the caller has read it, has a flag.
func (e *Engine[T]) recvFlagged(ctx context.Context, word uint64) (v T, next context.Context, err error) {
	if done, ok := e.sit(ctx, word); ok {
		if done == nil {
			return v, hasToken, nil
		}
		v, err = e.parkUntil(ctx, done)
		return v, nil, err
	}
	if word&flags != quiet {
		return e.recvOne(ctx, false)
	}
	if tail := e.send.word.Load(); (tail^word)&^flags == 0 {
		return e.recvEmpty(ctx, tail)
	}
	e.recv.word.CompareAndSwap(word, word&^quiet)
	return e.recvOrSit(ctx)
}

// recvEmpty is recvOrSit of a channel that the call has found empty, with tail as the send word.
// Unless spins or yields pay, it takes the seat.
func (e *Engine[T]) recvEmpty(ctx context.Context, tail uint64) (v T, next context.Context, err error) {
	q := e.receivers
	switch {
	case tail&closed != 0 || !engine.MayWait(ctx) || e.recv.paysToTry():
		return e.recvOne(ctx, tail&closed == 0)
	case lucky(tail>>shift + q.HandOffs()):
		v, err = e.recvOn(ctx, turn{attempt: spin.Attempt{Tries: true}}, true)
		return v, nil, err
	}
	done := ctx.Done()
	if ctx.Err() != nil || !q.TakeSeat() {
		return e.recvOne(ctx, true)
	}
	e.keepSeat()
	switch {
	case !e.isEmpty() && e.standUp():
		return e.recvOne(ctx, false)
	case done == nil:
		return v, hasToken, nil
	}
	v, err = e.parkUntil(ctx, done)
	return v, nil, err
}

// parkUntil completes a Recv in the seat.
func (e *Engine[T]) parkUntil(ctx context.Context, done <-chan struct{}) (T, error) {
	if e.seat.Park(done) {
		return e.arrive(ctx)
	}
	_ = e.receivers.Arrived()
	wait := e.receivers.Seated(done)
	wait.GiveUp()
	return e.resume(ctx, wait)
}

// arrive completes a Recv that was woken in the seat.
func (e *Engine[T]) arrive(ctx context.Context) (v T, err error) {
	q := e.receivers
	if !q.Arrived() {
		return e.arriveLate(ctx)
	}
	v = e.takeHanded()
	if !q.LeaveSeat() {
		e.leaveLate()
	}
	return v, nil
}

// arriveLate is arrive of a goroutine that is not in the seat any more.
func (e *Engine[T]) arriveLate(ctx context.Context) (v T, err error) {
	wait := e.receivers.Seated(ctx.Done())
	wait.Arrive()
	return e.resume(ctx, wait)
}

// leaveLate ends the wait of a goroutine that was served in the seat and is not there any more.
func (e *Engine[T]) leaveLate() {
	wait := e.receivers.Seated(nil)
	wait.Arrive()
	e.passOn(&wait)
}

// resume completes a Recv that waits, unless it was handed a value.
func (e *Engine[T]) resume(ctx context.Context, wait waitq.Wait) (v T, err error) {
	if !wait.Handed() {
		return e.recvOn(ctx, turn{wait: wait}, false)
	}
	v = e.takeHanded()
	e.passOn(&wait)
	return v, nil
}

// passOn ends a wait, and passes its wake-up on.
func (e *Engine[T]) passOn(wait *waitq.Wait) {
	if wait.Leave() && e.hasValue() {
		e.receivers.Wake()
	}
}

// recvOn continues a Recv with its turn. empty is as for recvOne.
func (e *Engine[T]) recvOn(ctx context.Context, turn turn, empty bool) (T, error) {
	turn.receives = true
	var buf [1]T
	_, err := e.recvSlow(ctx, buf[:], empty, &turn, nil)
	return buf[0], err
}

// assertHandOff asserts what the comment above says of a hand-off with the send lock held.
func (e *Engine[T]) assertHandOff(word uint64) {
	switch now := e.send.word.Load() &^ sleepers; {
	case now != word|locked:
		panic("segqueue: the send word has changed during a hand-off")
	case (word^e.recv.word.Load())&^flags != 0:
		panic("segqueue: a hand-off while values are queued")
	}
}

// assertPut asserts that no other value is handed off.
func (e *Engine[T]) assertPut() {
	if e.hand.full {
		panic("segqueue: two hand-offs in progress")
	}
	e.hand.full = true
}

// assertTaken asserts that there is a value for the caller.
func (e *Engine[T]) assertTaken() {
	if !e.hand.full {
		panic("segqueue: a receiver was handed no value")
	}
	e.hand.full = false
}
