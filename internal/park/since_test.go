package park

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// expectAges asserts for how many seconds those in line have waited, the first one
// first.
func expectAges(t *testing.T, l *Line, want ...int) {
	t.Helper()
	synctest.Wait()
	var ages []time.Duration
	for _, seconds := range want {
		ages = append(ages, time.Duration(seconds)*time.Second)
	}
	got := l.Look(Now(), make([]time.Duration, 0, len(want)+1))
	if first := append(ages, 0)[0]; !slices.Equal(got.Ages, ages) || got.Waiting != len(want) || got.Oldest != first {
		t.Errorf("they have waited for %v, want %v: %+v", got.Ages, ages, got)
	}
}

// A wait begins when the goroutine parks for the first time, and is over when it
// leaves: a waiter that is lent again knows nothing of it.
func TestAgesInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Line
		var a, b Stay
		expectAges(t, &l)
		a.Join(&l, nil)
		time.Sleep(time.Second)
		expectAges(t, &l, 0) // it has yet to look again
		go a.Wait()
		synctest.Wait()
		time.Sleep(2 * time.Second)
		b.Join(&l, nil)
		go b.Wait()
		synctest.Wait()
		time.Sleep(3 * time.Second)
		expectAges(t, &l, 5, 3)
		if got := l.Look(Now(), make([]time.Duration, 0, 1)).Ages; len(got) != 1 || got[0] != 5*time.Second {
			t.Errorf("of two, one asked for: %v", got)
		}
		l.Wake()
		expectAges(t, &l, 3)
		a.Wait() // back in line, at the front: woken in vain
		expectAges(t, &l, 5, 3)
		go a.Wait()
		time.Sleep(time.Second)
		expectAges(t, &l, 6, 4)
		l.Wake()
		synctest.Wait()
		a.Move()
		a.Wait() // back in line, at the end: it got a part
		expectAges(t, &l, 4, 0)
		go a.Wait()
		time.Sleep(time.Second)
		expectAges(t, &l, 5, 1)
		for _, s := range []*Stay{&b, &a} {
			l.Wake()
			synctest.Wait()
			s.Leave()
		}
		a.Join(&l, nil)
		b.Join(&l, nil)
		expectAges(t, &l, 0, 0)
		a.Leave()
		b.Leave()
	})
}

// A goroutine in several lines has waited as long in each; when it is done in all, the
// next time begins anew.
func TestAgesOfAChoice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines [2]Line
		var c Choice
		places := []*Place{NewPlace(&lines[0], func() bool { return false }), NewPlace(&lines[1], func() bool { return false })}
		for round := range 2 {
			c.Start()
			for range 3 { // it is woken twice in vain
				c.Look()
				for i, p := range places {
					p.Join(&c, i)
				}
				if !c.Doze() {
					t.Fatal("chosen while nobody could")
				}
				go c.Sleep(nil)
				synctest.Wait()
				time.Sleep(time.Second)
				lines[1].Wake()
				synctest.Wait()
			}
			expectAges(t, &lines[0], 3)
			expectAges(t, &lines[1]) // it has the wake-up
			for _, p := range places {
				p.Leave()
			}
			if t.Failed() {
				t.Fatalf("in round %d", round)
			}
			time.Sleep(time.Minute)
		}
	})
}

// A look may have read the clock before somebody began to wait.
func TestAgeIsNeverNegative(t *testing.T) {
	var s Since
	before := Now()
	if s.Age(before) != 0 {
		t.Error("what has not begun has an age")
	}
	began := s.Begin()
	for began == before { // the clock has not gone on
		s.Reset()
		began = s.Begin()
	}
	if age := s.Age(before); age != 0 {
		t.Errorf("begun later than now: %v", age)
	}
	if age := s.Age(began + 5); age != 5 {
		t.Errorf("after 5 ns: %v", age)
	}
}
