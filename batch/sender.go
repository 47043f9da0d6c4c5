package batch

import (
	"context"
	"math"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/stage"
)

// A Sender collects values and sends them in batches. A value then costs little more
// than an append, and the channel is paid for once per batch.
//
// A Sender belongs to one goroutine: at no time may two goroutines call its methods. Each
// goroutine that sends to a channel makes its own Sender. The race detector finds a
// second goroutine. A call during a flush by another call panics; that includes a call
// from a function that the flush calls, such as OnUndelivered of the channel.
//
// # Errors
//
// A value that was given to Send or TrySend is in one of three states:
//
//   - refused: the call returned an error. The value will never be sent.
//   - held: the call returned nil, and the value is not sent yet. Len counts it, the next
//     flush sends it, TakeUnsent returns it.
//   - sent: the channel accepted it.
//
// A flush fails if the channel is closed, if it is full and was made with
// [sluice.Reject], if a value is too large, or if ctx is done. It has then sent a
// prefix of the values, and the rest stays, in order. The caller can flush again, or take
// the values out with TakeUnsent. A value that is too large blocks those behind it until
// then. If the channel panics, the values of that SendBatch count as not sent; under a policy that
// drops values they count as sent, because a panic of OnUndelivered does not end a SendBatch there.
//
// # Linger
//
// Without a linger, only calls of the owner send. Values are lost if the owner drops a
// Sender without Flush or Close.
//
// With a linger, a timer flushes the values, at the latest that long after the first
// one of a batch was accepted, even if the owner never calls again. If the channel is
// full, that flush waits until there is room or the channel is closed. Meanwhile the
// owner can send up to max more values before it has to wait too. If the flush fails, the
// values stay, and the next Send, TrySend, Flush or Close of the owner repeats it first,
// and returns its error. If a flush by the owner fails, the timer tries again after
// another linger. A panic of the channel in a flush by the timer ends the program.
type Sender[T any] struct {
	open   []T // Send appends to it: see direct.go
	room   int // Send calls slow with the value that makes len(open) as large, or larger
	one    [1]T
	direct bool // open is a part of held
	slow   slowPath

	channel channel[T] // fixed
	sizing  *sizing[T] // fixed; nil without a limit in bytes
	max     amount     // fixed: the limits of a batch
	lending lending[T] // the owner's

	timer    *flushTimer // fixed; nil without a linger; its lock guards the fields below
	state    state
	closed   bool
	held     queue[T] // the values that were accepted and not sent
	inFlight amount   // of these, what the flush by the timer took
}

// NewSender returns a Sender that sends to s in batches of max values, or fewer when the linger
// of the options has passed since the first value of a batch was accepted. Without a linger
// only a full batch, Flush and Close send. A nil o selects the defaults.
//
// It allocates room for max values, or twice that with a linger; above 1 MiB the room
// grows as needed. Later operations do not allocate, except TakeUnsent and a [TooLargeError].
//
// NewSender panics if s is nil or was not made by its constructor, if max is below 1, or
// if an option makes no sense.
//
// # A limit in bytes
//
// With MaxBytes, the sizes of the values that one SendBatch of s gets add up to that at most. Use
// it if s sends each batch as one message, or to bound the memory of the values that are held.
//
// A value that would exceed MaxBytes, together with the values that are held, flushes those
// first; it is refused if that fails. A value that makes the sum MaxBytes completes the batch.
// A value whose size alone is above MaxBytes does what TooLarge says. Under [Alone], the
// default, it is sent by a SendBatch of its own, within the call that accepts it: it is never
// held. Under [Fail] it is refused with a [*TooLargeError], which leaves everything else as it
// is. Under [Drop] the call returns nil.
//
// With a linger, the owner can send up to MaxBytes more, of up to max values, while a flush by
// the timer waits. Send is then not inlined, and takes a lock if there is a linger. A slot for
// a value takes 8 bytes more.
func NewSender[T any](s sluice.BatchSender[T], max int, o *Options[T]) *Sender[T] {
	const function = "NewSender"
	stage.Require("batch: "+function, "sender", s)
	linger, sizing := o.check(function, max)
	b := &Sender[T]{channel: channelOf(s), sizing: sizing}
	b.max = amount{min(max, math.MaxInt/2), sizing.maxBytes()}
	most := b.max
	if linger > 0 {
		most = b.max.doubled()
		b.timer = newFlushTimer(linger, b.fire)
	}
	b.held = newQueue[T](most, sizing != nil)
	b.open, b.slow.full = b.one[:0], b.sendOpen
	b.goDirect()
	return b
}

