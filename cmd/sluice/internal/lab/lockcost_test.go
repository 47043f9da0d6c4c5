package lab

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
)

// pretendFarms returns made-up figures of lock-cost: over returns each overhead
// as a fraction of the ideal. The i-th repetition of each entry takes 0.1%
// times i of the ideal more, except that sleeps do not vary.
func pretendFarms(s Scale, over func(contender ContenderID, p *Point, job time.Duration) float64) Measured {
	sections := lockCostStudy.Sections(s)
	var outcomes []measure.Outcome
	for _, section := range sections {
		for _, p := range section.Points {
			job := jobSize(p)
			outcome := measure.Outcome{Point: &p.Point}
			for _, entry := range p.Entries {
				result := measure.Result{Contender: entry.Contender}
				for i := range p.Count {
					ratio := 1 + over(entry.Contender, p, job)
					if section.Name != sectionSleep {
						ratio += float64(i) / 1000
					}
					reading := farmed(1, ratio, ratio*float64(job))
					result.Repetitions = append(result.Repetitions, measure.Repetition{Ops: 1, Figures: reading.Figures})
				}
				outcome.Results = append(outcome.Results, result)
			}
			outcomes = append(outcomes, outcome)
		}
	}
	return NewMeasured(sections, outcomes)
}

// jobSize reads the size of a point's jobs from its labels.
func jobSize(p *Point) time.Duration {
	i := slices.IndexFunc(p.Labels, func(l measure.Label) bool { return l.Key == "job" })
	d, err := time.ParseDuration(p.Labels[i].Value)
	if err != nil {
		panic(err)
	}
	return d
}

// constantCost returns a transfer cost of ns per value, for any job.
func constantCost(ns float64) func(ContenderID, *Point, time.Duration) float64 {
	return func(_ ContenderID, _ *Point, job time.Duration) float64 { return transfers * ns / float64(job) }
}

func sizeOf(p *Point) int {
	i := slices.IndexFunc(p.Labels, func(l measure.Label) bool { return l.Key == "batch" })
	n := 0
	for _, digit := range p.Labels[i].Value {
		n = 10*n + int(digit-'0')
	}
	return n
}

func TestLockFindings(t *testing.T) {
	c := lockConclusion(pretendFarms(Scale{CPUs: 2}, func(id ContenderID, p *Point, job time.Duration) float64 {
		switch {
		case strings.HasPrefix(p.Name, "workers") && id == publishedFarm:
			return 1.5
		case strings.HasPrefix(p.Name, "sleep"):
			if id == publishedFarm && p.Procs == 2 {
				return 2
			}
			return 0.5
		case id == workersMap:
			return -0.01
		}
		return constantCost(50)(id, p, job)
	}))
	contains(t, c.Findings, "costs (jobs of 0.1 µs, GOMAXPROCS 1) 50.2 (50.0 to 50.4) ns with “published”")
	contains(t, c.Findings, "at most 0.1 µs with “workers.Map”")
	contains(t, c.Findings, "The smallest batch that brings jobs of 100 ns, GOMAXPROCS 2, under 1% is more than 1024 jobs with “native slices”, “sluice.Bounded batches” and “batch.Sender Map”.")
	contains(t, c.Findings, "workers.Map instead of “native 1024 slots”, with jobs of 100 ns, is 2.0")
	contains(t, c.Findings, "busy jobs of 1 µs with the published channels are as fast, within noise, with 3 and 10.")
	contains(t, c.Findings, "Beside the same sleeps without any channel, they are as fast, within noise, with sleeps of 100 µs at GOMAXPROCS 1,")
	contains(t, c.Findings, "2.00 (2.00 to 2.00) times as slow with sleeps of 100 µs at GOMAXPROCS 2,")
}

// A quick run has enough sizes for an answer; sleeps alone do not answer the question.
func TestLockAnswerOfPart(t *testing.T) {
	if c := lockConclusion(pretendFarms(Scale{CPUs: 2, Size: AsPublished}, constantCost(50))); c.Answer != "" || len(c.Findings) != 1 {
		t.Errorf("of sleeps alone: %+v", c)
	}
	if c := lockConclusion(pretendFarms(Scale{CPUs: 2, Size: Quick}, constantCost(50))); c.Answer == "" {
		t.Errorf("a quick run has no answer")
	}
}

// The answer covers that no job is long enough, that all are, what lies between, and that
// too few repetitions decide nothing.
func TestLockAnswer(t *testing.T) {
	for ns, want := range map[float64]string{10_000: "more than 100 µs.", 0.05: "at most 0.1 µs.", 30: "between 3 µs and 30 µs."} {
		c := lockConclusion(pretendFarms(Scale{CPUs: 2}, constantCost(ns)))
		if !strings.Contains(c.Answer, " on a channel of 1024 slots (3 workers, GOMAXPROCS 2): "+want) {
			t.Errorf("%v ns: %q, want %q", ns, c.Answer, want)
		}
	}
	if c := lockConclusion(pretendFarms(Scale{CPUs: 2, Count: 2}, constantCost(50))); !strings.Contains(c.Answer, ": undecided.") {
		t.Errorf("of two repetitions: %q", c.Answer)
	}
}

