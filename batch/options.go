package batch

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
)

// Options are the optional settings of [Receive] and [NewSender]. Nil selects the defaults. The
// functions copy them.
type Options[T any] struct {
	// Linger is the longest time that the first value of a batch waits for others. The default
	// of 0 disables the timer: a loop yields what one RecvBatch returns, and a Sender sends
	// when a batch is complete, and in Flush and Close.
	Linger time.Duration

	// MaxBytes limits the sum of the sizes of the values of a batch. The default of 0 means no
	// limit in bytes.
	MaxBytes int64

	// Size returns the size of a value in bytes, with all that the value adds to a batch: a
	// separator, a frame, its share of an encoding. MaxBytes requires it, unless T is []byte or
	// string: then the default is the length, as this limits what is sent, where
	// sluice.ElasticOptions limits memory and counts the capacity. It is called once per value, by the goroutine of
	// the loop or by the owner of the Sender. It must not return a negative number, and must
	// not use the channel or the Sender.
	Size func(v T) int

	// TooLarge is what becomes of a value whose size alone is above MaxBytes. The default is
	// Alone.
	TooLarge TooLarge

	// OnUndelivered is called exactly once with each value that Drop discards: by the loop
	// before the next batch, by a Sender before the call returns. The reason is
	// [sluice.Overflowed]: no batch has room for the value. It may use the channel. If it
	// panics, so does the loop, or the call.
	OnUndelivered func(v T, why sluice.Reason)
}

// TooLarge is a policy for a value whose size alone is above MaxBytes: [Alone] sends it as a batch
// of its own, [Fail] is an error, [Drop] discards it.
type TooLarge uint8

const (
	// Alone makes the value a batch of its own, which is the only kind of batch above the
	// limit.
	Alone TooLarge = iota
	// Fail ends the loop over batches, after the values before this one, or refuses the value
	// that is sent. The error is a [*TooLargeError]. A loop keeps the value: see
	// [Batches.TakeRest].
	Fail
	// Drop discards the value, and counts it in Dropped. The send succeeds, the loop continues.
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
	Size     int64 // of the value, in bytes
	MaxBytes int64 // of a batch
}

// Error returns a message with both sizes.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("batch: a value of %d bytes is above the limit of %d bytes per batch", e.Size, e.MaxBytes)
}

// Unwrap returns sluice.ErrTooLarge.
func (e *TooLargeError) Unwrap() error { return sluice.ErrTooLarge }

// A sizing is a limit in bytes with its options, which a loop over batches and a Sender share.
// Sizes and sums of them are unsigned: a sum is at most the limit, or two of them, and the limit
// is at most MaxInt64.
type sizing[T any] struct {
	function    string // that was called
	limit       uint64
	size        func(T) int
	policy      TooLarge
	undelivered func(T, sluice.Reason)
	dropped     atomic.Uint64
}

// check panics, in the name of function, if max or an option makes no sense. It returns the
// linger, and the limit in bytes, which is nil if there is none.
func (o *Options[T]) check(function string, max int) (linger time.Duration, s *sizing[T]) {
	refuse := func(format string, args ...any) {
		panic("batch: " + function + ": " + fmt.Sprintf(format, args...))
	}
	if max < 1 {
		refuse("max is %d (want 1 or more)", max)
	}
	if o == nil {
		return 0, nil
	}
	switch {
	case o.Linger < 0:
		refuse("Linger is %v (want 0 or more)", o.Linger)
	case o.MaxBytes < 0:
		refuse("MaxBytes is %d (want 0 or more)", o.MaxBytes)
	case int(o.TooLarge) >= len(tooLargeNames):
		refuse("unknown policy %v (want Alone, Fail or Drop)", o.TooLarge)
	case o.OnUndelivered != nil && o.TooLarge != Drop:
		refuse("OnUndelivered requires Drop (got %v, which drops nothing)", o.TooLarge)
	case o.MaxBytes == 0 && (o.Size != nil || o.TooLarge != Alone):
		refuse("Size and TooLarge require MaxBytes")
	case o.MaxBytes == 0:
		return o.Linger, nil
	}
	s = &sizing[T]{function: function, limit: uint64(o.MaxBytes), size: o.Size, policy: o.TooLarge, undelivered: o.OnUndelivered}
	if s.size == nil {
		s.size = lengthOf[T]()
	}
	if s.size == nil {
		refuse("MaxBytes requires Size for values of type %s", fmt.Sprintf("%T", new(T))[1:])
	}
	return o.Linger, s
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
	if s.undelivered != nil {
		s.undelivered(v, sluice.Overflowed)
	}
}

// maxBytes returns the limit. s is nil without one.
func (s *sizing[T]) maxBytes() uint64 {
	if s == nil {
		return math.MaxUint64
	}
	return s.limit
}

// total returns how many values were dropped. s is nil without a limit.
func (s *sizing[T]) total() uint64 {
	if s == nil {
		return 0
	}
	return s.dropped.Load()
}

func (s *sizing[T]) failure(size uint64) error {
	return &TooLargeError{Size: int64(size), MaxBytes: int64(s.limit)}
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
