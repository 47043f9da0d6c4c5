package fan

import (
	"context"
	"errors"

	"github.com/sluice-go/sluice"
)

// A courier is a goroutine that sends values to a channel for which Select would need
// a timer. It is started by the first value that finds no room. It works for one
// goroutine, and has at most one value at a time.
type courier[T any] struct {
	ctx     context.Context
	to      sluice.Sender[T]
	values  *sluice.Bounded[T] // nil until the goroutine is started
	results *sluice.Bounded[result]
	done    *sluice.RecvCase[result]
	ended   chan struct{}
}

// A result is how a Send ended.
type result struct {
	err      error
	panicked any
}

var errSendExited = errors.New("fan: Send called runtime.Goexit")

func newCourier[T any](ctx context.Context, to sluice.Sender[T]) *courier[T] {
	results := sluice.NewBounded[result](1, nil)
	return &courier[T]{ctx: ctx, to: to, results: results, done: sluice.OnRecv(results)}
}

// trySend sends v if that is possible at once, and otherwise hands it to the
// goroutine, whose result done receives.
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

// send sends v and reports the result, however Send ends.
func (c *courier[T]) send(v T) {
	r := result{err: errSendExited}
	defer func() {
		r.panicked = recover()
		_ = c.results.TrySend(r)
	}()
	r.err = c.to.Send(c.ctx, v)
}

// taken returns the result that done has received. A panic of Send is repeated here.
func (c *courier[T]) taken() error {
	r := c.done.Value
	c.done.Value = result{}
	if r.panicked != nil {
		panic(r.panicked)
	}
	return r.err
}

// result waits for the result of the value that the goroutine has, and returns it. ctx
// is done.
func (c *courier[T]) result() error {
	r, _ := c.results.Recv(context.Background())
	if r.panicked != nil {
		panic(r.panicked)
	}
	return r.err
}

// end ends the goroutine. If it has a value, ctx is done.
func (c *courier[T]) end() {
	if c.values != nil {
		c.values.Close()
		<-c.ended
	}
}
