package segqueue

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/waitq"
)

// received is the result of a Recv in another goroutine.
type received struct {
	v   int
	err error
}

// recvLater starts a Recv, which parks if e is empty.
func recvLater(ctx context.Context, e *Engine[int]) *received {
	r := new(received)
	go func() { r.v, r.err = e.Recv(ctx) }()
	synctest.Wait()
	return r
}

// TestHandOff: a value for a waiting receiver goes around the chain, with each combination
// of promises; it counts as sent and received and never as queued.
func TestHandOff(t *testing.T) {
	for single := range 4 {
		synctest.Test(t, func(t *testing.T) {
			e := newAt(engine.Config[int]{Limit: 20, SingleSender: single&1 != 0, SingleReceiver: single&2 != 0}, beforeWrap)
			for v := range 40 {
				r := recvLater(context.Background(), e)
				if err := e.Send(context.Background(), v); err != nil || e.Len() != 0 {
					t.Fatalf("Send to a waiting receiver: %v, Len %d", err, e.Len())
				}
				if synctest.Wait(); r.v != v || r.err != nil {
					t.Fatalf("received %d, %v, want %d", r.v, r.err, v)
				}
			}
			_ = e.TrySend(1)
			s := e.Stats()
			if sent := e.between(e.send.word.Load(), beforeWrap<<shift); e.receivers.HandOffs() != 40 || sent != 1 {
				t.Errorf("%d values were handed off, and %d were queued, want 40 and 1", e.receivers.HandOffs(), sent)
			}
			if s.Sent-s.Received != 1 || s.Len != 1 || s.HighWater != 1 || s.ReceiversWaiting != 0 || s.RecvWaits != 40 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestOneHandOff: while a hand-off is in progress, values are queued, and no other receiver
// is woken; they are received in order.
func TestOneHandOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New(engine.Config[int]{Limit: 20})
		var first waitq.Wait // of a receiver that runs when the test says so
		first.JoinToAccept(e.receivers, nil)
		second := recvLater(context.Background(), e)
		for v := range 4 {
			_ = e.TrySend(v + 1)
		}
		if e.receivers.HandOffs() != 1 || e.Len() != 3 {
			t.Fatalf("%d values were handed off, Len %d", e.receivers.HandOffs(), e.Len())
		}
		if v, err := e.TryRecv(); v != 2 || err != nil {
			t.Errorf("TryRecv: %d, %v, want the first value in the queue", v, err)
		}
		first.Step()
		v, err := e.resume(context.Background(), first)
		if synctest.Wait(); v != 1 || err != nil || second.v != 3 || e.Len() != 1 {
			t.Errorf("received %d, %v, and %d, Len %d, want 1, 3 and 1", v, err, second.v, e.Len())
		}
	})
}

// TestNoHandOffPastTheQueue: a receiver that has just joined is not handed a value while
// another one is queued: that one would be overtaken.
func TestNoHandOffPastTheQueue(t *testing.T) {
	e := New(engine.Config[int]{Limit: 20})
	_ = e.TrySend(1)
	var w waitq.Wait
	w.JoinToAccept(e.receivers, nil) // before it looks
	_ = e.TrySend(2)
	if w.Withdraw(); e.receivers.HandOffs() != 0 || e.Len() != 2 || w.Handed() || !w.Woken() {
		t.Errorf("%d values were handed off, Len %d; handed %v, woken %v", e.receivers.HandOffs(), e.Len(), w.Handed(), w.Woken())
	}
	w.Leave()
}

// TestLookBeforePark: a receiver that has joined, and finds the channel not empty, neither
// parks nor polls while a sender could hand it a second value.
// TestHandOffToCanceled: a receiver whose context ends is handed the value, or the value is
// queued. Which of the two depends on who was first.
func TestHandOffToCanceled(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, func(t *testing.T) {
		e := New(engine.Config[int]{Limit: 20})
		for range 100 {
			ctx, cancel := context.WithCancel(context.Background())
			r := recvLater(ctx, e)
			_ = e.TrySend(7)
			cancel()
			if synctest.Wait(); r.v != 7 || r.err != nil {
				t.Fatalf("handed a value, then canceled: %d, %v", r.v, r.err)
			}
			ctx, cancel = context.WithCancel(context.Background())
			r = recvLater(ctx, e)
			cancel()
			synctest.Wait()
			_ = e.TrySend(8)
			if synctest.Wait(); r.err != context.Canceled || e.Len() != 1 {
				t.Fatalf("canceled: %d, %v, Len %d", r.v, r.err, e.Len())
			}
			_, _ = e.TryRecv()
		}
	})
}

// TestHandOffToBatch: a RecvBatch that is handed a value also receives what is queued behind
// it when the receiver runs.
func TestHandOffToBatch(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, func(t *testing.T) {
		for _, closes := range []bool{false, true} {
			whole := false
			for try := 0; try < 100 && !whole; try++ { // the sender may be preempted, then the batch is shorter
				e := New(engine.Config[int]{Limit: 20})
				buf, n := make([]int, 3), 0
				var err error
				go func() { n, err = e.RecvBatch(context.Background(), buf) }()
				synctest.Wait()
				for v := range 4 {
					_ = e.TrySend(v + 1)
				}
				if closes {
					e.Close()
				}
				if synctest.Wait(); n < 1 || err != nil || !slices.Equal(buf[:n], []int{1, 2, 3}[:n]) || e.Len() != 4-n {
					t.Fatalf("received %v, %v, Len %d", buf[:n], err, e.Len())
				}
				whole = n == 3
			}
			if !whole {
				t.Error("no batch has the values that were sent after the one that was handed off")
			}
		}
	})
}

