package engine

import (
	"context"
	"reflect"
)

// A Lender is an Engine that can move a batch by reference: the slice that a sender has
// filled is queued itself, and a receiver reads the values where they are.
// internal/segqueue/lend.go has the protocol.
type Lender[T any] interface {
	// Lends reports whether the channel takes slices with a capacity of size. The first size
	// that it accepts is the only one.
	Lends(size int) bool
	// Lend is SendBatch, except that it may take vs itself, with all of its capacity. Then
	// lent is true, every value was sent, and spare is an empty slice of the same capacity
	// in exchange, or nil if the channel has none.
	Lend(ctx context.Context, vs []T) (n int, spare []T, lent bool, err error)
	// TryLend is Lend where nothing but the room for vs decides: it does not wait, calls no
	// code of the user, and sends all of vs by reference or nothing.
	TryLend(vs []T) (spare []T, lent bool)
	// RecvLent is RecvBatch, except that it may lend the values that it would have moved
	// into buf: then they are in loan.Values, and buf is unchanged.
	RecvLent(ctx context.Context, buf []T, loan *Loan[T]) (n int, err error)
}

// A Loan is a slice of values that a receiver has received. One that is dropped instead of
// returned is garbage.
type Loan[T any] struct {
	Values []T  // nil without a loan
	Spare  []T  // was returned; the next call gives it back to the channel
	Full   bool // lend only if the values would fill buf
	Clear  bool // T has pointers: Return clears the values
}

// Return ends the loan: nobody uses the values any more.
func (l *Loan[T]) Return() {
	if l.Clear {
		clear(l.Values)
	}
	l.Values, l.Spare = nil, l.Values[:0]
}

// Same reports whether the slices have the same memory: the same array from the same element
// on, with the same capacity, which is not 0.
func Same[T any](a, b []T) bool {
	return cap(a) > 0 && cap(a) == cap(b) && &a[:1][0] == &b[:1][0]
}

// AllZero reports whether vs has only zero values, for assertions.
func AllZero[T any](vs []T) bool {
	for _, v := range vs {
		if !reflect.ValueOf(&v).Elem().IsZero() {
			return false
		}
	}
	return true
}
