package waitq

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/selection"
)

// expectAges asserts for how many seconds each goroutine in the queue has waited,
// the first one first.
func expectAges(t *testing.T, q *Queue, want ...int) {
	t.Helper()
	synctest.Wait()
	var ages []time.Duration
	for _, seconds := range want {
		ages = append(ages, time.Duration(seconds)*time.Second)
	}
	got := q.Snapshot(park.Now(), make([]time.Duration, 0, len(want)+1))
	if first := append(ages, 0)[0]; !slices.Equal(got.Ages, ages) || got.Waiting != len(want) || got.Oldest != first {
		t.Errorf("ages %v, want %v: %+v", got.Ages, ages, got)
	}
}

// TestAges: a wait begins when the goroutine parks for the first time, and ends
// when it leaves. A waiter that is reused starts again at 0.
func TestAges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q Queue
		var a, b Wait
		expectAges(t, &q)
		a.Join(&q, nil)
		time.Sleep(time.Second)
		expectAges(t, &q, 0) // it has yet to poll again
		go a.Step()
		synctest.Wait()
		time.Sleep(2 * time.Second)
		b.Join(&q, nil)
		go b.Step()
		synctest.Wait()
		time.Sleep(3 * time.Second)
		expectAges(t, &q, 5, 3)
		if got := q.Snapshot(park.Now(), make([]time.Duration, 0, 1)).Ages; len(got) != 1 || got[0] != 5*time.Second {
			t.Errorf("ages with room for one: %v", got)
		}
		q.Wake()
		expectAges(t, &q, 3)
		a.Step() // rejoins at the front: spurious wake-up
		expectAges(t, &q, 5, 3)
		go a.Step()
		time.Sleep(time.Second)
		expectAges(t, &q, 6, 4)
		q.Wake()
		synctest.Wait()
		a.Progress()
		a.Step() // rejoins at the end: it got a part
		expectAges(t, &q, 4, 0)
		go a.Step()
		time.Sleep(time.Second)
		expectAges(t, &q, 5, 1)
		for _, w := range []*Wait{&b, &a} {
			q.Wake()
			synctest.Wait()
			w.Leave()
		}
		a.Join(&q, nil)
		b.Join(&q, nil)
		expectAges(t, &q, 0, 0)
		a.Leave()
		b.Leave()
	})
}

// TestAgesOfASelect: a Select has the same age in each of its queues. The next call
// starts again at 0.
func TestAgesOfASelect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var queues [2]Queue
		var s selection.State
		entries := []*Entry{NewEntry(&queues[0], func() bool { return false }), NewEntry(&queues[1], func() bool { return false })}
		for call := range 2 {
			s.Start()
			for range 3 { // three spurious wake-ups
				s.BeginPoll()
				for i, e := range entries {
					e.Join(&s, i)
				}
				if !s.PrepareToPark() {
					t.Fatal("a case was selected without a partner")
				}
				go s.Park(nil, s.Since().Begin())
				synctest.Wait()
				time.Sleep(time.Second)
				queues[1].Wake()
				synctest.Wait()
			}
			expectAges(t, &queues[0], 3)
			expectAges(t, &queues[1]) // it holds the wake-up
			for _, e := range entries {
				e.Leave()
			}
			if t.Failed() {
				t.Fatalf("in call %d", call)
			}
			time.Sleep(time.Minute)
		}
	})
}
