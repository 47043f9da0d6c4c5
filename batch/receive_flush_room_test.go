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
	type large [64 << 10]byte
	one := func(int) int { return 1 }
	t.Run("MaxBytes", func(t *testing.T) {
		flushesAll(t, sluice.NewElastic[int](sluice.Unlimited, nil), 1, &batch.Options[int]{Linger: time.Hour, MaxBytes: 1 << 20, Size: one})
	})
	t.Run("large values", func(t *testing.T) {
		flushesAll(t, sluice.NewElastic[large](sluice.Unlimited, nil), large{}, &batch.Options[large]{Linger: time.Hour})
	})
	t.Run("Sharded", func(t *testing.T) {
		flushesAll(t, sluice.NewSharded[int](1<<12, &sluice.ShardedOptions[int]{Lanes: 4}), 1, &batch.Options[int]{Linger: time.Hour})
	})
}

func flushesAll[T any](t *testing.T, c sluice.Channel[T], v T, o *batch.Options[T]) {
	synctest.Test(t, func(t *testing.T) {
		const most = 3000
		batches := batch.Receive(t.Context(), c, most, o)
		go func() {
			_ = c.Send(t.Context(), v)
			synctest.Wait()
			_, _ = c.SendBatch(t.Context(), slices.Repeat([]T{v}, 2000))
			batches.Flush()
			synctest.Wait()
			c.Close()
		}()
		var got []int
		for vs := range batches.All() {
			got = append(got, len(vs))
		}
		if len(got) != 1 || got[0] != 2001 {
			t.Errorf("batches of %v values, want one of all 2001 that were sent before the Flush", got)
		}
	})
}
