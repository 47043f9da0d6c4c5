package segqueue

import (
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/waitq"
)

// An Engine may be a lane, one of several that make up a sharded channel. This file
// has what the channel needs besides engine.Engine.
//
// Receivers wait for a value in any lane, in one queue, which is the first lane's. The
// lanes share it, and with it the place of a hand-off: a sender of any lane that is empty
// hands its value off to a receiver that waits alone. While the first lane is the only
// one, the channel leaves a receive to it, waits included. Otherwise the channel polls all
// lanes with engine.NoWait, and waits by itself.
//
// No wake-up is lost. A receiver that waits inside the first lane polls no other one, so
// it does not outlast the moment at which there are more. After it has begun to wait,
// alone or in the list, by a read-modify-write of the queue's signal, and before it parks,
// it looks whether the first lane is the only one, and empty. If there are others, Recv fails
// although it might wait: it withdraws, or the channel gets its wait, with its place in the
// queue and its wake-up, and continues it by a poll of all lanes. A lane that the look has missed was
// published after it, and before its first value was sent; and the sender of that value
// loads the signal afterwards. So it finds the receivers that wait inside the first lane, and
// claims or wakes the first of them. One that was woken looks again before it parks again. If
// it takes a value of the first lane, it wakes the next one when there are other lanes.
//
// Linearization. In a channel of lanes order holds for each lane, and for each key, which is
// always in one lane. So a sender's lane may be empty while others are not. The sender sees at
// a moment s that its lane is empty and open. If the call of the receiver that it claims had
// begun by s, s is the moment of both operations. Otherwise that call has loaded the set of
// lanes later than s, and found all of them empty and open before it waited:
//
//   - If the sender's lane is one of them, the moment is when that was found.
//   - If not, the lane was removed since s. That happens only if it is empty, and nothing is
//     added to it afterwards. Only another lane that was opened for the same keys matters. If
//     the set has just the first lane, there is none when it is loaded: that is the moment.
//     Otherwise the channel has seen that all lanes are empty at one moment, at which
//     the set is the current one, before it let the receiver wait alone: that is the moment.
//
// Senders that need this lane wait in its own queue. Others wait for room in any lane,
// in a queue of the channel that each receive from this lane checks too.

// A lane is what an Engine shares with the other lanes of its channel.
type lane struct {
	only       func() bool  // of the first lane: whether there is no other one; nil for the others
	anySenders *waitq.Queue // of senders that wait for room in any lane, or nil
}

// NewLane returns a lane. first is the first lane, or nil to make that one; then only
// reports whether there is no other lane. Senders that accept any lane wait in anySenders,
// which may be nil.
func NewLane[T any](config engine.Config[T], first *Engine[T], only func() bool, anySenders *waitq.Queue) *Engine[T] {
	e := New(config)
	e.lane = &lane{anySenders: anySenders}
	if first == nil {
		e.lane.only, e.handOff = only, new(handOff[T])
	} else {
		e.receivers, e.handOff = first.receivers, first.handOff
	}
	return e
}

// isOnly reports whether receivers find all values of the channel here.
func (e *Engine[T]) isOnly() bool { return e.lane == nil || e.lane.only == nil || e.lane.only() }

// A Moved is the error of a Recv or RecvBatch of the first lane that has found others. The
// channel continues the wait.
type Moved struct{ Wait waitq.Wait }

func (*Moved) Error() string { return "sluice: not the only lane" }

// moved returns how the call fails.
func (c *call) moved() error {
	if !c.wait.Joined() {
		return engine.ErrEmpty
	}
	return &Moved{c.wait}
}

// Receivers returns the queue of receivers.
func (e *Engine[T]) Receivers() *waitq.Queue { return e.receivers }

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
