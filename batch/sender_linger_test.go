package batch_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
)

// TestSenderTiming compares random schedules with a calculation: a batch is sent at the
// moment at which it is full, or exactly linger after its first value was accepted, even
// if the owner has returned.
func TestSenderTiming(t *testing.T) {
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 3))
			size := 1 + random.IntN(6)
			linger := time.Duration(random.IntN(6))*time.Millisecond + 7*time.Microsecond
			start := time.Now()
			var times []time.Duration // of batches
			r := newRecorder()
			r.act = func() { times = append(times, time.Since(start)) }
			b := batch.NewSender(r, size, withLinger(linger))
			var wantTimes []time.Duration
			var wantRuns [][]int
			var run []int
			var first time.Duration
			cut := func(at time.Duration) {
				wantTimes, wantRuns, run = append(wantTimes, at), append(wantRuns, run), nil
			}
			for i := range 50 {
				time.Sleep(time.Duration(random.IntN(4)) * time.Millisecond)
				synctest.Wait()
				now := time.Since(start)
				if len(run) > 0 && now > first+linger {
					cut(first + linger)
				}
				if run = append(run, i); len(run) == 1 {
					first = now
				}
				mustAccept(t, b, i)
				if len(run) == size {
					cut(now)
				}
			}
			if len(run) > 0 {
				cut(first + linger)
			}
			time.Sleep(time.Hour)
			synctest.Wait()
			if !slices.Equal(times, wantTimes) || !slices.EqualFunc(r.runs, wantRuns, slices.Equal[[]int]) {
				t.Fatalf("seed %d, size %d, linger %v: batches %v after %v, want %v after %v",
					seed, size, linger, r.runs, times, wantRuns, wantTimes)
			}
		})
	}
}

// stuckSender returns a Sender of size 3 and linger 1s. A flush by its timer waits with
// 0 and 1 for room in c, whose slots are filled with -1.
func stuckSender(t *testing.T, capacity int) (c sluice.Channel[int], b *batch.Sender[int]) {
	c = kindOf(capacity)
	for c.TrySend(-1) == nil {
	}
	b = batch.NewSender(c, 3, withLinger(time.Second))
	mustAccept(t, b, 0, 1)
	time.Sleep(time.Second)
	synctest.Wait()
	if b.Len() != 2 {
		t.Errorf("%d values are held while a flush waits", b.Len())
	}
	return c, b
}

// receive receives n values, and skips the -1.
func receive(t *testing.T, c sluice.Channel[int], n int) (got []int) {
	t.Helper()
	for len(got) < n {
		v, err := c.Recv(t.Context())
		if err != nil {
			t.Fatalf("after %v: %v", got, err)
		}
		if v >= 0 {
			got = append(got, v)
		}
	}
	return got
}

// slotted are capacities for each engine.
var slotted = []int{0, 1, 16}

func inStuckBubbles(t *testing.T, f func(t *testing.T, c sluice.Channel[int], b *batch.Sender[int])) {
	for _, capacity := range slotted {
		synctest.Test(t, func(t *testing.T) {
			c, b := stuckSender(t, capacity)
			f(t, c, b)
			c.Close()
		})
	}
}

