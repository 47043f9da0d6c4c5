package segqueue

import (
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/waitq"
)

// An Engine may be a lane, one of several that make up a sharded channel. This file
// has what the channel needs besides engine.Engine.
//
// Receivers wait for a value in any lane, in a queue of the channel, and never
// inside a lane: the channel calls Recv and RecvBatch with engine.NoWait. Senders
// that need this lane wait in its own queue. Others wait for room in any lane, in a
// queue of the channel that each receive from this lane checks too.

// NewLane returns a lane. Its receivers wait in the given queue, and senders that
// accept any lane wait in anySenders, which may be nil.
func NewLane[T any](config engine.Config[T], receivers, anySenders *waitq.Queue) *Engine[T] {
	e := New(config)
	e.receivers, e.anySenders = receivers, anySenders
	return e
}

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
