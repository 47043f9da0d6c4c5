package batch_test

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
)

// A failing context ends the goroutine that asks it, in the call with that number.
type failing struct {
	context.Context
	calls *int
	end   func()
}

func (f failing) ask() {
	if *f.calls--; *f.calls == 0 {
		f.end()
	}
}

func (f failing) Err() error {
	f.ask()
	return nil
}

func (f failing) Done() <-chan struct{} {
	f.ask()
	return f.Context.Done()
}

// failsAt makes call in another goroutine, under a context that fails in its n-th method. It
// reports whether call returned.
func failsAt(ctx context.Context, n int, end func(), call func(context.Context)) (returned bool) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() { _ = recover() }()
		call(failing{ctx, &n, end})
		returned = true
	}()
	<-ended
	return returned
}

// Wherever a context panics or calls Goexit, in a wait for the channel or for a flush by the timer,
// a Send is refused, nothing that was accepted is lost, and the Sender works.
func TestSenderContextFails(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("planted") }, "Goexit": runtime.Goexit} {
		for _, linger := range []time.Duration{0, time.Second} {
			for n := 1; n <= 2; n++ {
				synctest.Test(t, func(t *testing.T) {
					c := sluice.NewBounded[int](2, nil)
					mustAccept(t, batch.NewSender(c, 2, nil), -1, -1) // c is full
					b := batch.NewSender(c, 3, withLinger(linger))
					mustAccept(t, b, 0, 1)
					if linger > 0 {
						time.Sleep(linger)
						synctest.Wait()
						mustAccept(t, b, 2, 3, 4)
					}
					held := b.Len()
					calls := map[string]func(context.Context){
						"Send":      func(ctx context.Context) { _ = b.Send(ctx, -2) },
						"Flush":     func(ctx context.Context) { _ = b.Flush(ctx) },
						"SendSlice": func(ctx context.Context) { _, _ = b.SendSlice(ctx, []int{-2}) },
					}
					for method, call := range calls {
						if failsAt(t.Context(), n, end, call) || b.Len() != held {
							t.Errorf("%s in %s, linger %v, call %d: returned, or %d are held instead of %d", name, method, linger, n, b.Len(), held)
						}
					}
					go func() {
						if err := b.Close(t.Context()); err != nil {
							t.Error(err)
						}
						c.Close()
					}()
					if got := receive(t, c, held); !slices.Equal(got, sequence(held)) {
						t.Errorf("%s, linger %v, call %d: received %v", name, linger, n, got)
					}
					synctest.Wait()
				})
			}
		}
	}
}
