package stress

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sluice-go/sluice"
)

// openPriority returns a Priority whose values choose their level.
func openPriority(limit, maxPassed int, overflow sluice.Overflow) func(func(byte)) sluice.Channel[byte] {
	return func(onDrop func(byte)) sluice.Channel[byte] {
		if overflow == sluice.Block || overflow == sluice.Reject {
			onDrop = nil
		}
		return sluice.NewPriority(rankedLevels, limit, &sluice.PriorityOptions[byte]{
			Overflow: overflow, OnUndelivered: dropped(onDrop), MaxPassed: maxPassed,
			LevelOf: func(v byte) int { return int(v) % rankedLevels },
		})
	}
}

// TestPriorityLinearizable: some sequential order of the calls, each between its begin and
// its end, makes a Priority of the model return the same results.
func TestPriorityLinearizable(t *testing.T) {
	for _, overflow := range []sluice.Overflow{sluice.Block, sluice.Reject, sluice.DropNewest, sluice.DropLeastUrgent} {
		for _, limit := range []int{1, 2, 3, 40} {
			for _, maxPassed := range []int{1, 2, 100} {
				t.Run(fmt.Sprintf("%v limit %d maxPassed %d", overflow, limit, maxPassed), func(t *testing.T) {
					for range rounds(1500) {
						seed := rand.Uint64()
						run := Record(t, Plan{
							Clients: 2 + rand.IntN(3), Calls: 2 + rand.IntN(5), Filled: min(limit, rand.IntN(6)),
							Open: openPriority(limit, maxPassed, overflow),
						}, seed)
						if err := Explain(run, Ranked(limit, maxPassed, overflow)); err != nil {
							t.Fatalf("seed %d: %v\n%s", seed, err, Render(run.History))
						}
					}
				})
			}
		}
	}
}

// TestPriorityServes: while a call waits, others cannot take what makes it possible: it loses nothing.
func TestPriorityServes(t *testing.T) {
	for _, op := range []Op{Send, Recv} {
		for _, limit := range []int{1, 2, 3} {
			t.Run(fmt.Sprint(opNames[op], " ", limit), func(t *testing.T) {
				for range rounds(1000) {
					seed := rand.Uint64()
					run := Record(t, Plan{
						Clients: 2 + rand.IntN(2), Calls: 2 + rand.IntN(4), Starving: op, Losses: 1,
						Filled: map[Op]int{Send: limit, Recv: 0}[op],
						Open:   openPriority(limit, 2, sluice.Block),
					}, seed)
					if run.Starved {
						t.Fatalf("seed %d: a call that waited was overtaken\n%s", seed, Render(run.History))
					}
					if err := Explain(run, Ranked(limit, 2, sluice.Block)); err != nil {
						t.Fatalf("seed %d: %v\n%s", seed, err, Render(run.History))
					}
				}
			})
		}
	}
}

// TestPriorityModelRejects: the model accepts a Priority of no other settings.
func TestPriorityModelRejects(t *testing.T) {
	for name, open := range map[string]func(func(byte)) sluice.Channel[byte]{
		"FIFO":      func(func(byte)) sluice.Channel[byte] { return sluice.NewBounded[byte](3, nil) },
		"limit":     openPriority(2, 2, sluice.Block),
		"maxPassed": openPriority(3, 1, sluice.Block),
		"policy":    openPriority(3, 2, sluice.DropLeastUrgent),
	} {
		rejected := false
		for seed := uint64(0); seed < 2000 && !rejected; seed++ {
			run := Record(t, Plan{Clients: 2, Calls: 6, Filled: 3, Open: open}, seed)
			rejected = Explain(run, Ranked(3, 2, sluice.Block)) != nil
		}
		if !rejected {
			t.Errorf("%s: every history is accepted", name)
		}
	}
}
