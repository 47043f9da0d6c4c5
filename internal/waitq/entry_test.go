package waitq

import (
	"testing"

	"github.com/sluice-go/sluice/internal/selection"
)

// TestQueueOfSelects: a queue wakes a Select that can be notified, skips one that
// cannot, and keeps the position of either.
func TestQueueOfSelects(t *testing.T) {
	var q Queue
	var a, b selection.State
	var wa, wb, wb2 waiter
	a.BeginPoll()
	b.BeginPoll()
	q.enter(&wa, &a, 1)
	q.enter(&wb, &b, 2)
	q.enter(&wb2, &b, 3)
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
	q.enter(&wb, &b, 2) // spurious wake-up
	q.enter(&wb2, &b, 3)
	a.BeginPoll()
	q.enter(&wa, &a, 1)
	expect(t, &q, wanted, "after a spurious wake-up")
	b.PrepareToPark()
	q.Wake()
	if waiting := q.Snapshot(0, nil).Waiting; b.Selected() != 2 || waiting != 2 {
		t.Fatalf("after a spurious wake-up an entry is not the first: case %d selected, %d wait", b.Selected(), waiting)
	}
	b.Park(nil, 0)
	w := q.join()
	q.exit(&wb)
	q.exit(&wb2)
	expect(t, &q, wanted, "when b has left")
	a.AcceptClaims()
	a.Claim(0)
	q.Wake()
	if !q.park(w, nil) {
		t.Fatal("a waiter behind a Select that cannot be notified was not woken")
	}
	q.exit(&wa)
	expect(t, &q, waking, "while another holds the wake-up")
	q.leave(w, true)
	expect(t, &q, empty, "at the end")
}

// TestWakeAllOfSelects: each Select that is parked gets one token, for one of its
// entries.
func TestWakeAllOfSelects(t *testing.T) {
	var q, r Queue
	var a, b selection.State
	var entries [5]waiter
	a.BeginPoll()
	b.BeginPoll()
	q.enter(&entries[0], &a, 0)
	r.enter(&entries[1], &a, 1)
	q.enter(&entries[2], &a, 2)
	q.enter(&entries[3], &b, 0)
	r.enter(&entries[4], &b, 1)
	w := q.join()
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
	q.leave(w, q.park(w, nil))
	for i := range entries {
		q.exit(&entries[i])
		r.exit(&entries[i])
	}
	expect(t, &q, empty, "at the end")
	expect(t, &r, empty, "at the end")
}
