package batch

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/made"
	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/spin"
)

// A Sender collects values on the sending side, and sends them in batches: each
// value then costs little more than an append, and the channel is paid for once a
// batch. Make one with [NewSender].
//
// A Sender belongs to one sending goroutine, as a channel made with
// [sluice.BoundedOptions.SingleSender] does: at no time may two goroutines be inside its methods.
// Several goroutines that send to one channel have a Sender each. A second
// goroutine is found by the race detector, and makes a call panic that meets
// another one in the middle of a flush; so does a Send out of a function that the
// flush calls, such as OnDrop.
//
// # Where a value is
//
// Every value given to Send or TrySend is at any time in one of three places:
//
//   - refused: the call returned an error. The value was not accepted, nor sent.
//   - accepted and not yet sent: the Sender holds it. Len counts it, the next
//     flush sends it, TakeUnsent hands it back.
//   - sent: the channel accepted it; what that means is up to the channel.
//
// A flush that fails, because the channel is closed, or full and made with Reject,
// or the value too large, or ctx done, has sent a prefix. The rest stays, in
// order. It is the caller's to try again, or to take it out by TakeUnsent; a value
// that alone is too large stays in front until then.
//
// Should the channel below panic in a flush, then nobody knows what it has sent of
// the run that it was given: all of it counts as not sent. In a flush of the timer
// such a panic ends the program, as it does in any goroutine.
//
// # Time
//
// With a linger of 0 only the owner's calls send anything: what a Sender holds
// that is given up without Flush or Close is lost with it. With a linger above 0 a
// value is sent, or the attempt made, at the latest linger after the first value of
// its batch was accepted, by a goroutine of a timer, whether or not the owner ever
// calls again. If the channel is full that attempt waits, until there is room or
// the channel is closed. Meanwhile the owner can send as many values more as make
// a batch, before it has to wait too. If the attempt fails, the values are still
// there, and the owner's next Send, TrySend, Flush or Close makes it again, before
// anything else, and fails if it fails again. A Send that is refused by a failing
// flush leaves the timer running for what the Sender holds.
type Sender[T any] struct {
	// Fixed.
	s      sluice.BatchSender[T]
	own    bool // s is a channel of this package
	size   int64
	most   int64 // values held: size, and as many again while a flush lingers
	linger time.Duration

	// The owner's; see flush.go for the rest.
	buf  []T   // value i lies in slot i mod len(buf)
	at   int   // slot of the next value, or len(buf)
	stop int   // the slots at … stop-1 may be filled without a look at anything else
	base int64 // index of the value in slot 0, this time round

	accepted atomic.Int64 // tail, if there is a linger
	claimed  atomic.Int64 // see flush.go

	lock    spin.Lock // guards what follows
	flight  flight
	head    int64 // index of the first value not sent
	overdue bool  // the timer fired during a flight
	waiting bool  // the owner waits for a flight to land
	closed  bool
	parker  park.Parker // of the owner
	timer   *time.Timer // nil without a linger
	ctx     context.Context
	cancel  context.CancelFunc // of ctx: of flights in the background
}

// NewSender returns a Sender that sends to s, in batches of size values, or fewer
// when linger has passed since the first value of a batch was accepted. A linger of
// 0 never passes: then only size, Flush and Close send.
//
// It allocates room for size values, twice that with a linger; above 1 MiB the
// room grows as it is needed. After that no operation allocates but TakeUnsent.
//
// A nil s, a size below 1 and a negative linger panic.
func NewSender[T any](s sluice.BatchSender[T], size int, linger time.Duration) *Sender[T] {
	made.Require("batch: NewSender", "sender", s)
	requirePositive("NewSender", "size", size)
	requireLinger("NewSender", linger)
	b := &Sender[T]{s: s, own: ours[T](s), linger: linger}
	// Indices are added to the size, and doubled.
	b.size = min(int64(size), 1<<61)
	b.most = b.size
	if linger > 0 {
		b.most += min(b.size, math.MaxInt-b.size)
		b.parker = park.NewParker()
		b.ctx, b.cancel = context.WithCancel(context.Background())
		b.timer = time.AfterFunc(math.MaxInt64, b.fire)
		b.timer.Stop()
	}
	b.buf = make([]T, firstSlots[T](int(b.most)))
	b.rebound()
	return b
}

// Send accepts v. The value that makes a batch complete flushes it: that Send
// waits as a SendBatch under ctx does, and if the flush fails then v is refused,
// and the error is that of the flush. Other calls wait only while the timer's
// flush waits and the Sender holds a batch more beside it; see [Sender] for that
// and for a flush of the timer that has failed.
//
// It returns nil if v was accepted; [sluice.ErrClosed] after Close, or if the channel is
// closed; what else the flush fails with; the context's error if it would have to
// wait under a context that is done. It does not allocate. A nil ctx panics.
func (b *Sender[T]) Send(ctx context.Context, v T) error {
	if ctx == nil {
		panic("batch: Sender.Send: nil context")
	}
	if b.linger > 0 {
		return b.sendTimed(ctx, v)
	}
	if at := b.at; at < b.stop {
		b.buf[at] = v
		b.at = at + 1
		return nil
	}
	return b.sendSlow(ctx, v)
}

// TrySend is Send without waiting: if v makes a batch complete, as much of the
// batch is sent as there is room for. It returns nil, [sluice.ErrFull] if nothing could
// be sent and the Sender must not hold more, [sluice.ErrClosed], or what else the flush
// fails with. After an error v was not accepted.
func (b *Sender[T]) TrySend(v T) error {
	if b.linger > 0 {
		return b.sendTimed(nil, v) //nolint:staticcheck // nil: never wait
	}
	if at := b.at; at < b.stop {
		b.buf[at] = v
		b.at = at + 1
		return nil
	}
	return b.sendSlow(nil, v) //nolint:staticcheck // nil: never wait
}

// Flush sends what the Sender holds, and waits for it: for a flush of the timer
// that is under way, and as a SendBatch under ctx does. It returns nil if all
// that was accepted so far was sent; otherwise the error of the flush, or of ctx,
// and what was not sent stays. A nil ctx panics.
func (b *Sender[T]) Flush(ctx context.Context) error {
	if ctx == nil {
		panic("batch: Sender.Flush: nil context")
	}
	b.enter("Flush")
	return b.flushAll(ctx)
}

// Close stops the timer and flushes as Flush does, and returns what that returns.
// It does not close the channel. From now on Send and TrySend fail with
// [sluice.ErrClosed], also if the flush has failed; then Close or Flush may be called
// again, or TakeUnsent. With nothing left to send it returns nil. A nil ctx panics.
func (b *Sender[T]) Close(ctx context.Context) error {
	if ctx == nil {
		panic("batch: Sender.Close: nil context")
	}
	b.enter("Close")
	b.closed = true
	b.rebound()
	if b.timer != nil {
		b.timer.Stop()
	}
	return b.flushAll(ctx)
}

// TakeUnsent takes out all that was accepted and not sent, oldest first: nil if that
// is nothing. A flush of the timer that is under way is cancelled first, and
// waited for: what it has not sent comes with the rest, and TakeUnsent returns as soon
// as the SendBatch of the channel heeds its context.
//
// The Sender is empty after it, and can be used further if it was not closed. The
// slice is the caller's.
func (b *Sender[T]) TakeUnsent() []T {
	b.enter("TakeUnsent")
	return b.takeBack()
}

// Len returns how many values were accepted and not yet sent; those of a flush of
// the timer count until all of it is over.
func (b *Sender[T]) Len() int {
	b.lock.Lock()
	defer b.lock.Unlock()
	return int(b.held())
}
