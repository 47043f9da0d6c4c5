package sluice

import (
	"context"
	"runtime"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/lanes"
)

// A Sharded is a channel for many CPUs: several lanes, each a FIFO with cache
// lines of its own, so that senders on different CPUs do not slow each other
// down.
//
// What is sent on one [Lane] comes out in the order in which it was sent, and so
// does what one goroutine sends with the same key by SendKey, whatever happens to
// the number of lanes. Send, TrySend and SendBatch promise no order: they pick a
// lane that the CPU they run on has used before, or any other one with room.
// Receivers take from all lanes in turn, so one receiver drains them all and
// none of them waits for ever.
//
// [Options.Lanes] fixes the number of lanes. Without it there is one at first;
// the number grows when senders or receivers get into each other's way, and
// shrinks when they no longer do. Stats says how many there are, and why.
type Sharded[T any] struct {
	channel[T]
	lanes *lanes.Engine[T]
}

// maxLanes bounds Options.Lanes.
const maxLanes = 1 << 15

// NewSharded returns an empty Sharded, each lane of which queues at most limit
// values; write [Unlimited] where that is what you want. Cap is the sum over all
// lanes that there may be. A send that picks its lane fails or waits only if all
// of them are full; DropOldest then drops the oldest value of one lane. It panics
// if limit is below 1, and on SingleSender, LimitBytes, Size and NoHandOff.
//
// A lane takes memory as an [Elastic] does, and some hundred bytes when empty.
func NewSharded[T any](limit int, o *Options[T]) *Sharded[T] {
	requirePositive("NewSharded", "limit", limit)
	s := new(Sharded[T])
	s.channel = newChannel(o.config("NewSharded", limit), func(c engine.Config[T]) engine.Engine[T] {
		s.lanes = lanes.New(c)
		return named("Sharded", c, s.lanes)
	})
	return s
}

// SendKey sends v, in order with what the same goroutine sent with that key
// before. The key picks the lane, so a full lane makes it wait, fail or drop
// also while others have room. Otherwise it is Send. To get a key from a string
// or a struct see [hash/maphash.Comparable].
func (s *Sharded[T]) SendKey(ctx context.Context, key uint64, v T) error {
	if ctx == nil {
		panic("sluice: SendKey: nil context")
	}
	return s.lanes.SendKey(ctx, key, v)
}

// Lane adds a lane for the sole use of one sender, and returns its end: the
// cheapest way to send, and one that keeps the order. It allocates. A lane costs
// receivers a look now and then, so get one for a goroutine that sends much, and
// close it when that is over. A lane that is garbage counts as closed.
func (s *Sharded[T]) Lane() *Lane[T] {
	handle := s.lanes.Lane()
	return &Lane[T]{keepLanePromise(handle), handle}
}

// A Lane is a [BatchSender] into a [Sharded]: what it sends arrives in order. At
// no time may two goroutines use it to send. A program built with -race or -tags
// sluicecheck panics if they do; in others values may be lost. Closing the
// Sharded closes all lanes.
type Lane[T any] struct {
	sender engine.Sender[T] // the handle's, or one that is checked
	handle *lanes.Handle[T]
}

// Send sends v as the channel's Send does, but in this lane: it waits, fails or
// drops if the lane is full. After Close of the lane it fails with [ErrClosed].
func (l *Lane[T]) Send(ctx context.Context, v T) error {
	if ctx == nil {
		panic("sluice: Send: nil context")
	}
	err := l.sender.Send(ctx, v)
	runtime.KeepAlive(l) // or the lane may be taken away while this waits
	return err
}

// TrySend sends v if that is possible without waiting. It returns nil,
// [ErrFull] or [ErrClosed].
func (l *Lane[T]) TrySend(v T) error {
	err := l.sender.TrySend(v)
	runtime.KeepAlive(l)
	return err
}

// SendBatch sends the values of vs in order, and waits whenever the lane has no
// room. It returns how many it sent, always a prefix of vs; the error is nil
// only if that is all of them. vs is not kept.
func (l *Lane[T]) SendBatch(ctx context.Context, vs []T) (n int, err error) {
	if ctx == nil {
		panic("sluice: SendBatch: nil context")
	}
	if len(vs) == 0 {
		return 0, nil
	}
	n, err = l.sender.SendBatch(ctx, vs)
	runtime.KeepAlive(l)
	return n, err
}

// Close closes the lane: sends on it fail, one that waits included, and what was
// sent stays receivable. The channel stays open. It does nothing the second time.
func (l *Lane[T]) Close() { l.handle.Close() }
