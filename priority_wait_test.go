package sluice_test

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
)

// TestPriorityCloseLevel: a closed level refuses values, also of senders that wait, and the
// others go on. With the last one the channel is closed.
func TestPriorityCloseLevel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		p := sluice.NewPriority[int](2, 1, nil)
		sendAll(t, p.Level(1), 1)
		results := make([]error, 2)
		for i := range results {
			go func() { results[i] = p.Level(i).Send(ctx, 10*i) }()
		}
		synctest.Wait()
		p.Level(1).Close()
		p.Level(1).Close()
		synctest.Wait()
		if results[1] != sluice.ErrClosed || p.Level(1).TrySend(2) != sluice.ErrClosed {
			t.Errorf("sends on a closed level: %v and %v", results[1], p.Level(1).TrySend(2))
		}
		if s := p.Stats(); s.Closed || s.SendersWaiting != 1 {
			t.Errorf("Closed %v, SendersWaiting %d after one of two levels was closed", s.Closed, s.SendersWaiting)
		}
		if got := received(t, p, 1); got[0] != 1 {
			t.Errorf("received %v", got)
		}
		synctest.Wait()
		if got := received(t, p, 1); got[0] != 0 || results[0] != nil {
			t.Errorf("received %v; the sender on the open level: %v", got, results[0])
		}
		if _, err := p.TryRecv(); err != sluice.ErrEmpty {
			t.Errorf("TryRecv with an open level: %v", err)
		}
		var err error
		go func() { _, err = p.Recv(ctx) }()
		synctest.Wait()
		p.Level(0).Close()
		synctest.Wait()
		if err != sluice.ErrClosed || !p.Stats().Closed {
			t.Errorf("after the last level was closed: Recv %v, Closed %v", err, p.Stats().Closed)
		}
		p.Close()
	})
}

// TestPriorityWaitingSenders: room goes to the most urgent sender that waits, and among those
// of a level to the first one; but a level with senders is passed over MaxPassed + levels - 1
// times at most.
func TestPriorityWaitingSenders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		p := sluice.NewPriority(2, 1, &sluice.PriorityOptions[int]{MaxPassed: 3})
		sendAll(t, p.Level(0), 0)
		wait := func(level, v int) {
			go func() { _ = p.Level(level).Send(ctx, v) }()
			synctest.Wait()
		}
		for range 5 { // a level is not passed over while no sender waits on it
			wait(0, 0)
			received(t, p, 1)
			synctest.Wait()
		}
		wait(1, 100)
		wait(1, 101)
		for v := range 8 {
			wait(0, 1+v)
		}
		var got []int
		for range 11 {
			v, err := p.Recv(ctx)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, v)
			synctest.Wait()
		}
		if want := []int{0, 1, 2, 3, 100, 4, 5, 6, 101, 7, 8}; !slices.Equal(got, want) {
			t.Errorf("received %v, want %v", got, want)
		}
	})
}

// TestPrioritySelect: a Select sends on a level, in its turn, and receives.
func TestPrioritySelect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		p := sluice.NewPriority[int](2, 1, nil)
		other := sluice.NewBounded[int](1, nil)
		sendAll(t, p.Level(1), 1)
		low, urgent := sluice.OnSend(p.Level(1), 2), sluice.OnSend(p.Level(0), 0)
		for _, c := range []sluice.Case{low, urgent} {
			go func() {
				if chosen, err := sluice.Select(ctx, sluice.OnRecv(other), c); chosen != c || err != nil {
					t.Errorf("chosen %v, %v", chosen, err)
				}
			}()
			synctest.Wait()
		}
		if s := p.Stats(); s.SendersWaiting != 2 {
			t.Errorf("%d senders wait, want 2", s.SendersWaiting)
		}
		in := sluice.OnRecv(p)
		for _, want := range []int{1, 0, 2} {
			if chosen, err := sluice.Select(ctx, in); chosen != in || err != nil || in.Value != want {
				t.Errorf("received %d, %v, want %d", in.Value, err, want)
			}
			synctest.Wait()
		}
		if chosen, err := sluice.Select(ctx, in, sluice.Default); chosen != sluice.Default || err != nil {
			t.Errorf("an empty channel: %v, %v", chosen, err)
		}
		p.Close()
		if _, err := sluice.Select(ctx, sluice.OnSend(p.Level(0), 1)); err != sluice.ErrClosed {
			t.Errorf("a send to a closed channel: %v", err)
		}
	})
}

// TestPrioritySelectLeaves: a Select that was woken for room, and leaves with another case,
// passes the room on to a sender on another level.
func TestPrioritySelectLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		p := sluice.NewPriority[int](2, 1, nil)
		sendAll(t, p, 1)
		for range 200 {
			other := sluice.NewBounded[int](16, nil)
			go func() { _, _ = sluice.Select(ctx, sluice.OnRecv(other), sluice.OnSend(p.Level(0), 0)) }()
			synctest.Wait()
			done := false
			go func() { _ = p.Level(1).Send(ctx, 1); done = true }()
			synctest.Wait()
			sendAll(t, other, 1)
			_, _ = p.TryRecv()
			synctest.Wait()
			if !done {
				if p.Len() != 1 {
					t.Fatal("a sender waits though there is room")
				}
				received(t, p, 1)
				synctest.Wait()
			}
		}
	})
}

