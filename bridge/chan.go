package bridge

import (
	"cmp"
	"context"
	"errors"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/stage"
)

// ToChan receives values from r into a built-in channel, for a select or a range. It
// delivers them in order, one at a time: the built-in channel has no buffer.
//
// values is closed when r is closed and drained, or when r fails with an error of its
// own, panics, or calls [runtime.Goexit]. It is not closed when ctx is done, because a
// reader must not take cancellation for completion: a reader that has ctx selects on
// ctx.Done too. A reader that leaves before the end must cancel ctx.
//
// Unless r is drained, ToChan closes r before rest returns, so that senders get
// [sluice.ErrClosed] instead of waiting forever. Values that are still queued in r can be
// received. [sluice.LeaveOpen](r) keeps r open.
//
// rest waits until one of these happened. It returns the value that was received from r
// and not delivered, if any, and the error that ended the stream: the context's error,
// the error of r, an error that reports the Goexit of r, or nil if r was closed and
// drained. If a method of r panicked, rest panics with the same value, each time. A caller
// that does not call rest cannot tell such an end from the end of the values.
//
// ToChan starts one goroutine, which runs until then; values cost no allocation. ToChan
// panics if ctx or r is nil, or if r was not made by its constructor.
func ToChan[T any](ctx context.Context, r sluice.Receiver[T]) (values <-chan T, rest func() ([]T, error)) {
	require(ctx, "ToChan")
	stage.Require("bridge: ToChan", "receiver", r)
	s := &stream[T]{out: make(chan T), ended: make(chan struct{}), failure: errExited}
	engine.SitesOf(stage.Unwrap(r)).Starts(false)
	go s.run(ctx, r)
	return s.out, s.rest
}

// A stream is the state of a ToChan. Its goroutine writes the fields before it closes
// ended.
type stream[T any] struct {
	out         chan T
	ended       chan struct{}
	undelivered []T
	failure     error // errExited until the loop has ended
	panicked    any
}

var errExited = errors.New("bridge: Recv called runtime.Goexit")

// run delivers values and records how that ended. A panic of r must not end the program
// before the caller had a chance to recover it: rest repeats it.
func (s *stream[T]) run(ctx context.Context, r sluice.Receiver[T]) {
	defer close(s.ended)
	defer func() { s.panicked = recover() }()
	complete, drained := true, false // complete: no cancellation, so out is closed
	defer func() {
		if !drained {
			stage.End(r)
		}
	}()
	defer func() {
		if complete {
			close(s.out)
		}
	}()
	for {
		v, err := r.Recv(ctx)
		if drained = errors.Is(err, sluice.ErrClosed); drained {
			s.failure = nil
			return
		}
		if err != nil { // if r has failed, the reader learns it only from the close
			s.failure, complete = err, ctx.Err() == nil
			return
		}
		select {
		case s.out <- v:
		case <-ctx.Done():
			complete = false
			s.undelivered, s.failure = []T{v}, cmp.Or(ctx.Err(), context.Canceled)
			return
		}
	}
}

func (s *stream[T]) rest() ([]T, error) {
	<-s.ended
	if s.panicked != nil {
		panic(s.panicked)
	}
	return s.undelivered, s.failure
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
	require(ctx, "FromChan")
	stage.Require("bridge: FromChan", "sender", s)
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
