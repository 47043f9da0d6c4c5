package sluice

import (
	"context"
	"errors"
	"sync"
)

// A Chan is both ends of a channel at once, with all that the kinds of this
// package offer.
type Chan[T any] interface {
	Sender[T]
	Receiver[T]
	SendBatch(ctx context.Context, vs []T) (n int, err error)
	RecvBatch(ctx context.Context, buf []T) (n int, err error)
	Ready() <-chan struct{}
	Len() int
	Cap() int
	Stats() Stats
}

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

	in, out chan T
	c       Chan[T]
	cancel  context.CancelFunc
	pumps   sync.WaitGroup
	unsent  []T // taken from S, not in c
	undone  []T // taken from c, not in R
	stop    sync.Once
	rest    []T
}

// Ends puts built-in channels at both ends of c, for code that needs them: the
// elastic channel of N. Patavalis (2014) over any kind. c belongs to the
// result from then on; it holds what does not fit the buffers at the ends, of
// 128 values each. Two goroutines run until S is closed and all is delivered, c
// is closed and drained, or Stop is called.
//
// If c is closed while S is not, what was taken from S and not delivered is
// what Stop returns; nobody receives from S any more.
func Ends[T any](c Chan[T]) *Native[T] {
	ctx, cancel := context.WithCancel(context.Background())
	n := &Native[T]{in: make(chan T, nativeBuffer), out: make(chan T, nativeBuffer), c: c, cancel: cancel}
	n.S, n.R = n.in, n.out
	n.pumps.Go(func() { n.unsent = pumpIn(ctx, n.in, c) })
	n.pumps.Go(func() { n.undone = pumpOut(ctx, c, n.out) })
	return n
}

// Stop ends the channel early and returns all that was sent and not received,
// oldest first: nothing is lost. It closes c, not R: a reader must not take the
// end for completion. Nobody receives from S any more. Called again, it returns
// the same.
func (n *Native[T]) Stop() []T {
	n.stop.Do(func() {
		n.cancel()
		n.pumps.Wait()
		n.rest = drain(n.rest, n.out)
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

// pumpIn moves values from in to c, in runs of what has come together, until in
// is closed, which closes c. It returns what it could not send.
func pumpIn[T any](ctx context.Context, in <-chan T, c Chan[T]) (unsent []T) {
	run := make([]T, 0, nativeBuffer)
	for {
		select {
		case v, ok := <-in:
			if !ok {
				c.Close()
				return nil
			}
			run = append(run, v)
		case <-ctx.Done():
			return nil
		}
		for more := true; more && len(run) < cap(run); {
			select {
			case v, ok := <-in:
				if more = ok; ok {
					run = append(run, v)
				}
			default:
				more = false
			}
		}
		if n, err := c.SendBatch(ctx, run); err != nil {
			return run[n:]
		}
		clear(run)
		run = run[:0]
	}
}

// pumpOut moves values from c to out until c is closed and drained, which closes
// out. It returns what it could not deliver.
func pumpOut[T any](ctx context.Context, c Chan[T], out chan<- T) (undone []T) {
	run := make([]T, nativeBuffer)
	for {
		n, err := c.RecvBatch(ctx, run)
		if err != nil {
			if errors.Is(err, ErrClosed) {
				close(out)
			}
			return nil
		}
		for i, v := range run[:n] {
			select {
			case out <- v:
				continue
			default:
			}
			select {
			case out <- v:
			case <-ctx.Done():
				return run[i:n]
			}
		}
		clear(run[:n])
	}
}

// Stream receives from r into a built-in channel, for a select or a range. The
// channel is closed when r is closed and drained, not when ctx is done: a reader
// must not take cancellation for completion, and watches ctx itself.
//
// One goroutine runs until either happens. rest waits for that, and returns the
// value that was taken from r and not delivered, if there is one.
func Stream[T any](ctx context.Context, r Receiver[T]) (values <-chan T, rest func() []T) {
	if ctx == nil {
		nilContext("Stream")
	}
	out, ended := make(chan T), make(chan struct{})
	var undone []T
	go func() {
		defer close(ended)
		for {
			v, err := r.Recv(ctx)
			if err != nil {
				if errors.Is(err, ErrClosed) {
					close(out)
				}
				return
			}
			select {
			case out <- v:
			case <-ctx.Done():
				undone = []T{v}
				return
			}
		}
	}()
	return out, func() []T { <-ended; return undone }
}

// From sends to s what comes out of a built-in channel, until that is closed. It
// returns nil then, and does not close s. If ctx ends it or s fails first, it
// returns that error, and the value that it had taken and could not send, if
// there is one.
func From[T any](ctx context.Context, s Sender[T], in <-chan T) (unsent []T, err error) {
	if ctx == nil {
		nilContext("From")
	}
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
			return nil, ctx.Err()
		}
	}
}
