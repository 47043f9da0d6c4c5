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

// TestPriorityNoBarging: a sender that waits gets the first room, on whatever level it waits. No other
// call takes it, although the sender has yet to run.
func TestPriorityNoBarging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := sluice.NewPriority[int](2, 1, nil)
		sendAll(t, p, -1)
		for v := range 20 {
			go func() { _ = p.Level(1).Send(context.Background(), v) }()
			synctest.Wait()
			if _, err := p.TryRecv(); err != nil {
				t.Fatal(err)
			}
			if err := p.Level(0).TrySend(100); err != sluice.ErrFull {
				t.Fatalf("TrySend after a receive, while a sender waits: %v", err)
			}
			synctest.Wait()
		}
		if got := received(t, p, 1); got[0] != 19 {
			t.Errorf("received %v", got)
		}
	})
}
