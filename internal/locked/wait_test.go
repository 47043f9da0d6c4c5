package locked

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/internal/callsite"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
)

// blocking returns an engine in which a sender blocks at once, and a receiver once
// the queued value was received.
func blocking() *Engine[int] {
	e := New(engine.Config[int]{Limit: 1})
	_ = e.TrySend(1)
	return e
}

// TestCanceledBeforehand: a canceled context ends a call that would wait, before
// that is queued. It does not affect a call that would not wait.
func TestCanceledBeforehand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		e := blocking()
		if err := e.Send(ctx, 2); err != context.Canceled {
			t.Errorf("Send that would wait: %v", err)
		}
		if v, err := e.Recv(ctx); v != 1 || err != nil {
			t.Errorf("Recv of a queued value: %d, %v", v, err)
		}
		if v, err := e.Recv(ctx); v != 0 || err != context.Canceled {
			t.Errorf("Recv that would wait: %d, %v", v, err)
		}
		if err := e.Send(ctx, 2); err != nil {
			t.Errorf("Send with room: %v", err)
		}
		if settled(t, e); unused(e) != 0 {
			t.Error("a call under a canceled context was queued")
		}
	})
}

// TestBackground: a wait under a context that is never canceled ends when it is
// served.
func TestBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, ctx := range []context.Context{context.Background(), context.TODO(), context.WithoutCancel(t.Context())} {
			e := New(engine.Config[int]{})
			got := 0
			go func() { got, _ = e.Recv(ctx) }()
			expectWaiting(t, e, 0, 1)
			if err := e.Send(ctx, 5); err != nil {
				t.Fatal(err)
			}
			if expectWaiting(t, e, 0, 0); got != 5 {
				t.Errorf("received %d, want 5", got)
			}
		}
	})
}

// A panicking context panics at its n-th call.
type panicking struct {
	context.Context
	n int
}

func (c *panicking) count() {
	if c.n--; c.n == 0 {
		panic("broken context")
	}
}

func (c *panicking) Done() <-chan struct{} {
	c.count()
	return c.Context.Done()
}

func (c *panicking) Err() error {
	c.count()
	return c.Context.Err()
}

// TestPanickingContext: wherever a context panics, no waiter stays queued, and the
// lock is free.
func TestPanickingContext(t *testing.T) {
	const asked = 3 // Err, Done, and Err again when the wait is over
	for name, config := range map[string]engine.Config[int]{
		"handoff": {Limit: 1},
		"sized":   {Limit: 5, Elastic: true, MaxBytes: 1, Size: func(int) int { return 1 }},
	} {
		for _, full := range []bool{true, false} { // a sender waits, otherwise a receiver
			panics := 0
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
								panics++
							}
						}()
						if full {
							_ = e.Send(&panicking{ctx, n}, 2)
						} else {
							_, _ = e.Recv(&panicking{ctx, n})
						}
					}()
					settled(t, e)
					cancel()
					expectWaiting(t, e, 0, 0)
				})
			}
			if panics < asked {
				t.Errorf("%s, full %v: a wait calls its context %d times, want at least %d", name, full, panics, asked)
			}
		}
	}
}

// TestWaitAllocs: an operation that parks does not allocate.
func TestWaitAllocs(t *testing.T) {
	const runs = 100
	for name, config := range variants() {
		if config.Overflow != engine.Block {
			continue
		}
		for _, cancelable := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx := context.Background()
					if cancelable {
						ctx = t.Context()
					}
					testWaitAllocates(t, config, ctx, runs)
				})
			})
		}
	}
}

func testWaitAllocates(t *testing.T, config variant, ctx context.Context, runs int) {
	e := config.new()
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

	e = config.new()
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

// TestUntimedWaits: after many waits the clock is not read, so a wait begins for Stats with the
// first call. From then on, and in a channel with a name, each begins when the goroutine parks.
func TestUntimedWaits(t *testing.T) {
	for _, sends := range []bool{false, true} {
		for _, name := range []string{"", "named"} {
			synctest.Test(t, func(t *testing.T) {
				config := engine.Config[int]{Name: name}
				if name != "" {
					config.Sites = callsite.New()
				}
				e := New(config)
				e.senders.parks, e.receivers.parks = park.AlwaysTimed, park.AlwaysTimed
				block := func() {
					if sends {
						_ = e.Send(context.Background(), 1)
					} else {
						_, _ = e.Recv(context.Background())
					}
				}
				oldest := func() time.Duration {
					time.Sleep(time.Hour)
					synctest.Wait()
					s := e.Stats()
					return s.OldestSender + s.OldestReceiver
				}
				first := time.Hour
				if name == "" {
					first = 0
				}
				go block()
				if got := []time.Duration{oldest(), oldest()}; got[0] != first || got[1] != first+time.Hour {
					t.Errorf("%q, a sender %v: a wait is %v old, an hour later %v", name, sends, got[0], got[1])
				}
				if e.senders.parks+e.receivers.parks != 2*park.AlwaysTimed+1 {
					t.Error("the wait was not counted")
				}
				if sends {
					_, _ = e.TryRecv()
				} else {
					_ = e.TrySend(1)
				}
				go block()
				if got := oldest(); got != time.Hour {
					t.Errorf("%q, a sender %v: after a call of Stats a wait of an hour is %v old", name, sends, got)
				}
				e.Close()
			})
		}
	}
}
