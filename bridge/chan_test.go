package bridge_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bridge"
)

// sequence is 0, 1, … n-1.
func sequence(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// kinds makes a channel of each kind, by name.
var kinds = map[string]func() sluice.Channel[int]{
	"Rendezvous": func() sluice.Channel[int] { return sluice.NewRendezvous[int](nil) },
	"Bounded 1":  func() sluice.Channel[int] { return sluice.NewBounded[int](1, nil) },
	"Bounded 64": func() sluice.Channel[int] { return sluice.NewBounded[int](64, nil) },
	"Elastic":    func() sluice.Channel[int] { return sluice.NewElastic[int](sluice.Unlimited, nil) },
}

func TestPipeDeliverAllThenClose(t *testing.T) {
	for name, make := range pipeKinds() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // pipe only if both pumps do
				const n = 5000
				pipe := bridge.NewPipe(make())
				go func() {
					for i := range n {
						pipe.In <- i
					}
					close(pipe.In)
				}()
				var got []int
				for v := range pipe.Out {
					got = append(got, v)
				}
				if !slices.Equal(got, sequence(n)) {
					t.Errorf("%d values came out, not 0 to %d in order", len(got), n-1)
				}
				if rest := pipe.Stop(); len(rest) != 0 {
					t.Errorf("Stop returned %d values after all were delivered", len(rest))
				}
			})
		})
	}
}

// TestPipeStop stops with values at every place where one can be.
func TestPipeStop(t *testing.T) {
	for name, make := range pipeKinds() {
		for _, n := range []int{0, 1, 128, 129, 300, 700} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := make()
					pipe := bridge.NewPipe(c)
					sent := 0
					for range n {
						synctest.Wait()
						select {
						case pipe.In <- sent:
							sent++
						default:
						}
					}
					var got []int
					for range min(3, sent) {
						got = append(got, <-pipe.Out)
					}
					got = append(got, pipe.Stop()...)
					if !slices.Equal(got, sequence(sent)) {
						t.Fatalf("sent 0 to %d, received and were given back %d values: %v", sent-1, len(got), got)
					}
					select {
					case _, ok := <-pipe.Out:
						t.Fatalf("R is readable after Stop (open: %v)", ok)
					default:
					}
					if err := c.TrySend(0); !errors.Is(err, sluice.ErrClosed) {
						t.Errorf("TrySend = %v, want a channel that Stop has closed", err)
					}
					if again := pipe.Stop(); sent > 3 && len(again) != sent-3 {
						t.Errorf("the second Stop returned %d values, the first %d", len(again), sent-3)
					}
				})
			})
		}
	}
}

func TestToChan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sluice.NewBounded[int](8, nil)
		values, rest := bridge.ToChan(t.Context(), c)
		go func() {
			defer c.Close()
			for i := range 100 {
				_ = c.Send(context.Background(), i)
			}
		}()
		var got []int
		for v := range values {
			got = append(got, v)
		}
		left, err := rest()
		if !slices.Equal(got, sequence(100)) || len(left) != 0 || err != nil {
			t.Errorf("received %v, and %v was left, with %v", got, left, err)
		}
	})
}

func TestToChanCancelledGivesBackWhatItHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sluice.NewBounded[int](8, nil)
		for i := range 3 {
			_ = c.TrySend(i)
		}
		ctx, cancel := context.WithCancel(t.Context())
		values, rest := bridge.ToChan(ctx, c)
		synctest.Wait()
		cancel()
		if got, err := rest(); !slices.Equal(got, []int{0}) || !errors.Is(err, context.Canceled) {
			t.Errorf("rest = %v, %v, want the 0 that was on its way, and context.Canceled", got, err)
		}
		select {
		case _, ok := <-values:
			t.Errorf("the stream is readable after a cancel (open: %v)", ok)
		default:
		}
		if c.Len() != 2 {
			t.Errorf("Len = %d, want 2", c.Len())
		}
	})
}

func TestFromChan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := make(chan int)
		go func() {
			defer close(in)
			for i := range 50 {
				in <- i
			}
		}()
		c := sluice.NewElastic[int](100, nil)
		if unsent, err := bridge.FromChan(t.Context(), c, in); err != nil || unsent != nil {
			t.Fatalf("From = %v, %v", unsent, err)
		}
		c.Close()
		if got := slices.Collect(c.Values(t.Context()).All()); !slices.Equal(got, sequence(50)) {
			t.Errorf("received %v", got)
		}
	})
}

func TestFromChanGivesBackWhatItCannotSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := make(chan int, 3)
		in <- 1
		in <- 2
		c := sluice.NewBounded[int](1, nil)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			synctest.Wait()
			cancel()
		}()
		if unsent, err := bridge.FromChan(ctx, c, in); !errors.Is(err, context.Canceled) || !slices.Equal(unsent, []int{2}) {
			t.Errorf("From = %v, %v, want the 2 that did not fit", unsent, err)
		}
		if unsent, err := bridge.FromChan(ctx, c, in); !errors.Is(err, context.Canceled) || unsent != nil {
			t.Errorf("From with nothing to send = %v, %v", unsent, err)
		}
		c.Close()
		in <- 3
		if unsent, err := bridge.FromChan(t.Context(), c, in); !errors.Is(err, sluice.ErrClosed) || !slices.Equal(unsent, []int{3}) {
			t.Errorf("From into a closed channel = %v, %v", unsent, err)
		}
	})
}

// TestRefused: bad arguments panic before anything is received.
func TestRefused(t *testing.T) {
	ctx := t.Context()
	var none context.Context
	c := sluice.NewBounded[int](1, nil)
	_ = c.TrySend(1)
	in := make(chan int, 1)
	in <- 1
	for want, call := range map[string]func(){
		"bridge: NewPipe: nil channel":                              func() { bridge.NewPipe[int](nil) },
		"bridge: NewPipe: the channel is a *sluice.Bounded[int]":    func() { bridge.NewPipe((*sluice.Bounded[int])(nil)) },
		"bridge: ToChan: nil context":                               func() { bridge.ToChan(none, c) },
		"bridge: ToChan: nil receiver":                              func() { bridge.ToChan[int](ctx, nil) },
		"bridge: ToChan: the receiver is a *sluice.Elastic[int]":    func() { bridge.ToChan(ctx, new(sluice.Elastic[int])) },
		"bridge: FromChan: nil context":                             func() { _, _ = bridge.FromChan(none, c, in) },
		"bridge: FromChan: nil sender":                              func() { _, _ = bridge.FromChan[int](ctx, nil, in) },
		"bridge: FromChan: the sender is a *sluice.Rendezvous[int]": func() { _, _ = bridge.FromChan(ctx, new(sluice.Rendezvous[int]), in) },
		"bridge: FromChan: the sender is a *sluice.Lane[int]":       func() { _, _ = bridge.FromChan(ctx, (*sluice.Lane[int])(nil), in) },
	} {
		func() {
			defer func() {
				if message, _ := recover().(string); !strings.HasPrefix(message, want) {
					t.Errorf("panic %q, want %q", message, want)
				}
			}()
			call()
		}()
	}
	if c.Len() != 1 || len(in) != 1 {
		t.Error("a value is lost")
	}
}

// TestToChanEndsEarly: if the context ends ToChan, or the receiver fails, senders that
// wait get ErrClosed; not so if the channel is to be left open. Each goroutine ends, or
// the bubble would not.
func TestToChanEndsEarly(t *testing.T) {
	broken := errors.New("broken")
	for _, open := range []bool{false, true} {
		for _, fails := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				c := sluice.NewBounded[int](2, nil)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var r sluice.BatchReceiver[int] = c
				want := context.Canceled
				if fails {
					r, want = failing{c, broken}, broken
					_ = c.TrySend(0)
				}
				if open {
					r = sluice.LeaveOpen(r)
				}
				values, rest := bridge.ToChan(ctx, r)
				sent := make(chan error, 1)
				if !fails {
					_, _ = c.SendBatch(t.Context(), []int{0, 1, 2}) // 0 is on its way
					go func() { sent <- c.Send(context.Background(), 3) }()
					synctest.Wait()
					cancel()
				} else {
					for range values {
					}
					sent <- c.TrySend(3)
				}
				if _, err := rest(); !errors.Is(err, want) {
					t.Errorf("rest: %v, want %v", err, want)
				}
				if open && !fails {
					_, _ = c.TryRecv()
				}
				if err := <-sent; errors.Is(err, sluice.ErrClosed) == open {
					t.Errorf("open %v, fails %v: Send behind the end: %v", open, fails, err)
				}
			})
		}
	}
}
