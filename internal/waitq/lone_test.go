package waitq

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/selection"
)

// lonely returns a queue whose lone waiter is the caller.
func lonely(t *testing.T) *Queue {
	t.Helper()
	q := new(Queue)
	waitAlone(t, q, true, "in an empty queue")
	return q
}

func waitAlone(t *testing.T, q *Queue, want bool, when string) {
	t.Helper()
	if q.WaitAlone() != want {
		t.Fatalf("WaitAlone %s: %v", when, !want)
	}
}

// hands asserts whether the lone waiter can be claimed, and delivers its token if so.
func hands(t *testing.T, q *Queue, want bool, when string) {
	t.Helper()
	to, ok := q.Claim()
	if ok != want {
		t.Fatalf("Claim %s: %v", when, ok)
	}
	if ok {
		to.Unpark()
	}
}

// isFree asserts that nothing is left of a wait alone.
func isFree(t *testing.T, q *Queue, when string) {
	t.Helper()
	lone := q.lone.Load()
	if signal := q.signal.Load() & (alone | handed | woken | held); signal != 0 {
		t.Fatalf("signal %b %s", signal, when)
	}
	if lone.parker.Pending() || lone.since.At() != 0 || lone.weight != 0 {
		t.Fatalf("a token, a start or a weight is left %s", when)
	}
}

// TestLoneHandOff: the lone waiter is handed one value, and until it has left no other goroutine
// waits alone or is handed one.
func TestLoneHandOff(t *testing.T) {
	q := lonely(t)
	if !q.Waiting() || !q.Alone() || q.Idle() {
		t.Error("a lone waiter does not count as waiting")
	}
	waitAlone(t, q, false, "while another one does")
	hands(t, q, true, "of a lone waiter")
	if q.Waiting() || q.Alone() || q.Idle() {
		t.Error("a waiter that was claimed counts as waiting, or as gone")
	}
	hands(t, q, false, "of one that was claimed")
	waitAlone(t, q, false, "while the other one has yet to leave")
	if q.LoneParker().Wait(); !q.Handed() || q.Withdraw() {
		t.Error("a waiter that was claimed was not handed a value, or has withdrawn")
	}
	q.LeaveAlone()
	isFree(t, q, "after a hand-off")
	if s := q.Snapshot(0, nil); s.Handed != 1 || s.Waits != 1 || !q.Idle() {
		t.Errorf("%+v", s)
	}
	hands(t, q, false, "of an empty queue")
	waitAlone(t, q, true, "after another one has left")
}

// TestNotAlone: a goroutine does not wait alone if another one waits, or was woken and has yet to
// leave, or holds the lock.
func TestNotAlone(t *testing.T) {
	var q Queue
	var a Wait
	a.Join(&q, nil)
	waitAlone(t, &q, false, "with a waiter in the list")
	q.Wake()
	waitAlone(t, &q, false, "with a wake-up in flight")
	a.Step()
	a.Leave()
	q.acquire()
	waitAlone(t, &q, false, "with the lock held")
	q.release()
	var s selection.State
	s.BeginPoll()
	e := NewEntry(&q, func() bool { return false })
	e.Join(&s, 0)
	waitAlone(t, &q, false, "with a Select in the list")
	e.Leave()
	waitAlone(t, &q, true, "in an empty queue")
}

