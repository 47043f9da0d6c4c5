package waitq

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// expectWait asserts what a call reads from its Wait.
func expectWait(t *testing.T, w *Wait, joined, woken, canceled bool, when string) {
	t.Helper()
	if w.Joined() != joined || w.Woken() != woken || w.Canceled() != canceled {
		t.Fatalf("%s: joined %v, woken %v, canceled %v", when, w.Joined(), w.Woken(), w.Canceled())
	}
}

// TestWait covers the steps of two calls: a spurious wake-up keeps the position,
// Progress moves the waiter to the end, and Leave reports the other waiter.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // a wait without a wake-up fails
		var q Queue
		var a, b Wait
		expectWait(t, &a, false, false, false, "at first")
		if a.Leave() {
			t.Error("Leave before Join reports other waiters")
		}
		a.Progress() // before it had to wait
		a.Join(&q, nil)
		b.Join(&q, nil)
		if expectWait(t, &a, true, false, false, "queued"); a.Progressed() {
			t.Error("progress made before Join counts")
		}
		for range 2 {
			q.Wake()
			a.Step()
			expectWait(t, &a, true, true, false, "woken")
			expect(t, &q, waking, "while it polls")
			a.Step()
			expectWait(t, &a, true, false, false, "queued again")
			expect(t, &q, wanted, "when it is queued again")
		}
		q.Wake()
		a.Progress() // it polls before it parks, and gets a part
		a.Step()
		expectWait(t, &a, true, true, false, "woken with a part")
		if a.Step(); a.Progressed() {
			t.Error("progress made before it rejoined counts")
		}
		q.Wake()
		b.Step()
		if !b.Leave() {
			t.Error("Leave did not report the other waiter")
		}
		expectWait(t, &b, false, false, false, "after Leave")
		q.Wake()
		a.Step()
		if a.Leave() {
			t.Error("Leave reports other waiters in an empty queue")
		}
		expect(t, &q, empty, "in the end")
	})
}

// TestWaitCanceled: cancellation is visible at once or by the next Step, and does not
// carry over to the next wait.
func TestWaitCanceled(t *testing.T) {
	done := make(chan struct{})
	close(done)
	var q Queue
	var a, b Wait
	a.Cancel()
	expectWait(t, &a, false, false, true, "canceled before Join")
	if a.Leave() {
		t.Error("Leave before Join reports other waiters")
	}
	a = Wait{}
	a.Join(&q, done)
	b.Join(&q, nil)
	a.Step()
	expectWait(t, &a, true, false, true, "canceled while it waits")
	if !a.Leave() {
		t.Error("Leave did not report the other waiter")
	}
	a.Join(&q, nil)
	expectWait(t, &a, true, false, false, "the next wait")
	a.Leave()
	b.Leave()
	expect(t, &q, empty, "in the end")
}

// TestWaitWokenWhenCanceled: a wait that is both woken and canceled passes its
// wake-up on, and leaves no token, whichever of the two it observes.
func TestWaitWokenWhenCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		close(done)
		var q Queue
		outcomes := map[bool]int{}
		for range 100 {
			var a, b Wait
			a.Join(&q, done)
			b.Join(&q, nil)
			q.Wake()
			a.Step()
			outcomes[a.Canceled()]++
			if a.Canceled() == a.Woken() {
				t.Fatalf("canceled %v, woken %v", a.Canceled(), a.Woken())
			}
			expect(t, &q, waking, "while the first waiter holds the wake-up")
			if !a.Leave() {
				t.Fatal("Leave did not report the other waiter")
			}
			expect(t, &q, wanted, "when the first waiter has left")
			q.Wake()
			b.Step()
			b.Leave()
			for w := q.list.free; w != nil; w = w.next {
				if w.Parker.Pending() {
					t.Fatal("an unused waiter has a token")
				}
			}
		}
		if len(outcomes) != 2 {
			t.Errorf("only one outcome in 100 waits: %v", outcomes)
		}
	})
}

// TestNoLostWakeUp: consumers wait for items that producers add one by one, and some
// of them are canceled at arbitrary times. In the end all items are taken, and no
// consumer sleeps while there is one, which the bubble would report as a deadlock.
func TestNoLostWakeUp(t *testing.T) {
	const consumers, producers, each = 6, 3, 3000
	synctest.Test(t, func(t *testing.T) {
		var q Queue
		var available, left atomic.Int64
		left.Store(producers * each)
		take := func() bool {
			for n := available.Load(); n > 0; n = available.Load() {
				if available.CompareAndSwap(n, n-1) {
					return true
				}
			}
			return false
		}
		// try is one call: it reports whether it took an item.
		try := func(done <-chan struct{}) bool {
			var w Wait
			for !take() {
				if left.Load() == 0 || w.Canceled() {
					if w.Leave() && available.Load() > 0 {
						q.Wake()
					}
					return false
				}
				if w.Joined() {
					w.Step()
				} else {
					w.Join(&q, done)
				}
			}
			if w.Leave() && available.Load() > 0 {
				q.Wake()
			}
			return true
		}
		for i := range consumers {
			go func() {
				for round := 0; left.Load() > 0; round++ {
					var done chan struct{}
					if i%2 == 0 {
						done = make(chan struct{})
						go func() {
							for range round % 5 {
								runtime.Gosched()
							}
							close(done)
						}()
					}
					if try(done) && left.Add(-1) == 0 {
						q.WakeAll()
					}
				}
			}()
		}
		for range producers {
			go func() {
				for range each {
					available.Add(1)
					if q.Waiting() {
						q.Wake()
					}
					runtime.Gosched()
				}
			}()
		}
		synctest.Wait()
		if available.Load() != 0 || left.Load() != 0 {
			t.Errorf("%d items were not taken, %d are missing", available.Load(), left.Load())
		}
		expect(t, &q, empty, "in the end")
	})
}

// TestWaitAllocs: waiters are reused.
func TestWaitAllocs(t *testing.T) {
	var q Queue
	if n := testing.AllocsPerRun(100, func() {
		var w Wait
		w.Join(&q, nil)
		q.Wake()
		w.Step()
		w.Leave()
	}); n != 0 {
		t.Errorf("%v allocations a wait, want 0", n)
	}
}
