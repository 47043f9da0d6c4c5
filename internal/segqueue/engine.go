// Package segqueue is the engine of buffered channels: a FIFO in a chain of rings,
// with one short lock for each side.
//
// # States and ownership
//
// Values have indices 0, 1, 2, … in the order in which they were sent. Each
// side has a word: for senders the index of the next value to send (tail), for
// receivers that of the next to receive (head), and flag bits beside it. The
// indices run freely and wrap.
//
//   - head <= tail <= head + limit, in wrapping arithmetic.
//   - The values queued are head … tail-1. Their slots belong to the receiving
//     side, every other slot to the sending side. A slot changes hands by the
//     store that moves the tail past it (to the receivers) or the head (to the
//     senders): the store that moves an index also releases the lock, so a
//     value costs each side one CAS and one store.
//   - Whoever holds the lock bit of a word owns the other fields of its side.
//   - bound is how far a side may go without looking at the other one: a sender
//     may fill the slots up to send.bound, a receiver empty those up to
//     recv.bound. Only at its bound does a side read the other's word, so a
//     cache line that the other side writes is fetched once a run, not once a
//     value.
//
// # Rings in a chain
//
// A segment is a ring of power-of-two size: index i lives in slot i mod size. A
// Bounded has one, large enough for ever. In an Elastic a sender that finds the
// ring full seals it (end is the index after its last value), links a new one
// and goes on there; receivers empty the sealed ring and follow. A queue that
// fits one ring therefore never moves on, and none is ever copied. The receiver
// that empties the channel while it is in a large ring exchanges that for a
// small one, under both locks.
//
// # Linearization
//
// A send happens at the store that moves the tail; a receive at the store that
// moves the head. "Empty" and "closed" are read off one load of the send word
// while the receive lock is held, "full" off one load of the receive word while
// the send lock is held. Close happens when it sets the closed bit, under the
// send lock: no tail moves after that.
//
// # Waiting: why no wake-up is lost
//
// A goroutine that finds nothing to do joins its side's waitq.Queue, which raises
// the line's signal by a read-modify-write, and then looks once more before it
// parks. The other side first moves its index, then loads the signal. Both are
// sequentially consistent, so at least one of the two sees the other. For what
// happens to a wake-up afterwards see waitq.Wait.
//
// Before it joins, a goroutine may pause without touching the channel: see
// spin.Budget.
//
// # Fairness
//
// A goroutine that comes by may overtake a parked one. One that was woken in
// vain keeps its place in the line, and after maxLosses times it is served first:
// see starving.go. A batch that went in part goes to the end of the line. When
// batches have waited there for long, other batches overtake them only by so many
// values: see strict.go.
//
// # Tried and lost
//
// Slots with sequence numbers (Vyukov): two more shared words a value, and a
// batch is not one store. A mutex around the ring with a queue of waiters that
// own values: see handoff; it collapses when both sides block. To go away for
// microseconds from a lock that is taken, as spin.BusyLock does: nothing gained
// for Bounded, a third lost for Elastic from 8 to 1 at GOMAXPROCS=2 (2026-11-21).
package segqueue

import (
	"math"
	"reflect"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/sluice-go/sluice/internal/age"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/spin"
	"github.com/sluice-go/sluice/internal/waitq"
)

// The flag bits of a word, and the index above them.
const (
	locked   = 1 << iota // a goroutine owns this side
	closed               // send word: no value will be added
	starving             // a goroutine has waited too long: no fast path
	observed             // Ready is in use: no fast path
	sleepers             // somebody sleeps until the lock is free

	shift = 5
	flags = 1<<shift - 1
	one   = 1 << shift // index 1
)

// cacheLine is the distance that keeps two Ps from writing the same line.
//
// An Engine is laid out in whole lines, and on 64-bit machines it is 512 bytes
// long: an object of that size begins a line, a larger one 8 bytes after that,
// behind the header that the runtime gives to it. Then what a side writes for
// each value would lie in two lines.
const cacheLine = 64

// A side is what senders, or receivers, share among themselves.
type side[T any] struct {
	word  atomic.Uint64
	bound uint64      // an index, shifted like the word
	buf   []T         // seg.buf, one load nearer
	seg   *segment[T] // the ring of the next index
	high  uint64      // most values this side has seen queued
	// contended is how often the lock was not to be had at once.
	contended atomic.Uint32
	strict    bool // of the senders: see strict.go
	_         [cacheLine - 61%cacheLine]byte

	debt    *T // see starving.go
	paid    bool
	batches uint8  // this and served of the senders: see strict.go
	served  uint32 // values

	own      waitq.Queue
	atWork   spin.Budget // with the other side, while none of it waits
	onItsWay spin.Budget // and while some of it does
	gate     spin.Gate
	// Two whole lines more: see TestSidesAreAligned.
}

