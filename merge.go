package sluice

import (
	"context"
	"fmt"
	"slices"
)

// mergeRun is how many values Merge moves at once.
const mergeRun = 64

// Merge sends to s what it receives from rs, until all of them are closed and
// drained; then it returns nil, and does not close s. Values of one receiver stay
// in order. Of several that have values each gets its turn with the same
// probability, for what it has then, but at most 64 values.
//
// Nothing is lost, unless s panics: if ctx ends it, or s fails, it returns that
// error, and the values that it had received and could not send, oldest first: up
// to 64 of one receiver. [ErrFull] and [ErrTooLarge] end it too, as only the caller
// knows what to do with the value; called again with the rest, it goes on where it
// was. It sees that s is closed when it has a value for it, and that ctx is done
// when it would wait. What it has sent of a run to a BatchSender it keeps alive
// until all of the run is sent.
//
// It waits for rs by [Select], so these are channels of this package; s may be
// anything, and is sent whole runs if it is a [BatchSender]. It starts no
// goroutine, and allocates only at the start. A nil context, s, or channel panics,
// before anything is received: s too if it is a nil pointer to a channel or [Lane].
func Merge[T any](ctx context.Context, s Sender[T], rs ...Receiver[T]) (unsent []T, err error) {
	if ctx == nil {
		panic("sluice: Merge: nil context")
	}
	requireSender("Merge", s)
	open := make([]Case, len(rs))
	for i, r := range rs {
		open[i] = newRecv("Merge", r)
	}
	batches, _ := s.(BatchSender[T])
	run := make([]T, 0, mergeRun)
	for len(open) > 0 {
		chosen, err := Select(ctx, open...)
		if chosen == nil {
			return nil, err
		}
		if err != nil { // closed
			open = slices.DeleteFunc(open, func(c Case) bool { return c == chosen })
			continue
		}
		in := chosen.(*RecvCase[T])
		run = append(run, in.take())
		for len(run) < mergeRun {
			done, err := in.try()
			if !done || err != nil { // closed: the next Select says so again
				break
			}
			run = append(run, in.take())
		}
		if n, err := sendRun(ctx, s, batches, run); err != nil {
			clear(run[:n])
			return run[n:], err
		}
		clear(run)
		run = run[:0]
	}
	return nil, nil
}

// take returns what was received, and keeps it no longer.
func (c *RecvCase[T]) take() T {
	var zero T
	v := c.Value
	c.Value = zero
	return v
}

// sendRun sends run on s, which is batches if that is not nil, and returns how
// many values it sent.
func sendRun[T any](ctx context.Context, s Sender[T], batches BatchSender[T], run []T) (n int, err error) {
	if batches != nil {
		n, err = batches.SendBatch(ctx, run)
		if n < 0 || n > len(run) || n < len(run) && err == nil {
			panic(fmt.Sprintf("sluice: Merge: SendBatch of %d values returned %d, %v", len(run), n, err))
		}
		return n, err
	}
	var zero T
	for i, v := range run {
		if err := s.Send(ctx, v); err != nil {
			return i, err
		}
		run[i] = zero
	}
	return len(run), nil
}
