package waitq

import (
	"testing"
	"testing/synctest"
	"time"
)

// expect asserts what the other side of the channel reads from the queue.
func expect(t *testing.T, q *Queue, want uint64, when string) {
	t.Helper()
	if got := q.signal.Load() & (wanted | waking | held); got != want {
		t.Fatalf("signal is %d %s, want %d", got, when, want)
	}
	if q.Waiting() != (want == wanted) || q.Idle() != (want == empty) {
		t.Fatalf("Waiting and Idle do not agree with signal %d %s", want, when)
	}
}

// TestOneWakeUpInFlight covers the states of a queue.
func TestOneWakeUpInFlight(t *testing.T) {
	var q Queue
	expect(t, &q, empty, "at first")
	q.Wake() // of an empty queue
	a, b, c := q.join(), q.join(), q.join()
	expect(t, &q, wanted, "with three waiters")
	q.Wake()
	expect(t, &q, waking, "with one woken")
	q.Wake()
	if waiting := q.Snapshot(0, nil).Waiting; waiting != 2 {
		t.Fatalf("%d wait after a second Wake, want 2: one wake-up was in flight", waiting)
	}
	if !q.park(a, nil) {
		t.Fatal("the first waiter was not the one woken")
	}
	q.rejoin(a) // spurious wake-up
	expect(t, &q, wanted, "after a spurious wake-up")
	q.Wake()
	if !q.park(a, nil) {
		t.Fatal("a waiter lost its position by a spurious wake-up")
	}
	q.leave(a, true)
	expect(t, &q, wanted, "with two waiters left")
	q.Wake() // b, which leaves without having parked: its token must not stay
	q.leave(b, false)
	expect(t, &q, wanted, "with one waiter left")
	q.leave(c, false) // not woken
	expect(t, &q, empty, "at the end")
	for range 3 {
		if q.join().Parker.Pending() {
			t.Fatal("a waiter is reused with an old token")
		}
	}
}

// TestRequeue: a waiter that got a part of what it waits for goes to the end.
func TestRequeue(t *testing.T) {
	var q Queue
	a, b := q.join(), q.join()
	q.Wake()
	q.park(a, nil)
	q.requeue(a)
	expect(t, &q, wanted, "after a waiter got a part")
	q.Wake()
	q.park(b, nil)
	q.leave(b, true)
	q.Wake()
	q.leave(a, false)
	expect(t, &q, empty, "at the end")
}

func TestWakeAll(t *testing.T) {
	var q Queue
	a, b := q.join(), q.join()
	q.Wake()
	q.WakeAll()
	for _, w := range []*waiter{a, b} {
		if !q.park(w, nil) {
			t.Fatal("a waiter was not woken")
		}
		q.leave(w, true)
	}
	expect(t, &q, empty, "when all have left")
}

func TestLeaveFromTheMiddle(t *testing.T) {
	var q Queue
	a, b, c := q.join(), q.join(), q.join()
	q.leave(b, false)
	q.Wake()
	q.leave(a, false)
	q.Wake()
	if !q.park(c, nil) {
		t.Fatal("the last waiter was not woken")
	}
	q.leave(c, true)
	expect(t, &q, empty, "at the end")
}

// TestWaitTime: time is exact in a bubble. The first 16 waits are all measured,
// and one in 16 later.
func TestWaitTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q Queue
		for range 16 + 160 {
			w := q.join()
			go func() {
				time.Sleep(time.Second)
				q.Wake()
			}()
			q.park(w, nil)
			q.leave(w, true)
		}
		if got := q.Snapshot(0, nil); got.Waits != 176 || got.Spent != 176*time.Second {
			t.Errorf("%d waits of a second each took %v", got.Waits, got.Spent)
		}
	})
}
