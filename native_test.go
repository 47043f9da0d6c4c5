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

// anyKind makes one channel of each kind, by name.
func anyKind() map[string]sluice.Chan[int] {
	return map[string]sluice.Chan[int]{
		"Rendezvous": sluice.NewRendezvous[int](nil),
		"Bounded 1":  sluice.NewBounded[int](1, nil),
		"Bounded 64": sluice.NewBounded[int](64, nil),
		"Elastic":    sluice.NewElastic[int](sluice.Unlimited, nil),
	}
}

func TestEndsDeliverAllThenClose(t *testing.T) {
	for name, c := range anyKind() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // ends only if both pumps do
				const n = 5000
				ends := sluice.Ends(remake(c))
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

// remake returns a fresh channel like c, so that it belongs to the bubble.
func remake(c sluice.Chan[int]) sluice.Chan[int] {
	switch c.(type) {
	case *sluice.Rendezvous[int]:
		return sluice.NewRendezvous[int](nil)
	case *sluice.Elastic[int]:
		return sluice.NewElastic[int](sluice.Unlimited, nil)
	default:
		return sluice.NewBounded[int](c.Cap(), nil)
	}
}

// TestEndsStop stops with values at every place where one can be.
func TestEndsStop(t *testing.T) {
	for name, c := range anyKind() {
		for _, n := range []int{0, 1, 128, 129, 300, 700} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ends := sluice.Ends(remake(c))
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
					if again := ends.Stop(); sent > 3 && len(again) != sent-3 {
						t.Errorf("the second Stop returned %d values, the first %d", len(again), sent-3)
					}
				})
			})
		}
	}
}

func TestEndsOfAChannelThatIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sluice.NewElastic[int](sluice.Unlimited, nil)
		ends := sluice.Ends[int](c)
		for i := range 10 {
			ends.S <- i
		}
		synctest.Wait()
		c.Close()
		var got []int
		for v := range ends.R {
			got = append(got, v)
		}
		if !slices.Equal(got, sequence(10)) {
			t.Errorf("got %v", got)
		}
		ends.S <- 10
		if rest := ends.Stop(); !slices.Equal(rest, []int{10}) {
			t.Errorf("Stop returned %v, want the 10 that came after Close", rest)
		}
	})
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
		if !slices.Equal(got, sequence(100)) || len(rest()) != 0 {
			t.Errorf("received %v, and %v was left", got, rest())
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
		if got := rest(); !slices.Equal(got, []int{0}) {
			t.Errorf("rest = %v, want the 0 that was on its way", got)
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
