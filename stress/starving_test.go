package stress

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
)

// A kind with many slots lets who comes by overtake who is parked, a few times
// over: then it does something about it. These are the shapes in which it must
// stay a queue meanwhile.
func overtaking() []subject {
	return []subject{
		manySlots,
		{"Elastic 1", 1, true, options{}},
		{"Elastic 3", 3, true, options{}},
		{"Elastic 3 ShrinkEmpty", 3, true, options{Shrink: sluice.ShrinkEmpty}},
		{"Elastic Unlimited", sluice.Unlimited, true, options{}},
		{"Elastic 3 DropOldest", 3, true, options{Overflow: sluice.DropOldest}},
	}
}

// TestLinearizableWhileStarving begins where a receiver, or a sender, has been
// passed over as often as the channel lets it: what comes next, call by call and
// all at once, is a matter of the code for that case.
func TestLinearizableWhileStarving(t *testing.T) {
	for _, s := range overtaking() {
		for _, waits := range []Op{Recv, Send} {
			if waits == Send && (s.capacity == sluice.Unlimited || s.options.Overflow != sluice.Block) {
				continue // a send never waits
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
		t.Fatalf("the one that waits is served after %d losses: none starves, and there is nothing to see", plan.Losses)
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
	// With several Ps, the one that was woken is now and then in time.
	if starved < n/4 {
		t.Errorf("only %d of %d runs began with one that starves", starved, n)
	}
}

// losses is how often somebody who only tries gets what a parked one was woken
// for, before the channel favours that one.
func losses(t *testing.T, p Plan) (most int) {
	const enough = 100
	p.Losses = enough
	for range 10 {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(p, nil)
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