// An Engine is an engine.Engine.
type Engine[T any] struct {
	limit          uint64
	clear          bool // T has pointers: emptied slots are zeroed
	singleSender   bool
	singleReceiver bool
	overflow       engine.Overflow
	onDrop         func(T)
	name           string
	pause          int
	elastic        *pool[T] // nil for a Bounded
	keepSlots      int      // receivers shed a larger ring if they empty the channel
	ready          atomic.Pointer[Readiness]
	dropped        atomic.Uint64
	meter          *meter   // of a Metered
	ages           *age.Log // nil until needed; belongs to the holder of the send lock

	// The goroutines that wait, to send or to receive. They are the sides' own
	// lines, unless this is a lane: see lane.go.
	senders, receivers *waitq.Queue
	others             *waitq.Queue // more senders, who wait for room here or elsewhere; or nil
	_                  [cacheLine - 120%cacheLine]byte

	send side[T]
	recv side[T]
}

// New returns an engine for config.Limit values, all of them in one ring unless
// config.Elastic.
func New[T any](config engine.Config[T]) *Engine[T] {
	return newAt(config, 0)
}

// newAt is New with the first index given, for tests of the wrap.
func newAt[T any](config engine.Config[T], first uint64) *Engine[T] {
	e := &Engine[T]{
		limit:        uint64(config.Limit),
		clear:        hasPointers(reflect.TypeFor[T]()),
		singleSender: config.SingleSender,
		// A send that drops the oldest value is a second receiver.
		singleReceiver: config.SingleReceiver && config.Overflow != engine.DropOldest,
		overflow:       config.Overflow,
		onDrop:         config.OnDrop,
		name:           config.Name,
		keepSlots:      math.MaxInt,
		pause:          min(config.Limit, maxPause/pausePerValue) * pausePerValue,
	}
	e.senders, e.receivers = &e.send.own, &e.recv.own
	var seg *segment[T]
	if config.Elastic {
		// A single sender works without a lock that could keep it out while
		// shed exchanges its ring.
		e.elastic = newPool[T](config.Shrink, !config.SingleSender)
		switch config.Shrink {
		case engine.ShrinkHalf:
			e.keepSlots = e.elastic.small.slots
		case engine.ShrinkEmpty: // there may be spare segments behind a small ring
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
	return e
}

// lock takes the side's lock and returns the word as it was, unlocked.
func (s *side[T]) lock() uint64 {
	word := s.word.Load()
	if word&locked == 0 && s.word.CompareAndSwap(word, word|locked) {
		return word
	}
	return s.lockTaken()
}

const (
	// How often a goroutine looks at a lock that is taken, and then yields,
	// before it sleeps.
	looks  = 16
	yields = 4
)

// lockTaken is lock for when it was taken: see spin.Gate.
//
// A holder that the operating system has put aside, because there are more Ps
// than processors or others use them too, comes back when a processor is free.
// Looking on and yielding instead of sleeping: the built-in channel divided by
// an Elastic, 8 to 1 and 8 to 8 at GOMAXPROCS=8, is 0.3 to 0.9 instead of 1.1 to
// 1.9 (2026-11-21, AMD EPYC Zen 5 VM with 2 cores, Go 1.26.8).
func (s *side[T]) lockTaken() uint64 {
	var again uint64 // to be set with the lock
	for tries := 0; ; tries++ {
		word := s.word.Load()
		switch {
		case word&locked == 0:
			if s.word.CompareAndSwap(word, word|locked|again) {
				s.contended.Store(s.contended.Load() + 1)
				return word
			}
		case tries < looks:
		case tries < looks+yields:
			runtime.Gosched()
		default:
			slept, others := s.gate.Sleep(func() bool {
				return word&sleepers != 0 && s.word.Load() == word || s.word.CompareAndSwap(word, word|sleepers)
			})
			if slept {
				tries = 0
			}
			if again = 0; others {
				again = sleepers
			}
		}
	}
}

// unlock releases the lock and publishes the slots below the word's index.
func (s *side[T]) unlock(word uint64) {
	if s.word.Swap(word)&sleepers != 0 {
		s.gate.Open()
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
	if r := e.ready.Load(); r != nil {
		r.Close()
	}
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

// between is the number of values between a tail and a head.
func (e *Engine[T]) between(tail, head uint64) uint64 { return (tail&^flags - head&^flags) >> shift }

// queued is between, as Len and Stats report it. A send that drops the
// oldest value moves the tail first: for that moment the difference is one
// above the limit, and the value dropped does not count.
func (e *Engine[T]) queued(tail, head uint64) int {
	return int(min(e.between(tail, head), e.limit))
}

// Cap implements engine.Engine.
func (e *Engine[T]) Cap() int { return int(e.limit) }

// sizeOf is the size of a T in a slot, in bytes.
func sizeOf[T any]() int {
	var zero T
	return int(unsafe.Sizeof(zero))
}

// ceilPow2 is the smallest power of two that is not below n, for n >= 1.
func ceilPow2(n int) int {
	size := 1
	for size < n {
		size *= 2
	}
	return size
}

// hasPointers reports whether a value of type t can keep something alive.
func hasPointers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr,
		reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return false
	case reflect.Array:
		return t.Len() > 0 && hasPointers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if hasPointers(t.Field(i).Type) {
				return true
			}
		}
		return false
	default:
		return true
	}
}
