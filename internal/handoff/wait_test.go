package handoff

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice/internal/engine"
)

// never is an engine on which both sides have to wait: a sender at once, a
// receiver once the value queued is gone.
func never() *Engine[int] {
	e := New(engine.Config[int]{Limit: 1})
	_ = e.TrySend(1)
	return e
}

// TestDoneBeforehand: a context that is done ends a call that would wait, before
// it is in line; one that would not is none of its business.
func TestDoneBeforehand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		e := never()
		if err := e.Send(ctx, 2); err != context.Canceled {
			t.Errorf("Send that would wait: %v", err)
		}
		if v, err := e.Recv(ctx); v != 1 || err != nil {
			t.Errorf("Recv of a value that is there: %d, %v", v, err)
		}
		if v, err := e.Recv(ctx); v != 0 || err != context.Canceled {
			t.Errorf("Recv that would wait: %d, %v", v, err)
		}
		if err := e.Send(ctx, 2); err != nil {
			t.Errorf("Send with room: %v", err)
		}
		if settled(t, e); e.frees != 0 {
			t.Error("a call under a context that was done got in line")
		}
	})
}

// TestBackground: without anything that could end it, a wait ends when it is
// served.
func TestBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, ctx := range []context.Context{context.Background(), context.TODO(), context.WithoutCancel(t.Context())} {
			e := New(engine.Config[int]{})
			got := 0
			go func() { got, _ = e.Recv(ctx) }()
			inLine(t, e, 0, 1)
			if err := e.Send(ctx, 5); err != nil {
				t.Fatal(err)
			}
			if inLine(t, e, 0, 0); got != 5 {
				t.Errorf("received %d, want 5", got)
			}
		}
	})
}

// A breaking context panics at its n-th call.
type breaking struct {
	context.Context
	n int
}

func (c *breaking) count() {
	if c.n--; c.n == 0 {
		panic("broken")
	}
}

func (c *breaking) Done() <-chan struct{} {
	c.count()
	return c.Context.Done()
}

func (c *breaking) Err() error {
	c.count()
	return c.Context.Err()
}

// TestBreakingContext: wherever a context panics, nobody stays in line, and the
// lock is free.
func TestBreakingContext(t *testing.T) {
	const asked = 3 // Err, Done, and Err again when the wait is over
	for name, config := range map[string]engine.Config[int]{
		"handoff":    {Limit: 1},
		"no handoff": {Limit: 1, NoHandOff: true},
		"sized":      {Limit: 5, Elastic: true, LimitBytes: 1, Size: func(int) int { return 1 }},
	} {
		for _, full := range []bool{true, false} { // a sender waits, or a receiver
			broken := 0
			for n := 1; n <= 2*asked; n++ {
				synctest.Test(t, func(t *testing.T) {
					e := New(config)
					if full {
						_ = e.TrySend(1)
					}
					ctx, cancel := context.WithCancel(context.Background())
					go func() {
						defer func() {
							if recover() != nil {
								broken++
							}
						}()
						if full {
							_ = e.Send(&breaking{ctx, n}, 2)
						} else {
							_, _ = e.Recv(&breaking{ctx, n})
						}
					}()
					settled(t, e)
					cancel()
					inLine(t, e, 0, 0)
				})
			}
			if broken < asked {
				t.Errorf("%s, full %v: a wait asks its context %d times, want %d at least", name, full, broken, asked)
			}
		}
	}
}

// TestWaitsAllocateNothing: one who is parked each time takes nothing from the
// allocator.
func TestWaitsAllocateNothing(t *testing.T) {
	const runs = 100
	for name, config := range configs() {
		if config.Overflow != engine.Block {
			continue
		}
		for _, cancellable := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx := context.Background()
					if cancellable {
						ctx = t.Context()
					}
					testWaitAllocates(t, New(config), ctx, runs)
				})
			})
		}
	}
}

func testWaitAllocates(t *testing.T, e *Engine[int], ctx context.Context, runs int) {
	go func() {
		for err := error(nil); err == nil; {
			_, err = e.Recv(ctx)
		}
	}()
	n := testing.AllocsPerRun(runs, func() {
		synctest.Wait()
		_ = e.TrySend(4)
	})
	if waits := e.Stats().RecvWaits; n != 0 || waits < uint64(runs) {
		t.Errorf("%d receives that waited allocate %v times each", waits, n)
	}
	e.Close()
	synctest.Wait()

	e = New(e.config)
	go func() {
		for err := error(nil); err == nil; {
			err = e.Send(ctx, 4)
		}
	}()
	n = testing.AllocsPerRun(runs, func() {
		synctest.Wait()
		_, _ = e.TryRecv()
	})
	if waits := e.Stats().SendWaits; n != 0 || waits < uint64(runs) {
		t.Errorf("%d sends that waited allocate %v times each", waits, n)
	}
	e.Close()
}