// TestNoHandOff: a batch, a value of a lane or of a Metered, and any value once Ready is in
// use go through the chain.
func TestNoHandOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ready, batch := New(engine.Config[int]{Limit: 20}), New(engine.Config[int]{Limit: 20})
		ready.Ready()
		m := NewMetered(engine.Config[int]{Limit: 20, Elastic: true, MaxBytes: 99, Size: func(int) int { return 1 }, Overflow: engine.Reject})
		for name, c := range map[string]struct {
			e    *Engine[int]
			send func() error
		}{
			"Ready":   {ready, func() error { return ready.TrySend(5) }},
			"a batch": {batch, func() error { _, err := batch.SendBatch(context.Background(), []int{5}); return err }},
			"Metered": {m.Engine, func() error { return m.TrySend(5) }},
		} {
			r := recvLater(context.Background(), c.e)
			err := c.send()
			if synctest.Wait(); err != nil || r.v != 5 || c.e.receivers.HandOffs() != 0 {
				t.Errorf("%s: %v, received %d, %d values handed off", name, err, r.v, c.e.receivers.HandOffs())
			}
		}
	})
}

// TestHandOffKeepsNothing: the channel does not keep a value that was handed off.
func TestHandOffKeepsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New(engine.Config[*int]{Limit: 20})
		go func() { _, _ = e.Recv(context.Background()) }()
		synctest.Wait()
		_ = e.TrySend(new(int))
		if synctest.Wait(); e.receivers.HandOffs() != 1 || e.hand.value != nil {
			t.Errorf("%d values were handed off; the channel keeps %v", e.receivers.HandOffs(), e.hand.value)
		}
	})
}

// TestAssertions: each assertion about a hand-off fails if what it says is not true.
func TestAssertions(t *testing.T) {
	for name, test := range map[string]struct {
		breaks func(e *Engine[int])
		want   string
	}{
		"word":   {func(e *Engine[int]) { e.send.word.Store(one | locked) }, "segqueue: the send word has changed during a hand-off"},
		"closed": {func(e *Engine[int]) { e.send.word.Or(closed) }, "segqueue: the send word has changed during a hand-off"},
		"queued": {func(e *Engine[int]) { e.recv.word.Store(one) }, "segqueue: a hand-off while values are queued"},
		"two":    {func(e *Engine[int]) { e.hand.full = true }, "segqueue: two hand-offs in progress"},
		"none":   {func(e *Engine[int]) { e.assertPut(); e.assertTaken(); e.assertTaken() }, "segqueue: a receiver was handed no value"},
	} {
		t.Run(name, func(t *testing.T) {
			e := New(engine.Config[int]{Limit: 20})
			e.hand = new(hand[int])
			e.send.lock()
			defer func() {
				if got := recover(); got != test.want {
					t.Errorf("%v, want %q", got, test.want)
				}
			}()
			test.breaks(e)
			e.assertHandOff(0)
			e.assertPut()
		})
	}
}

// TestQuiet: after a hand-off a Recv of the empty channel waits without the receive lock, and a
// value in the chain ends that.
// An intruder is a context that does something when Recv asks for its Done, which is between
// the poll of an empty channel and the wait.
// TestLookInTheSeat: a receiver in the seat sees what has happened since it polled.
// TestLucky: one in 256 numbers, in any arithmetic progression.
// TestHandOffStorm: with receivers that are canceled at any time, batches, and a channel
// that is empty most of the time, each value is received once, and those of one sender are
// received in order by a single receiver.
func TestHandOffStorm(t *testing.T) {
	rounds := 3000
	if testing.Short() {
		rounds = 600
	}
	for _, receivers := range []int{1, 3} {
		e := New(engine.Config[int]{Limit: 20})
		const senders = 3
		var sending, receiving sync.WaitGroup
		var got [senders]atomic.Int64
		for s := range senders {
			sending.Go(func() {
				for i := range rounds {
					if i%7 == 0 {
						_, _ = e.SendBatch(context.Background(), []int{s<<20 | i})
					} else {
						_ = e.Send(context.Background(), s<<20|i)
					}
					for range rand.IntN(3) {
						runtime.Gosched()
					}
				}
			})
		}
		for range receivers {
			receiving.Go(func() {
				last := [senders]int{-1, -1, -1}
				buf := make([]int, 2)
				for round := 0; ; round++ {
					ctx, cancel := context.WithCancel(context.Background())
					if round%3 == 0 {
						go cancel()
					}
					n, err := e.RecvBatch(ctx, buf[:1+round%2])
					cancel()
					for _, v := range buf[:n] {
						s, i := v>>20, v&(1<<20-1)
						if got[s].Add(1); i <= last[s] {
							t.Errorf("sender %d: %d after %d", s, i, last[s])
						}
						last[s] = i
					}
					if err == engine.ErrClosed {
						return
					}
				}
			})
		}
		sending.Wait()
		sent := [senders]int{rounds, rounds, rounds}
		for e.receivers.HandOffs() == 0 { // the receivers may have been the slower ones so far
			_ = e.Send(context.Background(), sent[0])
			sent[0]++
		}
		e.Close()
		receiving.Wait()
		total := 0
		for s, want := range sent {
			total += want
			if n := got[s].Load(); n != int64(want) {
				t.Errorf("%d receivers: %d of %d values of sender %d arrived", receivers, n, want, s)
			}
		}
		if s := e.Stats(); s.Sent != uint64(total) || s.Received != s.Sent || e.send.word.Load()>>shift == 0 {
			t.Errorf("%+v; %d were handed off", s, e.receivers.HandOffs())
		}
	}
}
