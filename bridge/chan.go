package bridge

import (
	"cmp"
	"context"
	"errors"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/made"
	"github.com/sluice-go/sluice/internal/stage"
)

// ToChan receives values from r into a built-in channel, for a select or a range. It
// delivers them in order, one at a time: the built-in channel has no buffer.
//
// values is closed when r is closed and drained, or when r fails with an error of its
// own. It is not closed when ctx is done, because a reader must not take cancellation for
// completion: a reader that has ctx selects on ctx.Done too. A reader that leaves before
// the end cancels ctx.
//
// If ctx or an error ends it, ToChan closes r, so that senders get [sluice.ErrClosed]
// instead of waiting forever. Values that are still queued in r can be received.
// [sluice.LeaveOpen](r) keeps r open.
//
// rest waits until one of these happened. It returns the value that was received from r
// and not delivered, if any, and the error that ended the stream: the context's error,
// the error of r, or nil if r was closed and drained.
//
// ToChan starts one goroutine, which runs until then; values cost no allocation. ToChan
// panics if ctx or r is nil, or if r was not made by its constructor.
func ToChan[T any](ctx context.Context, r sluice.Receiver[T]) (values <-chan T, rest func() ([]T, error)) {
	if ctx == nil {
		panic("bridge: ToChan: nil context")
	}
	made.Require("bridge: ToChan", "receiver", r)
	out, ended := make(chan T), make(chan struct{})
	var undelivered []T
	var failure error
	go func() {
		defer close(ended)
		drained := false
		defer func() {
			if !drained {
				stage.End(r)
			}
		}()
		for {
			v, err := r.Recv(ctx)
			if drained = errors.Is(err, sluice.ErrClosed); drained {
				close(out)
				return
			}
			if failure = err; err != nil {
				if ctx.Err() == nil { // r has failed: the reader learns it only from the close
					close(out)
				}
				return
			}
			select {
			case out <- v:
			case <-ctx.Done():
				undelivered, failure = []T{v}, cmp.Or(ctx.Err(), context.Canceled)
				return
			}
		}
	}()
	return out, func() ([]T, error) { <-ended; return undelivered, failure }
}

// FromChan sends to s the values that it receives from a built-in channel, in order,
// until that is closed. Then it returns nil; it does not close s. It runs in the
// caller's goroutine and allocates nothing while it succeeds.
//
// If s fails or ctx is done first, FromChan returns the error, and in unsent the value
// that it had received and could not send, if any. That includes [sluice.ErrFull] and
// [sluice.ErrTooLarge], because only the caller knows what to do with the value. FromChan
// then no longer receives from in: stop its senders, or call FromChan again.
//
// FromChan panics, before it receives anything, if ctx or s is nil, or if s was not made
// by its constructor.
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
			// Never nil, whatever Err returns: nil means that in was closed.
			return nil, cmp.Or(ctx.Err(), context.Canceled)
		}
	}
}
