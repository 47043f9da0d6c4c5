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

func batchOf(p *Point) int {
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
		case p.Panel == (Panel{}) && id == workersBacklog:
			return 0.25
		case p.Panel == (Panel{}) && id == publishedFarm:
			return 1.5
		case strings.HasPrefix(p.Name, "sleep"):
			if id == publishedFarm && p.Procs == 2 {
				return 0.6
			}
			return 0.5
		case id == workersMap:
			return 0
		}
		return constantCost(50)(id, p, job)
	}))
	contains(t, c.Findings, "workers.Map instead of native, 1024 slots, with jobs of 100 ns, saves 49.9% ± 0.1% at GOMAXPROCS 1 and 49.9% ± 0.1% at 2.")
	contains(t, c.Findings, "workers.Run takes this part of its workers' time: 20.3% (20.1% to 20.4%) with jobs of 0.1 µs")
	contains(t, c.Findings, "the overhead of busy jobs of 1 µs is 150% (150% to 151%) with 1, 150% (150% to 151%) with 3")
	contains(t, c.Findings, "Sleeps of 100 µs at GOMAXPROCS 1, as published, have an overhead of 50.0% (50.0% to 50.0%); without any channel, "+
		"50.0% (50.0% to 50.0%): the overhead is the timer's; the channels add nothing beyond noise.")
	contains(t, c.Findings, "plus 10.0 (10.0 to 10.0) percentage points of the channels.")
	if len(c.Tables) != 4 {
		t.Fatalf("%d tables, want 4", len(c.Tables))
	}
	for i, want := range [][]string{
		{"published", "50.0 (50.0 to 50.0)", "", "50.0 (50.0 to 50.0)", ""},
		{"workers.Map", "at most 100 ns", "at most 100 ns"},
		{"sluice.Bounded, batches", "more than 1024", "", ""},
		// 10 points of 100 µs, which three workers share, over two operations.
		{"GOMAXPROCS 2, 100 µs", "60.0 (60.0 to 60.0)", "50.0 (50.0 to 50.0)", "10.0 (10.0 to 10.0)", "1.67 (1.67 to 1.67)"},
	} {
		table := c.Tables[i]
		at := slices.IndexFunc(table.Rows, func(row []string) bool { return row[0] == want[0] })
		if at < 0 || len(table.Rows[at]) != len(table.Head) {
			t.Errorf("%s: no row of %s, or not as wide as the head:\n%q", table.Title, want[0], table.Rows)
			continue
		}
		for j, cell := range want {
			if cell != "" && table.Rows[at][j] != cell {
				t.Errorf("%s: row %q, want %q", table.Title, table.Rows[at], want)
			}
		}
	}
}

func TestLockFindingsOfTooFewRepetitions(t *testing.T) {
	c := lockConclusion(pretendFarms(Scale{CPUs: 2, Count: 2}, constantCost(50)))
	contains(t, c.Findings, "too few repetitions to separate the channels' part")
	for i, want := range []string{"50.0 (no interval)", " µs, no interval", "1024, no interval", "no interval"} {
		row := c.Tables[i].Rows[0]
		if !slices.ContainsFunc(row, func(cell string) bool { return strings.HasSuffix(cell, want) }) {
			t.Errorf("%s: %q, want %q", c.Tables[i].Title, row, want)
		}
	}
}

func TestLockTablesOfPart(t *testing.T) {
	c := lockConclusion(pretendFarms(Scale{CPUs: 2, Size: AsPublished}, constantCost(50)))
	if len(c.Tables) != 1 || c.Tables[0].Title != "The timer and the channels" || c.Answer != "" {
		t.Errorf("of sleeps alone: answer %q, tables %+v", c.Answer, c.Tables)
	}
	// Quick has enough sizes for a line and for a threshold.
	c = lockConclusion(pretendFarms(Scale{CPUs: 2, Size: Quick}, constantCost(50)))
	if len(c.Tables) != 4 || c.Answer == "" {
		t.Errorf("of a quick run: answer %q, %d tables", c.Answer, len(c.Tables))
	}
}

