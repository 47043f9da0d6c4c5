package fan

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/stage"
)

// Out receives values from in and sends each of them to every channel of out, in the
// order in which it received them, until in is closed and drained. Then it returns nil
// and leaves out open.
//
// The overflow policy of a slow output decides what happens. Under [sluice.Block] Out
// waits for that output; the other outputs already have the value, and get the next one
// only after that. Under the other policies Out does not wait: an output misses the
// values that [sluice.Reject] refuses. It also misses values that are too large for it
// ([sluice.ErrTooLarge]). An output that is closed is left out from then on. Out
// notices that when it has a value to send. It does not report these values: Stats().Sent
// counts what an output got, and what in had.
//
// Out ends early if ctx is done, if in fails with an error other than
// [sluice.ErrClosed], if an output fails with any other error than those above, and with
// ErrClosed when all outputs are closed. Then it closes in, and returns the error: in an
// [*UndeliveredError] with the value, if the value that it received last did not reach each
// output because of the early end.
//
// Out waits for channels of package sluice by [sluice.Select]. For each sender of
// another type, [sluice.Lane] included, it starts a goroutine the first time that
// sender has no room. The goroutine calls Send and ends before Out returns: a Send must
// end when its context does. Out allocates only at the start and at the end.
//
// Out panics if ctx, in or one of out is nil, or is a channel that no constructor has
// made, before it receives anything.
func Out[T any](ctx context.Context, in sluice.Receiver[T], out ...sluice.Sender[T]) error {
	if ctx == nil {
		panic("fan: Out: nil context")
	}
	stage.Require("fan: Out", "receiver", in)
	for _, s := range out {
		stage.Require("fan: Out", "sender", s)
	}
	d := distributor[T]{slow: make([]sluice.Case, 0, len(out))}
	work, cancel := ctx, func() {}
	if slices.ContainsFunc(out, func(s sluice.Sender[T]) bool { return !selectable(s) }) {
		work, cancel = context.WithCancel(ctx)
	}
	for _, s := range out {
		d.add(work, s)
	}
	drained := false
	defer func() {
		cancel()
		defer func() { // even if in panics
			for _, o := range d.outputs {
				o.end()
			}
		}()
		if !drained {
			stage.End(in)
		}
	}()
	var v, zero T
	var missed []sluice.Sender[T]
	for len(d.outputs) > 0 {
		v = zero // not kept alive while Out waits for the next value
		var err error
		if v, err = in.Recv(ctx); err != nil {
			if drained = errors.Is(err, sluice.ErrClosed); drained {
				return nil
			}
			return err
		}
		if missed, err = d.send(ctx, v); err != nil {
			cancel()
			return undelivered(v, d.missing(missed), err)
		}
	}
	return undelivered(v, missed, sluice.ErrClosed)
}

// An UndeliveredError is the error of an [Out] that has ended with a value that it received and
// could not send to each output. errors.Is and errors.As find why Out has ended.
type UndeliveredError[T any] struct {
	Value  T                  // the value received last
	Missed []sluice.Sender[T] // outputs that did not get it because Out has ended; not those that were left out before, or refused it by their policy
	Err    error              // why Out has ended
}

// Error returns a message with the number of outputs and the message of Err.
func (e *UndeliveredError[T]) Error() string {
	return fmt.Sprintf("fan: Out: the last value did not reach %d of the outputs: %v", len(e.Missed), e.Err)
}

// Unwrap returns Err.
func (e *UndeliveredError[T]) Unwrap() error { return e.Err }

// undelivered returns err, with v if an output missed it.
func undelivered[T any](v T, missed []sluice.Sender[T], err error) error {
	if len(missed) == 0 {
		return err
	}
	return &UndeliveredError[T]{Value: v, Missed: missed, Err: err}
}

// selectable reports whether a Select waits for s without a timer.
func selectable[T any](s sluice.Sender[T]) bool {
	_, receives := s.(sluice.TryReceiver[T]) // a Lane does not
	return receives && engine.IsKind(s)
}

