package segqueue

import (
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/spin"
)

const (
	// firstBytes is the size of an Elastic's first ring: an idle one holds at
	// most 1 KiB in all.
	firstBytes = 128
	// smallBytes is the size of the rings of a short queue. Small, because
	// after a burst the last ring stays.
	smallBytes = 1024
	// largeBytes is the size of further rings once as much is queued: to link
	// and release a ring then vanishes among its values. Batches of 64, one to
	// one, GOMAXPROCS=2: 1.5 ns a value, and 2.6 with small rings only
	// (2026-11-21, AMD EPYC Zen 5 VM with 2 cores, Go 1.26.8).
	largeBytes = 8192
	// spareBytes of small rings may be kept whatever is queued.
	spareBytes = 2 * smallBytes
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
	lock   spin.Lock
	few    int // small ones that may be kept whatever is queued
	small  spares[T]
	large  spares[T]
	bytes  int64
}

// spares are segments of one size.
type spares[T any] struct {
	slots int // of each
	first *segment[T]
	n     atomic.Int32
}

// newPool returns an empty pool. Without large ones, all segments are small.
func newPool[T any](shrink engine.Shrink, large bool) *pool[T] {
	p := &pool[T]{shrink: shrink}
	p.small.slots = slotsIn[T](smallBytes)
	p.large.slots = math.MaxInt
	p.few = max(1, spareBytes/(p.small.slots*max(1, sizeOf[T]())))
	if n := slotsIn[T](largeBytes); large && n > p.small.slots {
		p.large.slots = n
	}
	return p
}

// slotsIn is the largest power of two of slots that fit n bytes, at least one.
func slotsIn[T any](n int) int {
	slots := 1
	for slots*2*max(1, sizeOf[T]()) <= n {
		slots *= 2
	}
	return slots
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

// get returns a segment for the senders, a spare one if there is one: a large
// one if so much is queued already that put would keep one.
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

// put takes back a segment that the receivers emptied, while that many values
// are queued, and keeps or drops it as the shrink mode says.
func (p *pool[T]) put(seg *segment[T], queued uint64) {
	p.lock.Lock()
	switch len(seg.buf) {
	case p.large.slots:
		p.large.push(seg)
	case p.small.slots:
		p.small.push(seg)
	default: // the first one, outgrown
		p.bytes -= seg.bytes()
	}
	p.lock.Unlock()
	if p.shrink == engine.ShrinkHalf {
		p.trim(queued)
	}
}

// trim drops the spare segments that are too many for that many values queued:
// more than the values occupy, but for a few small ones.
func (p *pool[T]) trim(queued uint64) {
	if p.shrink == engine.NoShrink || int(p.small.n.Load()) <= p.few && p.large.n.Load() == 0 {
		return
	}
	p.lock.Lock()
	p.bytes -= p.large.keep(queued / uint64(p.large.slots))
	p.bytes -= p.small.keep(max(uint64(p.few), queued/uint64(p.small.slots)))
	p.lock.Unlock()
}

// held is the memory held, in bytes.
func (p *pool[T]) held() int64 {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.bytes
}

// push, pop and keep are called with the pool's lock.
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

// keep drops all but n and returns the bytes given back.
func (s *spares[T]) keep(n uint64) (dropped int64) {
	for uint64(s.n.Load()) > n {
		dropped += s.pop().bytes()
	}
	return dropped
}