// The answer covers that no job is long enough, that all are, and what lies between.
func TestLockAnswer(t *testing.T) {
	for ns, want := range map[float64]string{
		10_000: "more than 100 µs.",
		0.1:    "at most 100 ns.",
		30:     "roughly 10 µs (6.76 µs to 21.9 µs).",
	} {
		c := lockConclusion(pretendFarms(Scale{CPUs: 2}, constantCost(ns)))
		if !strings.HasSuffix(c.Answer, " on a channel of 1024 slots (3 workers, GOMAXPROCS=2): "+want) {
			t.Errorf("%v ns: %q, want %q", ns, c.Answer, want)
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
	c := lockConclusion(m)
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
			long := farmBatch*jobSize(p) > heldUp
			if takesPart(p, id) == long || leavesOut(p, id) != long {
				t.Errorf("%s: %s takes part %v, is left out %v, batch too long %v", p.Name, id, takesPart(p, id), leavesOut(p, id), long)
			}
			if long {
				out++
			} else {
				in++
			}
		}
		if in == 0 || out == 0 {
			t.Errorf("%s takes part in %d points, and not in %d", id, in, out)
		}
	}
	for _, p := range lockBatch(Scale{}).Points {
		if work := time.Duration(batchOf(p)) * jobSize(p); work > heldUp {
			t.Errorf("%s: a batch is %v of work", p.Name, work)
		}
	}
}

