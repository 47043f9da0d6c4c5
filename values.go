package sluice

import (
	"context"
	"errors"
	"iter"

	"github.com/sluice-go/sluice/internal/stage"
)

// Values is a loop over the values of a channel that reports why it ended, as
// bufio.Scanner does:
//
//	values := lines.Values(ctx)
//	for line := range values.All() {
//		…
//	}
//	if err := values.Err(); err != nil {
//		…
//	}
//
// A Values belongs to one goroutine. Several goroutines that receive from one channel
// have one each.
type Values[T any] struct {
	ctx context.Context
	r   Receiver[T]
	err error
}

// NewValues returns a loop over the values of r, for a [Receiver] without a method
// Values. It panics if ctx or r is nil.
func NewValues[T any](ctx context.Context, r Receiver[T]) *Values[T] {
	if ctx == nil {
		panic("sluice: NewValues: nil context")
	}
	if r == nil {
		panic("sluice: NewValues: nil receiver")
	}
	return &Values[T]{ctx: ctx, r: r}
}

// All returns an iterator that receives one value at a time, until the channel is
// closed and drained, or until ctx is done while it waits. Leaving the loop early loses no value
// and leaves the channel open, unlike the loops of packages workers and batch; another All
// continues with the next value.
func (v *Values[T]) All() iter.Seq[T] {
	if v.r == nil {
		panic("sluice: the Values is a zero value; make it with NewValues, or the method Values of a channel")
	}
	return func(yield func(T) bool) {
		v.err = nil
		for {
			x, err := v.r.Recv(v.ctx)
			if err != nil {
				if !errors.Is(err, ErrClosed) {
					v.err = err
				}
				return
			}
			if !yield(x) {
				return
			}
		}
	}
}

// Err reports why the last loop over All ended: nil if the channel was closed and
// drained, or if the body of the loop left it; the context's error if the context ended
// the loop; otherwise the error of the receiver. A context that is done after the last
// value was received does not count: Err is nil if nothing is missing.
func (v *Values[T]) Err() error { return v.err }

// LeaveOpen returns a receiver for r that workers.Run, workers.Map, batch.Receive, fan.In,
// fan.Out and bridge.ToChan do not close. These stages of a pipeline close the channel that
// they receive from when they end early, so that senders get [ErrClosed] instead of waiting
// forever. Wrap a channel that other goroutines continue to receive from:
//
//	err := workers.Run(ctx, sluice.LeaveOpen(jobs), 8, work, nil)
func LeaveOpen[T any](r BatchReceiver[T]) BatchReceiver[T] {
	if r == nil {
		panic("sluice: LeaveOpen: nil receiver")
	}
	return leftOpen[T]{r, stage.LeaveOpen(r)}
}

// leftOpen has only the methods of a BatchReceiver. Package
// internal/stage knows it by what it embeds.
type leftOpen[T any] struct {
	BatchReceiver[T]
	left
}

type left = stage.LeftOpen
