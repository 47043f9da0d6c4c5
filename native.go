package sluice

import (
	"cmp"
	"context"
	"errors"
	"sync"
)

// nativeBuffer is the size of the built-in channels at both ends, and of the
// runs that a pump moves: as in the study that this form comes from.
const nativeBuffer = 128

// Native is a channel with built-in ends: what is sent on S comes out of R, in
// order, by way of the channel given to [Ends].
//
// Close S to end it: the rest is delivered, then R is closed and the two
// goroutines that move the values end. A program that may stop reading R before
// that calls Stop.
type Native[T any] struct {
	S chan<- T
	R <-chan T

	// Until the pumps have ended, pumpIn owns unsent and interrupt, pumpOut
	// undone and closed; then Stop owns all.
	in, out   chan T
	c         Chan[T]
	past      chan refused[T]    // from pumpIn to pumpOut, without c
	interrupt context.CancelFunc // ends pumpOut's wait for more from c
	cancel    context.CancelFunc // ends both pumps
	pumps     sync.WaitGroup
	unsent    []T  // taken from S, not in c
	undone    []T  // taken from c, not in R
	closed    bool // R is
	stop      sync.Once
	rest      []T
}

// refused is a value that c did not take, and the context to receive under
// after it.
type refused[T any] struct {
	v         T
	receiving context.Context
}

// Ends puts built-in channels at both ends of c, for code that needs them: the
// elastic channel of N. Patavalis (2014) over any kind. c belongs to the
// result from then on; it holds what does not fit the buffers at the ends, of
// 128 values each. Two goroutines run until S is closed and all is delivered, c
// is closed and drained, or Stop is called.
//
// A send on S cannot fail, so what c refuses ([ErrFull] under [Reject],
// [ErrTooLarge]) holds up S until c is drained, and then goes to R past c. So
// nothing is lost, the order stays, and c never holds more than it may.
//
// If c is closed while S is not, R is closed once c is drained, and what had not
// got into c is what Stop returns. Nobody receives from S any more: whoever
// closes c tells the senders.
func Ends[T any](c Chan[T]) *Native[T] {
	ctx, cancel := context.WithCancel(context.Background())
	receiving, interrupt := context.WithCancel(ctx)
	n := &Native[T]{
		in: make(chan T, nativeBuffer), out: make(chan T, nativeBuffer), c: c,
		past: make(chan refused[T]), interrupt: interrupt, cancel: cancel,
	}
	n.S, n.R = n.in, n.out
	n.pumps.Go(func() { n.unsent = n.pumpIn(ctx) })
	n.pumps.Go(func() { n.undone = n.pumpOut(ctx, receiving) })
	return n
}

// Stop ends the channel early, and returns all that was sent and will not come
// out of R, oldest first: nothing is lost. It closes c. Called again, it returns
// the same.
//
// R stays open, and empty: a reader must not take the end for completion. Only
// if R was closed before, since all was delivered or c was closed, does it keep
// what it holds for its reader.
//
// Nobody receives from S after Stop. Senders must have ended by then, or wait
// for something else beside S: a send that comes later waits for ever, or gets
// into the buffer of S and is lost.
func (n *Native[T]) Stop() []T {
	n.stop.Do(func() {
		n.cancel()
		n.pumps.Wait()
		if !n.closed {
			n.rest = drain(n.rest, n.out)
		}
		n.rest = append(n.rest, n.undone...)
		for v, err := n.c.TryRecv(); err == nil; v, err = n.c.TryRecv() {
			n.rest = append(n.rest, v)
		}
		n.c.Close()
		n.rest = append(n.rest, n.unsent...)
		n.rest = drain(n.rest, n.in)
	})
	return n.rest
}

// drain appends what is buffered in a built-in channel.
func drain[T any](to []T, c <-chan T) []T {
	for {
		select {
		case v, ok := <-c:
			if !ok {
				return to
			}
			to = append(to, v)
		default:
			return to
		}
	}
}