// TestPrioritySelectOutOfTurn: a Select that leaves, while a sender on its way to the room was
// woken, does not wake the next sender of its own level beside that.
func TestPrioritySelectOutOfTurn(t *testing.T) {
	// With one P the Select, which is woken last, runs first.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			p, other := sluice.NewPriority[int](2, 1, nil), sluice.NewBounded[int](16, nil)
			sendAll(t, p, 1)
			in := sluice.OnRecv(other)
			var chosen sluice.Case
			for _, wait := range []func(){
				func() { chosen, _ = sluice.Select(context.Background(), in, sluice.OnSend(p.Level(1), 10)) },
				func() { _ = p.Level(1).Send(context.Background(), 11) },
				func() { _ = p.Level(0).Send(context.Background(), 0) },
			} {
				go wait()
				synctest.Wait()
			}
			received(t, p, 1)
			sendAll(t, other, 1)
			synctest.Wait()
			if got := received(t, p, 1); got[0] != 0 || chosen != in {
				t.Errorf("%d was sent first, want 0; the Select chose %v", got[0], chosen)
			}
			synctest.Wait()
			received(t, p, 1)
		})
	}
}

// TestPriorityReadyAgain: after a receive that leaves a value, Ready is readable again, and
// after one that leaves none it is not.
func TestPriorityReadyAgain(t *testing.T) {
	for name, c := range map[string]sluice.Channel[int]{
		"Priority": sluice.NewPriority[int](2, 10, nil), "Delay": sluice.NewDelay[int](10, nil),
	} {
		sendAll(t, c, 1, 2, 3)
		for range 3 {
			select {
			case <-c.Ready():
			default:
				t.Fatalf("%s: Ready is not readable with %d values", name, c.Len())
			}
			received(t, c, 1)
		}
		select {
		case <-c.Ready():
			t.Errorf("%s: Ready is readable after the last value", name)
		default:
		}
	}
}

// TestPriorityPassesOn: two receives make room, and one sender is woken: it wakes the other
// one, on another level.
func TestPriorityPassesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := sluice.NewPriority[int](2, 2, nil)
		sendAll(t, p, 1, 2)
		done := make([]bool, 2)
		for i := range done {
			go func() { _ = p.Level(i).Send(context.Background(), 3); done[i] = true }()
			synctest.Wait()
		}
		received(t, p, 2)
		if synctest.Wait(); !done[0] || !done[1] {
			t.Errorf("senders are done: %v", done)
		}
	})
}

// starving returns a full channel for one value, and a sender of vs on level 1 that has lost 16
// times: room was made, and taken before the sender was there. Then the next one that finds
// room sends the sender's value first.
func starving(t *testing.T, vs ...int) (p *sluice.Priority[int], sent *int) {
	t.Helper()
	for range 100 {
		p, sent = sluice.NewPriority[int](2, 1, nil), new(int)
		sendAll(t, p, -1)
		go func() { *sent, _ = p.Level(1).SendBatch(context.Background(), vs) }()
		synctest.Wait()
		if loses(t, p) {
			return p, sent
		}
		p.Close() // the sender was faster, since this goroutine was preempted: once more
		synctest.Wait()
	}
	t.Fatal("the sender does not lose")
	return nil, nil
}

func loses(t *testing.T, p *sluice.Priority[int]) bool {
	for range 16 {
		received(t, p, 1)
		if p.TrySend(-1) != nil {
			return false
		}
		synctest.Wait()
	}
	return true
}

// TestPriorityRescued: a sender that starves is served by one that waits on a more urgent
// level, and learns of it.
func TestPriorityRescued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, sent := starving(t, 10)
		urgent := false
		go func() { _ = p.Level(0).Send(context.Background(), 1); urgent = true }()
		synctest.Wait()
		received(t, p, 1)
		if synctest.Wait(); *sent != 1 || urgent {
			t.Errorf("%d values were sent, and the urgent one: %v", *sent, urgent)
		}
		if got := received(t, p, 1); got[0] != 10 {
			t.Errorf("received %v", got)
		}
		synctest.Wait()
		if got := received(t, p, 1); got[0] != 1 || !urgent {
			t.Errorf("received %v", got)
		}
	})
}

// TestPriorityStarvingBatch: a value of a batch that has starved, and was then sent by the
// batch itself, is not sent again by another sender.
func TestPriorityStarvingBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 100 {
			p, sent := starving(t, 10, 11)
			received(t, p, 1)
			synctest.Wait() // the batch has sent 10
			got := received(t, p, 1)
			if p.TrySend(99) != nil {
				p.Close() // the batch was faster, since this goroutine was preempted: once more
				synctest.Wait()
				continue
			}
			synctest.Wait()
			for range 2 {
				got = append(got, received(t, p, 1)...)
				synctest.Wait()
			}
			if want := []int{10, 99, 11}; !slices.Equal(got, want) || *sent != 2 {
				t.Errorf("received %v, want %v; %d values of the batch were sent", got, want, *sent)
			}
			return
		}
		t.Error("the batch is always faster")
	})
}
