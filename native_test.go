package sluice_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
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
var kinds = map[string]func() sluice.Chan[int]{
	"Rendezvous": func() sluice.Chan[int] { return sluice.NewRendezvous[int](nil) },
	"Bounded 1":  func() sluice.Chan[int] { return sluice.NewBounded[int](1, nil) },
	"Bounded 64": func() sluice.Chan[int] { return sluice.NewBounded[int](64, nil) },
	"Elastic":    func() sluice.Chan[int] { return sluice.NewElastic[int](sluice.Unlimited, nil) },
}

// anyKind makes one channel of each kind, by name.
func anyKind() map[string]sluice.Chan[int] {
	made := make(map[string]sluice.Chan[int], len(kinds))
	for name, make := range kinds {
		made[name] = make()
	}
	return made
}

func TestEndsDeliverAllThenClose(t *testing.T) {
	for name, make := range endsKinds() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // ends only if both pumps do
				const n = 5000
				ends := sluice.Ends(make())
				go func() {
					for i := range n {
						ends.S <- i
					}
					close(ends.S)
				}()
				var got []int
				for v := range ends.R {
					got = append(got, v)
				}
				if !slices.Equal(got, sequence(n)) {
					t.Errorf("%d values came out, not 0 to %d in order", len(got), n-1)
				}
				if rest := ends.Stop(); len(rest) != 0 {
					t.Errorf("Stop returned %d values after all were delivered", len(rest))
				}
			})
		})
	}
}

// TestEndsStop stops with values at every place where one can be.
func TestEndsStop(t *testing.T) {
	for name, make := range endsKinds() {
		for _, n := range []int{0, 1, 128, 129, 300, 700} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := make()
					ends := sluice.Ends(c)
					sent := 0
					for range n {
						synctest.Wait()
						select {
						case ends.S <- sent:
							sent++
						default:
						}
					}
					var got []int
					for range min(3, sent) {
						got = append(got, <-ends.R)
					}
					got = append(got, ends.Stop()...)
					if !slices.Equal(got, sequence(sent)) {
						t.Fatalf("sent 0 to %d, received and were given back %d values: %v", sent-1, len(got), got)
					}
					select {
					case _, ok := <-ends.R:
						t.Fatalf("R is readable after Stop (open: %v)", ok)
					default:
					}
					if err := c.TrySend(0); !errors.Is(err, sluice.ErrClosed) {
						t.Errorf("TrySend = %v, want a channel that Stop has closed", err)
					}
					if again := ends.Stop(); sent > 3 && len(again) != sent-3 {
						t.Errorf("the second Stop returned %d values, the first %d", len(again), sent-3)
					}
				})
			})
		}
	}
}

func TestStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sluice.NewBounded[int](8, nil)
		values, rest := sluice.Stream(t.Context(), c)
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

func TestStreamCancelledGivesBackWhatItHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sluice.NewBounded[int](8, nil)
		for i := range 3 {
			_ = c.TrySend(i)
		}
		ctx, cancel := context.WithCancel(t.Context())
		values, rest := sluice.Stream(ctx, c)
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

func TestFrom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := make(chan int)
		go func() {
			defer close(in)
			for i := range 50 {
				in <- i
			}
		}()
		c := sluice.NewElastic[int](100, nil)
		if unsent, err := sluice.From(t.Context(), c, in); err != nil || unsent != nil {
			t.Fatalf("From = %v, %v", unsent, err)
		}
		c.Close()
		if got := slices.Collect(c.All(t.Context())); !slices.Equal(got, sequence(50)) {
			t.Errorf("received %v", got)
		}
	})
}

func TestFromGivesBackWhatItCannotSend(t *testing.T) {
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
		if unsent, err := sluice.From(ctx, c, in); !errors.Is(err, context.Canceled) || !slices.Equal(unsent, []int{2}) {
			t.Errorf("From = %v, %v, want the 2 that did not fit", unsent, err)
		}
		if unsent, err := sluice.From(ctx, c, in); !errors.Is(err, context.Canceled) || unsent != nil {
			t.Errorf("From with nothing to send = %v, %v", unsent, err)
		}
		c.Close()
		in <- 3
		if unsent, err := sluice.From(t.Context(), c, in); !errors.Is(err, sluice.ErrClosed) || !slices.Equal(unsent, []int{3}) {
			t.Errorf("From into a closed channel = %v, %v", unsent, err)
		}
	})
}
