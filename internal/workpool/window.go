package workpool

import (
	"math/bits"
	"sync/atomic"
)

// A window puts the results of an ordered pool in order. It has a slot for each of the next
// width numbers, in blocks.
//
//   - base is the number of the first result that no receiver has taken. Only jobs
//     numbered below base+width are received (see room), so no two jobs share a
//     slot.
//   - A slot belongs to its job's worker until the worker stores ready, which
//     publishes the result. Then it belongs to the receivers, until take moves base
//     past it, which gives it to the worker of a later job.
//   - A block is allocated for its first result. If there are several, take removes one before
//     it moves base past it: then each of its slots was used, and no other result will come to
//     it. There is a place for twice as many blocks as width has, so that two blocks in use never
//     share one. A single block stays, and is used like a ring.
type window[U any] struct {
	width  uint64
	size   uint64 // slots of a block, 1<<shift
	shift  uint8
	blocks []atomic.Pointer[block[U]] // a power of two
	spare  atomic.Pointer[block[U]]   // one that was removed, or nil
	base   atomic.Uint64
	failed bool // the job numbered base failed, and take has returned that
}

type block[U any] []slot[U]

type slot[U any] struct {
	ready atomic.Bool
	value U
	err   error
}

// isReady reports whether the slot has a result. A nil slot has none.
func (s *slot[U]) isReady() bool { return s != nil && s.ready.Load() }

const (
	// maxRun is how many results take returns at most.
	maxRun = 64
	// minBlock is the least number of slots of a block, if there are several. The number of slots
	// and the number of blocks are about equal for a large width.
	minBlock = 1024
)

func newWindow[U any](width int) *window[U] {
	all := bits.Len(uint(width - 1)) // log2 of the number of slots
	shift := min(all, max(bits.Len(minBlock-1), (all+1)/2))
	blocks := 1
	if all > shift {
		blocks = 2 << (all - shift)
	}
	return &window[U]{width: uint64(width), size: 1 << shift, shift: uint8(shift), blocks: make([]atomic.Pointer[block[U]], blocks)}
}

// room returns how many jobs may be received, if the first of them has number next.
func (w *window[U]) room(next uint64) int { return int(w.base.Load() + w.width - next) }

// place returns where the block of a sequence number is.
func (w *window[U]) place(seq uint64) *atomic.Pointer[block[U]] {
	return &w.blocks[(seq>>w.shift)&uint64(len(w.blocks)-1)]
}

// at returns the slot of a sequence number, or nil if its block has no result.
func (w *window[U]) at(seq uint64) *slot[U] {
	b := w.place(seq).Load()
	if b == nil {
		return nil
	}
	return &(*b)[seq&(w.size-1)]
}

// allocate returns the slot of a sequence number whose block has no result, or had none.
func (w *window[U]) allocate(seq uint64) *slot[U] {
	fresh := w.spare.Swap(nil)
	if fresh == nil {
		slots := make(block[U], w.size)
		fresh = &slots
	}
	if !w.place(seq).CompareAndSwap(nil, fresh) { // another worker was faster
		w.spare.Store(fresh)
	}
	return w.at(seq)
}

// passed is called with base when take has emptied all slots before it. It removes the block that
// ends there.
func (w *window[U]) passed(base uint64) {
	if base&(w.size-1) == 0 && len(w.blocks) > 1 {
		w.spare.Store(w.place(base - 1).Swap(nil))
	}
}

// put puts the result of job seq, or its error, into its slot, and reports whether its turn has
// come. It never waits.
func (w *window[U]) put(seq uint64, v U, err error) (due bool) {
	s := w.at(seq)
	if s == nil {
		s = w.allocate(seq)
	}
	s.value, s.err = v, err
	s.ready.Swap(true) // publishes the result before the check of base, and of receivers
	return w.base.Load() == seq
}

// holds reports whether take would return something.
func (w *window[U]) holds() bool { return !w.failed && w.at(w.base.Load()).isReady() }

// take returns the next results in order, in run, or the failure of the next job, once. Only one
// goroutine calls it at a time.
func (w *window[U]) take(run []U) ([]U, error) {
	var zero U
	base := w.base.Load()
	for s := w.at(base); len(run) < maxRun && s.isReady(); s = w.at(base) {
		if s.err != nil {
			if len(run) > 0 || w.failed {
				break
			}
			w.failed = true
			return run, s.err
		}
		run = append(run, s.value)
		s.value = zero
		s.ready.Store(false)
		base++
		w.passed(base)
	}
	if len(run) > 0 {
		w.base.Swap(base) // before the check for a worker that waits for room
	}
	return run, nil
}
