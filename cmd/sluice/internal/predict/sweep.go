package predict

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/workload"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
)

// A Sweep measures this machine: P producers share one channel on P CPUs.
type Sweep struct {
	Procs       []int // values of GOMAXPROCS
	Count       int   // repetitions
	Capacity    int   // slots of the channel
	OneConsumer bool  // instead of as many as producers
}

// The contenders of a sweep: the channel itself, and two remedies.
const (
	oneByOne  = "one by one"
	inBatches = "in batches"
	inLanes   = "in lanes"
)

// Size of the work.
const (
	passValues = 20_000
	target     = 50 * time.Millisecond // of one repetition
)

// Doublings returns 1, 2, 4 … and cpus.
func Doublings(cpus int) []int {
	var procs []int
	for n := 1; n < cpus; n *= 2 {
		procs = append(procs, n)
	}
	return append(procs, cpus)
}

// Workload describes the work, for the file of curves.
func (s Sweep) Workload() string {
	consumers := "as many consumers"
	if s.OneConsumer {
		consumers = "1 consumer"
	}
	return fmt.Sprintf("one chan uint64, GOMAXPROCS producers, %s, capacity %d", consumers, s.Capacity)
}

// Points plans the sweep. Each repetition of all counts precedes the next one,
// so that a disturbance of the machine affects all counts.
func (s Sweep) Points() []*measure.Point {
	var points []*measure.Point
	for round := range s.Count {
		for i := range s.Procs {
			procs := s.Procs[(round+i)%len(s.Procs)]
			points = append(points, &measure.Point{
				Setting: measure.Setting{
					Name:  fmt.Sprintf("GOMAXPROCS %d, repetition %d of %d", procs, round+1, s.Count),
					Procs: procs,
					Count: 1,
				},
				Target:  target,
				Entries: s.entries(procs),
			})
		}
	}
	return points
}

func (s Sweep) entries(procs int) []measure.Entry {
	consumers := procs
	if s.OneConsumer {
		consumers = 1
	}
	enter := func(name measure.ContenderID, w workload.Workload, c contender.Contender) measure.Entry {
		return measure.Entry{Contender: name, Pass: func() (measure.Reading, error) {
			result, err := w.Run(c, passValues)
			return measure.Reading{Ops: int(result.Items), Elapsed: result.Elapsed}, err
		}}
	}
	return []measure.Entry{
		enter(oneByOne, workload.OneWay(s.Capacity, procs, consumers), contender.Native()),
		enter(inBatches, workload.OneWay(s.Capacity, procs, consumers), contender.NativeSlices(workload.BatchSize)),
		enter(inLanes, workload.OneWay(s.Capacity, procs, consumers), contender.Sharded(context.Background())),
	}
}

// Collect returns the figures of the outcomes of Points, or the first error in
// them. An interrupted sweep has fewer figures.
func (s Sweep) Collect(outcomes []measure.Outcome) (Swept, error) {
	by := map[measure.ContenderID][]Point{}
	for _, outcome := range outcomes {
		for i := range outcome.Results {
			result := &outcome.Results[i]
			if result.Err != nil {
				return Swept{}, fmt.Errorf("GOMAXPROCS %d, %s: %w", outcome.Point.Procs, result.Contender, result.Err)
			}
			for _, ns := range result.Samples(measure.NsPerOp) {
				by[result.Contender] = append(by[result.Contender], Point{Procs: outcome.Point.Procs, X: 1e9 / ns})
			}
		}
	}
	return Swept{counts(by[oneByOne]), counts(by[inBatches]), counts(by[inLanes])}, nil
}
