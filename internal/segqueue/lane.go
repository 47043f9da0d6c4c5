package segqueue

import (
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/waitq"
)

// An Engine may be a lane, one of several that make up a sharded channel. This file
// has what the channel needs besides engine.Engine.
//
// Receivers wait for a value in any lane, in one queue, which is the first lane's.
// A sender of any lane hands its value off to a receiver in it: the lanes share the
// queue, and with it the place of the hand-off. While the first lane is alone, the
// channel leaves a receive to it, waits included. Otherwise the channel polls all
// lanes with engine.NoWait, and waits by itself.
//
// A receiver that waits inside the first lane polls no other one, so it does not
// outlast the moment at which the lane is not alone any more. It looks whether the
// lane is alone after it has joined the queue, and before it parks again; if not, it
// leaves, wakes the next one if any lane has a value, and Recv fails with ErrEmpty although
// it might wait. So
// no wake-up is lost: a second lane is published before its first value is sent, and
// the sender of that value then finds the receivers that were in the queue, and wakes
// the first of them. One that joins later sees the second lane.
//
// Senders that need this lane wait in its own queue. Others wait for room in any lane,
// in a queue of the channel that each receive from this lane checks too.

// A lane is what an Engine shares with the other lanes of its channel.
type lane struct {
	alone      func() bool  // of the first lane: whether there is no other one; nil for the others
	queued     func() bool  // of the first lane: whether any lane has a value
	anySenders *waitq.Queue // of senders that wait for room in any lane, or nil
}

// NewLane returns a lane. first is the first lane, or nil to make that one; then alone
// reports whether there is no other lane, and queued whether any lane has a value. Senders
// that accept any lane wait in anySenders, which may be nil.
func NewLane[T any](config engine.Config[T], first *Engine[T], alone, queued func() bool, anySenders *waitq.Queue) *Engine[T] {
	e := New(config)
	e.lane = &lane{anySenders: anySenders}
	if first == nil {
		e.lane.alone, e.lane.queued, e.hand = alone, queued, new(hand[T])
	} else {
		e.receivers, e.hand = first.receivers, first.hand
	}
	return e
}

// alone reports whether receivers find all values of the channel here.
func (e *Engine[T]) alone() bool { return e.lane == nil || e.lane.alone == nil || e.lane.alone() }

// hasValue reports whether another receiver could proceed.
func (e *Engine[T]) hasValue() bool {
	return e.Len() > 0 || e.lane != nil && e.lane.queued != nil && e.lane.queued()
}

// Receivers returns the queue of receivers.
func (e *Engine[T]) Receivers() *waitq.Queue { return e.receivers }

// TakeHanded returns the value that was handed off to the caller: see waitq.Wait.Handed.
func (e *Engine[T]) TakeHanded() T { return e.takeHanded() }

// Shut sets the closed bit, under Hold. It is a part of Close.
func (e *Engine[T]) Shut() { e.send.word.Or(closed) }

// Senders returns the queue of senders that wait for room in this lane only.
func (e *Engine[T]) Senders() *waitq.Queue { return e.senders }

// Tail returns the number of values sent so far, and whether the lane is closed.
func (e *Engine[T]) Tail() (n uint64, shut bool) {
	word := e.send.word.Load()
	return word >> shift, word&closed != 0
}

// Head returns the number of values received or dropped so far.
func (e *Engine[T]) Head() uint64 { return e.recv.word.Load() >> shift }

// Contended returns how often a goroutine has waited for the lock of its side. It
// wraps.
func (e *Engine[T]) Contended() uint32 {
	return e.send.contended.Load() + e.recv.contended.Load()
}
