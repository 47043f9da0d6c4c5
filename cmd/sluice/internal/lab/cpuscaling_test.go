package lab

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/predict"
)

func TestCPUProcs(t *testing.T) {
	for _, tt := range []struct {
		scale Scale
		procs []int
		home  int
	}{
		{Scale{CPUs: 1}, []int{1, 2, 4}, 1},
		{Scale{CPUs: 2}, []int{1, 2, 4, 8}, 2},
		{Scale{CPUs: 6}, []int{1, 2, 4, 6, 12, 24}, 6},
		{Scale{CPUs: 128, Size: AsPublished}, []int{1, 2, 4, 8, 16, 32, 64, 128}, 128},
		{Scale{CPUs: 96, Size: Quick}, []int{1, 2}, 2},
		{Scale{CPUs: 1, Size: Quick}, []int{1, 2}, 1},
		{Scale{CPUs: 4, Procs: []int{3, 5}}, []int{3, 5}, 3},
		{Scale{CPUs: 4, Procs: []int{8, 16}}, []int{8, 16}, 8},
	} {
		if got := cpuProcs(tt.scale); !slices.Equal(got, tt.procs) {
			t.Errorf("%+v sweeps %v, want %v", tt.scale, got, tt.procs)
		}
		if got := cpuHome(tt.scale); got != tt.home {
			t.Errorf("%+v sweeps producers at %d, want %d", tt.scale, got, tt.home)
		}
	}
}

// Combinations are made of remedies that also take part alone, and have the
// features of all their parts.
func TestCombinationsHaveTheirParts(t *testing.T) {
	roster := cpuRoster(16)
	byName := make(map[ContenderID]remedy)
	for _, r := range roster {
		byName[r.id] = r
	}
	combinations := 0
	for _, r := range roster {
		if len(r.parts) == 1 {
			t.Errorf("%q is a combination of one", r.id)
		}
		if len(r.parts) > 0 {
			combinations++
		}
		for _, name := range r.parts {
			part, ok := byName[name]
			if !ok || len(part.parts) > 0 {
				t.Errorf("%q is made of %q, which does not take part alone", r.id, name)
			}
			// The name of a remedy has its fields: "remedy {Channels:16 ByClock:true …}".
			for field := range strings.FieldsSeq(strings.Trim(strings.TrimPrefix(part.contender.Name, "remedy "), "{}")) {
				without := strings.HasSuffix(field, ":0") || strings.HasSuffix(field, ":false") || field == "Channels:1"
				if !without && !strings.Contains(r.contender.Name, field) {
					t.Errorf("%q, %s, has no %q of its part %q", r.id, r.contender.Name, field, name)
				}
			}
		}
	}
	if combinations < 3 {
		t.Errorf("%d combinations", combinations)
	}
}

func TestLeftOutOfTheRemedies(t *testing.T) {
	for _, tt := range []struct {
		load  Load
		id    ContenderID
		procs int
		out   bool
	}{
		{oneConsumer, byClock, 1, true}, // even if P is 1
		{oneConsumer, byClock, 8, true},
		{oneConsumer, allTogether, 8, true},
		{oneConsumer, withoutMore, 8, false},
		{oneConsumer, nativeFan4, 8, false},
		{matched, nativeFan4, 1, true},
		{matched, byClock, 8, false},
		{matched, byClockOf(4), 2, true},
		{matched, byClockOf(4), 4, false},
		{matched, capped, 32, true},
		{matched, capped, 33, false},
		{oneConsumer, shardedLanes, 1, false},
	} {
		roster := cpuRoster(tt.procs)
		i := slices.IndexFunc(roster, func(r remedy) bool { return r.id == tt.id })
		if i < 0 {
			t.Fatalf("%q is not in the roster", tt.id)
		}
		if why := roster[i].whyNot(tt.load, tt.procs); (why != "") != tt.out {
			t.Errorf("%s, %d Ps: %q is left out because %q", tt.load, tt.procs, tt.id, why)
		}
	}
}

// Every entry for a machine with many CPUs can do the work.
func TestEveryRemedyWorksWithManyPs(t *testing.T) {
	for _, p := range cpuRemedies(Scale{Size: Quick, Procs: []int{33}}, 33_000).Points {
		for _, entry := range p.Entries {
			if reading, err := entry.Pass(); err != nil || reading.Ops != 33_000 {
				t.Errorf("%s: %s: %d values, %v", p.Name, entry.Contender, reading.Ops, err)
			}
		}
	}
}

