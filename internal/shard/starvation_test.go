package shard

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice/internal/engine"
)

// A contest is between a goroutine that is parked and one that never waits.
type contest struct {
	wake   func() error // makes room for one operation, which wakes the parked one
	parked func() error
	barge  func() error // the same operation without waiting; it is faster: there is one P
}

// overtaken returns how often barge succeeds while parked waits. A barge that fails with
// tooLate found nothing left.
func (c contest) overtaken(t *testing.T, e *Engine[int], tooLate error) (times int) {
	t.Helper()
	const tooOften = 1000
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	served := false
	var result error
	go func() {
		result = c.parked()
		served = true
	}()
	for synctest.Wait(); !served && times < tooOften; synctest.Wait() {
		must(t, c.wake())
		switch err := c.barge(); err {
		case nil:
			times++
		case tooLate:
		default:
			t.Fatal(err)
		}
	}
	if !served {
		e.Close()
		synctest.Wait()
		return times
	}
	must(t, result)
	return times
}

// fullEngine returns an engine whose lanes are all full.
func fullEngine(t *testing.T, lanes, limit int) *Engine[int] {
	t.Helper()
	e := fixed(lanes, limit)
	for range lanes * limit {
		must(t, e.TrySend(0))
	}
	return e
}

// recvOne returns a function that receives one value of e.
func recvOne(e *Engine[int]) func() error {
	return func() error { _, err := e.TryRecv(); return err }
}

// TestParkedSenderIsServed: other sends overtake a parked sender at most maxLosses times.
func TestParkedSenderIsServed(t *testing.T) {
	key := func(e *Engine[int]) func() error {
		return func() error { return e.SendKey(engine.NoWait{}, 0, 1) }
	}
	one := func(e *Engine[int]) func() error { return func() error { return e.TrySend(1) } }
	batch := func(e *Engine[int]) func() error {
		return func() error { _, err := e.SendBatch(engine.NoWait{}, []int{1}); return err }
	}
	send := func(e *Engine[int]) func() error { return func() error { return e.Send(background, -1) } }
	sendBatch := func(e *Engine[int]) func() error {
		return func() error { _, err := e.SendBatch(background, []int{-1, -2}); return err }
	}
	for _, test := range []struct {
		name          string
		lanes         int
		parked, barge func(e *Engine[int]) func() error
	}{
		{"Send", 2, send, one},
		{"Send, by batches", 2, send, batch},
		{"SendBatch", 2, sendBatch, one},
		{"Send, by one key", 1, send, key},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := fullEngine(t, test.lanes, 2)
				c := contest{recvOne(e), test.parked(e), test.barge(e)}
				times := c.overtaken(t, e, engine.ErrFull)
				if bound := 2 * maxLosses; times > bound {
					t.Errorf("overtaken %d times, want at most %d", times, bound)
				}
				if s := e.set.Load(); s.starving[sends] != nil || len(s.to) != test.lanes {
					t.Error("the fast path is still off")
				}
			})
		})
	}
}

