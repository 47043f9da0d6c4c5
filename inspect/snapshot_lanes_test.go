package inspect_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/inspect"
)

// TestSnapshotLanes: a snapshot reports the values and the waiters of each lane.
func TestSnapshotLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		name := unique(t)
		c := sluice.NewSharded(3, &sluice.ShardedOptions[int]{Name: name, Lanes: 2})
		listed := named(name)[0]
		mine := c.Lane()
		for range 3 {
			if err := mine.Send(ctx, 1); err != nil {
				t.Fatal(err)
			}
		}
		for c.TrySend(1) == nil {
		}
		wait := func(f func()) {
			go f()
			synctest.Wait()
			time.Sleep(time.Second)
		}
		wait(func() { _ = c.Send(ctx, 1) }) // any lane
		wait(func() { _ = mine.Send(ctx, 1) })
		wait(func() { _ = c.SendKey(ctx, 7, 1) })
		wait(func() { _ = c.Send(ctx, 1) })
		snapshot := snapshotOf(t, listed)
		wantAges(t, "senders", snapshot.Senders, snapshot.Stats.OldestSender, 4, 3, 2, 1)
		lanes := map[string]int{}
		for _, l := range snapshot.Lanes {
			lanes[fmt.Sprint(l)]++
		}
		want := []inspect.Lane{
			{Private: true, InUse: true, Len: 3, Cap: 3, HighWater: 3, Senders: 1, OldestSender: 3 * time.Second},
			{InUse: true, Len: 3, Cap: 3, HighWater: 3, Senders: 1, OldestSender: 2 * time.Second},
			{InUse: true, Len: 3, Cap: 3, HighWater: 3},
		}
		for _, l := range want {
			if lanes[fmt.Sprint(l)] != 1 {
				t.Errorf("no lane is %+v in %+v", l, snapshot.Lanes)
			}
		}
		if len(snapshot.Lanes) != len(want) {
			t.Errorf("%d lanes, want %d", len(snapshot.Lanes), len(want))
		}
		c.Close()
		runtime.KeepAlive(mine)
	})
}
