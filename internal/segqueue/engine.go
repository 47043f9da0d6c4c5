// Package segqueue is the engine of buffered channels: a FIFO in a list of segments,
// each a ring of slots, with one short lock per side.
//
// Values have indices 0, 1, 2, … in the order in which they were sent. Each side
// has a word that holds an index and flag bits: the send word holds tail, the index
// of the next value to send; the receive word holds head, the index of the next
// value to receive. Invariants, in wrapping arithmetic:
//
//   - 0 <= tail-head <= limit. The queued values are head, …, tail-1.
//   - Receivers own the slots of head, …, tail-1; senders own all other slots. The
//     store that moves an index hands slots over to the other side and releases the
//     lock: a value costs each side one CAS and one store. Only a rescue moves an index
//     and keeps the lock: see starvation.go.
//   - The holder of a word's lock bit owns the other fields of its side.
//   - tail <= send.bound <= head+limit and head <= recv.bound <= tail. Up to its
//     bound a side proceeds without reading the other side's word, so a cache line
//     that the other side writes is fetched once per run and not once per value.
//   - A send is linearized at the store that moves tail, a receive at the store
//     that moves head. "Empty" and "closed" are decided by one load of the send
//     word under the receive lock, "full" by one load of the receive word under the
//     send lock.
//   - No index moves after the closed bit is set, under the send lock.
//   - A value that is handed off to a waiting receiver gets no index and no slot. That
//     happens while the channel is empty and open: see handoff.go.
//
// docs/design/segqueue.md explains segments, waiting, and fairness.
package segqueue

import (
	"math"
	"runtime"
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/age"
	"github.com/sluice-go/sluice/internal/callsite"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/spin"
	"github.com/sluice-go/sluice/internal/waitq"
)

// The flag bits of a word. The index is above them. Any flag turns the fast path off.
const (
	locked     = 1 << iota // a goroutine owns this side
	closed                 // send word: no value will be added
	starving               // a waiter is starving: see starvation.go
	readyInUse             // Ready was called
	sleepers               // a goroutine sleeps until the lock is free
	probed                 // the next operation takes a sample: see sites.go

	drained = closed // receive word: the last Recv found the channel empty: see handoff.go

	shift = 6
	flags = 1<<shift - 1
	one   = 1 << shift // index 1
)

// cacheLine is the distance in bytes that prevents false sharing.
//
// On 64-bit machines an Engine is 512 bytes long, in whole cache lines. The runtime
// aligns an object of that size to a cache line; a larger one begins 8 bytes after
// a line, behind its header, and the fields that a side writes for each value would
// be in two lines.
const cacheLine = 64

// A side is the state that senders, or receivers, share among themselves.
type side[T any] struct {
	word  atomic.Uint64
	bound uint64      // an index, shifted like the word
	buf   []T         // seg.buf, to save a load
	seg   *segment[T] // the segment of the next index
	high  uint64      // high-water mark, as this side has seen it
	// contended counts the times that a goroutine found the lock taken. It wraps.
	contended   atomic.Uint32
	antiBarging bool  // of the senders: see barging.go
	samples     uint8 // likewise
	rescued     bool  // see starvation.go
	_           [cacheLine - 63%cacheLine]byte

	rescue    *T // see starvation.go
	queue     waitq.Queue
	served    uint32      // in values: see barging.go
	spinBusy  spin.Budget // while the other side is running
	spinWoken spin.Budget // while a goroutine of the other side was woken
	yields    spin.Yields // see yieldTo
	sleeping  spin.Sleepers
	// In all two more lines: see TestSidesAreAligned.
}

// An Engine is an engine.Engine.
type Engine[T any] struct {
	limit          uint64
	clear          bool // T has pointers: zero the slot of a received value
	singleSender   bool
	singleReceiver bool
	overflow       engine.Overflow
	spinDelay      int32
	handOff        *handOff[T] // see handoff.go
	onDrop         func(T)
	name           *string  // nil without a name
	elastic        *pool[T] // nil for a Bounded
	keepSlots      int      // receivers that empty the channel replace a larger segment
	ready          engine.Ready
	dropped        atomic.Uint64
	meter          *meter  // of a Metered
	ages           age.Log // belongs to the holder of the send lock; indices are shifted like the words

	// The wait queues: those in send and recv, but lanes share one of receivers. See lane.go.
	senders, receivers *waitq.Queue
	lane               *lane           // nil unless it is one
	sites              *callsite.Sites // nil without a name

	rejected engine.Rejections // the sides begin with a cache line: see TestSidesAreAligned

	send side[T]
	recv side[T]
}

