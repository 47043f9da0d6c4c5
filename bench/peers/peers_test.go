package peers

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/workload"
)

// all returns every peer.
func all() []contender.Contender {
	return []contender.Contender{
		Chanx(), XsyncUMPSC(), XsyncMPMC(), XsyncSPSC(),
		LfqSPSC(), LfqMPMC(), LfqMPMCYielding(), Disruptor(), DisruptorSpinning(),
	}
}

// Whatever a peer's own Close does, as a contender it delivers its backlog, one
// by one or in a loop, and then reports the end.
func TestBacklogSurvivesClose(t *testing.T) {
	const n = 10_000
	for _, c := range all() {
		t.Run(c.Name, func(t *testing.T) {
			ch := c.Make(n)
			ch.Send(0, n/2)
			ch.Send(n/2, n)
			ch.Close()
			first := uint64(0)
			for ; first < 10 && !c.LoopsOnly; first++ {
				if got := ch.Recv(1); got.Count != 1 || got.Last() != first {
					t.Fatalf("received %+v, not %d", got, first)
				}
			}
			rest := ch.Recv(contender.All)
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
	for _, c := range all() {
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
		if c.LoopsOnly { // the disruptors, which move batches, too
			if _, err := workload.OneWay(128, 1, 1).Run(c.InBatches(workload.BatchSize), 2000); err != nil {
				t.Error(err)
			}
		}
	}
}

// A handler gets the backlog, too.
func TestEach(t *testing.T) {
	for _, c := range all() {
		ch, pushes := c.Make(64).(interface {
			contender.Channel
			Each(take func(uint64))
		})
		if !pushes {
			continue
		}
		ch.Send(0, 50)
		ch.Close()
		sum := uint64(0)
		if ch.Each(func(v uint64) { sum += v }); sum != 50*49/2 {
			t.Errorf("%s: the sum %d", c.Name, sum)
		}
	}
}

// A contender that left its pump behind would slow down the contenders measured
// after it.
func TestDrainedPeersLeaveNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, c := range all() {
		for range 20 {
			ch := c.Make(100)
			ch.Send(0, 100)
			ch.Close()
			ch.Recv(contender.All)
		}
	}
	for runtime.NumGoroutine() > before {
		// A pump may still be about to exit. If one never exits, the test times
		// out and the stacks show where it is.
		time.Sleep(time.Millisecond)
	}
}