// Send accepts v. If v completes a batch, Send flushes it, and waits as SendBatch does
// under ctx; if the flush fails, v is refused and Send returns the error of the flush.
// While a flush by the timer is under way, Send accepts up to max more values without
// waiting, and then waits for that flush.
//
// It returns nil if v was accepted; [sluice.ErrClosed] after Close, or if the channel is
// closed; the context's error if it would have to wait under a context that is done; or
// another error of the flush. It does not allocate. A nil ctx panics, at the latest when
// the batch is complete.
func (b *Sender[T]) Send(ctx context.Context, v T) error {
	if b.open = append(b.open, v); len(b.open) < b.room {
		return nil
	}
	return b.slow.send(ctx)
}

// TrySend is Send without waiting: if v completes a batch, it sends as much of the batch
// as the channel has room for. It returns nil if v was accepted; [sluice.ErrFull] if
// nothing could be sent and the Sender holds as much as it may; [sluice.ErrClosed]; or
// another error of the flush.
func (b *Sender[T]) TrySend(v T) error {
	if b.open = append(b.open, v); len(b.open) < b.room {
		return nil
	}
	return b.slow.send(engine.NoWait{})
}

// Flush sends the values that are held, and waits for room as SendBatch does under ctx.
// It waits for a flush by the timer first. It returns nil if every value accepted so far
// was sent; otherwise the error of the flush, or of ctx, and the rest stays. A nil ctx
// panics.
func (b *Sender[T]) Flush(ctx context.Context) error {
	if ctx == nil {
		panic("batch: Sender.Flush: nil context")
	}
	b.enter("Flush")
	defer b.exit()
	return b.flushAll(ctx)
}

// Close stops the timer, flushes as Flush does, and returns what Flush returns. It does
// not close the channel. Send and TrySend fail with [sluice.ErrClosed] from now on, even
// if the flush failed; Close or Flush can then be called again, or TakeUnsent. With
// nothing left to send, Close returns nil. A nil ctx panics.
func (b *Sender[T]) Close(ctx context.Context) error {
	if ctx == nil {
		panic("batch: Sender.Close: nil context")
	}
	b.enter("Close")
	defer b.exit()
	b.closed = true
	if b.timer != nil {
		b.timer.Stop()
	}
	return b.flushAll(ctx)
}

// TakeUnsent removes all values that were accepted and not sent, and returns them, oldest
// first; nil if none. It cancels a flush by the timer and waits until the SendBatch of the
// channel has returned. The values that this SendBatch did not send are among the result.
//
// The Sender is empty then, and can still be used if it is not closed. The slice belongs
// to the caller.
func (b *Sender[T]) TakeUnsent() []T {
	b.enter("TakeUnsent")
	defer b.exit()
	if b.state == flushedByTimer {
		b.cancelFlush()
	}
	unsent := b.held.take()
	b.settle()
	return unsent
}

// Len returns the number of values that were accepted and not yet sent. The values of a
// flush by the timer count until that flush ends.
func (b *Sender[T]) Len() int {
	b.requireMade()
	b.lock()
	defer b.exit()
	b.leaveDirect()
	return b.held.n
}

// Dropped returns how many values the policy [Drop] has discarded. Any goroutine may call it.
func (b *Sender[T]) Dropped() uint64 {
	b.requireMade()
	return b.sizing.total()
}
