package waitq

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/selection"
)

// seatedIn returns a queue with a goroutine in its seat.
func seatedIn(t *testing.T, done <-chan struct{}) (q *Queue, a *Wait) {
	t.Helper()
	q, a = new(Queue), new(Wait)
	a.JoinToAccept(q, nil) // the first waiter becomes the seat when it leaves
	if a.Sit(q, nil) {
		t.Fatal("there is a seat while a goroutine is queued")
	}
	a.Leave()
	if !a.Sit(q, done) {
		t.Fatal("no seat")
	}
	expectState(t, q, wanted|seated)
	return q, a
}

// Sit is TakeSeat with a Wait.
func (w *Wait) Sit(q *Queue, done <-chan struct{}) bool {
	if !q.TakeSeat() {
		return false
	}
	*w = q.Seated(done)
	return true
}

func expectState(t *testing.T, q *Queue, want uint64) {
	t.Helper()
	if got := q.signal.Load() & states; got != want {
		t.Fatalf("the state is %b, want %b", got, want)
	}
}

// TestSeat: a hand-off in the seat is three steps without the lock.
func TestSeat(t *testing.T) {
	q, a := seatedIn(t, nil)
	for want := range uint64(3) {
		var other Wait
		if other.Sit(q, nil) {
			t.Fatal("two goroutines in the seat")
		}
		to, ok := q.HandOffSeat()
		if expectState(t, q, waking|seated); !ok {
			t.Fatal("no hand-off in the seat")
		}
		if _, again := q.HandOffSeat(); again || other.Sit(q, nil) {
			t.Fatal("the seat was used during a hand-off")
		}
		to.Unpark()
		if a.Step(); !a.Handed() || a.Leave() {
			t.Fatal("the goroutine in the seat was not served, or others wait")
		}
		if expectState(t, q, vacant); q.HandOffs() != want+1 {
			t.Fatalf("%d hand-offs, want %d", q.HandOffs(), want+1)
		}
		if !a.Sit(q, nil) {
			t.Fatal("the seat is not free again")
		}
	}
	q.Wake()
	if a.Step(); a.Handed() || !a.Woken() {
		t.Fatal("a goroutine in the seat that was woken takes itself for served")
	}
	a.Refuse()
	a.Leave()
	a.Sit(q, nil)
	q.Snapshot(0, nil)
	expectHandOff(t, q, true, "to a goroutine that accepts, after one that refused")
	a.Step()
	a.Leave()
}

// TestUnseat: each goroutine that takes the lock ends what goes on in the seat, and nothing
// is lost. The seat is free again when its goroutine has left, except after WakeAll.
func TestUnseat(t *testing.T) {
	for name, test := range map[string]struct {
		disturb func(*Queue) (leave func())
		handed  bool // whether a hand-off is possible afterwards
	}{
		"Snapshot": {func(q *Queue) func() { q.Snapshot(0, nil); return func() {} }, true},
		"another one joins": {func(q *Queue) func() {
			var b Wait
			b.JoinToAccept(q, nil)
			return func() { b.Leave() }
		}, true},
		"a Select joins": {func(q *Queue) func() {
			s := new(selection.State)
			s.BeginPoll()
			e := NewEntry(q, func() bool { return false })
			e.Join(s, 0)
			return e.Leave
		}, true},
		"Wake":    {func(q *Queue) func() { q.Wake(); return func() {} }, false},
		"WakeAll": {func(q *Queue) func() { q.WakeAll(); return func() {} }, false},
	} {
		for _, claimed := range []bool{false, true} {
			q, a := seatedIn(t, nil)
			if claimed {
				expectHandOff(t, q, true, name)
			}
			leave := test.disturb(q)
			var other Wait
			if other.Sit(q, nil) {
				t.Errorf("%s: two goroutines in the seat", name)
			}
			expectHandOff(t, q, test.handed && !claimed, name)
			a.Step()
			if want := claimed || test.handed; a.Handed() != want {
				t.Errorf("%s: handed %v, want %v", name, a.Handed(), want)
			}
			leave()
			a.Leave()
			if name == "WakeAll" {
				expectState(t, q, empty)
			} else {
				expectState(t, q, vacant)
			}
			if s := q.Snapshot(0, nil); s.Waiting != 0 || q.inFlight || q.seat.Value.lent || q.seat.Parker.Pending() || s.Handed > s.Waits {
				t.Errorf("%s: %+v, in flight %v, lent %v", name, s, q.inFlight, q.seat.Value.lent)
			}
		}
	}
}

// TestLeaveTheSeat: a goroutine that withdraws from the seat, or is canceled, is not served
// afterwards, or was served before. Meanwhile nobody else sits.
func TestLeaveTheSeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		close(done)
		for name, end := range map[string]func(*Wait){"Withdraw": (*Wait).Withdraw, "Step": (*Wait).Step, "GiveUp": (*Wait).GiveUp} {
			q, a := seatedIn(t, done)
			end(a)
			var b Wait
			if expectHandOff(t, q, false, name); a.Handed() || b.Sit(q, nil) {
				t.Fatalf("%s: handed %v, or the seat is free", name, a.Handed())
			}
			b.JoinToAccept(q, nil)
			a.Step() // it comes back, behind b
			expectHandOff(t, q, true, name)
			if b.Step(); !b.Handed() || !b.Leave() {
				t.Fatalf("%s: the goroutine that has withdrawn came back to the front", name)
			}
			a.Leave()
			expectState(t, q, vacant)
			a.Sit(q, done)
			expectHandOff(t, q, true, name)
			if end(a); !a.Handed() || a.Canceled() {
				t.Fatalf("%s: a goroutine that was served is canceled", name)
			}
			a.Leave()
			expectState(t, q, vacant)
		}
	})
}

