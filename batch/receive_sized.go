package batch

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/stage"
)

// ReceiveSized is [Receive] with a limit in bytes: the sizes of the values of a batch add up to
// maxBytes at most. Use it for a request, a message or a file whose length is limited.
//
//	batches := batch.ReceiveSized(ctx, lines, 10_000, 4<<20, time.Second, nil)
//
// A batch is complete when the next value would exceed maxBytes, or when the sum is maxBytes,
// and in each case in which a batch of Receive is complete. A value whose size alone is above
// maxBytes never stops the loop in silence: o.TooLarge makes it a batch of its own, ends the loop
// with an error, or drops the value and counts it. The values before it and behind it are
// yielded as usual.
//
// The loop receives several values at once, and so may have values that did not fit. It yields
// them with the next batch, whose linger counts from the moment at which the first of them was
// received. It asks for about as many values as the batch before had, and so keeps few of them
// from other receivers. With a linger of 0, the values of one RecvBatch make one batch or more.
//
// If the loop ends early, by the body or by an error for a value that is too large, the values
// that were received and not yielded stay in the Batches. They are the first that a second loop
// over All yields, or TakeRest returns them: they are older than those in the channel.
//
// ReceiveSized panics as Receive does, and if maxBytes is below 1, or if an option makes no
// sense. A nil o selects the defaults, which need a T of []byte or string.
func ReceiveSized[T any](ctx context.Context, r sluice.BatchReceiver[T], max int, maxBytes int64, linger time.Duration, o *SizedOptions[T]) *Batches[T] {
	const function = "ReceiveSized"
	b := newBatches(function, ctx, r, max, linger)
	b.sizing = newSizing(function, maxBytes, o)
	return b
}

// TakeRest removes the values that loops over All received and did not yield, and returns them,
// in order; nil if none. Only a loop of [ReceiveSized] that ended early leaves such values: call
// TakeRest after it, and before the channel is drained by other means. The slice belongs to the
// caller.
func (b *Batches[T]) TakeRest() []T {
	rest := b.rest.values
	b.rest = remainder[T]{}
	return rest
}

// Dropped returns how many values the policy [Drop] has discarded. Any goroutine may call it.
func (b *Batches[T]) Dropped() uint64 {
	if b.sizing == nil {
		return 0
	}
	return b.sizing.dropped.Load()
}

// A remainder is what a loop that ended early has received and not yielded.
type remainder[T any] struct {
	values []T
	cut    cut // of them
	since  time.Time
}

// askedFirst is the number of values that a loop with a limit in bytes asks for at first.
const askedFirst = 256

// A sizedLoop is one loop over batches with a limit in bytes.
//
//   - run[lo:hi] are the values that were received and not yielded, in order. run is buf, or
//     the values of loan. cut is the batch at their front.
//   - Slots of buf that are not in run[lo:hi] belong to the body, or are zero.
//   - The loop receives only while each value that it has is in the batch at hand, and that
//     is not complete. So the values that a batch leaves over all came with the last receive,
//     and since is the time of that.
//   - A receive asks for ask-(hi-lo) values. ask doubles when those do not fill a batch, and
//     falls when a batch is complete by bytes: to what that batch had and one more, but at most
//     by half, so that one large value does not make the batches after it small. It stays at
//     the length of the slices that are lent, because a part of one would be copied.
type sizedLoop[T any] struct {
	b    *Batches[T]
	s    *sizing[T]
	buf  []T
	run  []T
	lo   int
	hi   int
	cut  cut
	ask  int
	over error // ends the loop when all values are yielded

	linger   linger // nil until a batch is not complete at once
	release  func()
	carried  bool // since is set: run[lo:hi] was there before this batch
	since    time.Time
	panicked any // the value of a panic of r that came after the first values of a batch

	lender engine.Lender[T]
	loan   engine.Loan[T]
	lent   int // values of the last loan
}

// newSizedLoop returns a loop that begins with the values that an earlier one left.
func newSizedLoop[T any](b *Batches[T]) *sizedLoop[T] {
	l := &sizedLoop[T]{b: b, s: b.sizing, ask: min(b.max, askedFirst)}
	l.hi = len(b.rest.values)
	l.buf = make([]T, max(firstSlots[T](b.max), l.hi))
	l.run = l.buf
	copy(l.buf, b.rest.values)
	l.cut, l.since, l.carried = b.rest.cut, b.rest.since, l.hi > 0
	b.rest = remainder[T]{}
	if len(l.buf) >= b.max {
		l.lender = lenderOf[T](b.r)
		l.loan = engine.Loan[T]{Full: b.linger > 0, Clear: engine.HasPointers[T]()}
	}
	return l
}

// allSized runs a loop over All with a limit in bytes.
func (b *Batches[T]) allSized(yield func([]T) bool) {
	l := newSizedLoop(b)
	drained := false
	defer func() {
		l.keepRest()
		if l.release != nil {
			l.release()
		}
		if !drained {
			stage.End(b.r)
		}
	}()
	for {
		n, err := l.next()
		vs := l.take(n)
		left := n > 0 && !yield(vs)
		if l.panicked != nil { // also if the body left the loop: nothing else reports it
			panic(l.panicked)
		}
		if left {
			return
		}
		if l.loan.Values == nil {
			clear(vs)
		}
		if err != nil {
			if drained = errors.Is(err, sluice.ErrClosed); !drained {
				b.err = err
			}
			return
		}
	}
}