func TestCappedHasFewerPs(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	for _, procs := range []int{0, before + 3} {
		during := 0
		watched := contender.Contender{Make: func(capacity int) contender.Channel {
			during = runtime.GOMAXPROCS(0)
			return contender.Native().Make(capacity)
		}}
		entry := remedy{contestant: contestant{"watched", watched, 1, false}, procs: procs}.enter(10, 2, 2)
		if _, err := entry.Pass(); err != nil || during != max(before, procs) {
			t.Errorf("GOMAXPROCS %d in the pass, want %d; %v", during, max(before, procs), err)
		}
		if now := runtime.GOMAXPROCS(0); now != before {
			t.Errorf("GOMAXPROCS left at %d, was %d", now, before)
		}
	}
	i := slices.IndexFunc(cpuRoster(64), func(r remedy) bool { return r.id == capped })
	if got := cpuRoster(64)[i].procs; got != 32 {
		t.Errorf("the study's GOMAXPROCS is %d, want 32", got)
	}
}

// onEight pretends a run on eight CPUs.
func onEight(cost func(id ContenderID, p *Point) float64) []string {
	return cpuConclusion(pretend(cpuScalingStudy, Scale{CPUs: 8}, cost)).Findings
}

func TestCPUScalingFindings(t *testing.T) {
	law := predict.Law{Lambda: 40e6, Sigma: 0.1, Kappa: 0.05} // peaks at 4
	findings := onEight(func(id ContenderID, p *Point) float64 {
		switch {
		case p.Beyond:
			return 1 // no data: it would be the best of all
		case id == manyToOne.of(native):
			return 1e9 / law.At(float64(p.Procs))
		case id == oneToOne.of(nativeSelects):
			return 150
		case id == manyToMany.of(native):
			return 30 * float64(p.Procs)
		case id == withSlots(native, 1):
			return 80
		case id == allTogether:
			return 50
		case id == sharedSlices:
			return 40
		case id == timeAfter:
			return 400
		case id == shardedLanes:
			return 25
		}
		return 100
	})
	contains(t, findings, "One built-in channel, 1 to 1, carries as much, within noise, on 8 CPUs instead of 1.")
	contains(t, findings, "One built-in channel, P to P, carries 0.125 (0.124 to 0.126) times as much on 8 CPUs instead of 1.")
	contains(t, findings, "One built-in channel, P to 1, carries 1.78 (1.77 to 1.79) times as much on 8 CPUs instead of 1; published: a third on 128 instead of 1.")
	contains(t, findings, "One built-in channel, P to 1: the scaling law through 1 to 8 CPUs (σ 0.1, κ 0.05) has its peak at 4 CPUs, with 83.9 million values per second; the rounds agree.")
	contains(t, findings, "One built-in channel, P to P: the scaling law through 1 to 8 CPUs (σ 1, κ 1) has its peak at 1 CPU")
	contains(t, findings, "Selecting on data and a close channel instead of range (1 to 1) costs 50.0% ± 0.0% more at GOMAXPROCS 1, 50.0% ± 0.0% more at 2, 50.0% ± 0.0% more at 4 and 50.0% ± 0.0% more at 8.")
	contains(t, findings, "A capacity of 1 instead of none saves 20.0% ± 0.0% at GOMAXPROCS 1")
	contains(t, findings, "Best remedy (P producers, one consumer, GOMAXPROCS 8): “sluice.Sharded, lane each, runs”, with 4.00 (4.00 to 4.00) times the throughput of one channel; ahead of “published, slices” beyond noise.")
	contains(t, findings, "The combination “published, all together”, compared with the best of its parts, “published, slices” (P producers, matched consumers), carries 0.800 (0.800 to 0.800) times as much at GOMAXPROCS 8.")
	contains(t, findings, "sluice.Sharded, lane each, runs, compared with one channel, carries 4.00 (4.00 to 4.00) times as much with 1 producer, 4.00 (4.00 to 4.00) with 2 producers, ")
	for _, finding := range findings {
		if strings.Contains(finding, "GOMAXPROCS 16") || strings.Contains(finding, "at 16") {
			t.Errorf("drawn from 16 Ps on 8 CPUs: %s", finding)
		}
	}
}

func TestBestNeedsALead(t *testing.T) {
	nothing := onEight(func(ContenderID, *Point) float64 { return 100 })
	tied := onEight(func(id ContenderID, _ *Point) float64 {
		if id == shardedLanes || id == sharedSlices {
			return 50
		}
		return 100
	})
	contains(t, tied, "; no difference to “sluice.Sharded, lane each, runs” beyond noise.")
	for _, finding := range nothing {
		if strings.Contains(finding, "Best remedy") {
			t.Errorf("best of equals: %s", finding)
		}
	}
}

