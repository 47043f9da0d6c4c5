package segqueue

import (
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/spin"
)

const (
	// firstBytes is the size of an Elastic's first segment: an idle Elastic holds at
	// most 1 KiB in all.
	firstBytes = 128
	// smallBytes is the size of segments of a short queue. The last one remains
	// after a burst, so it is small.
	smallBytes = 1024
	// largeBytes is the size of further segments once as much is queued. With
	// small segments only, linking and releasing them adds 1.1 ns to a value's 1.5.
	largeBytes = 8192
	// spareBytes of small segments may be kept even if nothing is queued.
	spareBytes = 2 * smallBytes
)

// A segment is one ring of the list: the value with index i is in slot i mod
// len(buf).
type segment[T any] struct {
	buf  []T
	base uint64 // index of the first value; used by senders
	end  uint64 // index after the last value; published by next
	next atomic.Pointer[segment[T]]
	lent atomic.Pointer[lent[T]] // nil until a sender lends: see lend.go
}

// A pool holds an Elastic's spare segments, so that a steady or oscillating flow
// does not allocate.
//
//   - bytes is the memory of all segments, linked or spare.
//   - A spare segment has zeroed slots and no other references: the receivers have
//     released it, and no sender has taken it.
type pool[T any] struct {
	shrink engine.Shrink
	lock   spin.Lock
	few    int // small ones that may be kept even if nothing is queued
	small  spares[T]
	large  spares[T]
	bytes  int64
}

// spares is a list of unused segments of one size.
type spares[T any] struct {
	slots int // of each
	first *segment[T]
	n     atomic.Int32
}

// newPool returns an empty pool. If large is false, all segments are small. Without shrinking
// all are large: spare segments of either size would wait while the other is in demand.
func newPool[T any](shrink engine.Shrink, large bool) *pool[T] {
	p := &pool[T]{shrink: shrink}
	p.small.slots = slotsIn[T](smallBytes)
	p.large.slots = math.MaxInt
	p.few = max(1, spareBytes/(p.small.slots*max(1, engine.SizeOf[T]())))
	n := slotsIn[T](largeBytes)
	switch {
	case shrink == engine.NoShrink:
		p.small.slots = n
	case large && n > p.small.slots:
		p.large.slots = n
	}
	return p
}

// slotsIn returns the largest power of two of slots that fit into n bytes, at least
// 1.
func slotsIn[T any](n int) int {
	slots := 1
	for slots*2*max(1, engine.SizeOf[T]()) <= n {
		slots *= 2
	}
	return slots
}

// first returns the first segment of a list.
func (p *pool[T]) first() *segment[T] { return p.make(slotsIn[T](firstBytes)) }

func (p *pool[T]) make(slots int) *segment[T] {
	seg := &segment[T]{buf: make([]T, slots)}
	p.lock.Lock()
	p.bytes += seg.bytes()
	p.lock.Unlock()
	return seg
}

// bytes returns the memory that the segment holds, with its header.
func (s *segment[T]) bytes() int64 {
	return int64(len(s.buf))*int64(engine.SizeOf[T]()) + int64(unsafe.Sizeof(*s))
}

// get returns a segment for the senders, a spare one if possible. It is a large one
// if enough values are queued that put would keep one.
func (p *pool[T]) get(queued uint64) *segment[T] {
	s := &p.small
	if queued/2 >= uint64(p.large.slots) {
		s = &p.large
	}
	p.lock.Lock()
	seg := s.pop()
	p.lock.Unlock()
	if seg == nil {
		return p.make(s.slots)
	}
	return seg
}

// put returns a segment that the receivers have emptied, while queued values
// remain. It keeps or drops the segment according to the shrink mode.
func (p *pool[T]) put(seg *segment[T], queued uint64) {
	p.lock.Lock()
	switch len(seg.buf) {
	case p.large.slots:
		p.large.push(seg)
	case p.small.slots:
		p.small.push(seg)
	default: // the first one
		p.bytes -= seg.bytes()
	}
	p.lock.Unlock()
	if p.shrink == engine.ShrinkHalf {
		p.trim(queued)
	}
}

// tidy reports that trim would drop nothing.
func (p *pool[T]) tidy() bool {
	return p.shrink == engine.NoShrink || int(p.small.n.Load()) <= p.few && p.large.n.Load() == 0
}

// trim drops spare segments that would hold more than the queued values, except for
// a few small ones.
func (p *pool[T]) trim(queued uint64) {
	if p.tidy() {
		return
	}
	p.lock.Lock()
	p.bytes -= p.large.keep(queued / uint64(p.large.slots))
	p.bytes -= p.small.keep(max(uint64(p.few), queued/uint64(p.small.slots)))
	p.lock.Unlock()
}

// held returns the memory held, in bytes.
func (p *pool[T]) held() int64 {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.bytes
}

// push, pop and keep are called with the pool's lock held.
func (s *spares[T]) push(seg *segment[T]) {
	seg.next.Store(s.first)
	s.first = seg
	s.n.Add(1)
}

func (s *spares[T]) pop() *segment[T] {
	seg := s.first
	if seg != nil {
		s.first = seg.next.Load()
		seg.next.Store(nil)
		s.n.Add(-1)
	}
	return seg
}

// keep drops all but n segments and returns the bytes freed.
func (s *spares[T]) keep(n uint64) (dropped int64) {
	for uint64(s.n.Load()) > n {
		dropped += s.pop().bytes()
	}
	return dropped
}
