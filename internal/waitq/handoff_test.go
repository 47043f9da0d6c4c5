package waitq

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/internal/selection"
)

// expectHandOff asserts whether the first waiter can be claimed, and unparks it if so.
func expectHandOff(t *testing.T, q *Queue, want bool, when string) {
	t.Helper()
	to, ok := q.HandOff()
	if ok != want {
		t.Fatalf("HandOff %s: %v", when, ok)
	}
	if ok {
		to.Unpark()
	}
}

// TestHandOff: a hand-off serves the first waiter if that accepts one, and is the wake-up
// in flight until that waiter leaves.
func TestHandOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q Queue
		var a, b, polls Wait
		expectHandOff(t, &q, false, "of an empty queue")
		a.JoinToAccept(&q, nil)
		b.JoinToAccept(&q, nil)
		expectHandOff(t, &q, true, "to the first waiter")
		expect(t, &q, waking, "during a hand-off")
		expectHandOff(t, &q, false, "during another one")
		q.Wake() // does nothing meanwhile
		if a.Step(); !a.Handed() || a.Woken() {
			t.Fatalf("the first waiter: handed %v, woken %v", a.Handed(), a.Woken())
		}
		if expect(t, &q, waking, "until it leaves"); !a.Leave() {
			t.Error("Leave did not report the other waiter")
		}
		q.Wake()
		if b.Step(); b.Handed() || !b.Woken() {
			t.Fatalf("a waiter that was woken: handed %v, woken %v", b.Handed(), b.Woken())
		}
		b.Refuse()
		b.Step() // rejoins
		expectHandOff(t, &q, false, "to a waiter that refuses")
		b.Leave()
		polls.Join(&q, nil)
		a.JoinToAccept(&q, nil)
		expectHandOff(t, &q, false, "behind a waiter that polls")
		polls.Leave()
		expectHandOff(t, &q, true, "once that one has left")
		a.Leave() // without having parked: its token must not stay
		expect(t, &q, empty, "in the end")
		if b.JoinToAccept(&q, nil); b.waiter.Value.handed || b.waiter.Parker.Pending() {
			t.Error("a waiter is reused with an old hand-off")
		}
		b.Leave()
	})
}

// TestHandOffBehindSelect: a Select at the front is neither served nor overtaken.
func TestHandOffBehindSelect(t *testing.T) {
	var q Queue
	var s selection.State
	var a Wait
	entry := NewEntry(&q, func() bool { return false })
	s.BeginPoll()
	entry.Join(&s, 0)
	a.JoinToAccept(&q, nil)
	expectHandOff(t, &q, false, "with a Select in front")
	entry.Leave()
	expectHandOff(t, &q, true, "once the Select has left")
	if a.Step(); !a.Handed() {
		t.Error("the waiter was not served")
	}
	a.Leave()
}

// TestWithdraw: a waiter that withdraws can neither be woken nor served, and comes back to
// the end, or to the front if it was woken before.
func TestWithdraw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q Queue
		var a, b Wait
		a.JoinToAccept(&q, nil)
		b.JoinToAccept(&q, nil)
		a.Withdraw()
		if expect(t, &q, wanted, "without the first waiter"); a.Queued() || a.Handed() || a.Woken() {
			t.Fatal("a waiter that has withdrawn")
		}
		a.Step()
		q.Wake()
		if b.Step(); !b.Woken() {
			t.Fatal("a waiter that has withdrawn came back to the front")
		}
		b.Step() // spurious wake-up
		b.Withdraw()
		b.Step()
		expectHandOff(t, &q, true, "to the first waiter")
		if b.Withdraw(); !b.Handed() {
			t.Fatal("a waiter that was woken before lost its position")
		}
		b.Leave()
		q.Wake()
		if a.Withdraw(); !a.Woken() {
			t.Fatal("a waiter that was woken has withdrawn")
		}
		a.Leave()
		a.JoinToAccept(&q, nil)
		a.Withdraw()
		a.Leave()
		expect(t, &q, empty, "in the end")
		// a once and b twice, and a wait that did not park, which the next one is not counted for.
		for range 2 {
			if n := q.Snapshot(0, nil).Waits; n != 4 {
				t.Errorf("%d waits, want 4", n)
			}
			a.JoinToAccept(&q, nil)
			q.Wake()
			a.Step()
			a.Leave()
		}
		if n := q.Snapshot(0, nil).Waits; n != 5 {
			t.Errorf("%d waits, want 5", n)
		}
	})
}

