package lab

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// pretendFarms returns made-up figures of lock-cost: over returns each overhead
// as a fraction of the ideal. The i-th repetition of each entry takes 0.1%
// times i of the ideal more, except that sleeps do not vary.
func pretendFarms(s Scale, over func(contender ContenderID, p *Point, job time.Duration) float64) *Measured {
	sections := lockCostStudy.Sections(s)
	var outcomes []measure.Outcome
	for _, section := range sections {
		for _, p := range section.Points {
			job := jobOf(p)
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

// jobOf reads the size of a point's jobs from its labels.
func jobOf(p *Point) time.Duration {
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

func TestLockSummary(t *testing.T) {
	m := pretendFarms(Scale{CPUs: 2}, func(id ContenderID, p *Point, job time.Duration) float64 {
		switch {
		case p.Procs == 1:
			return 10
		case id == nativeUnbuffered:
			return constantCost(150)(id, p, job) + 0.5
		case id == boundedBatches && job == time.Microsecond:
			return 0.26 / float64(batchOf(p))
		}
		return constantCost(30)(id, p, job)
	})
	c := lockConclusion(m)
	contains(t, c.Summary, "One value costs 30 ns through a buffered channel and 150 ns plus 50% of the job's time through "+
		"an unbuffered one (GOMAXPROCS=2). Jobs shorter than 10 µs spend more than 1% on the channel: batch them.")
	contains(t, c.Summary, "Through a sluice.Bounded, jobs of 1 µs spend less than 1% in batches of 47 or more.")
	if len(c.Tables) != 4 {
		t.Errorf("%d tables, want 4", len(c.Tables))
	}
	for _, table := range c.Tables {
		for _, row := range table.Rows {
			if len(row) != len(table.Head) {
				t.Errorf("%s: the row of %s has %d cells, the head %d", table.Title, row[0], len(row), len(table.Head))
			}
		}
	}
}

func batchOf(p *Point) int {
	i := slices.IndexFunc(p.Labels, func(l measure.Label) bool { return l.Key == "batch" })
	n := 0
	for _, digit := range p.Labels[i].Value {
		n = 10*n + int(digit-'0')
	}
	return n
}

// The summary covers the cases that no job is long enough, and that all are.
func TestLockSummaryAtTheEnds(t *testing.T) {
	for _, tt := range []struct {
		ns   float64
		want string
	}{
		{10_000, "Jobs of up to 100 µs spend more than 1% on the channel: batch them."},
		{0.1, "Jobs of 100 ns or more need no batches."},
	} {
		contains(t, lockConclusion(pretendFarms(Scale{CPUs: 2}, constantCost(tt.ns))).Summary, tt.want)
	}
}

func TestLockFindings(t *testing.T) {
	m := pretendFarms(Scale{CPUs: 2}, func(id ContenderID, p *Point, job time.Duration) float64 {
		switch {
		case p.Panel == (Panel{}) && id == workersBacklog:
			return 0.25
		case p.Panel == (Panel{}) && id == publishedFarm:
			return 1.5
		case p.LeftOut != nil && strings.HasPrefix(p.Name, "sleep"):
			if id == publishedFarm && p.Procs == 2 {
				return 0.6
			}
			return 0.5
		case id == workersMap:
			return 0
		}
		return constantCost(50)(id, p, job)
	})
	findings := lockFindings(m)
	contains(t, findings, "At GOMAXPROCS 1 one value, a job or a result, costs 50.0 ns (50.0 to 50.0) through “published”")
	contains(t, findings, "“workers.Map” at most 100 ns")
	contains(t, findings, "The smallest batch that brings jobs of 100 ns under 1%: “native, slices” more than 1024")
	contains(t, findings, "workers.Map instead of native, 1024 slots, with jobs of 100 ns, saves 49.9% ± 0.1% at GOMAXPROCS 1 and 49.9% ± 0.1% at 2.")
	contains(t, findings, "workers.Run takes this part of its workers' time: 20.3% (20.1% to 20.4%) with jobs of 0.1 µs")
	contains(t, findings, "the overhead of busy jobs of 1 µs is 150% (150% to 151%) with 1, 150% (150% to 151%) with 3")
	contains(t, findings, "Sleeps of 100 µs at GOMAXPROCS 1, as published, have an overhead of 50.0% (50.0% to 50.0%); without any channel, "+
		"50.0% (50.0% to 50.0%): the overhead is the timer's; the channels add nothing beyond noise.")
	contains(t, findings, "plus 10.0 (10.0 to 10.0) percentage points of the channels.")
	// 10 points of 100 µs, which three workers share, over two operations.
	if row := m.sleepTable().Rows[3]; row[0] != "GOMAXPROCS 2, 100 µs" || row[4] != "1.67 (1.67 to 1.67)" {
		t.Errorf("row %q", row)
	}
}

// Without intervals no finding is beyond noise.
func TestLockFindingsOfTooFewRepetitions(t *testing.T) {
	c := lockConclusion(pretendFarms(Scale{CPUs: 2, Count: 2}, constantCost(50)))
	contains(t, c.Findings, "too few repetitions to separate the channels' part")
	contains(t, c.Findings, " µs, no interval")
	if row := c.Tables[3].Rows[0]; row[4] != "no interval" {
		t.Errorf("without intervals an operation costs %q", row[4])
	}
	contains(t, c.Findings, "50.0 ns (no interval)")
}

func TestLockTablesOfPart(t *testing.T) {
	m := pretendFarms(Scale{CPUs: 2, Size: AsPublished}, constantCost(50))
	c := lockConclusion(m)
	if len(c.Tables) != 1 || c.Tables[0].Title != m.sleepTable().Title || len(c.Summary) != 0 {
		t.Errorf("of sleeps alone: summary %q, tables %+v", c.Summary, c.Tables)
	}
	// Quick has enough sizes for a line and for a threshold.
	c = lockConclusion(pretendFarms(Scale{CPUs: 2, Size: Quick}, constantCost(50)))
	if len(c.Tables) != 4 || len(c.Summary) == 0 {
		t.Errorf("of a quick run: summary %q, %d tables", c.Summary, len(c.Tables))
	}
}

// A line of prices has no price that is not known.
func TestUnknownPrices(t *testing.T) {
	m := pretendFarms(Scale{CPUs: 2}, constantCost(50))
	for _, outcome := range m.outcomes {
		r := outcome.Result(nativeUnbuffered)
		if r == nil {
			continue
		}
		for i := range r.Repetitions { // each costs twice as much
			figures := r.Repetitions[i].Figures
			factor := math.Pow(2, float64(i))
			r.Repetitions[i].Figures = farmed(1, 1+factor*(figures[0].Value-1), figures[1].Value+(factor-1)*2*50).Figures
		}
	}
	findings := lockFindings(m)
	contains(t, findings, " through “sluice.Elastic”; what it costs through “native, unbuffered” is not known here: sluice lab -count 20.")
	for _, text := range slices.Concat(findings, lockSummary(m)) {
		if strings.Contains(text, "costs not known") || strings.HasPrefix(text, "One value costs") {
			t.Errorf("a price that is not known: %s", text)
		}
	}
}

// Jobs in slices cost so little that the interval reaches zero. The answer has its
// upper end, in the same words as the tables.
func TestLimitedOverhead(t *testing.T) {
	m := pretendFarms(Scale{CPUs: 2}, func(id ContenderID, _ *Point, _ time.Duration) float64 {
		if id == nativeSlices {
			return -0.001 // the repetitions add up to 0.8%
		}
		return 0.5
	})
	var c Conclusion
	m.lockAnswer(&c)
	if bar := c.bar(lockSlices); bar.Known || !bar.Limited || bar.Text("%") != "< 0.6%" || bar.Drawn().Median != bar.Figure.Hi {
		t.Errorf("a bar near zero is %+v, %q", bar, bar.Text("%"))
	}
	if bar := c.bar(lockBuffered); !bar.Known || bar.Limited || bar.Drawn() != bar.Figure {
		t.Errorf("a known bar is %+v", bar)
	}
	if text := c.claims[0].text; text != "Through a channel of 1024 slots, jobs of 1 µs take 50% longer, and less than 0.6% in slices of 64. Send several short jobs in one slice." {
		t.Error(text)
	}
	wide := stat.Summary{N: 9, Median: 10, Lo: -20, Hi: 30, Confidence: 0.96}
	if overhead.Limited(wide) || PerValue.Limited(wide) {
		t.Error("a limit of a figure that varies by 20%, or that is no difference")
	}
}

// A contender with fixed batches takes part only where a batch is not the whole
// run, and is listed as left out elsewhere.
func TestNoBatchHoldsUpARun(t *testing.T) {
	sections := []Section{lockBusy(Scale{}), lockBacklog(Scale{})}
	for i, id := range []ContenderID{nativeSlices, byHandBacklog} {
		in, out := 0, 0
		for _, p := range sections[i].Points {
			takesPart := slices.ContainsFunc(p.Entries, func(e measure.Entry) bool { return e.Contender == id })
			leftOut := slices.ContainsFunc(p.LeftOut, func(l measure.LeftOut) bool { return l.Contender == id })
			long := farmBatch*jobOf(p) > heldUp
			if takesPart == long || leftOut != long {
				t.Errorf("%s: %s takes part %v, is left out %v, batch too long %v", p.Name, id, takesPart, leftOut, long)
			}
			if takesPart {
				in++
			} else {
				out++
			}
		}
		if in == 0 || out == 0 {
			t.Errorf("%s takes part in %d points, and not in %d", id, in, out)
		}
	}
	for _, p := range lockBatch(Scale{}).Points {
		if work := time.Duration(batchOf(p)) * jobOf(p); work > heldUp {
			t.Errorf("%s: a batch is %v of work", p.Name, work)
		}
	}
}

// The timer's and the channels' parts are separated within one round: both
// contenders take part in each point.
func TestSleepsAloneTakePart(t *testing.T) {
	for _, size := range sizes {
		for _, p := range lockSleep(Scale{Size: size}).Points {
			for _, id := range []ContenderID{alone, publishedFarm} {
				if !slices.ContainsFunc(p.Entries, func(e measure.Entry) bool { return e.Contender == id }) {
					t.Errorf("%v, %s: %s does not take part", size, p.Name, id)
				}
			}
		}
	}
}

// The channels' part is the median of the differences of each round, not the
// difference of two medians: here the slack varies from round to round, and the
// channels' part does not.
func TestSlackIsOfPairs(t *testing.T) {
	m := pretendFarms(Scale{CPUs: 2}, constantCost(50))
	for _, outcome := range m.outcomes {
		for i := range outcome.Results {
			for j := range outcome.Results[i].Repetitions {
				ratio := 1.5 + float64((j*7)%9) // varies from round to round
				if outcome.Results[i].Contender == publishedFarm {
					ratio += 0.02
				}
				outcome.Results[i].Repetitions[j].Figures = farmed(1, ratio, ratio).Figures
			}
		}
	}
	s, ok := m.slack(atProcs(1), "1 ms")
	if !ok || math.Abs(s.channels.Median-2) > 1e-9 || !s.channels.Clear() || s.channels.Hi-s.channels.Lo > 1e-9 {
		t.Errorf("the channels add %+v (%v), want 2 in each round", s.channels, ok)
	}
	if s.timer.Hi-s.timer.Lo < 100 {
		t.Errorf("the timer's part varies by %v points, want hundreds", s.timer.Hi-s.timer.Lo)
	}
}

// A farm that loses a job has no figure.
func TestFarmsAreChecked(t *testing.T) {
	honest := contender.NativeFarm(8)
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
		for _, s := range sizes {
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

// A channel's cost cannot be negative: where sleeps have less overhead with
// channels, no cost is charged to an operation.
func TestSleepsThatSlackLessWithChannels(t *testing.T) {
	m := pretendFarms(Scale{CPUs: 2}, func(id ContenderID, p *Point, job time.Duration) float64 {
		if id == alone {
			return 0.6
		}
		return 0.5
	})
	contains(t, lockFindings(m), "the overhead is the timer's, and is smaller where channels distribute the sleeps.")
	if row := m.sleepTable().Rows[0]; row[4] != "not beyond noise" {
		t.Errorf("row %q", row)
	}
}