// A distributor is a call of Out.
type distributor[T any] struct {
	outputs []*output[T] // that are open
	slow    []sluice.Case
}

// An output is a channel that Out sends to.
type output[T any] struct {
	sender  sluice.Sender[T]
	next    *sluice.SendCase[T] // nil if the sender has a courier
	courier *courier[T]
}

// add adds an output. ctx ends its courier, if it needs one.
func (d *distributor[T]) add(ctx context.Context, s sluice.Sender[T]) {
	o := &output[T]{sender: s}
	if selectable(s) {
		var zero T
		o.next = sluice.OnSend(s, zero)
	} else {
		o.courier = newCourier(ctx, s)
	}
	d.outputs = append(d.outputs, o)
}

// send sends v to all outputs and removes those that are closed: they are missed. If
// it fails, missed are the output that failed and those that it did not try.
func (d *distributor[T]) send(ctx context.Context, v T) (missed []sluice.Sender[T], err error) {
	var gone []*output[T]
	d.slow = d.slow[:0]
	for i, o := range d.outputs {
		sent, err := o.trySend(ctx, v)
		switch {
		case !sent:
			d.slow = append(d.slow, o.waiting())
		case errors.Is(err, sluice.ErrClosed):
			gone = append(gone, o)
		case fatal(err):
			for _, o := range d.outputs[i:] {
				missed = append(missed, o.sender)
			}
			return missed, err
		}
	}
	for len(d.slow) > 0 {
		chosen, err := sluice.Select(ctx, d.slow...)
		if chosen == nil {
			return nil, err
		}
		d.slow = slices.DeleteFunc(d.slow, func(c sluice.Case) bool { return c == chosen })
		o := d.outputs[slices.IndexFunc(d.outputs, func(o *output[T]) bool { return o.waiting() == chosen })]
		switch err = o.sent(err); {
		case errors.Is(err, sluice.ErrClosed):
			gone = append(gone, o)
		case fatal(err):
			return []sluice.Sender[T]{o.sender}, err
		}
	}
	if len(gone) == 0 {
		return nil, nil
	}
	d.outputs = slices.DeleteFunc(d.outputs, func(o *output[T]) bool {
		if !slices.Contains(gone, o) {
			return false
		}
		missed = append(missed, o.sender)
		o.end()
		return true
	})
	return missed, nil
}

// fatal reports whether an error of an output ends Out.
func fatal(err error) bool {
	return err != nil && !errors.Is(err, sluice.ErrFull) && !errors.Is(err, sluice.ErrTooLarge)
}

// missing adds to missed the outputs that Out was waiting for, except those whose
// courier has sent the value after all. The context of couriers is done.
func (d *distributor[T]) missing(missed []sluice.Sender[T]) []sluice.Sender[T] {
	for _, o := range d.outputs {
		if !slices.Contains(d.slow, o.waiting()) {
			continue
		}
		if o.courier == nil || o.courier.await() != nil {
			missed = append(missed, o.sender)
		}
	}
	return missed
}

// trySend sends v if that is possible at once, and otherwise begins to.
func (o *output[T]) trySend(ctx context.Context, v T) (sent bool, err error) {
	if o.courier != nil {
		return o.courier.trySend(v)
	}
	o.next.Value = v
	chosen, err := sluice.Select(ctx, o.next, sluice.Default)
	if chosen == sluice.Default {
		return false, nil
	}
	return true, o.sent(err)
}

// waiting returns the case that is chosen when the value that the output was slow to
// accept is sent.
func (o *output[T]) waiting() sluice.Case {
	if o.courier != nil {
		return o.courier.done
	}
	return o.next
}

// sent returns the error of a send whose case was chosen with err.
func (o *output[T]) sent(err error) error {
	if o.courier != nil {
		return o.courier.outcome()
	}
	var zero T
	o.next.Value = zero
	return err
}

// end ends the courier.
func (o *output[T]) end() {
	if o.courier != nil {
		o.courier.end()
	}
}
