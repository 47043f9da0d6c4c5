package workpool

import (
	"math/bits"
	"sync/atomic"
)

// A bitmap has a bit for each worker whose queue, or result buffer, may hold
// something: a search reads one word for 64 workers. If a bit is clear, the worker
// has nothing, or is about to set the bit: a worker fills first and sets the bit
// then, and a searcher clears the bit first and looks at the worker then.
type bitmap []atomic.Uint64

func newBitmap(workers int) bitmap { return make(bitmap, (workers+63)/64) }

// set sets the bit of a worker. While it is set this is one load, so a busy worker
// does not write to a cache line that all others read.
func (b bitmap) set(worker int) {
	word, bit := &b[worker/64], uint64(1)<<(worker%64)
	if word.Load()&bit == 0 {
		word.Or(bit)
	}
}

// clear clears the bit of a worker. The caller looks at the worker afterwards.
func (b bitmap) clear(worker int) { b[worker/64].And(^(uint64(1) << (worker % 64))) }

// each calls visit for the workers whose bit is set, starting at first and wrapping
// around, until visit returns true. It reports whether visit did.
func (b bitmap) each(first int, visit func(worker int) bool) bool {
	start, from := first/64, uint(first%64)
	for i := range len(b) + 1 {
		at := (start + i) % len(b)
		word := b[at].Load()
		switch i {
		case 0:
			word &= ^uint64(0) << from
		case len(b):
			word &= 1<<from - 1
		}
		for ; word != 0; word &= word - 1 {
			if visit(at*64 + bits.TrailingZeros64(word)) {
				return true
			}
		}
	}
	return false
}
