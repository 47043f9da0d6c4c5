package peers

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/workload"
)

// Whatever a peer's own Close does, as a contender it delivers its backlog, one
// by one or in a loop, and then reports the end.
func TestBacklogSurvivesClose(t *testing.T) {
	const n = 10_000
	for _, c := range All() {
		t.Run(c.Name, func(t *testing.T) {
			ch := c.Make(n)
			for v := range uint64(n / 2) {
				ch.Send(v)
			}
			ch.SendRange(n/2, n)
			ch.Close()
			first := uint64(0)
			for ; first < 10 && !isPushing(c); first++ {
				if v, ok := ch.Recv(); !ok || v != first {
					t.Fatalf("received %d, %v, not %d", v, ok, first)
				}
			}
			rest := ch.Drain()
			if rest.Count != n-first || rest.Sum != n*(n-1)/2-first*(max(1, first)-1)/2 || rest.Unordered != 0 {
				t.Errorf("the rest of %d values: %+v", n-first, rest)
			}
		})
	}
}

// Every peer carries every value of the workloads that it can do, except for those of lfq:
// the MPMC one loses some, which the speed board shows, and the race detector does not see
// atomic operations in assembly.
func TestEveryPeerDoesTheWork(t *testing.T) {
	for _, c := range All() {
		if strings.HasPrefix(c.Name, "lfq") {
			continue
		}
		for _, shape := range [][2]int{{1, 1}, {8, 1}, {1, 8}} {
			if w := workload.OneWay(128, shape[0], shape[1]); w.Can(c) {
				if _, err := w.Run(c, 2000); err != nil {
					t.Error(err)
				}
			}
		}
		if w := workload.OneWayBatches(128, 1, 1); w.Can(c) {
			if _, err := w.Run(c, 2000); err != nil {
				t.Error(err)
			}
		}
	}
}

// isPushing reports whether a peer has a handler instead of a Recv.
func isPushing(c contender.Contender) bool { return strings.HasPrefix(c.Name, "go-disruptor") }

// A handler gets the backlog, too.
func TestEach(t *testing.T) {
	for _, c := range All() {
		ch, pushes := c.Make(64).(interface {
			contender.Channel
			Each(take func(uint64))
		})
		if !pushes {
			continue
		}
		ch.SendRange(0, 50)
		ch.Close()
		sum := uint64(0)
		if ch.Each(func(v uint64) { sum += v }); sum != 50*49/2 {
			t.Errorf("%s: the sum %d", c.Name, sum)
		}
	}
}

// Recv reports the end, as Drain does.
func TestRecvSeesTheEnd(t *testing.T) {
	for _, c := range All() {
		if isPushing(c) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			ch := c.Make(4)
			ch.Send(7)
			ch.Close()
			if v, ok := ch.Recv(); !ok || v != 7 {
				t.Fatalf("received %d, %v, not 7", v, ok)
			}
			if v, ok := ch.Recv(); ok {
				t.Errorf("received %d after the end", v)
			}
		})
	}
}

// A contender that left its pump behind would slow down the contenders measured
// after it.
func TestDrainedPeersLeaveNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, c := range All() {
		for range 20 {
			ch := c.Make(100)
			ch.SendRange(0, 100)
			ch.Close()
			ch.Drain()
		}
	}
	for runtime.NumGoroutine() > before {
		// A pump may still be about to exit. If one never exits, the test times
		// out and the stacks show where it is.
		time.Sleep(time.Millisecond)
	}
}

func TestPeersHaveNotes(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range All() {
		if seen[c.Name] || c.Name == "" {
			t.Errorf("the name %q does not identify a peer", c.Name)
		}
		seen[c.Name] = true
		if c.Note == "" {
			t.Errorf("%s: the note is missing", c.Name)
		}
	}
}
