package bridge

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/stage"
)

// endBuffer is the size of the built-in channels at both ends, and of the batches that a
// pump moves.
const endBuffer = 128

// A Pipe is a channel with built-in ends: the values that are sent on In come out of
// Out, in order, by way of the channel that was given to [NewPipe].
//
// To end a Pipe, close In: the values left are delivered, then Out is closed. A program
// that may stop reading Out earlier must call Stop.
type Pipe[T any] struct {
	In  chan<- T
	Out <-chan T

	// Until the pumps have ended, pumpIn owns unsent and interrupt, and pumpOut owns
	// undelivered; ending guards closed. After that Stop owns them.
	in, out     chan T
	c           sluice.Channel[T]
	past        chan refused[T]    // from pumpIn to pumpOut, bypassing c
	interrupt   context.CancelFunc // ends pumpOut's wait for values from c
	cancel      context.CancelFunc // ends both pumps
	pumps       sync.WaitGroup
	unsent      []T  // received from In, not sent to c
	undelivered []T  // received from c, not sent to Out
	closed      bool // Out is closed
	stop        sync.Once
	rest        []T

	// pumpIn sends values to Out itself while there are none before them. Then a value wakes
	// one goroutine on its way, not two.
	direct  bool          // c is a kind of package sluice, not a channel that stores its values
	entered uint64        // values that pumpIn gave to c and pumpOut; its own
	left    atomic.Uint64 // of those, the values that pumpOut has sent to Out
	ending  sync.Mutex    // guards the close of Out against a value that pumpIn sends
}

// refused is a value that c refused, and the context under which pumpOut receives after
// it.
type refused[T any] struct {
	v         T
	receiving context.Context
}

// NewPipe returns a Pipe over c, with built-in channels of 128 values at both ends, for
// code that needs those. It is the design of two built-in channels and goroutines between
// them that N. Patavalis published in 2014, with any kind of channel in the middle. c holds
// the values that do not fit the buffers at the ends, and belongs to the Pipe from now on.
//
// NewPipe starts two goroutines. They run until In is closed and all values are delivered,
// until c is closed and drained, or until Stop is called.
//
// If c is a kind of package sluice, and has not dropped a value, a value passes it by if no value
// is before it and Out has room: then it wakes one goroutine on its way. Stats of c do not
// count it.
//
// A [sluice.Sharded] keeps the order of its lanes only.
//
// A send on In cannot fail. So a value that c refuses ([sluice.ErrFull] under
// [sluice.Reject], or [sluice.ErrTooLarge]) blocks In until c is drained, and then goes
// directly to Out. No value is lost, the order is kept, and c never holds more than its
// limit.
//
// If c is closed before In, Out is closed once c is drained, and Stop returns the values
// that did not get into c. In is then no longer received from: stop its senders too.
//
// NewPipe panics if c is nil or was not made by its constructor.
func NewPipe[T any](c sluice.Channel[T]) *Pipe[T] {
	stage.Require("bridge: NewPipe", "channel", c)
	ctx, cancel := context.WithCancel(context.Background())
	receiving, interrupt := context.WithCancel(ctx)
	p := &Pipe[T]{
		in: make(chan T, endBuffer), out: make(chan T, endBuffer), c: c,
		past: make(chan refused[T]), interrupt: interrupt, cancel: cancel,
		direct: engine.IsKind(c),
	}
	p.In, p.Out = p.in, p.out
	engine.SitesOf(c).Starts(true)
	p.pumps.Go(func() { p.unsent = p.pumpIn(ctx) })
	p.pumps.Go(func() { p.undelivered = p.pumpOut(ctx, receiving) })
	return p
}

