package predict

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
)

func TestDoublingsOfCPUs(t *testing.T) {
	for cpus, want := range map[int][]int{1: {1}, 2: {1, 2}, 6: {1, 2, 4, 6}, 8: {1, 2, 4, 8}} {
		if got := Doublings(cpus); !slices.Equal(got, want) {
			t.Errorf("of %d CPUs: %v, want %v", cpus, got, want)
		}
	}
}

// Each round has every count, in varying order.
func TestSweepInterleaves(t *testing.T) {
	points := Sweep{Procs: []int{1, 2, 4}, Count: 3, Capacity: 16}.Points()
	var order []int
	for _, p := range points {
		order = append(order, p.Procs)
		if p.Count != 1 || len(p.Entries) != 3 {
			t.Errorf("%+v", p)
		}
	}
	if want := []int{1, 2, 4, 2, 4, 1, 4, 1, 2}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
}

// Each entry does its work.
func TestSweepWorks(t *testing.T) {
	for _, one := range []bool{false, true} {
		sweep := Sweep{Procs: []int{1, 2}, Count: 1, Capacity: 64, OneConsumer: one}
		for _, point := range sweep.Points() {
			for _, entry := range point.Entries {
				reading, err := entry.Pass()
				if err != nil || reading.Ops != passValues || reading.Elapsed <= 0 {
					t.Errorf("one consumer %v, %s, %s: %+v, %v", one, point.Name, entry.Contender, reading, err)
				}
			}
		}
		if strings.Contains(sweep.Workload(), "1 consumer") != one {
			t.Errorf("one consumer %v: %s", one, sweep.Workload())
		}
	}
}

// outcome returns the outcome of a repetition.
func outcome(procs int, err error, ns ...float64) measure.Outcome {
	o := measure.Outcome{Point: &measure.Point{Setting: measure.Setting{Procs: procs}}}
	for i, name := range []measure.ContenderID{oneByOne, inBatches, inLanes} {
		r := measure.Result{Contender: name}
		if i < len(ns) {
			r.Repetitions = []measure.Repetition{{Figures: []measure.Figure{{Unit: measure.NsPerOp, Value: ns[i]}}}}
		}
		if i == 1 {
			r.Err = err
		}
		o.Results = append(o.Results, r)
	}
	return o
}

func TestCollect(t *testing.T) {
	sweep := Sweep{}
	swept, err := sweep.Collect([]measure.Outcome{outcome(2, nil, 50, 5, 25), outcome(1, nil, 40, 4, 20), outcome(2, nil, 100, 5, 25), outcome(2, nil, 40, 5, 25), outcome(1, nil)})
	if err != nil || len(swept.Single) != 2 || len(swept.Batches) != 2 || len(swept.Lanes) != 2 {
		t.Fatalf("%+v, %v", swept, err)
	}
	if c, ok := countAt(swept.Single, 2); !ok || c.X != 2e7 || c.N != 3 || c.Lo != 1e7 || c.Hi != 2.5e7 {
		t.Errorf("%+v", c)
	}
	if c, _ := countAt(swept.Batches, 1); c.X != 2.5e8 || c.N != 1 {
		t.Errorf("%+v", c)
	}
	if _, ok := countAt(swept.Single, 3); ok {
		t.Error("3 CPUs were not measured")
	}
	lost := errors.New("lost a value")
	if _, err := sweep.Collect([]measure.Outcome{outcome(4, lost, time.Second.Seconds())}); !errors.Is(err, lost) || !strings.Contains(err.Error(), "GOMAXPROCS 4, in batches") {
		t.Errorf("error %v", err)
	}
}

// countAt returns the count with procs CPUs.
func countAt(counts []Point, procs int) (Point, bool) {
	i := slices.IndexFunc(counts, func(c Point) bool { return c.Procs == procs })
	if i < 0 {
		return Point{}, false
	}
	return counts[i], true
}
