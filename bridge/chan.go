package bridge

import (
	"cmp"
	"context"
	"errors"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/made"
)

// ToChan receives from r into a built-in channel, for a select or a range. The
// channel is closed when r is closed and drained, or fails in another way, not
// when ctx is done: a reader must not take cancellation for completion, and
// watches ctx itself.
//
// One goroutine runs until one of these happens: a reader that leaves early ends
// ctx. rest waits for that, and returns the value that was taken from r and not
// delivered, if there is one, and the error that ended it, nil if r was closed.
func ToChan[T any](ctx context.Context, r sluice.Receiver[T]) (values <-chan T, rest func() ([]T, error)) {
	if ctx == nil {
		panic("bridge: ToChan: nil context")
	}
	made.Require("bridge: ToChan", "receiver", r)
	out, ended := make(chan T), make(chan struct{})
	var undone []T
	var failure error
	go func() {
		defer close(ended)
		for {
			v, err := r.Recv(ctx)
			if errors.Is(err, sluice.ErrClosed) {
				close(out)
				return
			}
			if failure = err; err != nil {
				if ctx.Err() == nil { // r has failed, and nobody else says so
					close(out)
				}
				return
			}
			select {
			case out <- v:
			case <-ctx.Done():
				undone, failure = []T{v}, cmp.Or(ctx.Err(), context.Canceled)
				return
			}
		}
	}()
	return out, func() ([]T, error) { <-ended; return undone, failure }
}

// FromChan sends to s what comes out of a built-in channel, until that is closed. It
// returns nil then, and does not close s. If ctx ends it or s fails first, it
// returns that error, and the value that it had taken and could not send, if
// there is one; [ErrFull] and [ErrTooLarge] too, as only the caller knows what
// to do with the value. It receives from in no more then: whoever sends on it
// must be told, or it is given to FromChan again. A nil ctx or s panics, before anything
// is received.
func FromChan[T any](ctx context.Context, s sluice.Sender[T], in <-chan T) (unsent []T, err error) {
	if ctx == nil {
		panic("bridge: FromChan: nil context")
	}
	made.Require("bridge: FromChan", "sender", s)
	for {
		select {
		case v, ok := <-in:
			if !ok {
				return nil, nil
			}
			if err := s.Send(ctx, v); err != nil {
				return []T{v}, err
			}
		case <-ctx.Done():
			// Never nil, whatever the context says: nil is for the end of in.
			return nil, cmp.Or(ctx.Err(), context.Canceled)
		}
	}
}
