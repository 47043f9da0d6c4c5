// Package fan joins channels: [In] moves the values of several channels into one,
// [Out] copies the values of one channel to several.
package fan

import (
	"context"
	"fmt"
	"slices"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/made"
)

// maxRun is how many values In moves at once.
const maxRun = 64

// An input is a channel that In receives from.
type input[T any] struct {
	receiver sluice.Receiver[T]
	next     *sluice.RecvCase[T]
}

// In receives values from the channels in and sends them to out, until all of them
// are closed and drained. Then it returns nil, and leaves out open. Values of one
// channel stay in order. If several channels have values, In chooses one of them at
// random, and moves what that one has then, but at most 64 values.
//
// No value is lost, unless out panics: if ctx ends In, or out fails, In returns that
// error, and the values that it had received and could not send, oldest first: up
// to 64 of one channel. [sluice.ErrFull] and [sluice.ErrTooLarge] end it too, as only
// the caller knows what to do with the value. To go on, send unsent and call In
// again. In notices that out is closed when it has a value to send, and that ctx is
// done when it would wait. Values that it has sent of a run to a BatchSender are kept
// alive until all of the run is sent.
//
// In waits by [sluice.Select]. If out is a [sluice.BatchSender], In sends it
// whole runs. It starts no goroutine, and allocates only at the start. A nil context,
// sender or receiver panics before anything is received, as does a nil pointer to a
// channel or [sluice.Lane].
func In[T any](ctx context.Context, out sluice.Sender[T], in ...sluice.Receiver[T]) (unsent []T, err error) {
	if ctx == nil {
		panic("fan: In: nil context")
	}
	requireSender("In", out)
	inputs := make([]input[T], len(in))
	open := make([]sluice.Case, len(in))
	for i, r := range in {
		ready, ok := r.(sluice.TryReceiver[T])
		if !ok {
			panic(fmt.Sprintf("fan: In: %T has no Ready", r))
		}
		inputs[i] = input[T]{r, sluice.OnRecv(ready)}
		open[i] = inputs[i].next
	}
	batches, _ := out.(sluice.BatchSender[T])
	var zero T
	run := make([]T, 0, maxRun)
	for len(open) > 0 {
		chosen, err := sluice.Select(ctx, open...)
		if chosen == nil {
			return nil, err
		}
		if err != nil { // closed
			open = slices.DeleteFunc(open, func(c sluice.Case) bool { return c == chosen })
			continue
		}
		i := slices.IndexFunc(inputs, func(i input[T]) bool { return i.next == chosen })
		run = append(run, inputs[i].next.Value)
		inputs[i].next.Value = zero
		for len(run) < maxRun {
			v, err := inputs[i].receiver.TryRecv()
			if err != nil { // closed: the next Select reports it again
				break
			}
			run = append(run, v)
		}
		if n, err := sendRun(ctx, out, batches, run); err != nil {
			clear(run[:n])
			return run[n:], err
		}
		clear(run)
		run = run[:0]
	}
	return nil, nil
}

// sendRun sends run to out, which is batches if that is not nil, and returns how
// many values it sent.
func sendRun[T any](ctx context.Context, out sluice.Sender[T], batches sluice.BatchSender[T], run []T) (n int, err error) {
	if batches != nil {
		n, err = batches.SendBatch(ctx, run)
		if n < 0 || n > len(run) || n < len(run) && err == nil {
			panic(fmt.Sprintf("fan: In: SendBatch of %d values returned %d, %v", len(run), n, err))
		}
		return n, err
	}
	var zero T
	for i, v := range run {
		if err := out.Send(ctx, v); err != nil {
			return i, err
		}
		run[i] = zero
	}
	return len(run), nil
}

// requireSender panics, in the name of function, if s is nil, or a channel or lane
// that no constructor has made: it could not send the values that function would
// receive. A nil pointer of another type may be a sender.
func requireSender[T any](function string, s sluice.Sender[T]) {
	made.Require("fan: "+function, "sender", s)
}
