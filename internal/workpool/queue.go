package workpool

import (
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/spin"
)

// A localQueue holds the jobs that a worker has received and not yet started. The
// owner claims jobs at the low end, other workers steal them at the high end.
// Invariants, where span is the pair [lo, hi):
//
//   - Between two refills lo only rises and hi only falls, by CAS. If two goroutines
//     claim one job, one CAS fails: each job is run once.
//   - The owner refills only while lo == hi. A thief may still be copying out of the
//     slots it has stolen. In that case hi != top, and the owner acquires the lock
//     once before it writes to the slots (see slots).
//   - The job in slot 0 belongs to the owner without a CAS. The span starts at 1, so
//     a batch of one is never published.
type localQueue[T any] struct {
	span  atomic.Uint64 // lo in the low half, hi in the high half
	since atomic.Int64  // when the jobs were received
	lock  spin.Lock     // held by a thief while it copies

	// Written by the owner while the span is empty, published by the span.
	jobs []T
	base uint64 // sequence number of the job in slot 0
	top  uint32 // hi after the last refill

	_ [64]byte // avoids false sharing with the next worker
}

func pack(lo, hi uint32) uint64          { return uint64(hi)<<32 | uint64(lo) }
func unpack(span uint64) (lo, hi uint32) { return uint32(span), uint32(span >> 32) }

// surplus returns how many jobs another worker could steal.
func (q *localQueue[T]) surplus() int {
	lo, hi := unpack(q.span.Load())
	return int(hi - lo)
}

// slots returns up to n slots to receive into. The owner calls it while the span is
// empty.
func (q *localQueue[T]) slots(n int) []T {
	if _, hi := unpack(q.span.Load()); hi != q.top {
		// A thief was here, and may still be copying.
		q.lock.Lock()
		q.top = hi
		q.lock.Unlock()
	}
	if n > len(q.jobs) {
		q.jobs = make([]T, max(n, 2*len(q.jobs)))
	}
	return q.jobs[:n]
}

// publish offers the n received jobs, except the first, to other workers.
func (q *localQueue[T]) publish(n int, now int64) {
	q.since.Store(now)
	q.top = uint32(n)
	q.span.Swap(pack(1, q.top))
}

// claim claims the next job for the owner and returns its slot. span is what the owner
// last knew of the queue, and next what it knows now. Between two refills only the owner
// moves lo, and hi only falls: a span that was empty is empty, and a span that has
// changed makes the CAS fail.
func (q *localQueue[T]) claim(span uint64) (slot int, next uint64, ok bool) {
	for uint32(span) != uint32(span>>32) {
		if q.span.CompareAndSwap(span, span+1) {
			return int(uint32(span)), span + 1, true
		}
		span = q.span.Load()
	}
	return 0, span, false
}

// take empties a slot that the owner has claimed.
func (q *localQueue[T]) take(slot int) (job T) {
	var zero T
	job, q.jobs[slot] = q.jobs[slot], zero
	return job
}

// steal moves up to half of the surplus into the slots of another worker. It returns
// the number of jobs and the sequence number of the first.
func (q *localQueue[T]) steal(into []T) (n int, base uint64) {
	q.lock.Lock()
	defer q.lock.Unlock()
	for {
		span := q.span.Load()
		lo, hi := unpack(span)
		n = min(int(hi-lo+1)/2, len(into))
		if n == 0 {
			return 0, 0
		}
		from := hi - uint32(n)
		if q.span.CompareAndSwap(span, pack(lo, from)) {
			copy(into, q.jobs[from:hi])
			clear(q.jobs[from:hi])
			return n, q.base + uint64(from)
		}
	}
}