// TestLoneWakeUp: Wake wakes the lone waiter before those that came later. It holds the wake-up of
// the queue then, and is the first again if that was spurious.
func TestLoneWakeUp(t *testing.T) {
	q := lonely(t)
	var b Wait
	b.Join(q, nil)
	q.Wake()
	q.Wake() // does nothing meanwhile
	if expect(t, q, waking, "with the lone waiter woken"); b.waiter.Parker.Pending() || q.Withdraw() {
		t.Fatal("two goroutines were woken, or one that was woken has withdrawn")
	}
	hands(t, q, false, "of one that was woken")
	if q.LoneParker().Wait(); q.Handed() {
		t.Fatal("a goroutine that was woken was handed a value")
	}
	a := q.Resume(nil)
	isFree(t, q, "after a wake-up")
	if waitAlone(t, q, false, "with a wake-up in flight"); !a.Woken() {
		t.Error("the goroutine does not hold the wake-up")
	}
	a.Step()
	if q.Wake(); !a.waiter.Parker.Pending() {
		t.Error("the goroutine lost its position by a spurious wake-up")
	}
	if a.Step(); !a.Leave() {
		t.Error("Leave did not report the other waiter")
	}
	q.Wake()
	b.Step()
	b.Leave()
	if expect(t, q, empty, "in the end"); q.Snapshot(0, nil).Waits != 3 {
		t.Errorf("%d waits, want 3", q.Snapshot(0, nil).Waits)
	}
}

// TestLoneWakeAll: WakeAll wakes the lone waiter and those in the list.
func TestLoneWakeAll(t *testing.T) {
	q := lonely(t)
	var b Wait
	b.Join(q, nil)
	q.WakeAll()
	hands(t, q, false, "after WakeAll")
	b.Step()
	b.Leave()
	q.LoneParker().Wait()
	a := q.Resume(nil)
	a.Leave()
	isFree(t, q, "after WakeAll")
	expect(t, q, empty, "in the end")
}

// TestWaitsNeverFall: a lone waiter counts from the beginning of its wait, once.
func TestWaitsNeverFall(t *testing.T) {
	ended := make(chan struct{})
	close(ended)
	for name, end := range map[string]func(q *Queue){
		"handed":    func(q *Queue) { q.Claim(); hands(t, q, false, "twice"); q.LeaveAlone() },
		"woken":     func(q *Queue) { q.Wake(); w := q.Resume(nil); w.Leave() },
		"withdrawn": func(q *Queue) { q.Withdraw() },
		"canceled":  func(q *Queue) { q.ParkAloneUntil(ended) },
	} {
		q := lonely(t)
		if n := q.Snapshot(0, nil).Waits; n != 1 {
			t.Errorf("%s: %d waits of one that waits", name, n)
		}
		if end(q); q.Snapshot(0, nil).Waits != 1 {
			t.Errorf("%s: %d waits afterwards", name, q.Snapshot(0, nil).Waits)
		}
	}
}

// TestWithdraw: a lone waiter that withdraws leaves nothing behind.
func TestWithdraw(t *testing.T) {
	q := lonely(t)
	if !q.Withdraw() || q.Withdraw() {
		t.Fatal("a lone waiter cannot withdraw, or twice")
	}
	isFree(t, q, "after Withdraw")
	hands(t, q, false, "of one that has withdrawn")
	q.Wake()
	if s := q.Snapshot(0, nil); s.Waits != 1 || s.Spent != 0 { // a wait that Snapshot has counted is not taken back
		t.Errorf("%+v", s)
	}
}

// TestLoneCanceled: a wait alone that is served or woken, and canceled at the same time, was
// served or woken; one that is only canceled cannot be claimed afterwards.
func TestLoneCanceled(t *testing.T) {
	done := make(chan struct{})
	close(done)
	var q Queue
	for range 100 {
		waitAlone(t, &q, true, "in an empty queue")
		if hands(t, &q, true, "of one that is canceled"); !q.ParkAloneUntil(done) || !q.Handed() {
			t.Fatal("a wait that was served was canceled")
		}
		q.LeaveAlone()
		waitAlone(t, &q, true, "after a hand-off")
		if q.Wake(); !q.ParkAloneUntil(done) || q.Handed() {
			t.Fatal("a wait that was woken was canceled, or served")
		}
		w := q.Resume(done)
		w.Leave()
		waitAlone(t, &q, true, "after a wake-up")
		if q.ParkAloneUntil(done) {
			t.Fatal("a wait ended with a token that was not sent")
		}
		hands(t, &q, false, "of one that was canceled")
		isFree(t, &q, "after it was canceled")
	}
	if s := q.Snapshot(0, nil); s.Waits != 300 || s.Handed != 100 {
		t.Errorf("%+v", s)
	}
}

