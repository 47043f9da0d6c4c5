package segqueue

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/waitq"
)

// seatedEngine returns an engine whose receivers wait in the seat at once.
func seatedEngine(t *testing.T, config engine.Config[int]) *Engine[int] {
	t.Helper()
	e := New(config)
	for e.recv.yields.Pay() {
		e.recv.yields.Record(false)
	}
	var first waitq.Wait
	first.JoinToAccept(e.receivers, nil) // the first waiter becomes the seat
	first.Leave()
	return e
}

// TestNoHandOffByAnOldWord: a send that has read the send word before the channel was changed
// hands nothing off to a receiver that has sat down since and has not looked yet. The channel
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
		e := seatedEngine(t, engine.Config[int]{Limit: 20})
		_ = e.TrySend(1)
		word := e.send.word.Load()
		test.changes(e)
		_, _ = e.TryRecv()
		var late turn
		if e.receivers.TakeSeat() {
			late.wait = e.receivers.Seated(nil)
		} else {
			late.wait.JoinToAccept(e.receivers, nil)
		}
		if err := e.sendToWaiter(engine.NoWait{}, word, 3); err != test.err || e.receivers.HandOffs() != 0 {
			t.Errorf("%s: %v, %d values were handed off", name, err, e.receivers.HandOffs())
		}
		late.wait.Withdraw()
		late.wait.Leave()
		for _, want := range test.left {
			if v, err := e.TryRecv(); v != want || err != nil {
				t.Errorf("%s: received %d, %v, want %d", name, v, err, want)
			}
		}
	}
}

// TestShrinkBeforeQuiet: a receiver that could not replace a large segment, because the send
// lock was taken, or has received a batch, does not stop looking for one to replace.
func TestShrinkBeforeQuiet(t *testing.T) {
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
			e := seatedEngine(t, engine.Config[int]{Limit: 1 << 30, Elastic: true})
			handOff := func() {
				before, r := e.receivers.HandOffs(), recvLater(context.Background(), e)
				_ = e.TrySend(7)
				if synctest.Wait(); r.v != 7 || e.receivers.HandOffs() != before+1 {
					t.Fatalf("%s: received %d, %v, not by a hand-off", name, r.v, r.err)
				}
			}
			for range 3 {
				handOff()
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
			handOff()
			if held := e.elastic.held(); held > 4096 {
				t.Errorf("%s: %d bytes held", name, held)
			}
		})
	}
}

// quietEngine returns an engine with the flag quiet, whose receivers' waits are not timed any
// more. The hand-offs were to RecvBatch, which does not use e.seat.
func quietEngine(t *testing.T) *Engine[int] {
	t.Helper()
	e := seatedEngine(t, engine.Config[int]{Limit: 20})
	done := make(chan bool)
	go func() {
		var buf [1]int
		for range 1100 {
			if _, err := e.RecvBatch(context.Background(), buf[:]); err != nil {
				t.Error(err)
			}
		}
		close(done)
	}()
	for range 1100 {
		synctest.Wait()
		_ = e.TrySend(1)
	}
	<-done
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := e.Recv(ended); err != context.Canceled {
		t.Fatal(err)
	}
	if _, ok := e.receivers.VacantSeat(); !ok || e.recv.word.Load()&flags != quiet || e.seat.Valid() {
		t.Fatalf("the seat may be taken: %v, flags %b", ok, e.recv.word.Load()&flags)
	}
	return e
}

// TestSit: a receiver of a quiet channel waits in the seat until it is handed a value, its
// context ends, or Close; and again after each.
func TestSit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := quietEngine(t)
		for i := range 100 {
			r := recvLater(context.Background(), e)
			_ = e.TrySend(i + 1)
			if synctest.Wait(); r.v != i+1 || r.err != nil {
				t.Fatalf("received %d, %v, want %d", r.v, r.err, i+1)
			}
			ctx, cancel := context.WithCancel(context.Background())
			r = recvLater(ctx, e)
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
		if got := e.receivers.HandOffs(); got < 1200 {
			t.Errorf("%d hand-offs, want nearly 1250", got)
		}
		r := recvLater(context.Background(), e)
		e.Close()
		if synctest.Wait(); r.err != engine.ErrClosed {
			t.Errorf("after Close: %v", r.err)
		}
	})
}

// A sending context is asked for Done by a receiver that is about to wait, and sends a value.
type sending struct {
	context.Context
	e *Engine[int]
}

func (c sending) Done() <-chan struct{} {
	_ = c.e.TrySend(7)
	return nil
}

// TestSitLooksAgain: a value that is sent after a receiver has found nothing, and before it has
// taken the seat, is received.
func TestSitLooksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := quietEngine(t)
		if v, err := e.Recv(sending{context.Background(), e}); v != 7 || err != nil {
			t.Errorf("received %d, %v", v, err)
		}
		if !e.receivers.TakeSeat() {
			t.Error("the seat is not free")
		}
	})
}

// TestStandUp: whatever has happened to a receiver that has taken the seat and then finds the
// channel not empty, it polls, or has a token for its park and a value.
func TestStandUp(t *testing.T) {
	for name, test := range map[string]struct {
		meanwhile func(*Engine[int])
		stands    bool
	}{
		"nothing":       {func(*Engine[int]) {}, true},
		"an inspection": {func(e *Engine[int]) { e.Stats() }, true},
		"a hand-off":    {func(e *Engine[int]) { _ = e.TrySend(7) }, false},
		"both":          {func(e *Engine[int]) { _ = e.TrySend(7); e.Stats() }, false},
		"a wake-up": {func(e *Engine[int]) {
			_, _ = e.SendBatch(context.Background(), []int{7})
		}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			e := quietEngine(t)
			signal, _ := e.receivers.VacantSeat()
			if !e.receivers.TakeVacantSeat(signal) {
				t.Fatal("no seat")
			}
			e.keepSeat()
			test.meanwhile(e)
			if stands := e.standUp(); stands != test.stands {
				t.Fatalf("%s: left the seat: %v", name, stands)
			}
			if !test.stands {
				if e.seat.Wait(); e.seat.Pending() {
					t.Errorf("%s: two tokens", name)
				}
				if v, err := e.arrive(context.Background()); v != 7 || err != nil {
					t.Errorf("%s: received %d, %v", name, v, err)
				}
			}
			if in := e.Stats(); in.ReceiversWaiting != 0 || !e.receivers.Idle() || !e.receivers.TakeSeat() {
				t.Errorf("%s: %d receivers wait, or the seat is not free", name, in.ReceiversWaiting)
			}
		})
	}
}

// TestLeaveLate: an inspection of the channel between a hand-off in the seat and its receiver's
// leaving loses nothing.
func TestLeaveLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := quietEngine(t)
		signal, _ := e.receivers.VacantSeat()
		e.receivers.TakeVacantSeat(signal)
		e.keepSeat()
		_ = e.TrySend(7)
		e.seat.Wait()
		if !e.receivers.Arrived() || e.takeHanded() != 7 {
			t.Fatal("not served in the seat")
		}
		e.Stats()
		if e.receivers.LeaveSeat() {
			t.Fatal("left the seat, and is an ordinary waiter")
		}
		if e.leaveLate(); !e.receivers.Idle() || !e.receivers.TakeSeat() {
			t.Error("the seat is not free")
		}
	})
}