// TestTimedWaits: the first waits in the seat are timed, and all of them once Snapshot was
// called, or after Time; the age of another one begins when Snapshot notices it.
func TestTimedWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		age := func(q *Queue) time.Duration {
			a := new(Wait)
			if !a.Sit(q, nil) {
				t.Fatal("no seat")
			}
			defer a.Leave()
			time.Sleep(time.Second)
			return q.Snapshot(park.Now(), nil).Oldest
		}
		for name, test := range map[string]struct {
			hands uint64
			time  bool
			want  time.Duration
		}{"first": {0, false, time.Second}, "later": {park.AlwaysTimed, false, 0}, "Time": {park.AlwaysTimed, true, time.Second}} {
			q, a := seatedIn(t, nil)
			a.Withdraw()
			a.Leave()
			if test.hands > 0 {
				q.signal.Add((test.hands - 1) * handOff)
				a.Sit(q, nil) // the last one that is always timed
				expectHandOff(t, q, true, name)
				a.Step()
				a.Leave()
				time.Sleep(time.Minute)
			}
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

// TestNoSeatAfterWakeAll: a goroutine that WakeAll has woken leaves without a wake-up, although
// it ends one. If another one has yet to take what it was handed, nobody may be claimed in the
// seat: that would be a second hand-off in progress.
func TestNoSeatAfterWakeAll(t *testing.T) {
	q, a := seatedIn(t, nil)
	var b, c Wait
	b.JoinToAccept(q, nil)
	a.Withdraw()
	a.Step() // behind b
	expectHandOff(t, q, true, "to b")
	q.WakeAll()
	a.Step()
	a.Leave()
	if c.Sit(q, nil) {
		t.Error("a goroutine sits while b has yet to take its value")
	}
	if b.Step(); !b.Handed() {
		t.Error("b was not handed a value")
	}
	b.Leave()
	if c.Sit(q, nil) || !q.Idle() {
		t.Error("a goroutine sits after WakeAll")
	}
}

// sitAlone takes the seat without a Wait, waits for a second, and leaves after a hand-off.
func sitAlone(t *testing.T, q *Queue) {
	t.Helper()
	signal, ok := q.VacantSeat()
	if ok && !q.TakeVacantSeat(signal) || !ok && !q.TakeSeat() {
		t.Fatal("the seat was not taken")
	}
	if _, again := q.VacantSeat(); again || q.TakeVacantSeat(signal) {
		t.Fatal("two goroutines in the seat")
	}
	time.Sleep(time.Second)
	to, ok := q.HandOffSeat()
	if !ok || to != q.Parker() {
		t.Fatal("no hand-off in the seat")
	}
	to.Unpark()
	if to.Wait(); !q.Arrived() || !q.LeaveSeat() {
		t.Fatal("not served in the seat, or the lock was taken")
	}
	expectState(t, q, vacant)
}

// TestSeatWithoutAWait: waits without a Wait are measured like all others, and one that another
// goroutine measures leaves nothing behind.
func TestSeatWithoutAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, a := seatedIn(t, nil)
		a.Withdraw()
		a.Leave()
		for range 16 {
			sitAlone(t, q)
		}
		if got := q.Tally().Spent(); got != 16*time.Second {
			t.Errorf("spent %v in the first 16 waits of a second", got)
		}
		q.signal.Add((park.AlwaysTimed - 16 + 15) * handOff) // the next wait is measured
		for i := range 49 {
			_, ok := q.VacantSeat()
			if want := i%16 != 0; ok != want {
				t.Fatalf("wait %d: may be taken without a measurement: %v", i, ok)
			}
			if i == 16 || i == 32 { // with a Wait, and then with the lock, too
				var b, c Wait
				b.JoinToAccept(q, nil)
				if i == 32 {
					c.JoinToAccept(q, nil)
				}
				expectHandOff(t, q, true, "to a Wait in the seat")
				b.Step()
				b.Leave()
				if c.Joined() {
					c.Withdraw()
					c.Leave()
				}
				continue
			}
			sitAlone(t, q)
		}
		if got := q.Tally().Spent(); got != (16+2*16)*time.Second {
			t.Errorf("spent %v, want 48s", got)
		}
		q.Snapshot(0, nil)
		if _, ok := q.VacantSeat(); ok {
			t.Error("a wait that is to be timed is not")
		}
	})
}

// TestStandUp: a goroutine leaves the seat by itself only if no sender has claimed it, and none has taken
// the lock.
func TestStandUp(t *testing.T) {
	q, a := seatedIn(t, nil)
	if !q.StandUp() {
		t.Fatal("cannot stand up")
	}
	expectState(t, q, vacant)
	if q.StandUp() {
		t.Error("a goroutine that is not in the seat has left it")
	}
	*a = Wait{}
	a.Sit(q, nil)
	expectHandOff(t, q, true, "to the goroutine in the seat")
	if q.StandUp() {
		t.Error("a goroutine that was claimed has left the seat")
	}
	a.Step()
	a.Leave()
	a.Sit(q, nil)
	q.Snapshot(0, nil)
	if q.StandUp() {
		t.Error("an ordinary waiter has left the seat")
	}
	a.Withdraw()
	if a.Leave(); q.StandUp() {
		t.Error("the seat was vacant")
	}
}
