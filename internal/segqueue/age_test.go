package segqueue

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
)

// TestAgeOfLaterValue: a value that is sent while Stats waits for the locks, after it has
// read the clock, is never reported as older than it is.
func TestAgeOfLaterValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New(engine.Config[int]{Limit: 20})
		now := park.Now()
		time.Sleep(time.Minute)
		if err := e.TrySend(1); err != nil {
			t.Fatal(err)
		}
		var in engine.Snapshot
		e.Hold()
		e.Held(now, &in)
		e.Release()
		time.Sleep(time.Second)
		if age := e.Stats().OldestAtLeast; in.Stats.OldestAtLeast != 0 || age != time.Second {
			t.Errorf("the age is at least %v, then %v; want 0s, then 1s", in.Stats.OldestAtLeast, age)
		}
	})
}