// keepRest leaves the values that were not yielded to the Batches. They are older than those
// of a loop over the same Batches that the body has made.
func (l *sizedLoop[T]) keepRest() {
	if l.lo < l.hi {
		l.stamp()
		values := append(slices.Clone(l.run[l.lo:l.hi]), l.b.rest.values...)
		l.b.rest = remainder[T]{values: values, cut: l.cut, since: l.since}
	}
}

// next makes a batch of the first n values. If err or panicked is not nil, it is the last one,
// and may be empty.
func (l *sizedLoop[T]) next() (n int, err error) {
	for {
		whole, err := l.extend()
		switch {
		case whole || err != nil:
			return l.cut.n, err
		case l.over != nil:
			return l.cut.n, l.over
		case l.cut.n == 0:
			l.receiveFirst()
		case l.b.linger == 0:
			return l.cut.n, nil
		default:
			return l.fill()
		}
	}
}

// take removes the batch of n values.
func (l *sizedLoop[T]) take(n int) []T {
	vs := l.run[l.lo : l.lo+n : l.lo+n]
	l.lo += n
	l.cut.shift()
	if l.lo < l.hi {
		l.stamp()
	}
	return vs
}

// stamp records when the values that are left over were received, unless that is known.
func (l *sizedLoop[T]) stamp() {
	if !l.carried && l.b.linger > 0 {
		l.since, l.carried = time.Now(), true
	}
}

// extend asks values for their sizes until the batch at the front is complete, or all values
// are in it. It applies the policy for values above the limit.
func (l *sizedLoop[T]) extend() (whole bool, err error) {
	for {
		found := l.s.extend(&l.cut, l.run[l.lo:l.hi], l.b.max)
		switch {
		case found == partial:
			if n := l.hi - l.lo; n >= l.ask {
				l.ask = n + min(n, l.b.max-n)
			}
			return false, nil
		case found == tooLarge && l.s.policy == Drop:
			l.drop()
			continue
		case found == tooLarge && l.s.policy == Fail:
			return false, l.s.failure(l.cut.next)
		case found == tooLarge:
			l.cut.alone()
		}
		if l.cut.n < l.b.max {
			l.ask = max(l.cut.n+1, l.ask/2, l.lent)
		}
		return true, nil
	}
}

// drop removes the value behind the batch at the front, and moves the batch up to the next one.
func (l *sizedLoop[T]) drop() {
	at := l.lo + l.cut.n
	v := l.run[at]
	copy(l.run[l.lo+1:at+1], l.run[l.lo:at])
	clear(l.run[l.lo : l.lo+1])
	l.lo++
	l.cut.skip()
	l.s.drop(v)
}

// receiveFirst waits for the first values of a batch. The loop has none.
func (l *sizedLoop[T]) receiveFirst() {
	if l.loan.Values != nil {
		l.loan.Return()
	}
	l.run, l.lo, l.hi = l.buf, 0, 0
	buf := l.buf[:min(len(l.buf), l.ask)]
	if l.lender != nil {
		l.hi, l.over = l.lender.RecvLent(l.b.ctx, buf, &l.loan)
	} else {
		l.hi, l.over = l.b.r.RecvBatch(l.b.ctx, buf)
	}
	if l.loan.Values != nil {
		l.run, l.lent = l.loan.Values, l.hi
	}
	l.carried = false
}

// fill receives until the batch is complete, or its linger is over. It has at least one value.
func (l *sizedLoop[T]) fill() (int, error) {
	if l.linger == nil {
		l.linger, l.release = newLinger(l.b.ctx, l.b.r)
	}
	wait := l.b.linger
	if l.carried {
		wait = max(0, wait-time.Since(l.since))
	}
	under := l.linger.start(wait)
	defer l.linger.end()
	for {
		err := l.receiveMore(under)
		if err != nil && !errors.Is(err, under.Err()) {
			l.over = err
		}
		whole, _ := l.extend() // no error: the batch has a value
		if whole {
			return l.cut.n, nil
		}
		// If ctx is done and the loop has to wait, the next call fails under ctx itself.
		if err != nil || l.panicked != nil || l.linger.over() {
			return l.cut.n, l.over
		}
	}
}

// receiveMore appends values to those of the batch.
func (l *sizedLoop[T]) receiveMore(under context.Context) (err error) {
	l.makeRoom()
	defer func() { l.panicked = recover() }() // run[lo:hi] was received, and must not be lost
	n, err := l.b.r.RecvBatch(under, l.buf[l.hi:min(len(l.buf), l.ask)])
	l.hi += n
	l.carried = false
	return err
}

// makeRoom moves the values to the front of buf, and grows it if it is full. There are fewer
// than max values.
func (l *sizedLoop[T]) makeRoom() {
	if lent := l.loan.Values != nil; lent || l.lo > 0 {
		n := copy(l.buf, l.run[l.lo:l.hi])
		if lent {
			l.loan.Return()
		} else {
			clear(l.buf[max(n, l.lo):l.hi])
		}
		l.lo, l.hi = 0, n
	}
	if l.hi == len(l.buf) {
		l.buf = grown(l.buf, l.b.max)
	}
	l.run = l.buf
}
