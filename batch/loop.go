package batch

import (
	"context"
	"errors"
	"slices"
	"time"
	"unsafe"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/stage"
)

// A remainder is what a loop that ended early has received and not yielded.
type remainder[T any] struct {
	values []T
	cut    cut // of them
	since  time.Time
}

// askedFirst is the number of values that a loop with a limit in bytes asks for at first.
const askedFirst = 256

// A loop is one loop over batches.
//
//   - had[lo:hi] are the values that were received and not yielded, in order. had is buf, or
//     the values of loan. cut is the batch at their front.
//   - Slots of buf that are not in had[lo:hi] belong to the body, or are zero.
//   - The loop receives only while each value that it has is in the batch at hand, and that
//     is not complete. So the values that a batch leaves over all came with the last receive,
//     and since is the time of that. Without a limit in bytes a batch leaves none.
//   - A receive asks for ask-(hi-lo) values. Without a limit in bytes ask is max. With one, ask
//     doubles when those do not fill a batch, and falls when a batch is complete by bytes: to
//     what that batch had and one more, but at most by half, so that one large value does not
//     make the batches after it small. It stays at the length of the slices that are lent,
//     because a part of one would be copied.
//   - The linger starts when the first values of a batch have come and the batch is not
//     complete; before that the loop waits under ctx itself. A RecvBatch that finds values does
//     not check its context. Therefore the loop checks the linger after each call: a sender
//     that is always one value ahead must not stretch a batch.
//   - A Flush sets flushing, and then expires the linger. The loop starts the linger, and then takes
//     flushing, before each receive. So a Flush that expires the linger of an earlier batch, or too
//     early, is not missed; and one that comes when a batch is complete counts for the next one.
//     After it the loop receives until it would have to wait: one receive may not get all that there is.
//     If the batch is complete before that, the Flush counts for the next one too.
//   - If the body leaves the loop, the loan is not returned: the body may have kept its slice.
type loop[T any] struct {
	b    *Batches[T]
	s    *sizing[T] // nil without a limit in bytes
	buf  []T
	had  []T
	lo   int
	hi   int
	cut  cut
	ask  int
	over error // ends the loop when all values are yielded

	linger   linger // nil until a batch is not complete at once
	release  func()
	carried  bool // since is set: had[lo:hi] was there before this batch
	since    time.Time
	panicked any // the value of a panic of r that came after the first values of a batch

	lender engine.Lender[T]
	loan   engine.Loan[T]
	lent   int // values of the last loan
}

// newLoop returns a loop that begins with the values that an earlier one left.
func newLoop[T any](b *Batches[T]) *loop[T] {
	l := &loop[T]{b: b, s: b.sizing, ask: b.max}
	if l.s != nil {
		l.ask = min(b.max, askedFirst)
	}
	l.hi = len(b.rest.values)
	l.buf = make([]T, max(firstSlots[T](b.max), l.hi))
	l.had = l.buf
	copy(l.buf, b.rest.values)
	l.cut, l.since, l.carried = b.rest.cut, b.rest.since, l.hi > 0
	b.rest = remainder[T]{}
	if len(l.buf) >= b.max {
		l.lender = lenderOf[T](b.r)
		l.loan = engine.Loan[T]{Full: b.linger > 0, Clear: engine.HasPointers[T]()}
	}
	return l
}

// run yields the batches.
func (l *loop[T]) run(yield func([]T) bool) {
	drained := false
	defer func() {
		l.keepRest()
		if l.release != nil {
			l.release()
		}
		if !drained {
			stage.End(l.b.r)
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
				l.b.err = err
			}
			return
		}
	}
}

// keepRest leaves the values that were not yielded to the Batches. They are older than those
// of a loop over the same Batches that the body has made.
func (l *loop[T]) keepRest() {
	if l.lo < l.hi {
		l.stamp()
		values := append(slices.Clone(l.had[l.lo:l.hi]), l.b.rest.values...)
		l.b.rest = remainder[T]{values: values, cut: l.cut, since: l.since}
	}
}

