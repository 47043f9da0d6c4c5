package broadcast

import "github.com/sluice-go/sluice/internal/engine"

// The size of a block: a subscription takes the lock of the Hub once per block, and the
// log keeps up to a block more than it must.
const (
	maxBlock      = 64
	maxBlockBytes = 16 << 10
)

// A block is a run of values. Its base and its values are written under the lock of the
// Hub, and read by those that pin it.
type block[T any] struct {
	base   uint64 // index of the first value
	pins   int    // subscriptions that read here, guarded by the lock of the Hub
	gone   bool   // removed from the log with its pins
	values []T
}

// blocks are the blocks of a log, a circular buffer of pointers.
type blocks[T any] struct {
	size  uint64 // values in a block, 1<<shift
	shift uint8
	ring  []*block[T] // of a size that is a power of two
	most  uint64      // blocks in the log
	first uint64      // number of the oldest block
	last  uint64      // number of the newest block, which is the block to write to
	end   *block[T]   // the newest block
	stray int         // pins of blocks that were removed from the log with them
	spare []*block[T] // unused ones, without values
	clear bool        // T has pointers
}

// init makes a log for at least the last n values.
func (b *blocks[T]) init(n int) {
	b.size = 1
	for b.size*2 <= uint64(n) && b.size < maxBlock && int(b.size*2)*engine.SizeOf[T]() <= maxBlockBytes {
		b.size *= 2
		b.shift++
	}
	// The values need up to n/size blocks and one more where they begin within a block;
	// the block of the next value may be empty.
	b.most = (uint64(n)+b.size-1)/b.size + 2
	b.clear = engine.HasPointers[T]()
	b.ring = make([]*block[T], 2)
	b.end = b.fresh(0)
	b.ring[0] = b.end
}

// fresh returns an empty block with the given number.
func (b *blocks[T]) fresh(number uint64) *block[T] {
	if n := len(b.spare); n > 0 {
		f := b.spare[n-1]
		b.spare[n-1] = nil
		b.spare = b.spare[:n-1]
		f.base = number * b.size
		return f
	}
	return &block[T]{base: number * b.size, values: make([]T, b.size)}
}

func (b *blocks[T]) slot(number uint64) **block[T] { return &b.ring[number&uint64(len(b.ring)-1)] }

// at returns the value with index i, which the log has.
func (b *blocks[T]) at(i uint64) T { return (*b.slot(i >> b.shift)).values[i&(b.size-1)] }

// put appends the value with index i. Values from index keep on stay.
func (b *blocks[T]) put(i uint64, v T, keep uint64) {
	b.end.values[i&(b.size-1)] = v
	if (i+1)&(b.size-1) == 0 {
		b.extend(keep)
	}
}

// extend adds a block.
func (b *blocks[T]) extend(keep uint64) {
	b.trim(keep)
	if b.last-b.first+1 == b.most {
		old := b.slot(b.first)
		if b.stray += (*old).pins; (*old).pins == 0 {
			b.recycle(*old)
		} else {
			(*old).gone = true
		}
		*old = nil
		b.first++
	}
	if b.last-b.first+1 == uint64(len(b.ring)) {
		ring := make([]*block[T], 2*len(b.ring))
		for n := b.first; n <= b.last; n++ {
			ring[n&uint64(len(ring)-1)] = *b.slot(n)
		}
		b.ring = ring
	}
	b.last++
	b.end = b.fresh(b.last)
	*b.slot(b.last) = b.end
}

// trim removes the oldest blocks that nothing needs. A subscription whose block is gone may
// need any of them.
func (b *blocks[T]) trim(keep uint64) {
	for b.first < b.last && b.stray == 0 {
		oldest := b.slot(b.first)
		if (*oldest).pins > 0 || (b.first+1)*b.size > keep {
			return
		}
		b.recycle(*oldest)
		*oldest = nil
		b.first++
	}
}

// recycle keeps a block without pins for later. It keeps at most as many of these as there are
// blocks in the log.
func (b *blocks[T]) recycle(old *block[T]) {
	if b.clear {
		clear(old.values)
	}
	b.spare = append(b.spare, old)
	for n := len(b.spare); uint64(n) > b.last-b.first+1; n-- {
		b.spare[n-1] = nil
		b.spare = b.spare[:n-1]
	}
}

// pin pins the block with index i.
func (b *blocks[T]) pin(i uint64) *block[T] {
	p := *b.slot(i >> b.shift)
	p.pins++
	return p
}

// unpin undoes a pin.
func (b *blocks[T]) unpin(p *block[T], keep uint64) {
	p.pins--
	if p.gone {
		b.stray--
	}
	b.trim(keep)
}

// slots returns the number of slots in memory, except for blocks that only a pin keeps.
func (b *blocks[T]) slots() uint64 { return (b.last - b.first + 1 + uint64(len(b.spare))) * b.size }
