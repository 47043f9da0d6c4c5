package workpool

import (
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/spin"
)

// A hand is the jobs that a worker has received and not yet run. The package
// comment says who may touch which slot.
type hand[T any] struct {
	span  atomic.Uint64 // lo in the low half, hi in the high half
	since atomic.Int64  // when its jobs were received
	lock  spin.Lock     // a thief copies under it

	// The owner's, written while the span is empty, and published by it.
	jobs []T
	base uint64 // the number of the job in slot 0
	top  uint32 // where the last refill put hi

	_ [64]byte // thieves of one hand leave the line of the next alone
}

func pack(lo, hi uint32) uint64          { return uint64(hi)<<32 | uint64(lo) }
func unpack(span uint64) (lo, hi uint32) { return uint32(span), uint32(span >> 32) }

// surplus returns how many jobs a thief would find.
func (h *hand[T]) surplus() int {
	lo, hi := unpack(h.span.Load())
	return int(hi - lo)
}

// room returns n slots to receive into, or fewer. The owner calls it, with an
// empty span.
func (h *hand[T]) room(n int) []T {
	if _, hi := unpack(h.span.Load()); hi != h.top {
		// A thief was here, and may be copying still.
		h.lock.Lock()
		h.top = hi
		h.lock.Unlock()
	}
	if n > len(h.jobs) {
		h.jobs = make([]T, max(n, 2*len(h.jobs)))
	}
	return h.jobs[:n]
}

// publish offers all but the first of the n jobs received to thieves. The first
// one is the owner's.
func (h *hand[T]) publish(n int, now int64) {
	h.since.Store(now)
	h.top = uint32(n)
	h.span.Swap(pack(1, h.top))
}

// claim makes the next job the owner's, and returns its slot.
func (h *hand[T]) claim() (slot int, ok bool) {
	for {
		span := h.span.Load()
		lo, hi := unpack(span)
		if lo == hi {
			return 0, false
		}
		if h.span.CompareAndSwap(span, span+1) {
			return int(lo), true
		}
	}
}

// take empties the slot of a job that the owner has claimed.
func (h *hand[T]) take(slot int) (job T) {
	var zero T
	job, h.jobs[slot] = h.jobs[slot], zero
	return job
}

// steal moves up to half of the surplus into the slots of a thief, and returns how
// many jobs that was and the number of the first.
func (h *hand[T]) steal(into []T) (n int, base uint64) {
	h.lock.Lock()
	defer h.lock.Unlock()
	for {
		span := h.span.Load()
		lo, hi := unpack(span)
		n = min(int(hi-lo+1)/2, len(into))
		if n == 0 {
			return 0, 0
		}
		from := hi - uint32(n)
		if h.span.CompareAndSwap(span, pack(lo, from)) {
			copy(into, h.jobs[from:hi])
			clear(h.jobs[from:hi])
			return n, h.base + uint64(from)
		}
	}
}
