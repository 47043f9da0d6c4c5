package sluice_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
)

// onOneP runs f in a bubble with one P, where a woken goroutine does not run before the
// goroutine that woke it parks.
func onOneP(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, f)
}

// TestSelectSpuriousWakeUp: a Select whose value another goroutine received parks
// again, and keeps its position in the queues that are served in order of arrival.
func TestSelectSpuriousWakeUp(t *testing.T) {
	onOneP(t, func(t *testing.T) {
		ctx := context.Background()
		b, r, s := sluice.NewBounded[int](20, nil), sluice.NewRendezvous[int](nil), sluice.NewRendezvous[int](nil)
		in, out, last := sluice.OnRecv[int](r), sluice.OnSend[int](s, 7), sluice.OnRecv[int](b)
		for _, chosen := range []sluice.Case{in, out, last, in, last, out} {
			var got sluice.Case
			var later, sooner int
			go func() { got, _ = sluice.Select(ctx, last, in, out) }()
			synctest.Wait()
			go func() { later, _ = r.Recv(ctx) }()
			go func() { _ = s.Send(ctx, 8) }()
			synctest.Wait()
			faster := false
			for n := 0; n < 5 && !faster; n++ { // each is a spurious wake-up
				_ = b.TrySend(1)
				_, err := b.TryRecv()
				faster = err != nil // the test was preempted, and the Select ran
				if synctest.Wait(); got != nil && !faster {
					t.Fatalf("chose %v, but its value had been received already", got)
				}
			}
			switch {
			case faster:
				chosen = last
			case chosen == in: // the Select is ahead of the later receiver
				_ = r.Send(ctx, 1)
			case chosen == out:
				if sooner, _ = s.Recv(ctx); sooner != 7 {
					t.Errorf("received %d, want 7, which was sent first", sooner)
				}
			case chosen == last:
				_ = b.Send(ctx, 2)
			}
			if synctest.Wait(); got != chosen || later != 0 {
				t.Errorf("chose %v, want %v; the later receiver got %d", got, chosen, later)
			}
			_ = r.Send(ctx, 3)
			if v, _ := s.Recv(ctx); v != 8 {
				t.Errorf("received %d, want 8", v)
			}
			if synctest.Wait(); later != 3 {
				t.Errorf("the later receiver got %d, want 3", later)
			}
		}
	})
}

// TestSelectPassesOnWakeUp: a Select that was woken but ends for another reason passes
// the wake-up on to the next waiter.
func TestSelectPassesOnWakeUp(t *testing.T) {
	onOneP(t, func(t *testing.T) {
		ctx := context.Background()
		for _, sends := range []bool{false, true} {
			for _, kind := range []string{"Elastic 2", "Bounded 16", "Bounded 2"} {
				for _, end := range []string{"another case", "canceled", "a second value"} {
					c, r := selectKinds[kind](nil), sluice.NewRendezvous[int](nil)
					var first sluice.Case
					add, take := func() { _ = c.TrySend(1) }, func(ctx context.Context) error { _, err := c.Recv(ctx); return err }
					first = sluice.OnRecv[int](c)
					if sends {
						fill(c)
						first = sluice.OnSend[int](c, 2)
						add, take = func() { _, _ = c.TryRecv() }, func(ctx context.Context) error { return c.Send(ctx, 3) }
					}
					selecting, cancel := context.WithCancel(ctx)
					one, two := false, false
					go func() {
						_, _ = sluice.Select(selecting, sluice.OnRecv[int](r), first)
						one = true
					}()
					synctest.Wait()
					go func() {
						_ = take(ctx)
						two = true
					}()
					synctest.Wait()
					switch end {
					case "another case":
						_ = r.TrySend(1)
						add()
					case "canceled":
						cancel()
						add() // the Select may still receive it
						add()
					case "a second value":
						add()
						add()
					}
					if synctest.Wait(); !one || !two {
						t.Errorf("%s, sends %v, %s: the Select returned: %v, the next waiter: %v", kind, sends, end, one, two)
					}
					cancel()
					c.Close()
				}
			}
		}
	})
}

// TestSelectPassesOnNotification: a Select that was notified by one queue but proceeds
// on another channel passes the notification on to the next waiter.
func TestSelectPassesOnNotification(t *testing.T) {
	onOneP(t, func(t *testing.T) {
		ctx := context.Background()
		for _, kind := range []string{"Bounded 2", "Elastic 2"} {
			for _, sends := range []bool{false, true} {
				c, elsewhere := selectKinds[kind](nil), sluice.NewBounded[int](20, nil)
				own, other := sluice.Case(sluice.OnRecv[int](c)), sluice.Case(sluice.OnRecv(elsewhere))
				next := func() { _, _ = c.Recv(ctx) }
				add := func() { _ = c.Send(ctx, 1) }
				more := func() { _ = elsewhere.TrySend(2) }
				if sends {
					fill(c)
					fill(elsewhere)
					own, other = sluice.OnSend[int](c, 3), sluice.OnSend(elsewhere, 4)
					next = func() { _ = c.Send(ctx, 5) }
					add = func() { _, _ = c.Recv(ctx) }
					more = func() { _, _ = elsewhere.TryRecv() }
				}
				var chosen sluice.Case
				ended := false
				go func() { chosen, _ = sluice.Select(ctx, own, other) }()
				synctest.Wait()
				go func() {
					next()
					ended = true
				}()
				synctest.Wait()
				add() // wakes the Select, which has yet to run
				more()
				synctest.Wait()
				if chosen != other {
					add() // the Select took the first value
				}
				if synctest.Wait(); chosen == nil || !ended {
					t.Errorf("%s, sends %v: chose %v, the next waiter returned: %v", kind, sends, chosen, ended)
				}
				c.Close()
			}
		}
	})
}