// The channels' part is the median of the differences of each round, not the
// difference of two medians: here the slack varies from round to round, and the
// channels' part does not.
func TestSlackIsOfPairs(t *testing.T) {
	m := pretendFarms(Scale{CPUs: 2}, constantCost(50))
	for _, p := range m.in(sectionSleep) {
		for i := range p.outcome.Results {
			for j := range p.outcome.Results[i].Repetitions {
				ratio := 1.5 + float64((j*7)%9) // varies from round to round
				if p.outcome.Results[i].Contender == publishedFarm {
					ratio += 0.02
				}
				p.outcome.Results[i].Repetitions[j].Figures = farmed(1, ratio, ratio).Figures
			}
		}
	}
	s, ok := slackAt(m.in(sectionSleep).at("1 ms").one())
	if !ok || math.Abs(s.channels.Median-2) > 1e-9 || !s.channels.Clear() || s.channels.Hi-s.channels.Lo > 1e-9 {
		t.Errorf("the channels add %+v (%v), want 2 in each round", s.channels, ok)
	}
	if s.timer.Hi-s.timer.Lo < 100 {
		t.Errorf("the timer's part varies by %v points, want hundreds", s.timer.Hi-s.timer.Lo)
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

// A channel's cost cannot be negative: where sleeps have less overhead with
// channels, no cost is charged to an operation.
func TestSleepsThatSlackLessWithChannels(t *testing.T) {
	m := pretendFarms(Scale{CPUs: 2}, func(id ContenderID, _ *Point, _ time.Duration) float64 {
		if id == alone {
			return 0.6
		}
		return 0.5
	})
	contains(t, lockFindings(m), "the overhead is the timer's, and is smaller where channels distribute the sleeps.")
	if row := sleepRows(m.in(sectionSleep))[0]; row[4] != "not beyond noise" {
		t.Errorf("row %q", row)
	}
}

// stepsOf returns steps at 100, 1000, …: each argument has an overhead and half
// the width of its interval.
func stepsOf(overs ...[2]float64) []step {
	var steps []step
	at := 100.0
	for _, o := range overs {
		steps = append(steps, step{at, stat.Summary{N: 9, Median: o[0], Lo: o[0] - o[1], Hi: o[0] + o[1], Confidence: 0.96}})
		at *= 10
	}
	return steps
}

func TestThreshold(t *testing.T) {
	for _, tt := range []struct {
		name  string
		steps []step
		want  string
	}{
		{"between two, by a power", stepsOf([2]float64{1000, 0}, [2]float64{4, 0}, [2]float64{0.5, 0}), "4.64 µs"},
		{"with its interval", stepsOf([2]float64{50, 1}, [2]float64{4, 2}, [2]float64{0.5, 0.4}), "4.64 µs (2 µs to 8.8 µs)"},
		{"to beyond the last", stepsOf([2]float64{50, 1}, [2]float64{4, 1}, [2]float64{0.9, 0.4}), "more than 4.1 µs"},
		{"nowhere", stepsOf([2]float64{50, 1}, [2]float64{10, 1}), "more than 1 µs"},
		{"from the first place on, or not", stepsOf([2]float64{1.1, 0.3}, [2]float64{0.2, 0.1}), "at most 165 ns"},
		{"anywhere", stepsOf([2]float64{1.1, 0.3}, [2]float64{0.9, 0.3}, [2]float64{1.1, 0.3}), "not known here: sluice lab -count 20"},
		{"everywhere", stepsOf([2]float64{0.5, 0.1}, [2]float64{0.1, 0.1}), "at most 100 ns"},
		{"no faster than in proportion", stepsOf([2]float64{4, 0}, [2]float64{-3, 0}), "400 ns"},
		{"but no later than measured", stepsOf([2]float64{100, 0}, [2]float64{0.5, 0}), "1 µs"},
		{"noise that rises", stepsOf([2]float64{4, 1}, [2]float64{0.9, 0.3}, [2]float64{1.05, 0.3}, [2]float64{0.5, 0.3}),
			"roughly 960 ns (620 ns to 28.2 µs)"},
		{"a wild figure counts little", stepsOf([2]float64{50, 1}, [2]float64{-8, 60}, [2]float64{7, 1}, [2]float64{0.5, 0.1}),
			"70 µs (60 µs to 80 µs)"},
		{"intervals that exclude each other", stepsOf([2]float64{4, 1}, [2]float64{0.5, 0.1}, [2]float64{3, 1.5}, [2]float64{0.5, 0.1}),
			"not known here: sluice lab -count 20"},
	} {
		if got := thresholdOf(tt.steps).text(nameOfJob); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if thresholdOf(stepsOf([2]float64{50, 1})).text(nameOfJob) != "" {
		t.Error("a threshold of one place")
	}
}

func TestNameOfBatch(t *testing.T) {
	for size, want := range map[float64]string{1: "1", 1.2: "2", 17.5: "18", 64: "64", 64.0000001: "64"} {
		if got := nameOfBatch(size); got != want {
			t.Errorf("batch of %v is %s, want %s", size, got, want)
		}
	}
}

func TestLineBeyond(t *testing.T) {
	ideals := []float64{100, 300, 1000, 3000, 10_000}
	for _, tt := range []struct {
		name                          string
		constant, slope               float64 // that made the times
		wantConstant, wantSlope, near float64
	}{
		{"both", 60, 0.2, 60, 0.2, 1e-9},
		{"constant alone", 60, 0, 60, 0, 1e-9},
		{"slope alone", 0, 0.2, 0, 0.2, 1e-9},
		{"no negative slope", 60, -0.01, 57, 0, 3},
		{"no negative constant", -10, 0.3, 0, 0.27, 0.02},
	} {
		var elapsed []float64
		for _, x := range ideals {
			elapsed = append(elapsed, x+tt.constant+tt.slope*x)
		}
		constant, slope := lineBeyond(ideals, elapsed)
		if constant < 0 || slope < 0 {
			t.Errorf("%s: %v and %v, one of them negative", tt.name, constant, slope)
		}
		if math.Abs(constant-tt.wantConstant) > tt.near || math.Abs(slope-tt.wantSlope) > min(tt.near, 0.02) {
			t.Errorf("%s: %v and %v, want %v and %v", tt.name, constant, slope, tt.wantConstant, tt.wantSlope)
		}
	}
}
