package batch

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/spin"
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
	// Fixed.
	s        sluice.BatchSender[T]
	own      bool // s is a kind of package sluice
	drops    bool // and its policy drops values: a SendBatch that panics has sent them
	max      int64
	most     int64 // limit of the values held: max, doubled with a linger
	linger   time.Duration
	clears   bool             // T has pointers: a slot is cleared after its value was sent
	slow     slowPath         // see open.go
	lender   engine.Lender[T] // nil if slices are copied
	lendFrom int              // values of a slice that is lent

	// The owner's; see open.go and flush.go.
	open  []T // Send appends to it: a part of buf, or of one
	room  int // values that open holds when it is full; 0 in a zero Sender
	one   [1]T
	inBuf bool  // open is a part of buf
	quick bool  // it may be
	buf   []T   // value i is in slot i mod len(buf)
	at    int   // slot of the next value, or len(buf)
	stop  int   // slots at … stop-1 may be filled without a further check
	base  int64 // index of the value in slot 0 of the current pass over buf
	given []T   // see lend.go

	declared bool // the owner's function, for the map of package livepage

	accepted atomic.Int64 // tail, with a linger
	claimed  atomic.Int64 // see publish

	lock     spin.Lock // guards the fields below
	flushing flusher
	head     int64 // index of the first value not sent
	overdue  bool  // the timer fired during a flush by the timer
	waiting  bool  // the owner waits for a flush by the timer
	closed   bool
	parker   park.Parker // of the owner
	timer    *time.Timer // nil without a linger
	ctx      context.Context
	cancel   context.CancelFunc // of ctx, the context of flushes by the timer

	// The limit in bytes; see flush.go.
	sizing   *sizing[T] // fixed; nil without a limit
	limit    uint64     // fixed; without a limit it is never reached
	sizes    []uint64   // the owner's: of the values in buf, by slot; nil without a limit
	bytes    uint64     // guarded by lock: sum of the sizes of the values that are held
	inFlight uint64     // guarded by lock: of these, what the last flush by the timer took
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
	b := &Sender[T]{s: s, own: ours(s), drops: drops(s), linger: linger, sizing: sizing, limit: math.MaxUint64}
	// Indices are added to max, and doubled.
	b.max = min(int64(max), 1<<61)
	b.most = b.max
	if linger > 0 {
		b.most += min(b.max, math.MaxInt-b.max)
		b.parker = park.NewParker()
		b.ctx, b.cancel = context.WithCancel(context.Background())
		b.timer = time.AfterFunc(math.MaxInt64, b.fire)
		b.timer.Stop()
	}
	b.buf = make([]T, firstSlots[T](int(b.most)))
	if sizing != nil {
		b.limit = sizing.limit
		b.sizes = make([]uint64, len(b.buf))
	}
	b.clears = engine.HasPointers[T]()
	b.quick = b.own && linger == 0 && sizing == nil && int64(len(b.buf)) == b.max
	b.slow.full = b.sendOpen
	b.setStop()
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
	b.closed = true
	b.setStop()
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
	return b.takeUnsent()
}

// Len returns the number of values that were accepted and not yet sent. The values of a
// flush by the timer count until that flush ends.
func (b *Sender[T]) Len() int {
	b.requireMade()
	if b.inBuf {
		return len(b.open)
	}
	b.lock.Lock()
	defer b.lock.Unlock()
	return int(b.held())
}

// Dropped returns how many values the policy [Drop] has discarded. Any goroutine may call it.
func (b *Sender[T]) Dropped() uint64 {
	b.requireMade()
	return b.sizing.total()
}
