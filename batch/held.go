package batch

import (
	"math"
	"slices"

	"github.com/sluice-go/sluice/internal/engine"
)

// An amount is a number of values and the sum of their sizes, which are 0 without a limit in
// bytes. A limit is an amount too; its bytes are MaxUint64 if there is no limit in bytes.
type amount struct {
	n     int
	bytes uint64
}

// leaves reports whether a leaves room in limit for a value of this size.
func (a amount) leaves(limit amount, size uint64) bool {
	return a.n < limit.n && a.bytes <= limit.bytes && size <= limit.bytes-a.bytes
}

func (a amount) plus(size uint64) amount { return amount{a.n + 1, a.bytes + size} }

func (a amount) minus(b amount) amount { return amount{a.n - b.n, a.bytes - b.bytes} }

// reaches reports whether a is at a limit, or above.
func (a amount) reaches(limit amount) bool { return a.n >= limit.n || a.bytes >= limit.bytes }

// doubled is two batches of limit a.
func (a amount) doubled() amount {
	if a.bytes <= math.MaxUint64/2 {
		a.bytes *= 2
	}
	return amount{2 * a.n, a.bytes}
}

// A run is a sequence of values in a ring, from slot first on.
type run[T any] struct {
	n, first int
	buf      []T
	sizes    []uint64 // by slot; nil without a limit in bytes
}

// runOf returns vs as a run.
func runOf[T any](vs []T) run[T] { return run[T]{n: len(vs), buf: vs} }

// slot returns the slot of value i.
func (r *run[T]) slot(i int) int {
	if i += r.first; i >= len(r.buf) {
		i -= len(r.buf)
	}
	return i
}

// piece returns the values at the front that are in one piece.
func (r *run[T]) piece() []T {
	to := min(r.first+r.n, len(r.buf))
	return r.buf[r.first:to:to]
}

// batch returns the front of piece, of at least one value, whose sizes add up to at most limit.
func (r *run[T]) batch(limit uint64) []T {
	vs := r.piece()
	if r.sizes == nil {
		return vs
	}
	sizes := r.sizes[r.first:]
	n, sum := 1, sizes[0]
	for n < len(vs) && sum <= limit && sizes[n] <= limit-sum {
		sum += sizes[n]
		n++
	}
	return vs[:n:n]
}

// skip removes the first n values. An empty run starts at slot 0.
func (r *run[T]) skip(n int) {
	r.n -= n
	if r.first = r.slot(n); r.n == 0 {
		r.first = 0
	}
}

// A queue is the values that a Sender holds, oldest first. Because it starts at slot 0 whenever
// it was empty, most batches are in one piece. Free slots are zero if T has pointers.
//
// The owner appends, and replaces the ring by a larger one. A flush reads a copy of the run, which
// stays valid meanwhile: the slots of its values do not change.
type queue[T any] struct {
	run[T]
	bytes  uint64 // sum of the sizes
	most   amount // fixed
	clears bool   // fixed: T has pointers
}

func newQueue[T any](most amount, sized bool) queue[T] {
	q := queue[T]{most: most, clears: engine.HasPointers[T]()}
	q.resize(firstSlots[T](most.n), sized)
	return q
}

// amount returns how much is held.
func (q *queue[T]) amount() amount { return amount{q.n, q.bytes} }

// resize moves the values to the front of a ring of n slots.
func (q *queue[T]) resize(n int, sized bool) {
	old := q.run
	q.buf, q.first = make([]T, n), 0
	copy(q.buf[copy(q.buf, old.buf[old.first:]):], old.buf[:old.first])
	if sized {
		q.sizes = make([]uint64, n)
		copy(q.sizes[copy(q.sizes, old.sizes[old.first:]):], old.sizes[:old.first])
	}
}

// push appends v. There are fewer values than most.
func (q *queue[T]) push(v T, size uint64) {
	if q.n == len(q.buf) {
		q.resize(q.n+min(q.n, q.most.n-q.n), q.sizes != nil)
	}
	at := q.slot(q.n)
	q.buf[at] = v
	if q.sizes != nil {
		q.sizes[at] = size
		q.bytes += size
	}
	q.n++
}

// pop removes the value that was pushed last.
func (q *queue[T]) pop() {
	q.n--
	at := q.slot(q.n)
	clear(q.buf[at : at+1])
	if q.sizes != nil {
		q.bytes -= q.sizes[at]
	}
}

// drop removes the first n values.
func (q *queue[T]) drop(n int) {
	if q.clears {
		clear(q.buf[q.first:min(q.first+n, len(q.buf))])
		clear(q.buf[:max(0, q.first+n-len(q.buf))])
	}
	if n == q.n {
		q.bytes = 0
	} else if q.sizes != nil {
		for i := range n {
			q.bytes -= q.sizes[q.slot(i)]
		}
	}
	q.skip(n)
}

// take removes all values and returns them; nil if there are none.
func (q *queue[T]) take() (all []T) {
	for q.n > 0 {
		all = slices.Grow(all, q.n)
		vs := q.piece()
		all = append(all, vs...)
		q.drop(len(vs))
	}
	return all
}

// inPlace returns the values with free slots behind them in one piece, for max values in all; nil
// if there is no such slot.
func (q *queue[T]) inPlace(max int) []T {
	to, end := q.first+q.n, min(q.first+max, len(q.buf))
	if to >= end {
		return nil
	}
	return q.buf[q.first:to:end]
}