// While a flush by the timer waits, the owner can send another batch. The next Send
// waits until that flush ends.
func TestSenderSendsBesideFlush(t *testing.T) {
	inStuckBubbles(t, func(t *testing.T, c sluice.Channel[int], b *batch.Sender[int]) {
		mustAccept(t, b, 2, 3)
		if err := b.TrySend(4); err != nil {
			t.Errorf("TrySend of a last one: %v", err)
		}
		if err := b.TrySend(5); err != sluice.ErrFull {
			t.Errorf("TrySend of one more: %v", err)
		}
		ended := make(chan error)
		for _, call := range []func(ctx context.Context) error{
			func(ctx context.Context) error { return b.Send(ctx, -2) },
			b.Flush,
		} {
			ctx, cancel := context.WithCancel(t.Context())
			go func() { ended <- call(ctx) }()
			synctest.Wait()
			cancel()
			if err := <-ended; err != context.Canceled {
				t.Errorf("a call that was canceled: %v", err)
			}
			if err := call(ctx); err != context.Canceled {
				t.Errorf("a call under a context that is done: %v", err)
			}
		}
		go func() { ended <- b.Send(t.Context(), 5) }()
		synctest.Wait()
		select {
		case err := <-ended:
			t.Errorf("Send did not wait: %v", err)
		default:
		}
		got := receive(t, c, 2)
		synctest.Wait() // 5 was accepted, or waits in a flush that will start again
		got = append(got, receive(t, c, 3)...)
		if err := <-ended; err != nil {
			t.Errorf("Send: %v", err)
		}
		time.Sleep(time.Second)
		if got = append(got, receive(t, c, 1)...); !slices.Equal(got, sequence(6)) {
			t.Errorf("received %v", got)
		}
		synctest.Wait()
		if b.Len() != 0 {
			t.Errorf("%d values are left", b.Len())
		}
	})
}

// Values whose linger ends while a flush waits are sent as soon as that flush ends.
// Others wait for their time. Neither needs a call of the owner.
func TestSenderOverdue(t *testing.T) {
	for _, due := range []bool{false, true} {
		inStuckBubbles(t, func(t *testing.T, c sluice.Channel[int], b *batch.Sender[int]) {
			mustAccept(t, b, 2)
			wait := time.Second - time.Nanosecond
			if due {
				wait = 2 * time.Second
			}
			time.Sleep(wait)
			got := receive(t, c, 2)
			synctest.Wait()
			if !due {
				if v, err := c.TryRecv(); err == nil {
					t.Errorf("%d was sent before its time", v)
				}
				time.Sleep(time.Nanosecond)
				synctest.Wait()
			}
			v, err := c.TryRecv()
			if got = append(got, v); err != nil || !slices.Equal(got, sequence(3)) {
				t.Errorf("due %v: received %v, %v", due, got, err)
			}
		})
	}
}

// A batch that is completed during a flush by the timer is sent when that flush ends,
// before its time.
func TestSenderCompleteBesideFlush(t *testing.T) {
	inStuckBubbles(t, func(t *testing.T, c sluice.Channel[int], b *batch.Sender[int]) {
		mustAccept(t, b, 2, 3, 4)
		start := time.Now()
		if got := receive(t, c, 5); !slices.Equal(got, sequence(5)) || time.Since(start) != 0 {
			t.Errorf("received %v after %v", got, time.Since(start))
		}
	})
}

// A flush by the timer that has failed is repeated by the timer, with both batches. The owner can
// then send only what the Sender has room for.
func TestSenderHoldsTwoBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		gate := make(chan struct{})
		r.act = func() { <-gate }
		r.room, r.err = 0, errors.New("planted")
		b := batch.NewSender(r, 3, withLinger(time.Second))
		mustAccept(t, b, 0, 1)
		time.Sleep(time.Second)
		synctest.Wait()
		mustAccept(t, b, 2, 3, 4)
		gate <- struct{}{} // the flush fails
		synctest.Wait()
		r.room = 10
		time.Sleep(time.Second)
		synctest.Wait()
		if r.calls != 2 {
			t.Fatalf("%d flushes by the timer", r.calls)
		}
		mustAccept(t, b, 5)
		if err := b.TrySend(-1); err != sluice.ErrFull || b.Len() != 6 {
			t.Errorf("TrySend of one more: %v, %d held", err, b.Len())
		}
		close(gate)
		if err := b.Close(t.Context()); err != nil || !slices.Equal(r.all(), sequence(6)) {
			t.Errorf("Close: %v, sent %v", err, r.all())
		}
	})
}

