package segqueue

import (
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/waitq"
)

// An engine may be a lane: one of several that make up a channel. What the
// channel needs of it besides engine.Engine is here.
//
// Receivers wait for a value in any lane, so their line is the channel's, and
// they never wait inside a lane: the channel calls its Recv and RecvBatch with a
// engine.NoWait. Senders that insist on this lane wait in its own line; others may
// wait for room in any lane, in a line of the channel's that each receive from
// this lane looks at too.

// NewLane returns a lane. Its receivers wait in the given line, and the senders
// who may go elsewhere in others, which may be nil.
func NewLane[T any](config engine.Config[T], receivers, others *waitq.Queue) *Engine[T] {
	e := New(config)
	e.receivers, e.others = receivers, others
	return e
}

// Shut is the part of Close that is done under Hold.
func (e *Engine[T]) Shut() { e.send.word.Or(closed) }

// Senders is the line of those that wait for room in this lane alone.
func (e *Engine[T]) Senders() *waitq.Queue { return e.senders }

// Tail returns how many values were ever sent, and whether the lane is closed.
func (e *Engine[T]) Tail() (n uint64, shut bool) {
	word := e.send.word.Load()
	return word >> shift, word&closed != 0
}

// Head returns how many values ever left, received or dropped for a newer one.
func (e *Engine[T]) Head() uint64 { return e.recv.word.Load() >> shift }

// Contended returns how often a goroutine found the lock of its side taken, and
// waited for it. It wraps.
func (e *Engine[T]) Contended() uint32 {
	return e.send.contended.Load() + e.recv.contended.Load()
}
