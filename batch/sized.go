package batch

import (
	"fmt"
	"sync/atomic"

	"github.com/sluice-go/sluice"
)

// Limits in bytes: what a loop over batches and a Sender share.

// SizedOptions are the optional settings of [ReceiveSized] and [NewSizedSender]. Nil selects
// the defaults. The functions copy them.
type SizedOptions[T any] struct {
	// Size returns the size of a value in bytes, with all that the value adds to a batch: a
	// separator, a frame, its share of an encoding. It is required, unless T is []byte or
	// string: then the default is the length. It is called once per value, by the goroutine of
	// the loop or by the owner of the Sender. It must not return a negative number, and must
	// not use the channel or the Sender.
	Size func(v T) int

	// TooLarge is what becomes of a value whose size is above the limit. The default is Alone.
	TooLarge TooLarge

	// OnDrop is called exactly once with each value that Drop discards: by the loop before the
	// next batch, by a Sender before the call returns. It may use the channel. If it panics, so
	// does the loop, or the call.
	OnDrop func(v T)
}

// TooLarge is a policy for a value whose size alone is above a limit in bytes.
type TooLarge uint8

const (
	// Alone makes the value a batch of its own, which is the only kind of batch above the
	// limit.
	Alone TooLarge = iota
	// Fail ends the loop over batches, after the values before this one, or refuses the value
	// that is sent. The error is a [*TooLargeError]. A loop keeps the value: see
	// [Batches.TakeRest].
	Fail
	// Drop discards the value, and counts it in Dropped. The send succeeds, the loop goes on.
	Drop
)

var tooLargeNames = [...]string{"Alone", "Fail", "Drop"}

// String returns the name of the policy.
func (p TooLarge) String() string {
	if int(p) < len(tooLargeNames) {
		return tooLargeNames[p]
	}
	return fmt.Sprintf("TooLarge(%d)", uint8(p))
}

// A TooLargeError reports a value above the limit of a batch, under the policy [Fail].
// errors.Is reports that it is a [sluice.ErrTooLarge].
type TooLargeError struct {
	Size  int64 // of the value, in bytes
	Limit int64 // of a batch, in bytes
}

// Error returns a message with both sizes.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("batch: a value of %d bytes is above the limit of %d bytes per batch", e.Size, e.Limit)
}

// Unwrap returns sluice.ErrTooLarge.
func (e *TooLargeError) Unwrap() error { return sluice.ErrTooLarge }

// A sizing is a limit in bytes with its options. Sizes and sums of them are unsigned: a sum is
// at most the limit, or two of them, and the limit is at most MaxInt64.
type sizing[T any] struct {
	function string // that was called
	limit    uint64
	size     func(T) int
	policy   TooLarge
	onDrop   func(T)
	dropped  atomic.Uint64
}

// newSizing checks the arguments of function.
func newSizing[T any](function string, maxBytes int64, o *SizedOptions[T]) *sizing[T] {
	refuse := func(format string, args ...any) {
		panic("batch: " + function + ": " + fmt.Sprintf(format, args...))
	}
	if o == nil {
		o = &SizedOptions[T]{}
	}
	s := &sizing[T]{function: function, limit: uint64(maxBytes), size: o.Size, policy: o.TooLarge, onDrop: o.OnDrop}
	if s.size == nil {
		s.size = lengthOf[T]()
	}
	switch {
	case maxBytes < 1:
		refuse("maxBytes is %d (want 1 or more)", maxBytes)
	case s.size == nil:
		refuse("Size is required for values of type %s", fmt.Sprintf("%T", new(T))[1:])
	case int(o.TooLarge) >= len(tooLargeNames):
		refuse("unknown policy %v (want Alone, Fail or Drop)", o.TooLarge)
	case o.OnDrop != nil && o.TooLarge != Drop:
		refuse("OnDrop requires Drop (got %v, which drops nothing)", o.TooLarge)
	}
	return s
}

// lengthOf returns the function that computes the length of a value if T is []byte or string,
// and nil for any other T.
func lengthOf[T any]() func(T) int {
	length, _ := any(func(b []byte) int { return len(b) }).(func(T) int)
	if length == nil {
		length, _ = any(func(s string) int { return len(s) }).(func(T) int)
	}
	return length
}

// of returns the size of v.
func (s *sizing[T]) of(v T) uint64 {
	size := s.size(v)
	if size < 0 {
		panic(fmt.Sprintf("batch: %s: Size returned %d (want 0 or more)", s.function, size))
	}
	return uint64(size)
}

// drop discards v.
func (s *sizing[T]) drop(v T) {
	s.dropped.Add(1)
	if s.onDrop != nil {
		s.onDrop(v)
	}
}

func (s *sizing[T]) failure(size uint64) error {
	return &TooLargeError{Size: int64(size), Limit: int64(s.limit)}
}

// A cut is the batch at the front of a run of values, as far as their sizes are known. The
// value behind it has been asked for its size if it did not fit, and is not asked again.
type cut struct {
	n     int    // values of the batch
	sum   uint64 // of their sizes; at most the limit, unless n is 1
	known bool   // next is known
	next  uint64 // size of the value behind the batch
}

// An extent is what is known of a batch.
type extent uint8

const (
	partial  extent = iota // all values are in it, and there may be more
	complete               // the next value, if any, belongs to another batch
	tooLarge               // the next value is above the limit: the policy has to decide
)

// extend moves c behind the values at the front of vs that make a batch of at most most values.
// A value above the limit is reported when it would be the first of a batch, and under Drop
// wherever it is.
func (s *sizing[T]) extend(c *cut, vs []T, most int) extent {
	for c.n < len(vs) {
		if !c.known {
			c.next = s.of(vs[c.n])
			c.known = true
		}
		switch {
		case c.next <= s.limit-c.sum:
			c.n, c.sum, c.known = c.n+1, c.sum+c.next, false
			if c.sum == s.limit || c.n == most {
				return complete
			}
		case c.next > s.limit && (c.n == 0 || s.policy == Drop):
			return tooLarge
		default:
			return complete
		}
	}
	return partial
}

// alone makes the value behind c, which is above the limit, a batch.
func (c *cut) alone() { *c = cut{n: 1, sum: c.next} }

// shift removes the batch, which was passed on.
func (c *cut) shift() { c.n, c.sum = 0, 0 }

// skip forgets the size of the value behind the batch, which was dropped.
func (c *cut) skip() { c.known = false }
