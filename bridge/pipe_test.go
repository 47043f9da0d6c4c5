package bridge_test

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bridge"
)

// kinds makes a channel of each kind, by name.
var kinds = map[string]func() sluice.Channel[int]{
	"Rendezvous": func() sluice.Channel[int] { return sluice.NewRendezvous[int](nil) },
	"Bounded 1":  func() sluice.Channel[int] { return sluice.NewBounded[int](1, nil) },
	"Bounded 64": func() sluice.Channel[int] { return sluice.NewBounded[int](64, nil) },
	"Elastic":    func() sluice.Channel[int] { return sluice.NewElastic[int](sluice.Unlimited, nil) },
}

// perHundred is the size of a value of a sequence: one in fifty is larger than the limit
// of a hundred bytes, and some others do not fit together.
func perHundred(v int) int {
	if v%50 == 7 {
		return 101
	}
	return v % 60
}

// pipeKinds are the kinds, and shapes whose sends fail where others wait.
func pipeKinds() map[string]func() sluice.Channel[int] {
	reject := &sluice.BoundedOptions[int]{Overflow: sluice.Reject}
	all := map[string]func() sluice.Channel[int]{
		"Rendezvous, Reject": func() sluice.Channel[int] {
			return sluice.NewRendezvous(&sluice.RendezvousOptions[int]{Overflow: sluice.Reject})
		},
		"Bounded 1, Reject":  func() sluice.Channel[int] { return sluice.NewBounded(1, reject) },
		"Bounded 64, Reject": func() sluice.Channel[int] { return sluice.NewBounded(64, reject) },
		"Elastic 70, Reject": func() sluice.Channel[int] {
			return sluice.NewElastic(70, &sluice.ElasticOptions[int]{Overflow: sluice.Reject})
		},
		"Elastic, too large": func() sluice.Channel[int] {
			return sluice.NewElastic(sluice.Unlimited, &sluice.ElasticOptions[int]{LimitBytes: 100, Size: perHundred})
		},
		"Elastic, too large, Reject": func() sluice.Channel[int] {
			return sluice.NewElastic(sluice.Unlimited, &sluice.ElasticOptions[int]{
				LimitBytes: 100, Size: perHundred, Overflow: sluice.Reject})
		},
	}
	maps.Copy(all, kinds)
	return all
}

func TestPipeDeliversAllThenCloses(t *testing.T) {
	for name, make := range pipeKinds() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // ends only if both pumps do
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

// TestPipeStop stops with values at every place that can hold one.
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
						t.Fatalf("sent 0 to %d, received and got back %d values: %v", sent-1, len(got), got)
					}
					select {
					case _, ok := <-pipe.Out:
						t.Fatalf("Out is readable after Stop (open: %v)", ok)
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

// TestPipePassesTooLarge: a policy that drops does not drop a value that is too large.
// That value comes out after the values before it.
func TestPipePassesTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dropped []int
		pipe := bridge.NewPipe[int](sluice.NewElastic(10, &sluice.ElasticOptions[int]{
			LimitBytes: 100, Size: perHundred, Overflow: sluice.DropOldest,
			OnUndelivered: func(v int, _ sluice.Reason) { dropped = append(dropped, v) },
		}))
		const n = 3000
		go func() {
			for i := range n {
				pipe.In <- i
			}
			close(pipe.In)
		}()
		var got []int
		for v := range pipe.Out {
			got = append(got, v)
			synctest.Wait() // a slow reader, so that values are dropped
		}
		for v := 7; v < n; v += 50 {
			if _, found := slices.BinarySearch(got, v); !found {
				t.Errorf("%d, which is too large, did not come out", v)
			}
		}
		if !slices.IsSorted(got) || len(dropped) == 0 {
			t.Errorf("out of order, or none of them dropped: %v", got)
		}
		if all := slices.Sorted(slices.Values(append(got, dropped...))); !slices.Equal(all, sequence(n)) {
			t.Errorf("%d values came out or were dropped, not 0 to %d once each", len(all), n-1)
		}
	})
}

