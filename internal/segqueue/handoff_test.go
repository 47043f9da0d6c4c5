package segqueue

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/suite"
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

// neverTries makes spins and yields not pay, so that receivers of e wait at once.
func neverTries(e *Engine[int]) {
	for e.recv.paysToTry() {
		e.recv.yields.Record(false)
	}
}

// handsOff sends v to a receiver that waits alone, and asserts that it was handed off. One in 256
// receivers spins and yields instead.
func handsOff(t *testing.T, e *Engine[int], v int) {
	t.Helper()
	before := e.receivers.HandOffs()
	tries := oneIn256(e.send.word.Load()>>shift + before)
	r := recvLater(context.Background(), e)
	_ = e.TrySend(v)
	if synctest.Wait(); r.v != v || r.err != nil || e.receivers.HandOffs() != before+1 && !tries {
		t.Fatalf("received %d, %v, want %d by a hand-off", r.v, r.err, v)
	}
}

// drainedEngine returns an engine with the flag drained.
func drainedEngine(t *testing.T) *Engine[int] {
	t.Helper()
	e := New(engine.Config[int]{Limit: 20})
	neverTries(e)
	handsOff(t, e, 1)
	if e.recv.word.Load()&flags != drained {
		t.Fatal("the flag drained is not set")
	}
	return e
}

// TestHandOff: a value for a receiver that waits alone goes through no slot, with each
// combination of promises; it counts as sent and received and never as queued.
func TestHandOff(t *testing.T) {
	for single := range 4 {
		synctest.Test(t, func(t *testing.T) {
			e := newAt(engine.Config[int]{Limit: 20, SingleSender: single&1 != 0, SingleReceiver: single&2 != 0}, beforeWrap)
			neverTries(e)
			for v := range 40 {
				handsOff(t, e, v)
			}
			_ = e.TrySend(1)
			s := e.Stats()
			if sent := e.between(e.send.word.Load(), beforeWrap<<shift); sent != 1 {
				t.Errorf("%d values were queued, want 1", sent)
			}
			if s.Sent-s.Received != 1 || s.Len != 1 || s.HighWater != 1 || s.ReceiversWaiting != 0 || s.RecvWaits != 40 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestOneHandOff: while a hand-off is in progress, values are queued, and are received in order;
// one of them wakes a receiver that waits in the list.
func TestOneHandOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := drainedEngine(t)
		if !e.receivers.WaitAlone() { // a receiver that runs when the test says so
			t.Fatal("not alone")
		}
		second := recvLater(context.Background(), e)
		for v := range 4 {
			_ = e.TrySend(v + 1)
		}
		if e.receivers.HandOffs() != 2 {
			t.Fatalf("%d values were handed off, want 2", e.receivers.HandOffs())
		}
		if synctest.Wait(); second.v != 2 || second.err != nil {
			t.Errorf("the other receiver: %d, %v, want the first value in the queue", second.v, second.err)
		}
		e.receivers.LoneParker().Wait()
		if v, err := e.finishAlone(context.Background(), nil); v != 1 || err != nil || e.Len() != 2 {
			t.Errorf("received %d, %v, Len %d, want 1 and 2", v, err, e.Len())
		}
	})
}

// TestLoneWakeUpPassesOn: a receiver that was woken alone, because several values were sent at
// once, wakes the next receiver if some are left.
func TestLoneWakeUpPassesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := drainedEngine(t)
		first := recvLater(context.Background(), e)
		second, third := recvLater(context.Background(), e), recvLater(context.Background(), e)
		_, _ = e.SendBatch(context.Background(), []int{7, 8, 9})
		if synctest.Wait(); first.v != 7 || second.v != 8 || third.v != 9 {
			t.Errorf("received %d, %d and %d, want 7, 8 and 9", first.v, second.v, third.v)
		}
	})
}

// TestNoHandOffByAnOldWord: a send that has read the send word before the channel was changed
// hands nothing off to a receiver that waits alone since then and has not looked yet. The channel
// may never have been empty and open during the send, even if the index of the receive word
// is equal to the old tail.
func TestNoHandOffByAnOldWord(t *testing.T) {
	for name, test := range map[string]struct {
		changes func(*Engine[int])
		err     error
		left    []int
	}{
		"a send": {func(e *Engine[int]) { _ = e.TrySend(2) }, nil, []int{2, 3}},
		"Close":  {func(e *Engine[int]) { e.Close() }, engine.ErrClosed, nil},
	} {
		e := New(engine.Config[int]{Limit: 20})
		_ = e.TrySend(1)
		word := e.send.word.Load()
		test.changes(e)
		_, _ = e.TryRecv()
		if !e.receivers.WaitAlone() {
			t.Fatal("not alone")
		}
		if err := e.sendToLone(engine.NoWait{}, word, 3); err != test.err || e.receivers.HandOffs() != 0 {
			t.Errorf("%s: %v, %d values were handed off", name, err, e.receivers.HandOffs())
		}
		if !e.receivers.Withdraw() {
			e.receivers.LoneParker().Wait()
			wait := e.receivers.Resume(nil)
			wait.Leave()
		}
		for _, want := range test.left {
			if v, err := e.TryRecv(); v != want || err != nil {
				t.Errorf("%s: received %d, %v, want %d", name, v, err, want)
			}
		}
	}
}

