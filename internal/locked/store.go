package locked

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/internal/age"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/ring"
)

// A store holds the queued values of an engine. It belongs to the holder of the engine's lock,
// which counts the values and keeps their number within the limit. What a key means is the
// store's: a size, a level, a time.
type store[T any] interface {
	// fits reports whether there is room for a value with that key, if the number of values is
	// within the limit.
	fits(key int64) bool
	// push queues a value that fits. Only a schedule returns a Ticket.
	push(v T, key int64) Ticket
	// able reports whether a value can be received now.
	able() bool
	// pop removes and returns the next value. There is one that can be received.
	pop() T
	// evict removes the value to drop when there is no room for one with that key. ok is false
	// if that is the one to send.
	evict(key int64) (v T, ok bool)
	// over reports whether each of the n values it has can be received without waiting for a time.
	over(n int) bool
	// describe completes a description of the channel at the time now, with sent as the number
	// of values that were sent, whose Stats have what the engine knows.
	describe(now time.Duration, sent uint64, in *engine.Snapshot)
}

// A fifo is the store of a channel with a few slots.
type fifo[T any] struct {
	values ring.Ring[T]
	ages   age.Log
}

func (f *fifo[T]) fits(int64) bool              { return true }
func (f *fifo[T]) push(v T, _ int64) (t Ticket) { f.values.Push(v); return t }
func (f *fifo[T]) able() bool                   { return f.values.Len() > 0 }
func (f *fifo[T]) pop() T                       { return f.values.Pop() }
func (f *fifo[T]) over(int) bool                { return true }
func (f *fifo[T]) evict(int64) (T, bool)        { return f.values.Pop(), true }

func (f *fifo[T]) describe(now time.Duration, sent uint64, in *engine.Snapshot) {
	in.Stats.Older(f.ages.Inspect(now, sent-uint64(f.values.Len()), sent, 1))
	in.Stats.Bytes = int64(f.values.Size()) * int64(engine.SizeOf[T]())
	describeRing(&f.values, in)
}

// describeRing adds a ring to a description that has room for it.
func describeRing[T any](r *ring.Ring[T], in *engine.Snapshot) {
	if slots := r.Size(); slots > 0 && cap(in.Rings) > 0 {
		receive, send := r.Slots()
		in.Rings = append(in.Rings, engine.Ring{Slots: slots, Len: r.Len(), Send: send, Receive: receive})
	}
}

// A sized is a fifo with a limit of the sum of sizes, which are the keys. It grows, and gives
// memory back.
type sized[T any] struct {
	fifo[T]
	config *engine.Config[T]
	sizes  ring.Ring[int] // of the values
	bytes  int64          // their sum
	sent   uint64
}

// minSlots is the least size of an elastic buffer.
const minSlots = 64

func newSized[T any](config engine.Config[T]) *sized[T] { return &sized[T]{config: &config} }

// key returns the size of a value. method is the method that the user called.
func (s *sized[T]) key(v T, method string) (int64, error) {
	size := s.config.Size(v)
	if size < 0 {
		panic(fmt.Sprintf("sluice: %s: Options.Size returned %d, below 0", method, size))
	}
	if int64(size) > s.config.MaxBytes {
		return 0, engine.ErrTooLarge
	}
	return int64(size), nil
}

func (s *sized[T]) fits(size int64) bool { return size <= s.config.MaxBytes-s.bytes }

func (s *sized[T]) push(v T, size int64) (t Ticket) {
	s.values.Push(v)
	s.sizes.Push(int(size))
	s.bytes += size
	s.sent++
	observe(&s.ages, s.values.Len(), s.sent, s.config)
	return t
}

func (s *sized[T]) pop() T {
	v := s.values.Pop()
	s.bytes -= int64(s.sizes.Pop())
	if s.config.Shrink == engine.ShrinkHalf || s.config.Shrink == engine.ShrinkEmpty && s.values.Len() == 0 {
		s.values.Shrink(minSlots)
		s.sizes.Shrink(minSlots)
	}
	return v
}

func (s *sized[T]) evict(int64) (T, bool) { return s.pop(), true }

func (s *sized[T]) describe(now time.Duration, sent uint64, in *engine.Snapshot) {
	in.Stats.Older(s.ages.Inspect(now, s.sent-uint64(s.values.Len()), s.sent, 1))
	slot, values := int64(engine.SizeOf[T]()), s.bytes
	if s.config.SizeIsKnown { // it includes the slots
		values -= int64(s.values.Len()) * slot
	}
	in.Stats.Bytes = engine.Bytes(values, int64(s.values.Size())*slot, int64(s.sizes.Size())*int64(engine.SizeOf[int]()))
	describeRing(&s.values, in)
}

// observe is called after the last of n queued values was sent, with the index behind it.
func observe[T any](log *age.Log, n int, sent uint64, config *engine.Config[T]) {
	if log.Due(sent-uint64(n), sent, 1) {
		now := log.Observe(sent-uint64(n), sent)
		if config.Sites != nil {
			config.Sites.Send.Sample(now)
		}
	}
}
