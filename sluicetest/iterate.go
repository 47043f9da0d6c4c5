package sluicetest

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// testAll: a loop over All takes what it shows its body and nothing else,
// however the loop ends.
func testAll(t *testing.T, k Kind) {
	if k.blocks() || k.Capacity >= leaveOf {
		t.Run("leave", k.testLeave)
	}
	t.Run("end", func(t *testing.T) { synctest.Test(t, k.testAllEnds) })
}

// leaveOf is how many values there are to leave a loop over.
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

// testLeaveAt leaves a loop in its body at the given position: by a break, or by
// what leave does.
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
	var loop sync.WaitGroup
	loop.Go(func() {
		defer func() { _ = recover() }()
		for v := range c.All(ctx) {
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
	if len(got) != position+1 {
		t.Fatalf("a loop left at position %d saw %v", position, got)
	}
	for v := range c.All(ctx) {
		got = append(got, v)
	}
	p.returned(t, "the sender", nil)
	if k.Order == AnyOrder {
		slices.Sort(got)
	}
	if !slices.Equal(got, counted(leaveOf, 0)) {
		t.Fatalf("left at position %d, the loop and its successor saw %v", position, got)
	}
}

// testAllEnds: a loop ends with the context, once nothing is left, and can be
// begun again.
func (k Kind) testAllEnds(t *testing.T) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	c := k.numbers(t)
	for v := range c.All(over) {
		t.Fatalf("All of an empty channel under a context that is done yields %d", v)
	}
	if k.Capacity >= 2 {
		mustSend(t, c, 1)
		mustSend(t, c, 2)
		var got []uint64
		for v := range c.All(over) {
			got = append(got, v)
		}
		if slices.Sort(got); !slices.Equal(got, []uint64{1, 2}) {
			t.Fatalf("All of 1, 2 under a context that is done yields %v", got)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := start(func(p *call) {
		for v := range c.All(ctx) {
			p.values = append(p.values, v)
		}
	})
	for i := range uint64(3) {
		p.parked(t, "All of an empty channel")
		if err := c.Send(context.Background(), i); err != nil {
			t.Fatalf("Send to a waiting All: %v", err)
		}
	}
	p.parked(t, "All of an empty channel")
	cancel()
	p.returned(t, "All of a canceled context", nil)
	if !slices.Equal(p.values, []uint64{0, 1, 2}) {
		t.Fatalf("All of 0, 1, 2 yields %v", p.values)
	}
}