// TestParkedReceiverIsServed: other receives overtake a parked receiver at most maxLosses
// times.
func TestParkedReceiverIsServed(t *testing.T) {
	batch := func(ctx context.Context, size int) func(e *Engine[int]) func() error {
		return func(e *Engine[int]) func() error {
			return func() error { _, err := e.RecvBatch(ctx, make([]int, size)); return err }
		}
	}
	recv := func(e *Engine[int]) func() error {
		return func() error { _, err := e.Recv(background); return err }
	}
	send := func(e *Engine[int]) func() error { return func() error { return e.TrySend(1) } }
	key := func(e *Engine[int]) func() error {
		return func() error { return e.SendKey(engine.NoWait{}, 7, 1) }
	}
	private := func(e *Engine[int]) func() error {
		h := laneOn(t, e)
		return func() error { return h.TrySend(1) }
	}
	batches := func(e *Engine[int]) func() error {
		return func() error { _, err := e.SendBatch(background, []int{1}); return err }
	}
	observed := func(e *Engine[int]) func() error { e.Ready(); return send(e) }
	for _, test := range []struct {
		name                string
		send, parked, barge func(e *Engine[int]) func() error
	}{
		{"Recv", send, recv, recvOne},
		{"Recv, by batches", send, recv, batch(engine.NoWait{}, 3)},
		{"RecvBatch", send, batch(background, 3), recvOne},
		{"RecvBatch of one", send, batch(background, 1), recvOne},
		{"of a key", key, recv, recvOne},
		{"of a private lane", private, recv, recvOne},
		{"with Ready", observed, recv, recvOne},
		{"of batches", batches, recv, recvOne},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := fixed(2, 2)
				send := test.send(e)
				c := contest{send, test.parked(e), test.barge(e)}
				times := c.overtaken(t, e, engine.ErrEmpty)
				if bound := 2 * maxLosses; times > bound {
					t.Errorf("overtaken %d times, want at most %d", times, bound)
				}
				if s := e.set.Load(); s.starving[receives] != nil || !s.ready && len(s.from) != len(s.all) {
					t.Error("the fast path is still off")
				}
			})
		})
	}
}

// starveReceiver returns an engine with a receiver that starves and waits in a synctest
// bubble.
func starveReceiver(t *testing.T, ctx context.Context) (e *Engine[int], result chan error) {
	t.Helper()
	e = fixed(2, 4)
	result = make(chan error, 1)
	go func() {
		v, err := 0, error(nil)
		for v == 0 && err == nil { // a receiver that is faster than the test does not starve yet
			v, err = e.Recv(ctx)
		}
		if err == nil && v != -1 {
			t.Errorf("the starving receiver got %d, want -1", v)
		}
		result <- err
	}()
	synctest.Wait()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for losses := 0; e.set.Load().starving[receives] == nil; losses++ {
		if losses > maxLosses {
			e.Close()
			t.Fatalf("no receiver starves after %d losses", losses)
		}
		_, err := e.SendBatch(background, []int{0}) // which is not handed off
		must(t, err)
		if _, err := e.TryRecv(); err != nil { // the receiver was faster than the test
			losses = -1
		}
		synctest.Wait()
	}
	return e, result
}

// TestStarvingReceiverLeaves: a starving receiver whose context ends, or whose channel is
// closed, has received nothing, and the fast path is on again.
func TestStarvingReceiverLeaves(t *testing.T) {
	for _, test := range []struct {
		name string
		end  func(cancel func(), e *Engine[int])
		want error
	}{
		{"canceled", func(cancel func(), _ *Engine[int]) { cancel() }, context.Canceled},
		{"closed", func(_ func(), e *Engine[int]) { e.Close() }, engine.ErrClosed},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(background)
			defer cancel()
			e, result := starveReceiver(t, ctx)
			received := e.Stats().Received
			test.end(cancel, e)
			if err := <-result; err != test.want {
				t.Errorf("%s: %v", test.name, err)
			}
			if s := e.set.Load(); s.starving[receives] != nil || len(s.from) != 2 || e.Stats().Received != received {
				t.Errorf("%s: a value was received, or the fast path is off", test.name)
			}
		})
	}
}

