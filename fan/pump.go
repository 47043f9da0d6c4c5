package fan

import (
	"context"
	"errors"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/stage"
)

// A pump is a goroutine that receives from a channel without a method Ready, and
// sends each value to one that Select can wait for.
type pump[T any] struct {
	values *sluice.Rendezvous[T]

	// Written by the goroutine before it closes values and ended.
	held     []T // the value that In did not receive
	err      error
	panicked any
	exited   bool
	ended    chan struct{}
}

// startPump starts a pump, which ends when source is closed and drained, fails, or ctx
// is done.
func startPump[T any](ctx context.Context, source sluice.Receiver[T]) *pump[T] {
	p := &pump[T]{
		values: sluice.NewRendezvous(&sluice.RendezvousOptions[T]{SingleSender: true}),
		exited: true,
		ended:  make(chan struct{}),
	}
	go p.run(ctx, source)
	return p
}

func (p *pump[T]) run(ctx context.Context, source sluice.Receiver[T]) {
	defer close(p.ended)
	defer p.values.Close()
	defer func() { p.panicked = recover() }()
	if stage.NeedsUnlockedThread(source) {
		// An iterator that ran here is stopped here: In may be locked to a thread.
		defer stage.End(source)
	}
	for {
		v, err := source.Recv(ctx)
		if err == nil {
			if err = p.values.Send(ctx, v); err != nil {
				p.held = []T{v}
			}
		}
		if err != nil {
			if !errors.Is(err, sluice.ErrClosed) {
				p.err = err
			}
			p.exited = false
			return
		}
	}
}

// failed returns the error with which the pump ended, nil if its source is drained.
// values are closed. A panic of the source is repeated here.
func (p *pump[T]) failed() error {
	<-p.ended
	if p.panicked != nil {
		panic(p.panicked)
	}
	if p.exited {
		return errExited
	}
	return p.err
}

var errExited = errors.New("fan: Recv called runtime.Goexit")

// wait waits for the end of the pump and returns the value that it holds. Its
// context is done.
func (p *pump[T]) wait() []T {
	<-p.ended
	return p.held
}
