package locked

import (
	"time"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
)

// A schedule holds the values of a channel by the time at which they are due: a binary heap,
// with the earliest one first, and among equals the one that was sent first.
//
//   - heap[i] is before heap[2i+1] and heap[2i+2].
//   - items[heap[i].slot] is the item of heap[i], and its place is i.
//   - The number of an item in use is unique, and 0 if its slot is free.
//
// A schedule belongs to the holder of the engine's lock.
type schedule[T any] struct {
	heap    []moment
	items   []item[T]
	free    []int32 // slots
	numbers uint64  // of the last item
	passed  time.Duration
	last    time.Duration // no value is due later
}

// A moment is when an item is due, a time of park.Now.
type moment struct {
	at     time.Duration
	number uint64
	slot   int32
}

func (m moment) before(o moment) bool {
	return m.at < o.at || m.at == o.at && m.number < o.number
}

// An item is a value, and where in the heap it is.
type item[T any] struct {
	value  T
	number uint64
	place  int32
}

// A Ticket identifies a value of a schedule. Its zero value identifies none.
type Ticket struct {
	number uint64
	slot   int32
}

func (s *schedule[T]) fits(int64) bool { return true }
func (s *schedule[T]) over(n int) bool { return n == 0 || s.allDue() }

// able reports whether the first value is due. It reads the clock only if that can matter.
func (s *schedule[T]) able() bool {
	if len(s.heap) == 0 {
		return false
	}
	if s.heap[0].at > s.passed {
		s.passed = park.Now()
	}
	return s.heap[0].at <= s.passed
}

// next returns when the first value becomes due: never, if there is none or if it was due when the
// clock was read last. So one that becomes due after able has denied it is not missed.
func (s *schedule[T]) next() time.Duration {
	if len(s.heap) == 0 || s.heap[0].at <= s.passed {
		return never
	}
	return s.heap[0].at
}

// allDue reports whether no value will be due later.
func (s *schedule[T]) allDue() bool {
	if s.last > s.passed {
		s.passed = park.Now()
	}
	return s.last <= s.passed
}

// push adds a value that is due at the time key.
func (s *schedule[T]) push(v T, key int64) Ticket {
	at := time.Duration(key)
	if at == atOnce {
		s.passed = park.Now()
		at = s.passed
	}
	if len(s.heap) == 0 {
		s.last = at
	}
	s.numbers++
	var slot int32
	if n := len(s.free); n > 0 {
		slot, s.free = s.free[n-1], s.free[:n-1]
	} else {
		slot = int32(len(s.items))
		s.items = append(s.items, item[T]{})
	}
	s.items[slot] = item[T]{value: v, number: s.numbers}
	s.last = max(s.last, at)
	s.heap = append(s.heap, moment{})
	s.up(len(s.heap)-1, moment{at, s.numbers, slot})
	return Ticket{s.numbers, slot}
}

// pop removes and returns the first value. There is one.
func (s *schedule[T]) pop() T { return s.removeAt(0) }

// remove removes and returns the value of a ticket, if it is there.
func (s *schedule[T]) remove(t Ticket) (v T, ok bool) {
	if t.number == 0 || int(t.slot) >= len(s.items) || s.items[t.slot].number != t.number {
		return v, false
	}
	return s.removeAt(int(s.items[t.slot].place)), true
}

// removeAt removes and returns the value at a place of the heap.
func (s *schedule[T]) removeAt(place int) T {
	slot := s.heap[place].slot
	v := s.items[slot].value
	s.items[slot] = item[T]{}
	s.free = append(s.free, slot)
	end := len(s.heap) - 1
	last := s.heap[end]
	s.heap = s.heap[:end]
	if place < end {
		if s.down(place, last) == place {
			s.up(place, last)
		}
	}
	if end == 0 && cap(s.items) > keptSlots {
		s.heap, s.items, s.free = nil, nil, nil
	}
	return v
}

// set puts m at a place.
func (s *schedule[T]) set(place int, m moment) {
	s.heap[place] = m
	s.items[m.slot].place = int32(place)
}

// up puts m at a place, or above.
func (s *schedule[T]) up(place int, m moment) {
	for place > 0 {
		parent := (place - 1) / 2
		if !m.before(s.heap[parent]) {
			break
		}
		s.set(place, s.heap[parent])
		place = parent
	}
	s.set(place, m)
}

// down puts m at a place, or below, and returns the place.
func (s *schedule[T]) down(place int, m moment) int {
	for {
		child := 2*place + 1
		if child >= len(s.heap) {
			break
		}
		if right := child + 1; right < len(s.heap) && s.heap[right].before(s.heap[child]) {
			child = right
		}
		if !s.heap[child].before(m) {
			break
		}
		s.set(place, s.heap[child])
		place = child
	}
	s.set(place, m)
	return place
}

// evict drops no value for another one.
func (s *schedule[T]) evict(int64) (v T, ok bool) { return v, false }

func (s *schedule[T]) describe(now time.Duration, _ uint64, in *engine.Snapshot) {
	in.Stats.Bytes = int64(cap(s.items))*int64(engine.SizeOf[item[T]]()) +
		int64(cap(s.heap))*int64(engine.SizeOf[moment]()) + int64(cap(s.free))*4
	if s.able() {
		in.Stats.OldestValue = max(0, now-s.heap[0].at)
	}
}