// TestReceivedForAnother: a receive that another goroutine has completed has happened, even
// if its context ends, or the channel is closed, before the receiver notices. Its value is
// the oldest one, and the goroutine that completed it gets the next.
func TestReceivedForAnother(t *testing.T) {
	for _, test := range []struct {
		name          string
		before, after func(cancel func(), e *Engine[int])
	}{
		{"canceled before", func(cancel func(), _ *Engine[int]) { cancel() }, nil},
		{"canceled after", nil, func(cancel func(), _ *Engine[int]) { cancel() }},
		{"closed after", nil, func(_ func(), e *Engine[int]) { e.Close() }},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(background)
			defer cancel()
			e, result := starveReceiver(t, ctx)
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // the receiver does not run until <-result, unless the test is preempted
			if test.before != nil {
				test.before(cancel, e)
			}
			must(t, e.SendKey(background, 1, -1))
			var want error
			switch v, err := e.TryRecv(); {
			case test.before != nil && v == -1: // the receiver has noticed the end of its context
				want = context.Canceled
			case err != engine.ErrEmpty:
				t.Errorf("%s: TryRecv of the only value, while a receiver starves: %v, want ErrEmpty", test.name, err)
			}
			if s := e.Stats(); s.Len != 0 || s.Sent != s.Received {
				t.Errorf("%s: after the rescue: %+v", test.name, s)
			}
			must(t, e.SendKey(background, 1, 5))
			if v, err := e.TryRecv(); v != 5 || err != nil {
				t.Errorf("%s: TryRecv of the second value: %d, %v", test.name, v, err)
			}
			if test.after != nil {
				test.after(cancel, e)
			}
			if err := <-result; err != want {
				t.Errorf("%s: a rescued receiver: %v, want %v", test.name, err, want)
			}
		})
	}
}

// starve returns an engine with a sender that starves and waits in a synctest bubble.
func starve(t *testing.T, ctx context.Context) (e *Engine[int], result chan error) {
	t.Helper()
	e = fullEngine(t, 2, 1)
	result = make(chan error, 1)
	send := func() {
		go func() { result <- e.Send(ctx, -1) }()
		synctest.Wait()
	}
	send()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for losses := 0; e.set.Load().starving[sends] == nil; losses++ {
		if losses > maxLosses {
			e.Close()
			t.Fatalf("no sender starves after %d losses", losses)
		}
		_, err := e.TryRecv()
		must(t, err)
		if e.TrySend(0) != nil { // the sender was faster than the test
			must(t, <-result)
			drained(e)
			for e.TrySend(0) == nil {
			}
			send()
			losses = -1
		}
		synctest.Wait()
	}
	return e, result
}

// drained returns the number of values equal to -1 in e, which it empties.
func drained(e *Engine[int]) (n int) {
	for v, err := e.TryRecv(); err == nil; v, err = e.TryRecv() {
		if v == -1 {
			n++
		}
	}
	return n
}

// TestStarvingSenderLeaves: a starving sender whose context ends, or whose channel is
// closed, has not sent its value, and the fast path is on again.
func TestStarvingSenderLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(background)
		e, result := starve(t, ctx)
		cancel()
		if err := <-result; err != context.Canceled {
			t.Errorf("canceled: %v", err)
		}
		if n := drained(e); n != 0 || e.set.Load().starving[sends] != nil || len(e.set.Load().to) != 2 {
			t.Errorf("canceled: the value was sent %d times, or the fast path is off", n)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		e, result := starve(t, background)
		e.Close()
		if err := <-result; err != engine.ErrClosed {
			t.Errorf("closed: %v", err)
		}
		if n := drained(e); n != 0 || e.set.Load().starving[sends] != nil {
			t.Errorf("closed: the value was sent %d times, or still starves", n)
		}
	})
}

// TestRescuedThenCanceled: a send that another goroutine has completed has happened, even
// if its context ends before it notices.
func TestRescuedThenCanceled(t *testing.T) {
	for _, before := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(background)
			defer cancel()
			e, result := starve(t, ctx)
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // the sender does not run until <-result, unless the test is preempted
			if before {
				cancel()
			}
			_, err := e.TryRecv()
			must(t, err)
			var want error
			sent := 1
			switch err := e.TrySend(0); {
			case before && err == nil: // the sender has noticed the end of its context
				want, sent = context.Canceled, 0
			case err != engine.ErrFull:
				t.Errorf("TrySend into the only free slot, while a sender starves: %v, want ErrFull", err)
			}
			cancel()
			if err := <-result; err != want {
				t.Errorf("a rescued sender: %v, want %v", err, want)
			}
			if n := drained(e); n != sent {
				t.Errorf("its value was received %d times, want %d", n, sent)
			}
		})
	}
}
