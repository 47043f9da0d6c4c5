package inspect_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/inspect"
)

// TestSnapshotRings: after each send and each receive the rings report which slots hold
// the values.
func TestSnapshotRings(t *testing.T) {
	eachKind(t, func(t *testing.T, c sluice.Channel[int], listed inspect.Channel) {
		rings := snapshotOf(t, listed).Rings
		if c.Cap() == 0 || listed.Kind == "Sharded" {
			if rings != nil {
				t.Errorf("%+v", rings)
			}
			return
		}
		random := rand.New(rand.NewPCG(7, uint64(c.Cap())))
		most := 0
		for step := range 5000 {
			var err error
			sends := random.IntN(1000) < 500+400*(1-2*(step/1250%2)) // more, then fewer
			if sends {
				err = c.TrySend(step)
			} else {
				_, err = c.TryRecv()
			}
			snapshot := snapshotOf(t, listed)
			if problem := ringProblem(snapshot, listed.Kind == "Bounded"); problem != "" {
				t.Fatalf("step %d, %v, %v: %s: %+v", step, sends, err, problem, snapshot.Rings)
			}
			if before := rings; err == nil && listed.Kind == "Bounded" {
				sent, received := 1, 0
				if !sends {
					sent, received = 0, 1
				}
				now := snapshot.Rings[0]
				if now.Send != (before[0].Send+sent)%now.Slots || now.Receive != (before[0].Receive+received)%now.Slots {
					t.Fatalf("step %d: from %+v to %+v", step, before[0], now)
				}
			}
			rings = snapshot.Rings
			most = max(most, len(rings))
		}
		if listed.Kind == "Elastic" && c.Cap() == 2000 && most < 3 {
			t.Errorf("at most %d rings: the test needs several", most)
		}
	})
}

// TestSnapshotLimitsRings: a snapshot lists the 64 rings at the head of an Elastic.
func TestSnapshotLimitsRings(t *testing.T) {
	name := unique(t)
	c := sluice.NewElastic[int](sluice.Unlimited, &sluice.ElasticOptions[int]{Name: name})
	for i := range 200_000 {
		if err := c.TrySend(i); err != nil {
			t.Fatal(err)
		}
	}
	snapshot, ok := named(name)[0].Snapshot()
	sum := 0
	for _, r := range snapshot.Rings {
		sum += r.Len
	}
	if !ok || len(snapshot.Rings) != 64 || snapshot.Rings[0].Receive != 0 || sum == 0 || sum >= snapshot.Stats.Len {
		t.Errorf("%d rings, with %d of %d values", len(snapshot.Rings), sum, snapshot.Stats.Len)
	}
	runtime.KeepAlive(c)
}

// ringProblem describes the first inconsistency between the rings and the Stats of a
// snapshot. one is true for a channel with a single ring.
func ringProblem(snapshot inspect.Snapshot, one bool) string {
	sum := 0
	for i, r := range snapshot.Rings {
		sum += r.Len
		switch {
		case r.Slots&(r.Slots-1) != 0 || r.Send < 0 || r.Send >= r.Slots || r.Receive < 0 || r.Receive >= r.Slots:
			return fmt.Sprint("index out of range in ring ", i)
		case (r.Receive+r.Len)%r.Slots != r.Send || r.Len > r.Slots:
			return fmt.Sprint("Send, Receive and Len contradict each other in ring ", i)
		}
	}
	switch {
	case sum != snapshot.Stats.Len:
		return fmt.Sprint("the rings hold ", sum, " values, want ", snapshot.Stats.Len)
	case one && (len(snapshot.Rings) != 1 || snapshot.Rings[0].Slots < snapshot.Stats.Cap):
		return "want a single ring with a slot for each value"
	}
	return ""
}
