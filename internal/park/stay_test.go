package park

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// expectStay asserts what a call reads off its stay.
func expectStay(t *testing.T, s *Stay, joined, woken, ended bool, when string) {
	t.Helper()
	if s.Joined() != joined || s.Woken() != woken || s.Ended() != ended {
		t.Fatalf("%s: joined %v, woken %v, ended %v", when, s.Joined(), s.Woken(), s.Ended())
	}
}

// TestStay takes the steps of two calls: who is woken in vain stays in front, who
// got a part goes behind, and who leaves is told of the other.
func TestStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // in which a wait without a wake-up fails
		var l Line
		var a, b Stay
		expectStay(t, &a, false, false, false, "at first")
		if a.Leave() {
			t.Error("one that has not joined is told of others")
		}
		a.Move() // before it had to wait
		a.Join(&l, nil)
		b.Join(&l, nil)
		if expectStay(t, &a, true, false, false, "in line"); a.Moved() {
			t.Error("a part that went before it joined counts")
		}
		for range 2 {
			l.Wake()
			a.Wait()
			expectStay(t, &a, true, true, false, "woken")
			expect(t, &l, waking, "while it looks")
			a.Wait()
			expectStay(t, &a, true, false, false, "back in line")
			expect(t, &l, wanted, "when it is back")
		}
		l.Wake()
		a.Move() // it looks before it waits, and gets a part
		a.Wait()
		expectStay(t, &a, true, true, false, "woken with a part")
		if a.Wait(); a.Moved() {
			t.Error("a part from before it got in line counts")
		}
		l.Wake()
		b.Wait()
		if !b.Leave() {
			t.Error("the one behind is forgotten")
		}
		expectStay(t, &b, false, false, false, "when it has left")
		l.Wake()
		a.Wait()
		if a.Leave() {
			t.Error("there are others in an empty line")
		}
		expect(t, &l, nobody, "in the end")
	})
}

// TestStayEnds: the end of a context shows at once, or by the next wait, and not
// in the next stay.
func TestStayEnds(t *testing.T) {
	done := make(chan struct{})
	close(done)
	var l Line
	var a, b Stay
	a.End()
	expectStay(t, &a, false, false, true, "done at once")
	if a.Leave() {
		t.Error("one that has not joined is told of others")
	}
	a = Stay{}
	a.Join(&l, done)
	b.Join(&l, nil)
	a.Wait()
	expectStay(t, &a, true, false, true, "done while it waits")
	if !a.Leave() {
		t.Error("the one behind is forgotten")
	}
	a.Join(&l, nil)
	expectStay(t, &a, true, false, false, "the next time")
	a.Leave()
	b.Leave()
	expect(t, &l, nobody, "in the end")
}

// TestStayWokenAtItsEnd: whether a wait that was woken, and whose context is done,
// ends by the one or by the other, the wake-up goes on, and no token is left.
func TestStayWokenAtItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		close(done)
		var l Line
		ways := map[bool]int{}
		for range 100 {
			var a, b Stay
			a.Join(&l, done)
			b.Join(&l, nil)
			l.Wake()
			a.Wait()
			ways[a.Ended()]++
			if a.Ended() == a.Woken() {
				t.Fatalf("ended %v, woken %v", a.Ended(), a.Woken())
			}
			expect(t, &l, waking, "with the wake-up at the first")
			if !a.Leave() {
				t.Fatal("the one behind is forgotten")
			}
			expect(t, &l, wanted, "when the first has left")
			l.Wake()
			b.Wait()
			b.Leave()
			for w := l.free; w != nil; w = w.next {
				if len(w.parker.token) > 0 {
					t.Fatal("a waiter is lent again with a token")
				}
			}
		}
		if len(ways) != 2 {
			t.Errorf("it ended in one way only: %v", ways)
		}
	})
}

// TestStayLosesNoWakeUp: takers wait for what givers put down one by one, and some
// give up whenever it happens to be. In the end all is taken, and nobody sleeps
// beside something to take, which the bubble would call a deadlock.
func TestStayLosesNoWakeUp(t *testing.T) {
	const takers, givers, each = 6, 3, 3000
	synctest.Test(t, func(t *testing.T) {
		var l Line
		var there, left atomic.Int64
		left.Store(givers * each)
		take := func() bool {
			for n := there.Load(); n > 0; n = there.Load() {
				if there.CompareAndSwap(n, n-1) {
					return true
				}
			}
			return false
		}
		// try is one call: it reports whether it took one.
		try := func(done <-chan struct{}) bool {
			var s Stay
			for !take() {
				if left.Load() == 0 || s.Ended() {
					if s.Leave() && there.Load() > 0 {
						l.Wake()
					}
					return false
				}
				if s.Joined() {
					s.Wait()
				} else {
					s.Join(&l, done)
				}
			}
			if s.Leave() && there.Load() > 0 {
				l.Wake()
			}
			return true
		}
		for i := range takers {
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
						l.WakeAll()
					}
				}
			}()
		}
		for range givers {
			go func() {
				for range each {
					there.Add(1)
					if l.Waiting() {
						l.Wake()
					}
					runtime.Gosched()
				}
			}()
		}
		synctest.Wait()
		if there.Load() != 0 || left.Load() != 0 {
			t.Errorf("%d were not taken, %d are missing", there.Load(), left.Load())
		}
		expect(t, &l, nobody, "in the end")
	})
}

// TestStayAllocatesNothing: waiters are used again.
func TestStayAllocatesNothing(t *testing.T) {
	var l Line
	if n := testing.AllocsPerRun(100, func() {
		var s Stay
		s.Join(&l, nil)
		l.Wake()
		s.Wait()
		s.Leave()
	}); n != 0 {
		t.Errorf("%v allocations a stay", n)
	}
}