// TestHandOffToCanceled: a receiver whose context ends is handed the value, or the value is
// queued. Which of the two depends on who was first.
func TestHandOffToCanceled(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, func(t *testing.T) {
		e := New(engine.Config[int]{Limit: 20})
		neverTries(e)
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

// TestNoHandOff: a batch, a value of a Metered, and any value once Ready is in
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
			"Metered": {m.Queue, func() error { return m.TrySend(5) }},
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
		e := New(engine.Config[[]byte]{Limit: 20})
		for e.recv.paysToTry() {
			e.recv.yields.Record(false)
		}
		go func() { _, _ = e.Recv(context.Background()) }()
		synctest.Wait()
		_ = e.TrySend([]byte("value"))
		if synctest.Wait(); e.receivers.HandOffs() != 1 || e.handOff.value != nil {
			t.Errorf("%d values were handed off; the channel keeps %v", e.receivers.HandOffs(), e.handOff.value)
		}
	})
}

// TestHandOffAssertion: neither two hand-offs at once, nor one without a value, go unnoticed.
func TestHandOffAssertion(t *testing.T) {
	for _, full := range []bool{false, true} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("full %v: no panic", full)
				}
			}()
			(&handOff[int]{full: !full}).assert(full)
		}()
	}
}

// TestShrinkBeforeDrained: a receiver that could not replace a large segment, because the send
// lock was taken, or has received a batch, does not stop looking for one to replace.
func TestShrinkBeforeDrained(t *testing.T) {
	for name, empties := range map[string]func(*Engine[int]){
		"Recv": func(e *Engine[int]) {
			for range 10_000 {
				_, _ = e.TryRecv()
			}
		},
		"RecvBatch": func(e *Engine[int]) {
			if n, err := e.RecvBatch(context.Background(), make([]int, 10_001)); n != 10_000 {
				t.Fatal(n, err)
			}
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			e := New(engine.Config[int]{Limit: 1 << 30, Elastic: true})
			neverTries(e)
			for range 3 {
				handsOff(t, e, 7)
			}
			_, _ = e.SendBatch(context.Background(), make([]int, 10_000))
			word := e.send.lock() // as Stats does
			empties(e)
			r := recvLater(context.Background(), e) // cannot replace the segment either
			e.send.unlock(word)
			_ = e.TrySend(7)
			if synctest.Wait(); r.v != 7 {
				t.Fatalf("%s: received %d, %v", name, r.v, r.err)
			}
			handsOff(t, e, 7)
			if held := e.elastic.held(); held > 4096 {
				t.Errorf("%s: %d bytes held", name, held)
			}
		})
	}
}

// TestDrainedFlag: after a hand-off a Recv of the empty channel waits without the receive lock, and a
// value in a slot ends that.
func TestDrainedFlag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, elastic := range []bool{false, true} {
			e := New(engine.Config[int]{Limit: 20, Elastic: elastic})
			neverTries(e)
			is := func(want bool, when string) {
				if got := e.recv.word.Load()&flags == drained; got != want {
					t.Fatalf("drained is %v %s", got, when)
				}
			}
			for v := range 3 * 256 { // some of these try to spin and yield
				r := recvLater(context.Background(), e)
				_ = e.TrySend(v)
				if synctest.Wait(); r.v != v || r.err != nil {
					t.Fatalf("received %d, %v, want %d", r.v, r.err, v)
				}
			}
			handsOff(t, e, 1)
			is(true, "after hand-offs")
			if _, err := e.TryRecv(); err != engine.ErrEmpty {
				t.Errorf("TryRecv of an empty channel: %v", err)
			}
			ended, cancel := context.WithCancel(context.Background())
			cancel()
			if _, err := e.Recv(ended); err != context.Canceled {
				t.Errorf("Recv with a context that has ended: %v", err)
			}
			_ = e.TrySend(7)
			if v, err := e.Recv(ended); v != 7 || err != nil {
				t.Errorf("received %d, %v, want 7", v, err)
			}
			is(false, "after a value in a slot")
			r := recvLater(context.Background(), e)
			_ = e.TrySend(8)
			synctest.Wait()
			is(true, "after one more hand-off")
			e.Close()
			if _, err := e.Recv(context.Background()); err != engine.ErrClosed || r.v != 8 {
				t.Errorf("Recv of a closed channel: %v; received %d", err, r.v)
			}
			if s := e.Stats(); s.Sent != 3*256+3 || s.Received != s.Sent || s.RecvWaits != 3*256+2 {
				t.Errorf("%+v", s)
			}
		}
	})
}

