package batch_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
)

// TestFlushHasRoom: a batch that is flushed has all values that were sent before, although one
// receive does not get them all.
func TestFlushHasRoom(t *testing.T) {
	one := func(int) int { return 1 }
	t.Run("MaxBytes", func(t *testing.T) {
		flushesAll(t, sluice.NewElastic[int](sluice.Unlimited, nil), 3000, &batch.Options[int]{Linger: time.Hour, MaxBytes: 1 << 20, Size: one})
	})
	t.Run("many values", func(t *testing.T) {
		flushesAll(t, sluice.NewElastic[int](sluice.Unlimited, nil), 1<<18, &batch.Options[int]{Linger: time.Hour})
	})
	t.Run("Sharded", func(t *testing.T) {
		flushesAll(t, sluice.NewSharded[int](1<<12, &sluice.ShardedOptions[int]{Lanes: 4}), 3000, &batch.Options[int]{Linger: time.Hour})
	})
}

func flushesAll(t *testing.T, c sluice.Channel[int], most int, o *batch.Options[int]) {
	synctest.Test(t, func(t *testing.T) {
		n := most * 2 / 3
		batches := batch.Receive(t.Context(), c, most, o)
		go func() {
			_ = c.Send(t.Context(), 1)
			synctest.Wait()
			_, _ = c.SendBatch(t.Context(), slices.Repeat([]int{1}, n))
			batches.Flush()
			synctest.Wait()
			c.Close()
		}()
		var got []int
		for vs := range batches.All() {
			got = append(got, len(vs))
		}
		if len(got) != 1 || got[0] != n+1 {
			t.Errorf("batches of %v values, want one of all %d that were sent before the Flush", got, n+1)
		}
	})
}