// TestLoneAges: the lone waiter is the first in a Snapshot, and keeps its age when it resumes.
func TestLoneAges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := lonely(t)
		time.Sleep(time.Second)
		var b Wait
		b.Join(q, nil)
		go b.Step()
		synctest.Wait()
		time.Sleep(time.Second)
		expectAges(t, q, 2, 1)
		if got := q.Snapshot(park.Now(), make([]time.Duration, 0, 1)); !slices.Equal(got.Ages, []time.Duration{2 * time.Second}) {
			t.Errorf("ages with room for one: %v", got.Ages)
		}
		q.Wake()
		expectAges(t, q, 1)
		q.LoneParker().Wait()
		a := q.Resume(nil)
		a.Step()
		time.Sleep(time.Second)
		expectAges(t, q, 3, 2)
		a.Leave()
		q.Wake()
		synctest.Wait()
		b.Leave()
		waitAlone(t, q, true, "in the end")
		expectAges(t, q, 0)
	})
}

// TestTimedWaits: the first waits are timed, and all of them once Snapshot was called, or after
// Time; the age of another one begins when Snapshot notices it.
func TestTimedWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		age := func(q *Queue) time.Duration {
			waitAlone(t, q, true, "in an empty queue")
			time.Sleep(time.Second)
			oldest := q.Snapshot(park.Now(), nil).Oldest
			time.Sleep(time.Second)
			if later := q.Snapshot(park.Now(), nil).Oldest; later != oldest+time.Second {
				t.Errorf("the age is %v, and a second later %v", oldest, later)
			}
			q.Withdraw()
			return oldest
		}
		for name, test := range map[string]struct {
			before uint64
			time   bool
			want   time.Duration
		}{"first": {0, false, time.Second}, "later": {park.AlwaysTimed, false, 0}, "Time": {park.AlwaysTimed, true, time.Second}} {
			q := new(Queue)
			q.signal.Add(test.before * handOff)
			if test.time {
				q.Time()
			}
			if got := age(q); got != test.want {
				t.Errorf("%s: the age is %v, want %v", name, got, test.want)
			}
			if got := age(q); got != time.Second {
				t.Errorf("%s: the age after a Snapshot is %v, want 1s", name, got)
			}
		}
	})
}

// TestNoticedTooLate: a Snapshot that finds the wait over does not leave its start behind.
func TestNoticedTooLate(t *testing.T) {
	var q Queue
	q.signal.Add(park.AlwaysTimed * handOff)
	waitAlone(t, &q, true, "in an empty queue")
	signal := q.signal.Load()
	hands(t, &q, true, "of a lone waiter")
	q.LoneParker().Wait()
	q.LeaveAlone()
	q.loneAge(signal, park.Now())
	isFree(t, &q, "after a late Snapshot")
}

// TestWaitsAreCounted: each wait is counted once, however it ends, and the first ones and one
// in 16 later are measured.
func TestWaitsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, served := range map[string]func(i int) bool{
			"hand-offs":    func(int) bool { return true },
			"alternately":  func(i int) bool { return i%32 >= 16 },
			"later":        func(int) bool { return true },
			"no hand-offs": func(int) bool { return false },
		} {
			var q Queue
			if name == "later" {
				q.signal.Add(2 * park.AlwaysTimed * handOff)
			}
			start := q.Snapshot(0, nil).Waits
			for i := range 160 {
				waitAlone(t, &q, true, name)
				time.Sleep(time.Second)
				if served(i) {
					hands(t, &q, true, name)
					q.LoneParker().Wait()
					q.LeaveAlone()
				} else {
					q.Wake()
					q.LoneParker().Wait()
					w := q.Resume(nil)
					w.Leave()
				}
			}
			s := q.Snapshot(0, nil)
			if s.Waits-start != 160 || s.Spent != 160*time.Second {
				t.Errorf("%s: %d waits, %v", name, s.Waits-start, s.Spent)
			}
		}
	})
}
