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

// join returns the Wait of another goroutine, which has joined q.
func join(q *Queue) *Wait {
	w := new(Wait)
	w.Join(q, nil)
	return w
}

// park is a Step that reports whether the goroutine was woken.
func (w *Wait) park() bool {
	w.Step()
	return w.Woken()
}

// TestOneWakeUpInFlight covers the states of a queue.
func TestOneWakeUpInFlight(t *testing.T) {
	var q Queue
	expect(t, &q, empty, "at first")
	q.Wake() // of an empty queue
	a, b, c := join(&q), join(&q), join(&q)
	expect(t, &q, wanted, "with three waiters")
	q.Wake()
	expect(t, &q, waking, "with one woken")
	q.Wake()
	if waiting := q.Snapshot(0, nil).Waiting; waiting != 2 {
		t.Fatalf("%d wait after a second Wake, want 2: one wake-up was in flight", waiting)
	}
	if !a.park() {
		t.Fatal("the first waiter was not the one woken")
	}
	a.Step() // spurious wake-up
	expect(t, &q, wanted, "after a spurious wake-up")
	q.Wake()
	if !a.park() {
		t.Fatal("a waiter lost its position by a spurious wake-up")
	}
	a.Leave()
	expect(t, &q, wanted, "with two waiters left")
	q.Wake() // b, which leaves without having parked: its token must not stay
	b.Leave()
	expect(t, &q, wanted, "with one waiter left")
	c.Leave() // not woken
	expect(t, &q, empty, "at the end")
	for range 3 {
		if join(&q).waiter.Parker.Pending() {
			t.Fatal("a waiter is reused with an old token")
		}
	}
}

// TestRequeue: a waiter that got a part of what it waits for goes to the end.
func TestRequeue(t *testing.T) {
	var q Queue
	a, b := join(&q), join(&q)
	q.Wake()
	a.park()
	a.Progress()
	a.Step()
	expect(t, &q, wanted, "after a waiter got a part")
	q.Wake()
	b.park()
	b.Leave()
	q.Wake()
	a.Leave()
	expect(t, &q, empty, "at the end")
}

func TestWakeAll(t *testing.T) {
	var q Queue
	a, b := join(&q), join(&q)
	q.Wake()
	q.WakeAll()
	for _, w := range []*Wait{a, b} {
		if !w.park() {
			t.Fatal("a waiter was not woken")
		}
		w.Leave()
	}
	expect(t, &q, empty, "when all have left")
}

func TestLeaveFromTheMiddle(t *testing.T) {
	var q Queue
	a, b, c := join(&q), join(&q), join(&q)
	b.Leave()
	q.Wake()
	a.Leave()
	q.Wake()
	if !c.park() {
		t.Fatal("the last waiter was not woken")
	}
	c.Leave()
	expect(t, &q, empty, "at the end")
}

// TestWaitTime: time is exact in a bubble. The first 16 waits are all measured,
// and one in 16 later.
func TestWaitTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q Queue
		for range 16 + 160 {
			w := join(&q)
			go func() {
				time.Sleep(time.Second)
				q.Wake()
			}()
			w.park()
			w.Leave()
		}
		if got := q.Snapshot(0, nil); got.Waits != 176 || got.Spent != 176*time.Second {
			t.Errorf("%d waits of a second each took %v", got.Waits, got.Spent)
		}
	})
}
