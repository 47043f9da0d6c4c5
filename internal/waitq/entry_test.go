package waitq

import (
	"testing"

	"github.com/sluice-go/sluice/internal/selection"
)

// never returns an entry of a Select that passes no wake-up on.
func never(q *Queue) *Entry { return NewEntry(q, func() bool { return false }) }

// TestQueueOfSelects: a queue wakes a Select that can be notified, skips one that
// cannot, and keeps the position of either.
func TestQueueOfSelects(t *testing.T) {
	var q Queue
	var a, b selection.State
	wa, wb, wb2 := never(&q), never(&q), never(&q)
	a.BeginPoll()
	b.BeginPoll()
	wa.Join(&a, 1)
	wb.Join(&b, 2)
	wb2.Join(&b, 3)
	expect(t, &q, wanted, "with three entries")
	a.Claim(0) // fails: a is polling
	a.AcceptClaims()
	a.Claim(0) // by another engine
	q.Wake()
	expect(t, &q, waking, "with one skipped")
	if b.Selected() != 2 || a.Selected() != 0 {
		t.Fatalf("selected: %d and %d", a.Selected(), b.Selected())
	}
	if b.Parker().Pending() {
		t.Fatal("a token for a goroutine that is awake")
	}
	b.BeginPoll()
	wb.Join(&b, 2) // spurious wake-up
	wb2.Join(&b, 3)
	a.BeginPoll()
	wa.Join(&a, 1)
	expect(t, &q, wanted, "after a spurious wake-up")
	b.PrepareToPark()
	q.Wake()
	if waiting := q.Snapshot(0, nil).Waiting; b.Selected() != 2 || waiting != 2 {
		t.Fatalf("after a spurious wake-up an entry is not the first: case %d selected, %d wait", b.Selected(), waiting)
	}
	b.Park(nil, 0)
	w := join(&q)
	wb.Leave()
	wb2.Leave()
	expect(t, &q, wanted, "when b has left")
	a.AcceptClaims()
	a.Claim(0)
	q.Wake()
	if !w.park() {
		t.Fatal("a waiter behind a Select that cannot be notified was not woken")
	}
	wa.Leave()
	expect(t, &q, waking, "while another holds the wake-up")
	w.Leave()
	expect(t, &q, empty, "at the end")
}

// TestWakeAllOfSelects: each Select that is parked gets one token, for one of its
// entries.
func TestWakeAllOfSelects(t *testing.T) {
	var q, r Queue
	var a, b selection.State
	entries := []*Entry{never(&q), never(&r), never(&q), never(&q), never(&r)}
	a.BeginPoll()
	b.BeginPoll()
	entries[0].Join(&a, 0)
	entries[1].Join(&a, 1)
	entries[2].Join(&a, 2)
	entries[3].Join(&b, 0)
	entries[4].Join(&b, 1)
	w := join(&q)
	a.PrepareToPark()
	q.WakeAll()
	r.WakeAll()
	if !a.Parker().Pending() {
		t.Error("no token for a Select that was parked")
	}
	if woken, _ := a.Park(nil, 0); !woken || a.Parker().Pending() {
		t.Error("more or less than one token for a Select that was parked")
	}
	if b.Parker().Pending() {
		t.Error("a token for a Select that was awake")
	}
	if b.PrepareToPark() {
		t.Error("a Select that was awake was not notified")
	}
	w.Step()
	w.Leave()
	for _, e := range entries {
		e.Leave()
	}
	expect(t, &q, empty, "at the end")
	expect(t, &r, empty, "at the end")
}
