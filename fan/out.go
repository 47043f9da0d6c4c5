package fan

import (
	"context"
	"errors"
	"slices"

	"github.com/sluice-go/sluice"
)

// An output is a channel that Out sends to.
type output[T any] struct {
	sender sluice.Sender[T]
	next   *sluice.SendCase[T]
}

// Out receives values from in and sends each of them to every channel of out, in
// the order in which it received them, until in is closed and drained. Then it
// returns a nil error, and leaves out open.
//
// The overflow policy of a slow output decides what happens. Under [sluice.Block]
// Out waits for that output: the others have got the value meanwhile, and wait for
// their next one. Under the other policies Out does not wait: an output misses
// the values that [sluice.Reject] refuses, and those that are too large for its limit
// in bytes. An output that is closed is left out from then on; when all are, Out
// fails with [sluice.ErrClosed]. Out notices a closed output when it has a value to
// send.
//
// After an error, missed are the outputs that v, the value received last, did not
// reach: those that Out was waiting for when ctx ended it, or those that were closed
// before they got v, when none is left. The other outputs have v, or are closed, or
// their policy refused it. If missed is empty there is no such value.
//
// Out waits for the outputs by [sluice.Select]. It starts no goroutine, and allocates
// only at the start and at the end. A nil context, receiver or sender panics.
func Out[T any](ctx context.Context, in sluice.Receiver[T], out ...sluice.Sender[T]) (v T, missed []sluice.Sender[T], err error) {
	if ctx == nil {
		panic("fan: Out: nil context")
	}
	if in == nil {
		panic("fan: Out: nil receiver")
	}
	var zero T
	outputs := make([]output[T], len(out))
	for i, s := range out {
		outputs[i] = output[T]{s, sluice.OnSend(s, zero)}
	}
	slow := make([]sluice.Case, 0, len(out))
	for len(outputs) > 0 {
		v, err = in.Recv(ctx)
		if errors.Is(err, sluice.ErrClosed) {
			return zero, nil, nil
		}
		if err != nil {
			return zero, nil, err
		}
		if missed, err = sendAll(ctx, v, &outputs, slow); err != nil {
			return v, missed, err
		}
	}
	return v, missed, sluice.ErrClosed
}

// sendAll sends v to all outputs, and removes those that are closed. slow is space
// for the cases that must be waited for. missed are the outputs that were closed; or,
// if sendAll fails, those that it was waiting for.
func sendAll[T any](ctx context.Context, v T, outputs *[]output[T], slow []sluice.Case) (missed []sluice.Sender[T], err error) {
	var zero T
	var gone []sluice.Case
	for _, s := range *outputs {
		s.next.Value = v
		chosen, err := sluice.Select(ctx, s.next, sluice.Default)
		if chosen == sluice.Default {
			slow = append(slow, s.next)
			continue
		}
		s.next.Value = zero
		if errors.Is(err, sluice.ErrClosed) {
			gone = append(gone, s.next)
		}
	}
	for len(slow) > 0 {
		chosen, err := sluice.Select(ctx, slow...)
		if chosen == nil {
			for _, s := range *outputs {
				if slices.Contains(slow, sluice.Case(s.next)) {
					missed = append(missed, s.sender)
				}
			}
			return missed, err
		}
		chosen.(*sluice.SendCase[T]).Value = zero
		if errors.Is(err, sluice.ErrClosed) {
			gone = append(gone, chosen)
		}
		slow = slices.DeleteFunc(slow, func(c sluice.Case) bool { return c == chosen })
	}
	if len(gone) == 0 {
		return nil, nil
	}
	open := (*outputs)[:0]
	for _, s := range *outputs {
		if slices.Contains(gone, sluice.Case(s.next)) {
			missed = append(missed, s.sender)
		} else {
			open = append(open, s)
		}
	}
	clear((*outputs)[len(open):])
	*outputs = open
	return missed, nil
}