// TestWaitAloneEnds: a receiver waits alone until it is handed a value, its context ends, or Close;
// and again after each.
func TestWaitAloneEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := drainedEngine(t)
		for i := range 100 {
			handsOff(t, e, i+1)
			ctx, cancel := context.WithCancel(context.Background())
			r := recvLater(ctx, e)
			if i%2 == 0 {
				_ = e.TrySend(i + 1)
				synctest.Wait()
			}
			cancel()
			switch synctest.Wait(); {
			case i%2 == 0 && (r.v != i+1 || r.err != nil):
				t.Fatalf("received %d, %v, want %d", r.v, r.err, i+1)
			case i%2 != 0 && r.err != context.Canceled:
				t.Fatalf("a canceled Recv returned %d, %v", r.v, r.err)
			}
		}
		if s := e.Stats(); s.RecvWaits != 201 || s.ReceiversWaiting != 0 {
			t.Errorf("%+v", s)
		}
		r := recvLater(context.Background(), e)
		if s := e.Stats(); s.ReceiversWaiting != 1 {
			t.Errorf("%+v", s)
		}
		e.Close()
		if synctest.Wait(); r.err != engine.ErrClosed {
			t.Errorf("after Close: %v", r.err)
		}
	})
}

// An intruder is a context that does something when Recv asks for its Done, which is between
// the poll of an empty channel and the wait.
type intruder struct {
	context.Context
	does func()
}

func (m intruder) Done() <-chan struct{} {
	m.does()
	return m.Context.Done()
}

// TestLookAlone: a receiver that waits alone sees what has happened since it polled.
func TestLookAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // parking would be a deadlock
		for _, isDrained := range []bool{false, true} {
			for _, canEnd := range []bool{false, true} {
				for name, test := range map[string]struct {
					does func(*Engine[int])
					v    int
					err  error
				}{
					"a value": {func(e *Engine[int]) { _ = e.TrySend(5) }, 5, nil},
					"a batch": {func(e *Engine[int]) { _, _ = e.SendBatch(context.Background(), []int{5, 6}) }, 5, nil},
					"Close":   {func(e *Engine[int]) { e.Close() }, 0, engine.ErrClosed},
				} {
					e := drainedEngine(t)
					if !isDrained {
						_ = e.TrySend(1)
						_, _ = e.TryRecv()
					}
					ctx, cancel := context.Background(), func() {}
					if canEnd {
						ctx, cancel = context.WithCancel(ctx)
					}
					v, err := e.Recv(intruder{ctx, func() { test.does(e) }})
					if v != test.v || err != test.err || !e.receivers.Idle() {
						t.Errorf("%s, drained %v: %d, %v; idle %v", name, isDrained, v, err, e.receivers.Idle())
					}
					cancel()
				}
			}
		}
	})
}

// TestContextIsAskedOnce: a context that panics does not do so while its goroutine has a wake-up.
func TestContextIsAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := drainedEngine(t)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		for _, ctx := range []context.Context{context.Background(), ctx} {
			asked := 0
			r := recvLater(intruder{ctx, func() {
				if asked++; asked > 1 {
					panic("asked again")
				}
			}}, e)
			_, _ = e.SendBatch(context.Background(), []int{7}) // wakes it
			if synctest.Wait(); r.v != 7 || r.err != nil || asked != 1 {
				t.Errorf("received %d, %v; Done was called %d times", r.v, r.err, asked)
			}
		}
	})
}

// TestOneIn256: one in 256 numbers, in any arithmetic progression.
func TestOneIn256(t *testing.T) {
	for _, step := range []uint64{1, 2, 7, 128, 256, 1024, 1 << 20} {
		n := 0
		for i := range uint64(256 * 100) {
			if oneIn256(i * step) {
				n++
			}
		}
		if n < 50 || n > 200 {
			t.Errorf("%d of %d numbers in steps of %d, want about 100", n, 256*100, step)
		}
	}
}

// TestHandOffStorm: with receivers that are canceled at any time, batches, and a channel
// that is empty most of the time, each value is received once, and those of one sender are
// received in order by a single receiver.
func TestHandOffStorm(t *testing.T) {
	rounds := suite.Rounds(600, 3000)
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
					n, err := 1, error(nil)
					if round%4 == 0 {
						n, err = e.RecvBatch(ctx, buf)
					} else if buf[0], err = e.Recv(ctx); err != nil {
						n = 0
					}
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
		// The receivers may have been the slower ones so far, or never alone.
		for receivers == 1 && e.receivers.HandOffs() == 0 {
			for !e.receivers.Alone() && e.Len() > 0 {
				runtime.Gosched()
			}
			_ = e.Send(context.Background(), sent[0])
			sent[0]++
			time.Sleep(time.Microsecond)
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