func TestRemedyTables(t *testing.T) {
	measured := pretend(cpuScalingStudy, Scale{CPUs: 64}, func(id ContenderID, _ *Point) float64 {
		switch id {
		case capped:
			return 25
		case pinned:
			return 200
		}
		return 100
	})
	for _, s := range measured.in(sectionRemedies) {
		for i := range s.outcome.Results {
			for j := range s.outcome.Results[i].Repetitions {
				r := &s.outcome.Results[i].Repetitions[j]
				r.Figures = append(r.Figures, measure.Figure{Unit: measure.LockWait, Value: float64(len(NameOf(s.outcome.Results[i].Contender)))})
			}
		}
	}
	tables := cpuConclusion(measured).Tables
	if len(tables) != 2 {
		t.Fatalf("%d tables, want one for each panel", len(tables))
	}
	for _, table := range tables {
		if !strings.Contains(table.Title, "GOMAXPROCS 64") {
			t.Errorf("title %q", table.Title)
		}
		want := map[int][]string{
			0:                   {NameOf(native), "1.00", "itself", "6.0"},
			1:                   {NameOf(capped), "4.00", "4.00 to 4.00", "24.0"},
			len(table.Rows) - 1: {NameOf(pinned), "0.500", "0.50 to 0.50", "25.0"},
		}
		for i, row := range want {
			if !slices.Equal(table.Rows[i], row) {
				t.Errorf("row %d is %q, want %q", i, table.Rows[i], row)
			}
		}
		if got := table.Rows[2][2]; got != "no difference beyond noise" {
			t.Errorf("the verdict on an equal is %q", got)
		}
	}
}

// A law, its peak with an interval, and the reasons for none.
func TestScalingLaw(t *testing.T) {
	sweep := func(laws ...predict.Law) (counts []int, times [][]float64) {
		for _, n := range []int{1, 2, 4, 8, 16} {
			var rounds []float64
			for i := range 9 {
				rounds = append(rounds, 1e9/laws[i%len(laws)].At(float64(n)))
			}
			counts, times = append(counts, n), append(times, rounds)
		}
		return counts, times
	}
	atFour, atTwo := predict.Law{Lambda: 4e7, Sigma: 0.1, Kappa: 0.05}, predict.Law{Lambda: 4e7, Sigma: 0.1, Kappa: 0.18}
	rising := predict.Law{Lambda: 4e7, Sigma: 0.01, Kappa: 0}
	for _, tt := range []struct {
		name string
		laws []predict.Law
		want []string
	}{
		{"sure", []predict.Law{atFour}, []string{"has its peak at 4 CPUs, with 84.2 million", "the rounds agree"}},
		{"unsure", []predict.Law{atFour, atTwo}, []string{"fitted round by round, at 2 to 4"}},
		{"rising", []predict.Law{rising}, []string{"has no peak up to 16", "the rounds agree"}},
		{"rising or not", []predict.Law{rising, atFour}, []string{"fitted round by round, at 4 to beyond 16"}},
	} {
		got := scalingLaw(sweep(tt.laws...))
		for _, want := range tt.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q lacks %q", tt.name, got, want)
			}
		}
	}
	if got := scalingLaw([]int{1, 2, 3, 4, 5}, [][]float64{{1, 1}, {99, 99}, {1, 1}, {99, 99}, {1, 1}}); !strings.Contains(got, "no scaling law: ") {
		t.Errorf("of points that go up and down: %q", got)
	}
	if got := scalingLaw([]int{1, 2, 3}, [][]float64{{9}, {5}, {4}}); !strings.Contains(got, "too few rounds") {
		t.Errorf("of a single round: %q", got)
	}
}

func TestTwoCountsHaveNoLaw(t *testing.T) {
	findings := cpuConclusion(pretend(cpuScalingStudy, Scale{CPUs: 2}, func(ContenderID, *Point) float64 { return 100 })).Findings
	contains(t, findings, "2 counts of CPUs are too few for a scaling law: run this on the target machine.")
	mentions := 0
	for _, finding := range findings {
		if strings.Contains(finding, "law") {
			mentions++
		}
	}
	if mentions != 1 {
		t.Errorf("the law is mentioned %d times:\n%s", mentions, strings.Join(findings, "\n"))
	}
}