// Stop ends the Pipe early and closes its channel. It returns, oldest first, the values
// that were sent on In and will not come out of Out, so none is lost. It waits for the two
// goroutines, not for a reader. Stop is idempotent: another call returns the same values.
//
// Stop does not close Out, which is empty then: a reader must not take Stop for
// completion. If Out was closed before, it keeps its values for the reader.
//
// The senders on In must have ended before Stop, or must select on something besides
// In: a later send blocks forever, or is lost in the buffer of In.
func (p *Pipe[T]) Stop() []T {
	if p.c == nil {
		panic("bridge: Pipe.Stop: a zero value: make a Pipe with NewPipe")
	}
	p.stop.Do(func() {
		p.cancel()
		p.pumps.Wait()
		if !p.closed {
			p.rest = slices.AppendSeq(p.rest, NewReceiver(p.out).Drain())
		}
		p.rest = append(p.rest, p.undelivered...)
		for v, err := p.c.TryRecv(); err == nil; v, err = p.c.TryRecv() {
			p.rest = append(p.rest, v)
		}
		p.c.Close()
		p.rest = append(p.rest, p.unsent...)
		p.rest = slices.AppendSeq(p.rest, NewReceiver(p.in).Drain())
	})
	return p.rest
}

// pumpIn moves values from In to c, in batches of the values that are there, until In is
// closed; then it closes c. It returns the values that it could not send.
func (p *Pipe[T]) pumpIn(ctx context.Context) (unsent []T) {
	in, buf := NewReceiver(p.in), make([]T, endBuffer)
	for {
		select {
		case v, ok := <-p.in:
			if !ok {
				p.c.Close()
				return nil
			}
			buf[0] = v
		case <-ctx.Done():
			return nil
		}
		n, _ := in.TryRecvBatch(buf[1:]) // if In is closed, the next receive fails
		run := buf[:1+n]
		if unsent = p.send(ctx, p.pass(run)); len(unsent) > 0 {
			return unsent
		}
		clear(run)
	}
}

// pass sends the values of run to Out for which there is room, if no value is before them:
// all that went to c, or past it, have left pumpOut. It returns the others. After Out was
// closed, because c was closed from outside, it sends none.
func (p *Pipe[T]) pass(run []T) (others []T) {
	if !p.direct || p.entered != p.left.Load() {
		return run
	}
	p.ending.Lock()
	defer p.ending.Unlock()
	for ; !p.closed && len(run) > 0; run = run[1:] {
		select {
		case p.out <- run[0]:
		default:
			return run
		}
	}
	return run
}

// send sends run to c, and the values that c refuses to pumpOut. It returns the values that
// it could not send because c is closed or ctx is done.
func (p *Pipe[T]) send(ctx context.Context, run []T) (unsent []T) {
	for len(run) > 0 {
		sent, err := p.c.SendBatch(ctx, run)
		run = run[sent:]
		p.entered += uint64(sent)
		if err == nil {
			continue
		}
		if ctx.Err() != nil || errors.Is(err, sluice.ErrClosed) {
			return run
		}
		// A receive under a context that is done still takes values. So the
		// interrupt ends pumpOut's receiving only when c is drained.
		p.interrupt()
		next := refused[T]{v: run[0]}
		next.receiving, p.interrupt = context.WithCancel(ctx)
		select {
		case p.past <- next:
			run = run[1:]
			p.entered++
		case <-ctx.Done():
			return run
		}
	}
	return nil
}

// pumpOut moves values from c to Out until c is closed and drained; then it closes Out. It
// returns the values that it could not deliver. When it ends, pumpIn ends too: no goroutine
// receives from c any more.
func (p *Pipe[T]) pumpOut(ctx, receiving context.Context) (undelivered []T) {
	defer p.cancel()
	buf := make([]T, endBuffer)
	for {
		received, err := p.c.RecvBatch(receiving, buf)
		switch {
		case err == nil:
		case errors.Is(err, sluice.ErrClosed):
			p.ending.Lock()
			p.closed = true
			close(p.out)
			p.ending.Unlock()
			return nil
		default: // receiving is done: c is drained, and pumpIn has a refused value
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
		p.left.Add(uint64(received))
		clear(buf[:received])
	}
}