// The shortest job is between the last size that is clearly above the limit and the first
// from which on all are clearly below.
func TestShortest(t *testing.T) {
	const above, below, either = 1.05, 1.001, 0
	for _, tt := range []struct {
		ratios []float64
		want   string
	}{
		{[]float64{above, above, below, below}, "between 300 ns and 1 µs"},
		{[]float64{above, either, below, below}, "between 100 ns and 1 µs"},
		{[]float64{above, below, either, below}, "between 100 ns and 3 µs"},
		{[]float64{above, below, above, below}, "between 1 µs and 3 µs"},
		{[]float64{above, above, above, either}, "more than 1 µs"},
		{[]float64{either, below, below, below}, "at most 300 ns"},
		{[]float64{below, below, below, below}, "at most 100 ns"},
		{[]float64{either, either, either, either}, "undecided"},
	} {
		var m Measured
		for i, ratio := range tt.ratios {
			result := measure.Result{Contender: native}
			for round := range 9 {
				value := ratio
				if ratio == either {
					value = 0.99 + 0.01*float64(round)
				}
				result.Repetitions = append(result.Repetitions, measure.Repetition{Figures: []measure.Figure{{Unit: timesIdeal, Value: value}}})
			}
			m = append(m, spot{&Point{X: jobSizes[i].String()}, sectionBusy, &measure.Outcome{Results: []measure.Result{result}}, timesIdeal})
		}
		if got := strings.ReplaceAll(shortest(m, native, func(s spot) string { return s.X }), "ns", " ns"); strings.ReplaceAll(got, "µs", " µs") != tt.want {
			t.Errorf("%v: %q, want %q", tt.ratios, got, tt.want)
		}
	}
}

// A contender with fixed batches takes part only where a batch is not the whole
// run, and is listed as left out elsewhere.
func TestNoBatchHoldsUpARun(t *testing.T) {
	in, out := 0, 0
	for _, p := range lockBusy(Scale{}).Points {
		long := farmBatch*jobSize(p) > heldUp
		if takesPart(p, nativeSlices) == long || leavesOut(p, nativeSlices) != long {
			t.Errorf("%s: slices take part %v, are left out %v, batch too long %v", p.Name, takesPart(p, nativeSlices), leavesOut(p, nativeSlices), long)
		}
		if long {
			out++
		} else {
			in++
		}
	}
	if in == 0 || out == 0 {
		t.Errorf("slices take part in %d points, and not in %d", in, out)
	}
	for _, p := range lockBatch(Scale{}).Points {
		if work := time.Duration(sizeOf(p)) * jobSize(p); work > heldUp {
			t.Errorf("%s: a batch is %v of work", p.Name, work)
		}
	}
}

// A farm that loses a job has no figure.
func TestFarmsAreChecked(t *testing.T) {
	honest := contender.Between(contender.Native(), 8)
	lossy := contender.Farm{Name: "lossy", Run: func(workers int, n uint64, job func()) (contender.Tally, time.Duration) {
		return honest.Run(workers, n-1, job)
	}}
	g := Scale{Size: Quick}.grind(farmWorkers, 1, 1, time.Microsecond)
	if r, err := g.farm("lossy", lossy).Pass(); err == nil || r.Figures != nil {
		t.Errorf("figures %v, error %v", r.Figures, err)
	}
	if _, err := g.farm("honest", honest).Pass(); err != nil {
		t.Error(err)
	}
}

// The study's work is 12 s in all, the same for each worker.
func TestSleeps(t *testing.T) {
	for _, size := range studySleeps {
		if n := (Scale{Size: AsPublished}).sleeps(size); time.Duration(n)*size != 12*time.Second {
			t.Errorf("%d sleeps of %v are not 12 s", n, size)
		}
		for _, s := range Sizes() {
			if n := (Scale{Size: s}).sleeps(size); n < farmWorkers || n%farmWorkers != 0 {
				t.Errorf("%v: %d sleeps of %v for %d workers", s, n, size, farmWorkers)
			}
		}
	}
}

// A run has several batches, and enough single jobs that the last one is a
// small part of the whole.
func TestGrind(t *testing.T) {
	for _, size := range jobSizes {
		for _, batch := range batchSizes {
			if time.Duration(batch)*size > heldUp {
				continue
			}
			g := Scale{}.grind(farmWorkers, 2, batch, size).inBatches(batch)
			if g.jobs < 8*batch || g.jobs < 60 || g.pairs < 1 || g.portion < batch || time.Duration(g.portion)*size > heldUp {
				t.Errorf("jobs of %v in batches of %d: %+v", size, batch, g)
			}
		}
	}
}
