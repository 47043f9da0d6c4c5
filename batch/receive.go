package batch

import (
	"context"
	"iter"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/stage"
)

// Batches is a loop over batches of the values of a channel. Like a bufio.Scanner, it
// reports after the loop why the loop ended:
//
//	batches := batch.Receive(ctx, lines, 100, &batch.Options[string]{Linger: 50 * time.Millisecond})
//	for lines := range batches.All() {
//		…
//	}
//	if err := batches.Err(); err != nil {
//		…
//	}
//
// A Batches belongs to one goroutine, except that any goroutine may call Flush and Dropped.
// Goroutines that receive from the same channel each call [Receive].
type Batches[T any] struct {
	ctx    context.Context
	r      sluice.BatchReceiver[T]
	max    int
	linger time.Duration
	sizing *sizing[T] // nil without a limit in bytes

	flushing   atomic.Bool            // Flush was called: see loop.fill
	collecting atomic.Pointer[linger] // of the last batch that lingered

	err  error        // of the last loop
	rest remainder[T] // of the loops so far
}

// Receive returns a loop over batches of 1 to max values of r, in the order in which
// they were received. Use it for work that costs as much for many values as for one: a
// write, a request, a transaction.
//
// A batch is complete when it has max values, when the linger has passed since its first
// value was received, when r is closed and drained, or when ctx is done and the loop
// would have to wait. So no value waits longer than the linger for others, and no value
// that was received is lost. Without a linger, a batch is what one RecvBatch returns. No timer
// runs while a batch is empty, or if the first RecvBatch fills it.
//
// Receive panics if ctx or r is nil, if r was not made by its constructor, if max is
// below 1, or if an option makes no sense. Nothing is received before the loop begins.
//
// # A limit in bytes
//
// With MaxBytes, the sizes of the values of a batch add up to that at most, for a request, a
// message or a file whose length is limited:
//
//	batches := batch.Receive(ctx, lines, sluice.Unlimited, &batch.Options[string]{MaxBytes: 4 << 20, Linger: time.Second})
//
// A batch is then also complete when the next value would exceed MaxBytes, or when the sum is
// MaxBytes. A value whose size alone is above MaxBytes never stops the loop in silence: TooLarge
// makes it a batch of its own, ends the loop with an error, or drops the value and counts it. The
// values before it and behind it are yielded as usual.
//
// The loop receives several values at once, and so may have values that did not fit. It yields
// them with the next batch, whose linger counts from the moment at which the first of them was
// received. It asks for about as many values as the batch before had, and so keeps few of them
// from other receivers. Without a linger, the values of one RecvBatch make one batch or more.
//
// If the loop ends early, by the body or by an error for a value that is too large, the values
// that were received and not yielded stay in the Batches. They are the first that a second loop
// over All yields, or TakeRest returns them: they are older than those in the channel.
func Receive[T any](ctx context.Context, r sluice.BatchReceiver[T], max int, o *Options[T]) *Batches[T] {
	const function = "Receive"
	if ctx == nil {
		panic("batch: " + function + ": nil context")
	}
	stage.Require("batch: "+function, "receiver", r)
	b := &Batches[T]{ctx: ctx, r: r, max: max}
	b.linger, b.sizing = o.check(function, max)
	return b
}

// requireMade panics if b is a zero value.
func (b *Batches[T]) requireMade() {
	if b.r == nil {
		panic("batch: Batches: a zero value: make a Batches with Receive")
	}
}

// All returns an iterator that receives batches until the channel is closed and
// drained, until ctx is done while the loop waits, or until the channel fails
// otherwise. Values received before that are yielded first. If the channel panics, as
// the results of package workers do after a panic of f, the body gets the values
// received before, and then the loop statement panics. If the channel calls
// [runtime.Goexit], TakeRest returns the values of the batch that lingers.
//
// A loop that ends early closes the channel, so that senders get [sluice.ErrClosed]
// instead of waiting forever. That is a loop ended by ctx, by an error of the channel, or
// by the body, which may break, return, panic or call [runtime.Goexit]. Values that are
// still queued can be received: by the caller, or by a second loop over All, which
// continues where the first one ended. To keep the channel open pass
// [sluice.LeaveOpen](r) to Receive. A channel that other processes share stays open too.
//
// The slice belongs to the body until the body returns. Then it is used again, for another
// batch: copy what should stay. The body may change the slice, and may receive
// from the channel.
//
// A loop allocates its slice, for max values; above 1 MiB the slice grows as needed.
// Batches cost no allocation if the channel is a kind of package sluice. For any other
// type, each batch that lingers costs a context.
func (b *Batches[T]) All() iter.Seq[[]T] {
	b.requireMade()
	return func(yield func([]T) bool) {
		b.err = nil
		newLoop(b).run(yield)
	}
}

// Err reports why the last loop over All ended: nil if the channel was closed and
// drained, or if the body left the loop; the context's error if the context ended the
// loop; a [*TooLargeError] if [Fail] did; otherwise the error of the channel. A context that is
// done only after the last value was received does not count: then Err is nil, as nothing is
// missing.
func (b *Batches[T]) Err() error {
	b.requireMade()
	return b.err
}

// Flush ends the linger of the batch that the loop is collecting, and of those that follow until all
// values that were sent before it are yielded. If a batch is full, the body is running, or no value
// has come, the next batch does not linger. Without a linger Flush does nothing. It never waits, and
// may be called from any goroutine, and by the body.
func (b *Batches[T]) Flush() {
	b.requireMade()
	b.flushing.Store(true)
	if l := b.collecting.Load(); l != nil {
		(*l).expire()
	}
}

// TakeRest removes the values that loops over All received and did not yield, and returns them,
// in order; nil if none. Only a loop with a limit in bytes that ended early leaves such values,
// and a loop whose channel called [runtime.Goexit]: call TakeRest after it, and before the channel
// is drained by other means. The slice belongs to the caller.
func (b *Batches[T]) TakeRest() []T {
	b.requireMade()
	rest := b.rest.values
	b.rest = remainder[T]{}
	return rest
}

// Dropped returns how many values the policy [Drop] has discarded. Any goroutine may call it.
func (b *Batches[T]) Dropped() uint64 {
	b.requireMade()
	return b.sizing.total()
}
