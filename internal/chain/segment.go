package chain

import (
	"sync/atomic"
	"unsafe"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
)

const (
	// firstBytes is the size of an Elastic's first ring: an idle one holds at
	// most 1 KiB in all.
	firstBytes = 128
	// segmentBytes is the size of every further ring. Small, because after a
	// burst the last one stays; large enough that its header, and the work to
	// link and release it, vanish among its values.
	segmentBytes = 1024
	// spareBytes may be kept as spare rings whatever is queued.
	spareBytes = 2 * segmentBytes
)

// A segment is one ring of the chain.
type segment[T any] struct {
	buf  []T
	base uint64 // first index; the senders'
	end  uint64 // index after the last; published by next
	next atomic.Pointer[segment[T]]
}

// A pool holds an Elastic's spare segments, so that a steady flow, or one that
// swings, does not allocate.
//
//   - bytes is the memory of all segments, those in the chain included.
//   - A spare segment is empty, its slots are zero, and nobody else refers to
//     it: the receivers gave it up, no sender has taken it.
type pool[T any] struct {
	shrink engine.Shrink
	slots  int // of a segment

	lock   park.Lock
	spare  *segment[T]
	spares atomic.Int32
	bytes  int64
}

func newPool[T any](shrink engine.Shrink) *pool[T] {
	return &pool[T]{shrink: shrink, slots: slotsIn[T](segmentBytes)}
}

// slotsIn is the largest power of two of slots that fit n bytes, at least one.
func slotsIn[T any](n int) int {
	return floorPow2(max(1, n/max(1, sizeOf[T]())))
}

func floorPow2(n int) int {
	size := 1
	for size*2 <= n {
		size *= 2
	}
	return size
}

// first returns the segment that the chain begins with.
func (p *pool[T]) first() *segment[T] { return p.make(slotsIn[T](firstBytes)) }

func (p *pool[T]) make(slots int) *segment[T] {
	seg := &segment[T]{buf: make([]T, slots)}
	p.lock.Lock()
	p.bytes += seg.bytes()
	p.lock.Unlock()
	return seg
}

// bytes is the memory that the segment holds, its header included.
func (s *segment[T]) bytes() int64 {
	return int64(len(s.buf))*int64(sizeOf[T]()) + int64(unsafe.Sizeof(*s))
}

// get returns a segment for the senders, a spare one if there is one.
func (p *pool[T]) get(uint64) *segment[T] {
	p.lock.Lock()
	seg := p.spare
	if seg != nil {
		p.spare = seg.next.Load()
		p.spares.Add(-1)
	}
	p.lock.Unlock()
	if seg == nil {
		return p.make(p.slots)
	}
	seg.next.Store(nil)
	return seg
}

// put takes back a segment that the receivers emptied, while that many values
// are queued, and keeps or drops it as the shrink mode says.
func (p *pool[T]) put(seg *segment[T], queued uint64) {
	p.lock.Lock()
	if len(seg.buf) < p.slots {
		p.bytes -= seg.bytes() // the first one, outgrown
	} else {
		seg.next.Store(p.spare)
		p.spare = seg
		p.spares.Add(1)
	}
	p.lock.Unlock()
	if p.shrink == engine.ShrinkHalf {
		p.trim(queued)
	}
}

// trim drops the spare segments that are too many for that many values queued.
func (p *pool[T]) trim(queued uint64) {
	if p.shrink == engine.NoShrink || p.spares.Load() <= 1 {
		return
	}
	p.lock.Lock()
	keep := max(1, spareBytes/max(1, p.slots*sizeOf[T]()), int(queued)/p.slots)
	for n := int(p.spares.Load()); n > keep; n-- {
		p.bytes -= p.spare.bytes()
		p.spare = p.spare.next.Load()
		p.spares.Add(-1)
	}
	p.lock.Unlock()
}

// held is the memory held, in bytes.
func (p *pool[T]) held() int64 {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.bytes
}