// pumpIn moves values from S to c, in runs of what has come together, until S is
// closed, which closes c. It returns what it could not send.
func (n *Native[T]) pumpIn(ctx context.Context) (unsent []T) {
	run := make([]T, 0, nativeBuffer)
	for {
		select {
		case v, ok := <-n.in:
			if !ok {
				n.c.Close()
				return nil
			}
			run = append(run, v)
		case <-ctx.Done():
			return nil
		}
		for more := true; more && len(run) < cap(run); {
			select {
			case v, ok := <-n.in:
				if more = ok; ok {
					run = append(run, v)
				}
			default:
				more = false
			}
		}
		if unsent = n.send(ctx, run); len(unsent) > 0 {
			return unsent
		}
		clear(run)
		run = run[:0]
	}
}

// send moves run into c, and past it what c refuses. It returns what it could
// not send, because c is closed or ctx done.
func (n *Native[T]) send(ctx context.Context, run []T) (unsent []T) {
	for len(run) > 0 {
		sent, err := n.c.SendBatch(ctx, run)
		run = run[sent:]
		if err == nil {
			continue
		}
		if ctx.Err() != nil || errors.Is(err, ErrClosed) {
			return run
		}
		// Under a context that is done a receive still takes what there is,
		// so the interrupt ends pumpOut's receiving when c is drained.
		n.interrupt()
		next := refused[T]{v: run[0]}
		next.receiving, n.interrupt = context.WithCancel(ctx)
		select {
		case n.past <- next:
			run = run[1:]
		case <-ctx.Done():
			return run
		}
	}
	return nil
}

// pumpOut moves values from c to R until c is closed and drained, which closes R.
// It returns what it could not deliver. Its end is the end of pumpIn: into a
// channel that nobody empties, or that is closed, nothing more should go.
func (n *Native[T]) pumpOut(ctx, receiving context.Context) (undone []T) {
	defer n.cancel()
	buf := make([]T, nativeBuffer)
	for {
		received, err := n.c.RecvBatch(receiving, buf)
		switch {
		case err == nil:
		case errors.Is(err, ErrClosed):
			n.closed = true
			close(n.out)
			return nil
		default: // receiving is done: c is drained, and pumpIn has a value
			select {
			case next := <-n.past:
				received, buf[0], receiving = 1, next.v, next.receiving
			case <-ctx.Done():
				return nil
			}
		}
		for i, v := range buf[:received] {
			select {
			case n.out <- v:
				continue
			default:
			}
			select {
			case n.out <- v:
			case <-ctx.Done():
				return buf[i:received]
			}
		}
		clear(buf[:received])
	}
}

// Stream receives from r into a built-in channel, for a select or a range. The
// channel is closed when r is closed and drained, or fails in another way, not
// when ctx is done: a reader must not take cancellation for completion, and
// watches ctx itself.
//
// One goroutine runs until one of these happens: a reader that leaves early ends
// ctx. rest waits for that, and returns the value that was taken from r and not
// delivered, if there is one, and the error that ended it, nil if r was closed.
func Stream[T any](ctx context.Context, r Receiver[T]) (values <-chan T, rest func() ([]T, error)) {
	if ctx == nil {
		panic("sluice: Stream: nil context")
	}
	out, ended := make(chan T), make(chan struct{})
	var undone []T
	var failure error
	go func() {
		defer close(ended)
		for {
			v, err := r.Recv(ctx)
			if errors.Is(err, ErrClosed) {
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

// From sends to s what comes out of a built-in channel, until that is closed. It
// returns nil then, and does not close s. If ctx ends it or s fails first, it
// returns that error, and the value that it had taken and could not send, if
// there is one; [ErrFull] and [ErrTooLarge] too, as only the caller knows what
// to do with the value. It receives from in no more then: whoever sends on it
// must be told, or it is given to From again. A nil ctx or s panics, before anything
// is received.
func From[T any](ctx context.Context, s Sender[T], in <-chan T) (unsent []T, err error) {
	if ctx == nil {
		panic("sluice: From: nil context")
	}
	requireSender("From", s)
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
