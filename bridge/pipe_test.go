package bridge_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bridge"
)

// perHundred is the size of a value of a sequence: one in fifty is larger than
// the limit of a hundred bytes, and some of the others do not fit together.
func perHundred(v int) int {
	if v%50 == 7 {
		return 101
	}
	return v % 60
}

// pipeKinds are the kinds, and those whose sends fail where others wait.
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

// TestPipePassWhatDropOldestCannot: under a policy that drops, a value that is
// too large is still not lost, and comes after what was sent before it.
func TestPipePassWhatDropOldestCannot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dropped []int
		pipe := bridge.NewPipe[int](sluice.NewElastic(10, &sluice.ElasticOptions[int]{
			LimitBytes: 100, Size: perHundred, Overflow: sluice.DropOldest,
			OnDrop: func(v int) { dropped = append(dropped, v) },
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
			synctest.Wait() // a slow reader, so that there are drops
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

// TestPipeHoldUpWhatIsRefused: a channel that refuses does not make room in S,
// and is not filled beyond its capacity.
func TestPipeHoldUpWhatIsRefused(t *testing.T) {
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
		// S, R, and the hands of both pumps: 128 each.
		if most := 4*128 + c.Cap(); sent > most {
			t.Errorf("%d values were taken with no reader, want at most %d", sent, most)
		}
		if high := c.Stats().HighWater; high > c.Cap() {
			t.Errorf("%d values were queued in a channel for %d", high, c.Cap())
		}
		if rest := pipe.Stop(); !slices.Equal(rest, sequence(sent)) {
			t.Errorf("Stop returned %d values of %d: %v", len(rest), sent, rest)
		}
	})
}

// TestPipeOfAChannelThatIsClosed pipe only if both goroutines do, without Stop.
func TestPipeOfAChannelThatIsClosed(t *testing.T) {
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

func TestPipeOfAChannelThatIsClosedGiveBackTheRest(t *testing.T) {
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
				offer(50) // to a pump that has yet to find out, or to none
				var got []int
				for v := range pipe.Out {
					got = append(got, v)
				}
				offer(50)
				if got = append(got, pipe.Stop()...); !slices.Equal(got, sequence(sent)) {
					t.Errorf("sent 0 to %d, received and were given back %d values: %v", sent-1, len(got), got)
				}
			})
		})
	}
}

// TestPipeStopLeavesAClosedRToItsReader: all was delivered before Stop, so what R
// holds comes out of it, then its end.
func TestPipeStopLeavesAClosedRToItsReader(t *testing.T) {
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
					t.Errorf("Stop took %d values that R had", len(rest))
				}
				var got []int
				for v := range pipe.Out {
					got = append(got, v)
				}
				if !slices.Equal(got, sequence(100)) {
					t.Errorf("a reader of R got %v", got)
				}
			})
		})
	}
}

// failing is an end that works until it does not.
type failing struct {
	*sluice.Bounded[int]
	err error
}

func (f failing) Recv(ctx context.Context) (int, error) {
	if v, err := f.TryRecv(); err == nil {
		return v, nil
	}
	return 0, f.err
}

// TestToChanOfAReceiverThatFails: whoever reads must not wait for ever.
func TestToChanOfAReceiverThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := failing{sluice.NewBounded[int](8, nil), errors.New("broken")}
		_ = r.TrySend(0)
		values, rest := bridge.ToChan(t.Context(), r)
		var got []int
		for v := range values {
			got = append(got, v)
		}
		if left, err := rest(); !slices.Equal(got, sequence(1)) || len(left) != 0 || !errors.Is(err, r.err) {
			t.Errorf("got %v, rest = %v, %v, want the error of the receiver", got, left, err)
		}
	})
}

// TestToChanCancelledWhileItWaits: with nothing on its way.
func TestToChanCancelledWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		values, rest := bridge.ToChan(ctx, sluice.NewBounded[int](8, nil))
		synctest.Wait()
		cancel()
		if left, err := rest(); len(left) != 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("rest = %v, %v", left, err)
		}
		select {
		case _, ok := <-values:
			t.Errorf("the stream is readable after a cancel (open: %v)", ok)
		default:
		}
	})
}

// TestFromChanReportsWhatIsRefused, which then can be sent again.
func TestFromChanReportsWhatIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := make(chan int, 3)
		in <- 0
		in <- 1
		in <- 2
		close(in)
		c := sluice.NewBounded(1, &sluice.BoundedOptions[int]{Overflow: sluice.Reject})
		for want := range 2 {
			unsent, err := bridge.FromChan(t.Context(), c, in)
			if !errors.Is(err, sluice.ErrFull) || !slices.Equal(unsent, []int{want + 1}) {
				t.Fatalf("From = %v, %v, want %d, ErrFull", unsent, err, want+1)
			}
			if v, err := c.TryRecv(); v != want || err != nil {
				t.Fatalf("TryRecv = %d, %v, want %d", v, err, want)
			}
			_ = c.TrySend(unsent[0])
		}
		if unsent, err := bridge.FromChan(t.Context(), c, in); unsent != nil || err != nil {
			t.Errorf("From of a closed channel = %v, %v", unsent, err)
		}
	})
}

// silent is a context that pipe, and does not say why.
type silent struct{ context.Context }

func (silent) Err() error { return nil }

// TestFromChanOfASilentContext: an end for lack of time must not look like success.
func TestFromChanOfASilentContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := bridge.FromChan(silent{ctx}, sluice.NewBounded[int](1, nil), make(chan int)); err == nil {
		t.Error("From = nil, with its context done and its channel open")
	}
}