// TestWithdrawnBehindRefusal: a waiter that was woken before, and has withdrawn, comes back
// behind the first waiter if that refuses, and in front of all others.
func TestWithdrawnBehindRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q Queue
		var a, b, c Wait
		a.JoinToAccept(&q, nil)
		q.Wake()
		a.Step()
		a.Step() // spurious wake-up
		b.JoinToAccept(&q, nil)
		c.JoinToAccept(&q, nil)
		a.Withdraw()
		q.Wake()
		b.Step()
		b.Refuse()
		b.Step() // spurious wake-up
		a.Step()
		for _, w := range []*Wait{&b, &a, &c} {
			if q.list.first != w.waiter {
				t.Fatal("the order of the waiters")
			}
			q.Wake()
			w.Step()
			w.Leave()
		}
		expect(t, &q, empty, "in the end")
	})
}

// TestHandOffWhenCanceled: a wait that is served and canceled at the same time was served.
func TestHandOffWhenCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		close(done)
		var q Queue
		for range 100 {
			var a Wait
			a.JoinToAccept(&q, done)
			expectHandOff(t, &q, true, "to a canceled waiter that is queued")
			if a.Step(); !a.Handed() || a.Canceled() {
				t.Fatalf("served: handed %v, canceled %v", a.Handed(), a.Canceled())
			}
			a.Leave()
			a.JoinToAccept(&q, done)
			if a.Step(); a.Handed() || !a.Canceled() || a.Woken() {
				t.Fatalf("not served: handed %v, canceled %v, woken %v", a.Handed(), a.Canceled(), a.Woken())
			}
			expectHandOff(t, &q, false, "after it was canceled")
			a.Leave()
			a.JoinToAccept(&q, done)
			q.Wake()
			if a.Step(); a.Handed() || a.Woken() == a.Canceled() {
				t.Fatalf("woken: handed %v, canceled %v, woken %v", a.Handed(), a.Canceled(), a.Woken())
			}
			expect(t, &q, waking, "while it holds the wake-up")
			a.Leave()
			expect(t, &q, empty, "when it has left")
		}
		for w := q.list.free; w != nil; w = w.next {
			if w.Parker.Pending() {
				t.Fatal("an unused waiter has a token")
			}
		}
	})
}

// TestAgesOfAcceptors: the wait of a goroutine that accepts a hand-off begins when it joins,
// and begins anew in the next wait, whatever that one accepts.
func TestAgesOfAcceptors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q Queue
		var a Wait
		for range 2 {
			a.JoinToAccept(&q, nil)
			time.Sleep(time.Second)
			expectAges(t, &q, 1)
			q.Wake()
			a.Step()
			a.Step() // spurious wake-up
			time.Sleep(time.Second)
			expectAges(t, &q, 2)
			a.Leave()
			time.Sleep(time.Minute)
		}
		a.Join(&q, nil)
		expectAges(t, &q, 0)
		a.Leave()
	})
}

// TestWaitsAreCounted: each wait is counted once, however it ends, and the first ones and one
// in 16 later are measured.
func TestWaitsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, end := range map[string]func(*Queue, int){
			"Wake":                  func(q *Queue, _ int) { q.Wake() },
			"HandOff":               func(q *Queue, _ int) { expectHandOff(t, q, true, "to the only waiter") },
			"HandOff with the lock": func(q *Queue, _ int) { q.acquire(); q.release(); expectHandOff(t, q, true, "to an ordinary waiter") },
			"each in turn": func(q *Queue, i int) {
				if i%2 == 0 {
					q.Wake()
				} else {
					expectHandOff(t, q, true, "to the only waiter")
				}
			},
		} {
			var q Queue
			for i := range 160 {
				var a Wait
				a.JoinToAccept(&q, nil)
				go func() {
					time.Sleep(time.Second)
					end(&q, i)
				}()
				a.Step()
				a.Leave()
			}
			if s := q.Snapshot(0, nil); s.Waits != 160 || s.Spent != 160*time.Second {
				t.Errorf("%s: %d waits, %v", name, s.Waits, s.Spent)
			}
		}
	})
}
