package stress

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/spill"
)

// TestLinearizableSpill: a channel that overflows to disk is a queue without a limit. Len is
// left out, because it may miss the value of a send under way that is ordered before others:
// docs/design/spill.md.
func TestLinearizableSpill(t *testing.T) {
	dir := t.TempDir()
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

// TestLinearizableDurable: a channel that stores its values is a queue whose sends take
// time: see Stored.
func TestLinearizableDurable(t *testing.T) {
	for range rounds(300) {
		var c *spill.Durable[byte]
		plan := Plan{Clients: 2 + rand.IntN(3), Calls: 2 + rand.IntN(5), Filled: rand.IntN(3)}
		dir := t.TempDir()
		plan.Open = func(func(byte)) sluice.Channel[byte] {
			var err error
			if c, err = spill.OpenDurable[byte](dir, nil); err != nil {
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