// next makes a batch of the first n values. If err or panicked is not nil, it is the last one,
// and may be empty.
func (l *loop[T]) next() (n int, err error) {
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
func (l *loop[T]) take(n int) []T {
	vs := l.had[l.lo : l.lo+n : l.lo+n]
	l.lo += n
	l.cut.shift()
	if l.lo < l.hi {
		l.stamp()
	}
	return vs
}

// stamp records when the values that are left over were received, unless that is known.
func (l *loop[T]) stamp() {
	if !l.carried && l.b.linger > 0 {
		l.since, l.carried = time.Now(), true
	}
}

// extend asks values for their sizes until the batch at the front is complete, or all values
// are in it. It applies the policy for values above the limit.
func (l *loop[T]) extend() (whole bool, err error) {
	if l.s == nil {
		l.cut.n = min(l.hi-l.lo, l.b.max)
		return l.cut.n == l.b.max, nil
	}
	for {
		found := l.s.extend(&l.cut, l.had[l.lo:l.hi], l.b.max)
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
func (l *loop[T]) drop() {
	at := l.lo + l.cut.n
	v := l.had[at]
	copy(l.had[l.lo+1:at+1], l.had[l.lo:at])
	clear(l.had[l.lo : l.lo+1])
	l.lo++
	l.cut.skip()
	l.s.drop(v)
}

// receiveFirst waits for the first values of a batch. The loop has none.
func (l *loop[T]) receiveFirst() {
	if l.loan.Values != nil {
		l.loan.Return()
	}
	l.had, l.lo, l.hi = l.buf, 0, 0
	buf := l.buf[:min(len(l.buf), l.ask)]
	if l.lender != nil {
		l.hi, l.over = l.lender.RecvLent(l.b.ctx, buf, &l.loan)
	} else {
		l.hi, l.over = l.b.r.RecvBatch(l.b.ctx, buf)
	}
	if l.loan.Values != nil {
		l.had, l.lent = l.loan.Values, l.hi
	} else if l.hi == len(l.buf) {
		l.grow()
	}
	l.carried = false
}

// fill receives until the batch is complete, or its linger is over. It has at least one value.
func (l *loop[T]) fill() (int, error) {
	if l.linger == nil {
		l.linger, l.release = newLinger(l.b.ctx, l.b.r)
	}
	wait := l.b.linger
	if l.carried {
		wait = max(0, wait-time.Since(l.since))
	}
	under := l.linger.start(wait)
	defer l.linger.end()
	l.b.collecting.Store(&l.linger)
	flushed := false
	for {
		if l.b.flushing.Swap(false) { // the receives below find what was sent before the Flush
			l.linger.expire()
			flushed = true
		}
		err := l.receiveMore(under)
		if err != nil && !errors.Is(err, under.Err()) {
			l.over = err
		}
		whole, _ := l.extend() // no error: the batch has a value
		if whole {
			if flushed { // the channel may still have values that were sent before the Flush
				l.b.flushing.Store(true)
			}
			return l.cut.n, nil
		}
		if l.over == nil && l.panicked == nil && l.b.flushing.Load() {
			continue
		}
		// If ctx is done and the loop has to wait, the next call fails under ctx itself.
		if err != nil || l.panicked != nil || l.linger.over() && !flushed {
			return l.cut.n, l.over
		}
	}
}

// receiveMore appends values to those of the batch.
func (l *loop[T]) receiveMore(under context.Context) (err error) {
	l.makeRoom()
	defer func() { l.panicked = recover() }() // had[lo:hi] was received, and must not be lost
	n, err := l.b.r.RecvBatch(under, l.buf[l.hi:min(len(l.buf), l.ask)])
	l.hi += n
	l.carried = false
	return err
}

// makeRoom moves the values to the front of buf, and grows it if it is full. There are fewer
// than max values.
func (l *loop[T]) makeRoom() {
	if lent := l.loan.Values != nil; lent || l.lo > 0 {
		n := copy(l.buf, l.had[l.lo:l.hi])
		if lent {
			l.loan.Return()
		} else {
			clear(l.buf[max(n, l.lo):l.hi])
		}
		l.lo, l.hi = 0, n
	}
	l.had = l.buf
	if l.hi == len(l.buf) {
		l.grow()
	}
}

// grow makes room for more values in buf, which is full, but for no more than max.
func (l *loop[T]) grow() {
	if more := min(len(l.buf), l.b.max-len(l.buf)); more > 0 {
		larger := make([]T, len(l.buf)+more)
		copy(larger, l.buf)
		l.buf, l.had = larger, larger
	}
}

// allocatedAtOnce is the size in bytes up to which memory for values is allocated before
// it is needed.
const allocatedAtOnce = 1 << 20

// firstSlots returns for how many values, of at most most, to allocate memory at once.
func firstSlots[T any](most int) int {
	var zero T
	return min(most, max(1, allocatedAtOnce/max(1, int(unsafe.Sizeof(zero)))))
}
