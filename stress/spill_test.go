package stress

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/ramdir"
	"github.com/sluice-go/sluice/spill"
)

// TestLinearizableSpill: a channel that overflows to disk is a queue without a limit. Len is
// left out, because it may miss the value of a send under way that is ordered before others:
// docs/design/spill.md.
func TestLinearizableSpill(t *testing.T) {
	dir := ramdir.New(t)
	for _, memory := range []int64{1, 2, 4, 1 << 10} {
		t.Run(fmt.Sprint(memory, " bytes in memory"), func(t *testing.T) {
			for range rounds(3000) {
				plan := Plan{Clients: 2 + rand.IntN(3), Calls: 2 + rand.IntN(5), Filled: rand.IntN(4), NoLen: true}
				plan.Open = func(func(byte)) sluice.Channel[byte] {
					c, err := spill.OpenElastic(dir, &spill.ElasticOptions[byte]{MemoryLimit: memory})
					if err != nil {
						t.Fatal(err)
					}
					return c
				}
				seed := rand.Uint64()
				run := Record(t, plan, seed)
				if err := Explain(run, Model(sluice.Unlimited, sluice.Block)); err != nil {
					t.Fatalf("seed %d: %v\n%s", seed, err, Render(run.History))
				}
			}
		})
	}
}

// TestLinearizableSpillPolicies: with a Capacity, a channel that overflows to disk is a queue of that
// capacity with that policy, also while receivers compete with a send that drops the oldest
// value, whether values are in memory, on disk or both. Len is exact.
func TestLinearizableSpillPolicies(t *testing.T) {
	dir := ramdir.New(t)
	for _, overflow := range []sluice.Overflow{sluice.Block, sluice.Reject, sluice.DropNewest, sluice.DropOldest} {
		t.Run(overflow.String(), func(t *testing.T) {
			for range rounds(6000) {
				capacity, memory := 1+rand.IntN(4), int64(1)<<rand.IntN(5)
				plan := Plan{Clients: 2 + rand.IntN(3), Calls: 2 + rand.IntN(5), Filled: rand.IntN(capacity + 1)}
				plan.Open = func(onDrop func(byte)) sluice.Channel[byte] {
					o := &spill.ElasticOptions[byte]{MemoryLimit: memory, Capacity: capacity, Overflow: overflow}
					if overflow == sluice.DropNewest || overflow == sluice.DropOldest {
						o.OnUndelivered = dropped(onDrop)
					}
					if rand.IntN(2) == 0 {
						o.Size = func(byte) int { return 1 }
					}
					c, err := spill.OpenElastic(dir, o)
					if err != nil {
						t.Fatal(err)
					}
					return c
				}
				seed := rand.Uint64()
				run := Record(t, plan, seed)
				if err := Explain(run, Model(capacity, overflow)); err != nil {
					t.Fatalf("capacity %d, %d bytes in memory, seed %d: %v\n%s", capacity, memory, seed, err, Render(run.History))
				}
			}
		})
	}
}

// TestLinearizableDurable: a channel that stores its values is a queue whose sends take
// time: see Stored.
func TestLinearizableDurable(t *testing.T) {
	for range rounds(300) {
		var c *spill.Durable[byte]
		plan := Plan{Clients: 2 + rand.IntN(3), Calls: 2 + rand.IntN(5), Filled: rand.IntN(3)}
		dir := ramdir.New(t)
		fresh := []time.Duration{0, time.Hour}[rand.IntN(2)] // with both values come in order
		plan.Open = func(func(byte)) sluice.Channel[byte] {
			var err error
			if c, err = spill.OpenDurable(dir, &spill.DurableOptions[byte]{Fresh: fresh}); err != nil {
				t.Fatal(err)
			}
			return c.AutoAck()
		}
		seed := rand.Uint64()
		run := Record(t, plan, seed)
		if err := c.Shutdown(); err != nil {
			t.Error(err)
		}
		noteSends(run.History)
		if err := Explain(run, Stored()); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, Render(run.History))
		}
	}
}