// The context of a waiting Send ends at the moment at which the flush ends that it waits
// for.
func TestSenderCancelMeetsLanding(t *testing.T) {
	for range 300 {
		synctest.Test(t, func(t *testing.T) {
			r := newRecorder()
			gate := make(chan struct{})
			r.act = func() { <-gate }
			b := batch.NewSender(r, 2, withLinger(time.Second))
			mustAccept(t, b, 0)
			time.Sleep(time.Second)
			synctest.Wait()
			mustAccept(t, b, 1, 2)
			for range 3 {
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error)
				go func() { ended <- b.Flush(ctx) }()
				synctest.Wait()
				cancel()
				select {
				case gate <- struct{}{}:
				default:
				}
				<-ended
				synctest.Wait()
			}
			close(gate)
			if err := b.Close(t.Context()); err != nil || !slices.Equal(r.all(), sequence(3)) {
				t.Errorf("Close: %v, sent %v", err, r.all())
			}
		})
	}
}

// Flush and Close wait for a flush by the timer, and send the values behind it.
func TestSenderFlushWaits(t *testing.T) {
	for _, closing := range []bool{false, true} {
		inStuckBubbles(t, func(t *testing.T, c sluice.Channel[int], b *batch.Sender[int]) {
			mustAccept(t, b, 2)
			call := b.Flush
			if closing {
				call = b.Close
			}
			ended := make(chan error, 1)
			go func() { ended <- call(t.Context()) }()
			synctest.Wait()
			if len(ended) > 0 {
				t.Errorf("did not wait: %v", <-ended)
			}
			if got := receive(t, c, 3); !slices.Equal(got, sequence(3)) {
				t.Errorf("received %v", got)
			}
			if err := <-ended; err != nil || b.Len() != 0 {
				t.Errorf("%v, Len %d", err, b.Len())
			}
		})
	}
}

// buf grows while a flush by the timer has values in the old one. The flush may fail,
// and keep them.
func TestSenderGrowsDuringFlush(t *testing.T) {
	const n, inFlight = 399_999, 100_000
	grown := func(t *testing.T) (*sluice.Bounded[int], *batch.Sender[int]) {
		c := sluice.NewBounded[int](16, nil)
		b := batch.NewSender(c, 300_000, withLinger(time.Second))
		mustAccept(t, b, sequence(n)[:inFlight]...)
		time.Sleep(time.Second)
		synctest.Wait()
		mustAccept(t, b, sequence(n)[inFlight:]...)
		return c, b
	}
	t.Run("sent", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, b := grown(t)
			go func() {
				mustAccept(t, b, n)
				if err := b.Close(t.Context()); err != nil {
					t.Errorf("Close: %v", err)
				}
				c.Close()
			}()
			var got []int
			for batch := range batch.Receive(t.Context(), c, 1000, nil).All() {
				got = append(got, batch...)
			}
			if !slices.Equal(got, sequence(n+1)) {
				t.Errorf("received %d values, not 0 to %d in order", len(got), n)
			}
		})
	})
	t.Run("across the end", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := sluice.NewElastic[int](sluice.Unlimited, nil)
			gate := make(chan struct{})
			b := batch.NewSender[int](gated{c, gate}, 300_000, withLinger(time.Second))
			mustAccept(t, b, sequence(n)[:inFlight]...)
			time.Sleep(time.Second)
			synctest.Wait()
			mustAccept(t, b, inFlight) // behind those, and not at slot 0
			close(gate)
			synctest.Wait()
			mustAccept(t, b, sequence(n)[inFlight+1:]...)
			if err := b.Close(t.Context()); err != nil {
				t.Errorf("Close: %v", err)
			}
			got := make([]int, n+1)
			received, _ := c.RecvBatch(t.Context(), got)
			if !slices.Equal(got[:received], sequence(n)) {
				t.Errorf("received %d values, not 0 to %d in order", received, n-1)
			}
		})
	})
	t.Run("taken back", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, b := grown(t)
			if rest := b.TakeUnsent(); !slices.Equal(rest, sequence(n)[16:]) {
				t.Errorf("%d values taken back, not 16 to %d in order", len(rest), n-1)
			}
		})
	})
}

// gated is an Elastic that sends only while its gate is open.
type gated struct {
	*sluice.Elastic[int]
	gate chan struct{}
}

func (g gated) SendBatch(ctx context.Context, vs []int) (int, error) {
	<-g.gate
	return g.Elastic.SendBatch(ctx, vs)
}