// New returns an engine for config.Limit values, in one segment unless
// config.Elastic.
func New[T any](config engine.Config[T]) *Engine[T] {
	return newAt(config, 0)
}

// newAt is New with the given first index, for tests of wrapping indices.
func newAt[T any](config engine.Config[T], first uint64) *Engine[T] {
	e := &Engine[T]{
		limit:        uint64(config.Limit),
		clear:        engine.HasPointers[T](),
		singleSender: config.SingleSender,
		// A send that drops the oldest value acts as a second receiver.
		singleReceiver: config.SingleReceiver && config.Overflow != engine.DropOldest,
		overflow:       config.Overflow,
		onDrop:         config.OnDrop,
		keepSlots:      math.MaxInt,
		spinDelay:      int32(min(config.Limit, spin.RunDelay/delayPerSlot) * delayPerSlot),
	}
	if name := config.Name; name != "" {
		e.name = &name
		e.ages.Observe(first<<shift, first<<shift)
	}
	e.senders, e.receivers = &e.send.queue, &e.recv.queue
	var seg *segment[T]
	if config.Elastic {
		// A single sender takes no lock, so shrink could not exclude it while it
		// replaces a large segment.
		e.elastic = newPool[T](config.Shrink, !config.SingleSender)
		switch config.Shrink {
		case engine.ShrinkHalf:
			e.keepSlots = e.elastic.small.slots
		case engine.ShrinkEmpty: // there may be spare segments beside a small one
			e.keepSlots = 0
		}
		seg = e.elastic.first()
	} else {
		seg = &segment[T]{buf: make([]T, ceilPow2(config.Limit))}
	}
	seg.base = first << shift
	for _, s := range []*side[T]{&e.send, &e.recv} {
		s.seg, s.buf, s.bound = seg, seg.buf, first<<shift
		s.word.Store(first << shift)
	}
	e.watch(config.Sites)
	return e
}

// lock takes the side's lock and returns the word without the lock bit.
func (s *side[T]) lock() uint64 {
	word := s.word.Load()
	if word&locked == 0 && s.word.CompareAndSwap(word, word|locked) {
		return word
	}
	return s.lockTaken()
}

const (
	// How often a goroutine retries a taken lock, and then yields, before it sleeps.
	lockSpins  = 16
	lockYields = 4
)

// lockTaken is lock when the lock is taken. A goroutine that has retried and yielded
// sleeps: the operating system may have descheduled the holder, which can continue
// only when a processor is free.
func (s *side[T]) lockTaken() uint64 {
	word := s.sleeping.Lock(&s.word, locked, sleepers, func(n int) bool {
		if n >= lockSpins && n < lockSpins+lockYields {
			runtime.Gosched()
		}
		return n < lockSpins+lockYields
	})
	s.contended.Store(s.contended.Load() + 1)
	return word
}

// unlock stores word, which releases the lock and publishes the slots below its
// index.
func (s *side[T]) unlock(word uint64) {
	if s.word.Swap(word)&sleepers != 0 {
		s.sleeping.Wake()
	}
}

// Close implements engine.Engine.
func (e *Engine[T]) Close() {
	word := e.send.lock()
	e.send.unlock(word | closed)
	if word&closed != 0 {
		return
	}
	e.senders.WakeAll()
	e.receivers.WakeAll()
	e.ready.Close()
}

// Len implements engine.Engine.
func (e *Engine[T]) Len() int {
	for range 8 {
		head := e.recv.word.Load() &^ flags
		tail := e.send.word.Load() &^ flags
		if e.recv.word.Load()&^flags == head {
			return e.queued(tail, head)
		}
	}
	word := e.recv.lock()
	n := e.queued(e.send.word.Load()&^flags, word&^flags)
	e.recv.unlock(word)
	return n
}

// between returns tail-head in values. Flags are ignored.
func (e *Engine[T]) between(tail, head uint64) uint64 { return (tail&^flags - head&^flags) >> shift }

// queued is between as Len and Stats report it. A send that drops the oldest value
// moves tail before head, so tail-head may be limit+1 for a moment: the dropped
// value does not count.
func (e *Engine[T]) queued(tail, head uint64) int {
	return int(min(e.between(tail, head), e.limit))
}

// Cap implements engine.Engine.
func (e *Engine[T]) Cap() int { return int(e.limit) }

// ceilPow2 returns the smallest power of two that is at least n, for n >= 1.
func ceilPow2(n int) int {
	size := 1
	for size < n {
		size *= 2
	}
	return size
}
