// Package ring is a circular buffer of power-of-two size, indexed by
// free-running unsigned counters that wrap: the queue of N. Patavalis's study
// "Elastic channels" (2014).
//
// Invariants:
//
//   - len(buf) is 0 or a power of two, so index & (len(buf)-1) is a slot, also
//     across the wrap of the counters.
//   - tail - head, in wrapping arithmetic, is the number of values, at most
//     len(buf). The values live in the slots of head, head+1, …, tail-1.
//   - Every other slot holds the zero value, so that a removed value is not kept
//     alive.
//
// A Ring has no lock: its owner guards it.
package ring

// A Ring is a FIFO. Its zero value is empty and holds no memory.
type Ring[T any] struct {
	buf        []T
	head, tail uint
}

// Len returns the number of values.
func (r *Ring[T]) Len() int { return int(r.tail - r.head) }

// Size returns the number of slots.
func (r *Ring[T]) Size() int { return len(r.buf) }

// Slots returns the slot of the oldest value, and the slot of the next one to push
// unless Push doubles the buffer. The ring must have slots.
func (r *Ring[T]) Slots() (head, tail int) {
	mask := uint(len(r.buf) - 1)
	return int(r.head & mask), int(r.tail & mask)
}

// Push appends v, and doubles the buffer if it is full. Amortized O(1).
func (r *Ring[T]) Push(v T) {
	if r.Len() == len(r.buf) {
		r.resize(max(1, 2*len(r.buf)))
	}
	r.buf[r.tail&uint(len(r.buf)-1)] = v
	r.tail++
}

// First returns the oldest value. The ring must not be empty.
func (r *Ring[T]) First() T {
	if r.head == r.tail {
		panic("ring: First of an empty ring")
	}
	return r.buf[r.head&uint(len(r.buf)-1)]
}

// At returns value i, counted from the oldest. There must be one.
func (r *Ring[T]) At(i int) T {
	if uint(i) >= r.tail-r.head {
		panic("ring: At beyond the end of a ring")
	}
	return r.buf[(r.head+uint(i))&uint(len(r.buf)-1)]
}

// Oldest returns the slot of the oldest value, and Newest that of the newest one. The ring
// must not be empty. The slot is valid until the ring changes.
func (r *Ring[T]) Oldest() *T {
	if r.head == r.tail {
		panic("ring: Oldest of an empty ring")
	}
	return &r.buf[r.head&uint(len(r.buf)-1)]
}

// Newest is documented at Oldest.
func (r *Ring[T]) Newest() *T {
	if r.head == r.tail {
		panic("ring: Newest of an empty ring")
	}
	return &r.buf[(r.tail-1)&uint(len(r.buf)-1)]
}

// Pop removes and returns the oldest value. The ring must not be empty.
func (r *Ring[T]) Pop() T {
	if r.head == r.tail {
		panic("ring: Pop of an empty ring")
	}
	slot := &r.buf[r.head&uint(len(r.buf)-1)]
	v := *slot
	var zero T
	*slot = zero
	r.head++
	return v
}

// PopLast removes and returns the newest value. The ring must not be empty.
func (r *Ring[T]) PopLast() T {
	if r.head == r.tail {
		panic("ring: PopLast of an empty ring")
	}
	r.tail--
	slot := &r.buf[r.tail&uint(len(r.buf)-1)]
	v := *slot
	var zero T
	*slot = zero
	return v
}

// Grow makes room for n more values without another allocation.
func (r *Ring[T]) Grow(n int) {
	size := max(1, len(r.buf))
	for size-r.Len() < n {
		size *= 2
	}
	if size > len(r.buf) {
		r.resize(size)
	}
}

// Shrink halves the buffer as long as less than a quarter of it is in use, but not
// below floor slots. With half in place of a quarter, a ring whose length
// oscillates around a power of two would be copied each time.
func (r *Ring[T]) Shrink(floor int) {
	size := len(r.buf)
	for size/2 >= max(floor, 1) && r.Len() < size/4 {
		size /= 2
	}
	if size < len(r.buf) {
		r.resize(size)
	}
}

// resize moves the values into a buffer of the given size, a power of two of at
// least Len. The counters keep their values.
func (r *Ring[T]) resize(size int) {
	buf := make([]T, size)
	for i := r.head; i != r.tail; i++ {
		buf[i&uint(size-1)] = r.buf[i&uint(len(r.buf)-1)]
	}
	r.buf = buf
}
