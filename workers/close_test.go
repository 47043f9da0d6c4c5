package workers_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/stage"
	"github.com/sluice-go/sluice/workers"
)

// ends are the ways in which a job ends a stage early.
var ends = map[string]func(cancel func()) error{
	"error":  func(func()) error { return errPlanted },
	"panic":  func(func()) error { panic(errPlanted) },
	"Goexit": func(func()) error { runtime.Goexit(); return nil },
	"cancel": func(cancel func()) error { cancel(); return nil },
}

// TestRunFreesSenders: a sender that waits for room fails with ErrClosed as soon as the
// early end is decided, while another job is still running.
func TestRunFreesSenders(t *testing.T) {
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				c := sluice.NewBounded[int](1, nil)
				slow := make(chan struct{})
				ended := false
				var all sync.WaitGroup
				all.Go(func() {
					defer func() { ended = true; _ = recover() }()
					_ = workers.Run(ctx, c, 2, func(_ context.Context, job int) error {
						if job == 0 {
							<-slow
							return nil
						}
						return end(cancel)
					}, nil)
				})
				_ = c.Send(t.Context(), 0)
				synctest.Wait()
				for job := 1; ; job++ {
					if err := c.Send(t.Context(), job); err != nil {
						if err != sluice.ErrClosed {
							t.Errorf("Send: %v", err)
						}
						break
					}
				}
				if synctest.Wait(); ended {
					t.Error("Run returned while a job is running")
				}
				close(slow)
				all.Wait()
			})
		})
	}
}

// TestRunClosesAtOnce: the channel is closed even if the context is done before Run
// begins.
func TestRunClosesAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, use := range []func(c *sluice.Bounded[int]) error{
		func(c *sluice.Bounded[int]) error {
			return workers.Run(ctx, c, 2, func(context.Context, int) error { return nil }, nil)
		},
		func(c *sluice.Bounded[int]) error {
			_, err := workers.Map(ctx, c, 2, square, nil).Recv(t.Context())
			return err
		},
	} {
		c := sluice.NewBounded[int](1, nil)
		if err := use(c); err != context.Canceled {
			t.Errorf("ended with %v", err)
		}
		if err := c.TrySend(1); err != sluice.ErrClosed {
			t.Errorf("TrySend: %v", err)
		}
	}
}

// sharing is a channel that belongs to other processes, too.
type sharing struct {
	stage.Shared
	*sluice.Bounded[int]
}

// TestRunLeavesOpen: Run leaves a channel open that is wrapped by LeaveOpen, or shared.
func TestRunLeavesOpen(t *testing.T) {
	c := sluice.NewBounded[int](9, nil)
	for _, r := range []sluice.BatchReceiver[int]{sluice.LeaveOpen[int](c), sharing{Bounded: c}} {
		_ = c.TrySend(1)
		if err := workers.Run(t.Context(), r, 2, func(context.Context, int) error { return errPlanted }, nil); err != errPlanted {
			t.Errorf("Run: %v", err)
		}
		_ = c.TrySend(1)
		for range workers.Map(t.Context(), r, 2, square, nil).All() {
			break
		}
		if err := c.TrySend(1); err != nil {
			t.Errorf("%T: %v", r, err)
		}
		_, _ = c.TryRecv()
	}
}

// slamming is a channel whose Close calls a function of the test.
type slamming struct {
	*sluice.Elastic[int]
	close func()
}

func (s slamming) Close() { s.close() }

// TestRunCloseFails: a panic of Close reaches the caller of Run, whichever goroutine
// called Close.
func TestRunCloseFails(t *testing.T) {
	for name, end := range ends {
		if name == "Goexit" {
			continue // see TestRunEndEarly
		}
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			defer func() {
				want := errPlanted
				if name != "panic" {
					want = errClose
				}
				if p, _ := recover().(*workers.PanicError); p == nil || !errors.Is(p, want) {
					t.Errorf("panicked with %v", p)
				}
			}()
			c := slamming{sluice.NewElastic[int](9, nil), func() { panic(errClose) }}
			_ = c.TrySend(1)
			err := workers.Run(ctx, c, 2, func(context.Context, int) error { return end(cancel) }, nil)
			t.Errorf("Run: %v", err)
		})
	}
}

var errClose = errors.New("close")

// TestMapFreesSenders: however the results end early, senders are freed at once, even
// while jobs before the failed one are still running.
func TestMapFreesSenders(t *testing.T) {
	for order, o := range mappings {
		for name, end := range ends {
			t.Run(order+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					c := sluice.NewBounded[int](1, nil)
					slow, began := make(chan struct{}), make(chan struct{})
					if o.MaxAhead == 1 {
						close(slow) // job 1 comes after job 0
					}
					m := workers.Map(ctx, c, 2, func(_ context.Context, job int) (int, error) {
						if job == 0 {
							close(began)
							<-slow
							return 0, nil
						}
						<-began // or job 0 could be received, and never started
						return job, end(cancel)
					}, &o)
					var all sync.WaitGroup
					ended := false
					all.Go(func() {
						defer func() { ended = true; _ = recover() }()
						for range m.All() {
						}
					})
					for job := 0; ; job++ {
						if err := c.Send(t.Context(), job); err != nil {
							if err != sluice.ErrClosed {
								t.Errorf("Send: %v", err)
							}
							break
						}
					}
					if o.MaxAhead != 1 {
						if synctest.Wait(); ended {
							t.Error("the loop ended while a job is running")
						}
						close(slow)
					}
					all.Wait()
				})
			})
		}
	}
}