// TestPipeBlocksOnRefusal: a channel that refuses a value blocks In, and is not filled
// beyond its capacity.
func TestPipeBlocksOnRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sluice.NewBounded(8, &sluice.BoundedOptions[int]{Overflow: sluice.Reject})
		pipe := bridge.NewPipe[int](c)
		sent := 0
		for range 10_000 {
			synctest.Wait()
			select {
			case pipe.In <- sent:
				sent++
			default:
			}
		}
		// In, Out, and the batches of both pumps: 128 each.
		if most := 4*128 + c.Cap(); sent > most {
			t.Errorf("In took %d values without a reader, want at most %d", sent, most)
		}
		if high := c.Stats().HighWater; high > c.Cap() {
			t.Errorf("%d values were queued in a channel for %d", high, c.Cap())
		}
		if rest := pipe.Stop(); !slices.Equal(rest, sequence(sent)) {
			t.Errorf("Stop returned %d values of %d: %v", len(rest), sent, rest)
		}
	})
}

// TestPipeOfAClosedChannel: both goroutines end without Stop, or the bubble would not.
func TestPipeOfAClosedChannel(t *testing.T) {
	for name, make := range pipeKinds() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := make()
				pipe := bridge.NewPipe(c)
				for i := range 10 {
					pipe.In <- i
				}
				synctest.Wait()
				c.Close()
				var got []int
				for v := range pipe.Out {
					got = append(got, v)
				}
				if !slices.Equal(got, sequence(10)) {
					t.Errorf("got %v", got)
				}
			})
		})
	}
}

func TestPipeOfAClosedChannelReturnsTheRest(t *testing.T) {
	for name, make := range pipeKinds() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := make()
				pipe := bridge.NewPipe(c)
				sent := 0
				offer := func(n int) {
					for range n {
						synctest.Wait()
						select {
						case pipe.In <- sent:
							sent++
						default:
						}
					}
				}
				offer(600)
				c.Close()
				offer(50) // the pump may have ended
				var got []int
				for v := range pipe.Out {
					got = append(got, v)
				}
				offer(50)
				if got = append(got, pipe.Stop()...); !slices.Equal(got, sequence(sent)) {
					t.Errorf("sent 0 to %d, received and got back %d values: %v", sent-1, len(got), got)
				}
			})
		})
	}
}

// TestPipeStopLeavesClosedOut: all values were delivered before Stop, so a reader still
// gets those in Out, and then the close.
func TestPipeStopLeavesClosedOut(t *testing.T) {
	for name, make := range pipeKinds() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pipe := bridge.NewPipe(make())
				for i := range 100 {
					pipe.In <- i
				}
				close(pipe.In)
				synctest.Wait()
				if rest := pipe.Stop(); len(rest) != 0 {
					t.Errorf("Stop took %d values that Out had", len(rest))
				}
				var got []int
				for v := range pipe.Out {
					got = append(got, v)
				}
				if !slices.Equal(got, sequence(100)) {
					t.Errorf("a reader of Out got %v", got)
				}
			})
		})
	}
}

// TestPipePassesBy: values pass the channel by only while none is before them, so the order is
// kept when Out is full at times.
func TestPipePassesBy(t *testing.T) {
	for name, make := range kinds {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := make()
				pipe := bridge.NewPipe(c)
				sent, received := 0, 0
				send := func(n int) {
					for range n {
						pipe.In <- sent
						sent++
					}
					synctest.Wait()
				}
				receive := func(n int) {
					for range n {
						if v := <-pipe.Out; v != received {
							t.Fatalf("received %d, want %d", v, received)
						}
						received++
					}
					synctest.Wait()
				}
				send(10)
				receive(10)
				if n := c.Stats().Sent; n != 0 {
					t.Errorf("%d values entered the empty channel", n)
				}
				for burst := range 40 {
					send(100 + burst%3*50) // up to 200: Out is full
					receive(sent - received - burst%2)
				}
				if c.Stats().Sent == 0 {
					t.Error("no value entered the channel, although Out was full")
				}
				receive(sent - received)
				close(pipe.In)
				if v, ok := <-pipe.Out; ok {
					t.Errorf("received %d after the last value", v)
				}
			})
		})
	}
}

// TestPipeClosedWhileValuesPassBy: each value comes out of Out, or Stop returns it.
func TestPipeClosedWhileValuesPassBy(t *testing.T) {
	for range 200 {
		c := sluice.NewBounded[int](4, nil)
		pipe := bridge.NewPipe(c)
		const n = 100
		accepted := make(chan struct{})
		go func() {
			defer close(accepted)
			for v := range n {
				pipe.In <- v // its buffer has room for all
			}
		}()
		go c.Close()
		var got []int
		for v := range pipe.Out {
			got = append(got, v)
		}
		<-accepted
		if got = append(got, pipe.Stop()...); !slices.Equal(got, sequence(n)) {
			t.Fatalf("%d of %d values, or in another order: %v", len(got), n, got)
		}
	}
}
