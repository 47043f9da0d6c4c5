package batch

import (
	"context"
	"errors"
	"iter"
	"time"
	"unsafe"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/made"
	"github.com/sluice-go/sluice/internal/stage"
)

// Batches is a loop over batches of the values of a channel. Like a bufio.Scanner, it
// reports after the loop why the loop ended:
//
//	batches := batch.Receive(ctx, lines, 100, 50*time.Millisecond)
//	for lines := range batches.All() {
//		…
//	}
//	if err := batches.Err(); err != nil {
//		…
//	}
//
// A Batches belongs to one goroutine. Goroutines that receive from the same channel
// each call [Receive]. [ReceiveSized] returns a Batches with a limit in bytes.
type Batches[T any] struct {
	ctx    context.Context
	r      sluice.BatchReceiver[T]
	max    int
	linger time.Duration
	err    error // of the last loop

	sizing *sizing[T]   // nil without a limit in bytes
	rest   remainder[T] // of loops with such a limit
}

// Receive returns a loop over batches of 1 to max values of r, in the order in which
// they were received. Use it for work that costs as much for many values as for one: a
// write, a request, a transaction.
//
// A batch is complete when it has max values, when linger has passed since its first
// value was received, when r is closed and drained, or when ctx is done and the loop
// would have to wait. So no value waits longer than linger for others, and no value
// that was received is lost, unless r calls [runtime.Goexit]. With a linger of 0, a
// batch is what one RecvBatch returns. No timer runs while a batch is empty, or if the
// first RecvBatch fills it.
//
// Receive panics if ctx or r is nil, if r was not made by its constructor, if max is
// below 1, or if linger is negative. Nothing is received before the loop begins.
func Receive[T any](ctx context.Context, r sluice.BatchReceiver[T], max int, linger time.Duration) *Batches[T] {
	return newBatches("Receive", ctx, r, max, linger)
}

// newBatches checks the arguments of function.
func newBatches[T any](function string, ctx context.Context, r sluice.BatchReceiver[T], max int, linger time.Duration) *Batches[T] {
	if ctx == nil {
		panic("batch: " + function + ": nil context")
	}
	made.Require("batch: "+function, "receiver", r)
	requirePositive(function, "max", max)
	requireLinger(function, linger)
	return &Batches[T]{ctx: ctx, r: r, max: max, linger: linger}
}

// All returns an iterator that receives batches until the channel is closed and
// drained, until ctx is done while the loop waits, or until the channel fails
// otherwise. Values received before that are yielded first. If the channel panics, as
// the results of package workers do after a panic of f, the body gets the values
// received before, and then the loop statement panics. If the channel calls
// [runtime.Goexit], the values of the batch that lingers are lost.
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
	return func(yield func([]T) bool) {
		b.err = nil
		if b.sizing != nil {
			b.allSized(yield)
			return
		}
		l := loop[T]{ctx: b.ctx, r: b.r, max: b.max, wait: b.linger, buf: make([]T, firstSlots[T](b.max))}
		if len(l.buf) == b.max {
			l.lender = lenderOf[T](b.r)
			l.loan = engine.Loan[T]{Full: b.linger > 0, Clear: engine.HasPointers[T]()}
		}
		drained := false
		defer func() {
			if l.release != nil {
				l.release()
			}
			if !drained {
				stage.End(b.r)
			}
		}()
		for {
			n, err := l.next()
			vs := l.buf
			if l.loan.Values != nil {
				vs = l.loan.Values
			}
			left := n > 0 && !yield(vs[:n:n])
			if l.panicked != nil { // also if the body left the loop: nothing else reports it
				panic(l.panicked)
			}
			if left {
				return
			}
			if l.loan.Values != nil {
				l.loan.Return()
			} else {
				clear(l.buf[:n])
			}
			if err != nil {
				if drained = errors.Is(err, sluice.ErrClosed); !drained {
					b.err = err
				}
				return
			}
		}
	}
}

// Err reports why the last loop over All ended: nil if the channel was closed and
// drained, or if the body left the loop; the context's error if the context ended the
// loop; a [*TooLargeError] if [Fail] did; otherwise the error of the channel. A context that is
// done only after the last value was received does not count: then Err is nil, as nothing is
// missing.
func (b *Batches[T]) Err() error { return b.err }

// A loop is one loop over the batches of r.
//
// buf belongs to the loop from the start of next to its end, and to the body in between.
// The linger starts when the first values of a batch have come and the batch is not full;
// before that the loop waits under ctx itself. A RecvBatch that finds values does not
// check its context. Therefore the loop checks the linger after each call: a sender that
// is always one value ahead must not stretch a batch.
type loop[T any] struct {
	ctx  context.Context
	r    sluice.BatchReceiver[T]
	max  int
	wait time.Duration
	buf  []T

	linger   linger // nil until a batch is not full at once
	release  func()
	panicked any // the value of a panic of r that came after the first values of a batch

	// With a lender a batch may be in loan instead of buf. If the body leaves the loop, the
	// loan is not returned: the body may have kept its slice.
	lender engine.Lender[T]
	loan   engine.Loan[T]
}

// next collects a batch in buf[:n], or in loan. If err or panicked is not nil, the batch is the last
// one; it may be empty.
func (l *loop[T]) next() (n int, err error) {
	if l.lender != nil {
		n, err = l.lender.RecvLent(l.ctx, l.buf, &l.loan)
	} else {
		n, err = l.r.RecvBatch(l.ctx, l.buf)
	}
	if err != nil {
		return n, err
	}
	if n == len(l.buf) {
		l.buf = grown(l.buf, l.max)
	}
	if l.wait == 0 || n == l.max {
		return n, nil
	}
	if l.linger == nil {
		l.linger, l.release = newLinger(l.ctx, l.r)
	}
	under := l.linger.start(l.wait)
	defer l.linger.end()
	defer func() { l.panicked = recover() }() // buf[:n] was received, and must not be lost
	for n < l.max {
		received, err := l.r.RecvBatch(under, l.buf[n:])
		n += received
		switch {
		case err == nil && !l.linger.over():
			if n == len(l.buf) {
				l.buf = grown(l.buf, l.max)
			}
		case err == nil || errors.Is(err, under.Err()):
			// The batch is over. If ctx is done and the loop has to wait, the
			// next call fails under ctx itself.
			return n, nil
		default:
			return n, err
		}
	}
	return n, nil
}

// allocatedAtOnce is the size in bytes up to which memory for values is allocated before
// it is needed.
const allocatedAtOnce = 1 << 20

// firstSlots returns for how many values to allocate memory at once, of at most limit.
func firstSlots[T any](limit int) int {
	var zero T
	return min(limit, max(1, allocatedAtOnce/max(1, int(unsafe.Sizeof(zero)))))
}

// grown returns buf, which is full, with room for more values, but for no more than
// limit.
func grown[T any](buf []T, limit int) []T {
	if len(buf) == limit {
		return buf
	}
	larger := make([]T, len(buf)+min(len(buf), limit-len(buf)))
	copy(larger, buf)
	return larger
}
