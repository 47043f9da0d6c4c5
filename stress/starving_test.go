package stress

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
)

// barging lists the kinds with many slots, which let running goroutines
// barge in ahead of a parked one a limited number of times. While they help the
// starving goroutine, they must remain queues.
func barging() []subject {
	return []subject{
		manySlots,
		{"Elastic 1", 1, true, options{}},
		{"Elastic 3", 3, true, options{}},
		{"Elastic 3 ShrinkEmpty", 3, true, options{Shrink: sluice.ShrinkEmpty}},
		{"Elastic Unlimited", sluice.Unlimited, true, options{}},
		{"Elastic 3 DropOldest", 3, true, options{Overflow: sluice.DropOldest}},
		{"Sharded 1x3", 3, false, options{Lanes: 1}},
		{"Sharded 3x1", 3, false, options{Lanes: 3}},
	}
}

// TestLinearizableWhileStarving begins in a state where a receiver, or a
// sender, has been passed over as often as the channel allows: the next calls,
// alone or concurrent, exercise the code for that case.
func TestLinearizableWhileStarving(t *testing.T) {
	for _, s := range barging() {
		for _, waits := range []Op{Recv, Send} {
			if waits == Send && (s.capacity == sluice.Unlimited || s.options.Overflow != sluice.Block) {
				continue // sends never wait
			}
			t.Run(fmt.Sprint(s.name, " ", opNames[waits]), func(t *testing.T) {
				testStarving(t, s, waits)
			})
		}
	}
}

func testStarving(t *testing.T, s subject, waits Op) {
	plan := Plan{Starving: waits, Open: s.open}
	if waits == Send {
		plan.Filled = s.capacity
	}
	plan.Losses = losses(t, plan)
	if plan.Losses < 2 {
		t.Fatalf("the waiter is served after %d losses: it does not starve, so the test checks nothing", plan.Losses)
	}
	starved, n := 0, rounds(3000)
	for range n {
		plan.Clients, plan.Calls = 1+rand.IntN(3), 1+rand.IntN(4)
		if check(t, s, plan).Starved {
			starved++
		}
		if t.Failed() {
			return
		}
	}
	// With several Ps, the woken goroutine sometimes wins the race.
	if starved < n/4 {
		t.Errorf("only %d of %d runs began with a starving goroutine", starved, n)
	}
}

// losses returns how often a Try operation takes what a parked goroutine was
// woken for, before the channel helps the parked one.
func losses(t *testing.T, p Plan) (most int) {
	const enough = 100
	p.Losses = enough
	for range 10 {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(p)
			w.fill()
			most = max(most, w.starve())
			w.c.Close()
		})
	}
	if most == enough {
		t.Fatalf("%s is passed over %d times and more", opNames[p.Starving], most)
	}
	return most
}
