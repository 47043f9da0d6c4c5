package engine

import (
	"cmp"
	"context"
	"time"
)

// ContextError returns the error of a context whose Done channel is closed. It is
// never nil, even if the Err method of a user's context returns nil.
func ContextError(ctx context.Context) error { return cmp.Or(ctx.Err(), context.Canceled) }

// A Parent makes any context a safe parent for contexts of the standard library.
// Package context asks for Err only once Done is closed, and panics if it is nil
// then, which the Err method of a user's context may return.
type Parent struct{ context.Context }

// Err returns [ContextError]. It is valid once Done is closed.
func (p Parent) Err() error { return ContextError(p.Context) }

// NoWait is the context of an operation that must not wait, which the Try methods
// pass down: without room it fails with ErrFull, without a value with ErrEmpty. To
// any other code it is a context that is canceled already.
type NoWait struct{}

// Poll is a NoWait for a send that is one step of another call, which waits or tries elsewhere
// if there is no room. A send under Poll that fails with ErrFull is not counted as rejected.
type Poll struct{ NoWait }

// MayWait reports whether an operation under ctx may wait: ctx is not a NoWait.
func MayWait(ctx context.Context) bool {
	switch ctx.(type) {
	case NoWait, Poll:
		return false
	}
	return true
}

var canceled = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Deadline implements context.Context.
func (NoWait) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// Done implements context.Context.
func (NoWait) Done() <-chan struct{} { return canceled }

// Err implements context.Context.
func (NoWait) Err() error { return context.Canceled }

// Value implements context.Context.
func (NoWait) Value(any) any { return nil }

// RecvNilContext is the panic of Recv under a nil context. The engines check,
// because the method of a kind must stay small enough to be inlined.
const RecvNilContext = "sluice: Recv: nil context"
