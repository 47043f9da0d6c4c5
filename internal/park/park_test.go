package park

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestParkerTakesOneToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewParker()
		p.Unpark()
		if !p.Park(nil) {
			t.Error("a token that came first was not taken")
		}
		done := make(chan struct{})
		ended := false
		go func() {
			if p.Park(done) {
				t.Error("took a token that was never put down")
			}
			ended = true
		}()
		synctest.Wait()
		if ended {
			t.Error("Park returned without token or end")
		}
		close(done)
		synctest.Wait()
		if !ended {
			t.Error("Park outlasted done")
		}
	})
}

// expect asserts what the other side reads off the line.
func expect(t *testing.T, l *Line, want uint32, when string) {
	t.Helper()
	if got := l.signal.Load(); got != want {
		t.Fatalf("signal is %d %s, want %d", got, when, want)
	}
	if l.Waiting() != (want == wanted) || l.Idle() != (want == nobody) {
		t.Fatalf("Waiting and Idle do not read %d %s", want, when)
	}
}

// TestOneWakeUpInFlight walks through the states of a line.
func TestOneWakeUpInFlight(t *testing.T) {
	var l Line
	expect(t, &l, nobody, "at first")
	l.Wake() // of nobody
	a, b, c := l.join(), l.join(), l.join()
	expect(t, &l, wanted, "with three in line")
	l.Wake()
	expect(t, &l, waking, "with one woken")
	l.Wake()
	if waiting := l.Look(0, nil).Waiting; waiting != 2 {
		t.Fatalf("%d wait after a second Wake, want 2: one wake-up was in flight", waiting)
	}
	if !l.park(a, nil) {
		t.Fatal("the first waiter was not the one woken")
	}
	l.rejoin(a) // in vain
	expect(t, &l, wanted, "after a wake-up in vain")
	l.Wake()
	if !l.park(a, nil) {
		t.Fatal("a waiter woken in vain lost its place")
	}
	l.leave(a, true)
	expect(t, &l, wanted, "with two left")
	l.Wake() // b, which leaves without having parked: its token must not stay
	l.leave(b, false)
	expect(t, &l, wanted, "with one left")
	l.leave(c, false) // not woken
	expect(t, &l, nobody, "at the end")
	for range 3 {
		w := l.join()
		select {
		case <-w.parker.token:
			t.Fatal("a waiter is used again with an old token")
		default:
		}
	}
}

// A waiter that got a part of what it waits for goes to the end.
func TestRequeue(t *testing.T) {
	var l Line
	a, b := l.join(), l.join()
	l.Wake()
	l.park(a, nil)
	l.requeue(a)
	expect(t, &l, wanted, "after a waiter got a part")
	l.Wake()
	l.park(b, nil)
	l.leave(b, true)
	l.Wake()
	l.leave(a, false)
	expect(t, &l, nobody, "at the end")
}

func TestWakeAll(t *testing.T) {
	var l Line
	a, b := l.join(), l.join()
	l.Wake()
	l.WakeAll()
	for _, w := range []*waiter{a, b} {
		if !l.park(w, nil) {
			t.Fatal("not woken")
		}
		l.leave(w, true)
	}
	expect(t, &l, nobody, "when all have left")
}

func TestLeaveFromTheMiddle(t *testing.T) {
	var l Line
	a, b, c := l.join(), l.join(), l.join()
	l.leave(b, false)
	l.Wake()
	l.leave(a, false)
	l.Wake()
	if !l.park(c, nil) {
		t.Fatal("the last one was not woken")
	}
	l.leave(c, true)
	expect(t, &l, nobody, "at the end")
}

// Time is exact in a bubble: the first 16 waits are all timed, later ones by
// one in sixteen.
func TestTallyOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Line
		for range 16 + 160 {
			w := l.join()
			go func() {
				time.Sleep(time.Second)
				l.Wake()
			}()
			l.park(w, nil)
			l.leave(w, true)
		}
		if got := l.Look(0, nil); got.Waits != 176 || got.Spent != 176*time.Second {
			t.Errorf("%d waits of a second each took %v", got.Waits, got.Spent)
		}
	})
}

func TestPatienceLearns(t *testing.T) {
	var p Patience
	tries := func() (n int) {
		for range 10 * probe {
			if p.Worthwhile() {
				n++
			}
		}
		return n
	}
	if n := tries(); n != 10 {
		t.Errorf("without credit %d of %d waits pause, want 10", n, 10*probe)
	}
	p.Learn(true)
	if n := tries(); n != 10*probe {
		t.Errorf("after a success %d of %d waits pause, want all", n, 10*probe)
	}
	for range 100 {
		p.Learn(true)
	}
	for range maxCredit + 1 {
		p.Learn(false)
	}
	if n := tries(); n != 10 {
		t.Errorf("after failures %d of %d waits pause, want 10", n, 10*probe)
	}
}

func TestLocksExclude(t *testing.T) {
	for name, l := range map[string]sync.Locker{"Lock": new(Lock), "BusyLock": new(BusyLock)} {
		inside, total := 0, 0
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for i := range 2000 {
					l.Lock()
					inside++
					if inside != 1 {
						t.Errorf("%s: two goroutines inside", name)
					}
					if i%100 == 0 {
						runtime.Gosched() // a holder that is not running
					}
					total++
					inside--
					l.Unlock()
				}
			})
		}
		all.Wait()
		if total != 8000 {
			t.Errorf("%s: %d of 8000 sections ran", name, total)
		}
	}
}
