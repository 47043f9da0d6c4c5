package fan

import (
	"context"
	"errors"

	"github.com/sluice-go/sluice"
)

// A courier is a goroutine that sends values to a channel for which Select would need
// a timer. It is started by the first value that finds no room. It works for one
// goroutine, and has at most one value at a time: the value goes to it in values, and comes
// back in returned when its Send has ended.
type courier[T any] struct {
	ctx      context.Context
	to       sluice.Sender[T]
	values   *sluice.Bounded[T] // nil until the goroutine is started
	returned *sluice.Bounded[T]
	done     *sluice.RecvCase[T] // receives from returned
	ended    chan struct{}

	// How the last Send ended. The goroutine writes both before it returns the value.
	err      error
	panicked any
}

var errSendExited = errors.New("fan: Send called runtime.Goexit")

func newCourier[T any](ctx context.Context, to sluice.Sender[T]) *courier[T] {
	returned := sluice.NewBounded[T](1, nil)
	return &courier[T]{ctx: ctx, to: to, returned: returned, done: sluice.OnRecv(returned)}
}

// trySend sends v if that is possible at once, and otherwise hands it to the
// goroutine, after whose Send done can proceed.
func (c *courier[T]) trySend(v T) (sent bool, err error) {
	err = c.to.TrySend(v)
	if !errors.Is(err, sluice.ErrFull) {
		return true, err
	}
	if c.values == nil {
		c.values, c.ended = sluice.NewBounded[T](1, nil), make(chan struct{})
		go c.run()
	}
	_ = c.values.TrySend(v) // there is room: the goroutine is idle
	return false, nil
}

func (c *courier[T]) run() {
	defer close(c.ended)
	for {
		v, err := c.values.Recv(context.Background())
		if err != nil {
			return
		}
		c.send(v)
	}
}

// send sends v and returns it, however Send ends.
func (c *courier[T]) send(v T) {
	c.err = errSendExited
	defer func() {
		c.panicked = recover()
		_ = c.returned.TrySend(v)
	}()
	c.err = c.to.Send(c.ctx, v)
}

// outcome returns the error of the Send whose value was returned. Its panic is repeated here.
func (c *courier[T]) outcome() error {
	var zero T
	c.done.Value = zero
	if c.panicked != nil {
		panic(c.panicked)
	}
	return c.err
}

// await waits for the end of the Send that goes on, and returns its outcome. ctx is done.
func (c *courier[T]) await() error {
	_, _ = c.returned.Recv(context.Background())
	return c.outcome()
}

// end ends the goroutine. If it has a value, ctx is done.
func (c *courier[T]) end() {
	if c.values != nil {
		c.values.Close()
		<-c.ended
	}
}
