package sluicetest

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
)

// loopOver returns a loop over the values of c: c's own, if it has a method
// Values.
func loopOver[T any](ctx context.Context, c Channel[T]) *sluice.Values[T] {
	if own, ok := c.(interface {
		Values(ctx context.Context) *sluice.Values[T]
	}); ok {
		return own.Values(ctx)
	}
	return sluice.NewValues(ctx, c)
}

// allOf returns an iterator over the values of c.
func allOf[T any](ctx context.Context, c Channel[T]) iter.Seq[T] { return loopOver(ctx, c).All() }

// testValues: a loop over Values takes exactly the values that its body sees,
// however the loop ends, and Err reports why it ended.
func testValues(t *testing.T, k Kind) {
	if k.blocks() || k.Capacity >= leaveOf {
		t.Run("leave", k.testLeave)
	}
	t.Run("end", func(t *testing.T) { synctest.Test(t, k.testValuesEnd) })
}

// leaveOf is the number of values in a channel whose loop is left early.
const leaveOf = 6

func (k Kind) testLeave(t *testing.T) {
	for position := range leaveOf {
		for name, leave := range map[string]func(){
			"break":  nil,
			"panic":  func() { panic("out of the loop") },
			"Goexit": runtime.Goexit,
		} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { k.testLeaveAt(t, position, leave) })
			})
		}
	}
}

// testLeaveAt leaves the loop's body at the given position, by break or by
// calling leave.
func (k Kind) testLeaveAt(t *testing.T, position int, leave func()) {
	ctx := context.Background()
	c := k.numbers(t)
	p := start(func(p *call) {
		for i := range uint64(leaveOf) {
			p.err = errors.Join(p.err, c.Send(ctx, i))
		}
		c.Close()
	})
	var got []uint64
	values := loopOver(ctx, c)
	var loop sync.WaitGroup
	loop.Go(func() {
		defer func() { _ = recover() }()
		for v := range values.All() {
			got = append(got, v)
			if len(got) == position+1 {
				if leave != nil {
					leave()
				}
				break
			}
		}
	})
	loop.Wait()
	if len(got) != position+1 || values.Err() != nil {
		t.Fatalf("a loop left at position %d saw %v, Err %v", position, got, values.Err())
	}
	values = loopOver(ctx, c)
	for v := range values.All() {
		got = append(got, v)
	}
	if values.Err() != nil {
		t.Fatalf("Err of a loop over a closed channel is %v", values.Err())
	}
	p.returned(t, "the sender", nil)
	if k.Order == AnyOrder {
		slices.Sort(got)
	}
	if !slices.Equal(got, counted(leaveOf, 0)) {
		t.Fatalf("left at position %d, the loop and its successor saw %v", position, got)
	}
}

// testValuesEnd: a done context ends a loop once no value is left, and a new loop
// continues.
func (k Kind) testValuesEnd(t *testing.T) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	c := k.numbers(t)
	for v := range allOf(over, c) {
		t.Fatalf("a loop over an empty channel with a done context yields %d", v)
	}
	if k.Capacity >= 2 {
		mustSend(t, c, 1)
		mustSend(t, c, 2)
		got := slices.Sorted(allOf(over, c))
		if !slices.Equal(got, []uint64{1, 2}) {
			t.Fatalf("a loop over 1, 2 with a done context yields %v", got)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var err error
	p := start(func(p *call) {
		values := loopOver(ctx, c)
		for v := range values.All() {
			p.values = append(p.values, v)
		}
		err = values.Err()
	})
	for i := range uint64(3) {
		p.parked(t, "a loop over an empty channel")
		if err := c.Send(context.Background(), i); err != nil {
			t.Fatalf("Send to a waiting loop: %v", err)
		}
	}
	p.parked(t, "a loop over an empty channel")
	cancel()
	p.returned(t, "a canceled loop", nil)
	if !slices.Equal(p.values, []uint64{0, 1, 2}) {
		t.Fatalf("a loop over 0, 1, 2 yields %v", p.values)
	}
	if err != context.Canceled {
		t.Fatalf("Err of a canceled loop is %v, want %v", err, context.Canceled)
	}
}

// A drainer has a method Drain.
type drainer interface{ Drain() iter.Seq[uint64] }

// testDrain: Drain yields the values queued at the start of its loop and never
// waits; values that it leaves remain queued and make Ready readable.
func testDrain(t *testing.T, k Kind) {
	t.Run("empty", func(t *testing.T) { synctest.Test(t, k.testDrainEmpty) })
	if k.Capacity >= 2 {
		t.Run("queued", func(t *testing.T) { synctest.Test(t, k.testDrainQueued) })
		t.Run("leave", func(t *testing.T) { synctest.Test(t, k.testDrainLeave) })
	}
}

// drained returns the values that one loop over Drain yields, and fails t if the
// loop waits.
func drained(t *testing.T, c Channel[uint64]) []uint64 {
	t.Helper()
	p := start(func(p *call) { p.values = slices.Sorted(c.(drainer).Drain()) })
	p.returned(t, "a loop over Drain", nil)
	return p.values
}

func (k Kind) testDrainEmpty(t *testing.T) {
	c := k.numbers(t)
	if got := drained(t, c); len(got) > 0 {
		t.Fatalf("Drain of an empty channel yields %v", got)
	}
	if k.isRendezvous() && k.blocks() {
		p := startSend(context.Background(), c, 7)
		p.parked(t, "Send of a rendezvous")
		if got := drained(t, c); !slices.Equal(got, []uint64{7}) {
			t.Fatalf("Drain with a sender waiting yields %v", got)
		}
		p.returned(t, "the waiting Send", nil)
	}
	c.Close()
	if got := drained(t, c); len(got) > 0 {
		t.Fatalf("Drain of a closed and drained channel yields %v", got)
	}
}

func (k Kind) testDrainQueued(t *testing.T) {
	c := k.numbers(t)
	queued := min(k.Capacity-1, 5)
	for i := range uint64(queued) {
		mustSend(t, c, i)
	}
	drainReady(c)
	var got []uint64
	for v := range c.(drainer).Drain() {
		if got = append(got, v); len(got) == 1 {
			mustSend(t, c, uint64(queued))
		}
	}
	if len(got) != queued {
		t.Fatalf("Drain with %d values queued yields %v", queued, got)
	}
	checkReadable(t, c, "a channel with a value sent during Drain")
	c.Close()
	got = append(got, drained(t, c)...)
	if slices.Sort(got); !slices.Equal(got, counted(queued+1, 0)) {
		t.Fatalf("two loops over Drain yield %v of %d values", got, queued+1)
	}
}

func (k Kind) testDrainLeave(t *testing.T) {
	c := k.numbers(t)
	queued := min(k.Capacity, leaveOf)
	for i := range uint64(queued) {
		mustSend(t, c, i)
	}
	drainReady(c)
	var got []uint64
	for range queued - 1 {
		for v := range c.(drainer).Drain() {
			got = append(got, v)
			break
		}
		checkReadable(t, c, "a channel whose Drain was left early")
	}
	got = append(got, drained(t, c)...)
	if k.Order == AnyOrder {
		slices.Sort(got)
	}
	if !slices.Equal(got, counted(queued, 0)) {
		t.Fatalf("left early, Drain and its successors saw %v of %d values", got, queued)
	}
}
