package bridge

import (
	"context"
	"errors"
	"sync"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/made"
)

// endBuffer is the size of the built-in channels at both ends, and of the
// runs that a pump moves: as in the study that this form comes from.
const endBuffer = 128

// A Pipe is a channel with built-in ends: what is sent on S comes out of R, in
// order, by way of the channel given to [NewPipe].
//
// Close S to end it: the rest is delivered, then R is closed and the two
// goroutines that move the values end. A program that may stop reading R before
// that calls Stop.
type Pipe[T any] struct {
	In  chan<- T
	Out <-chan T

	// Until the pumps have ended, pumpIn owns unsent and interrupt, pumpOut
	// undone and closed; then Stop owns all.
	in, out   chan T
	c         sluice.Channel[T]
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

// NewPipe puts built-in channels at both ends of c, for code that needs them: the
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
func NewPipe[T any](c sluice.Channel[T]) *Pipe[T] {
	made.Require("bridge: NewPipe", "channel", c)
	ctx, cancel := context.WithCancel(context.Background())
	receiving, interrupt := context.WithCancel(ctx)
	p := &Pipe[T]{
		in: make(chan T, endBuffer), out: make(chan T, endBuffer), c: c,
		past: make(chan refused[T]), interrupt: interrupt, cancel: cancel,
	}
	p.In, p.Out = p.in, p.out
	p.pumps.Go(func() { p.unsent = p.pumpIn(ctx) })
	p.pumps.Go(func() { p.undone = p.pumpOut(ctx, receiving) })
	return p
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
func (p *Pipe[T]) Stop() []T {
	p.stop.Do(func() {
		p.cancel()
		p.pumps.Wait()
		if !p.closed {
			p.rest = drain(p.rest, p.out)
		}
		p.rest = append(p.rest, p.undone...)
		for v, err := p.c.TryRecv(); err == nil; v, err = p.c.TryRecv() {
			p.rest = append(p.rest, v)
		}
		p.c.Close()
		p.rest = append(p.rest, p.unsent...)
		p.rest = drain(p.rest, p.in)
	})
	return p.rest
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
func (p *Pipe[T]) pumpIn(ctx context.Context) (unsent []T) {
	run := make([]T, 0, endBuffer)
	for {
		select {
		case v, ok := <-p.in:
			if !ok {
				p.c.Close()
				return nil
			}
			run = append(run, v)
		case <-ctx.Done():
			return nil
		}
		for more := true; more && len(run) < cap(run); {
			select {
			case v, ok := <-p.in:
				if more = ok; ok {
					run = append(run, v)
				}
			default:
				more = false
			}
		}
		if unsent = p.send(ctx, run); len(unsent) > 0 {
			return unsent
		}
		clear(run)
		run = run[:0]
	}
}

// send moves run into c, and past it what c refuses. It returns what it could
// not send, because c is closed or ctx done.
func (p *Pipe[T]) send(ctx context.Context, run []T) (unsent []T) {
	for len(run) > 0 {
		sent, err := p.c.SendBatch(ctx, run)
		run = run[sent:]
		if err == nil {
			continue
		}
		if ctx.Err() != nil || errors.Is(err, sluice.ErrClosed) {
			return run
		}
		// Under a context that is done a receive still takes what there is,
		// so the interrupt ends pumpOut's receiving when c is drained.
		p.interrupt()
		next := refused[T]{v: run[0]}
		next.receiving, p.interrupt = context.WithCancel(ctx)
		select {
		case p.past <- next:
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
func (p *Pipe[T]) pumpOut(ctx, receiving context.Context) (undone []T) {
	defer p.cancel()
	buf := make([]T, endBuffer)
	for {
		received, err := p.c.RecvBatch(receiving, buf)
		switch {
		case err == nil:
		case errors.Is(err, sluice.ErrClosed):
			p.closed = true
			close(p.out)
			return nil
		default: // receiving is done: c is drained, and pumpIn has a value
			select {
			case next := <-p.past:
				received, buf[0], receiving = 1, next.v, next.receiving
			case <-ctx.Done():
				return nil
			}
		}
		for i, v := range buf[:received] {
			select {
			case p.out <- v:
				continue
			default:
			}
			select {
			case p.out <- v:
			case <-ctx.Done():
				return buf[i:received]
			}
		}
		clear(buf[:received])
	}
}
