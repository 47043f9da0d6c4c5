package lab

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/bench/contender"
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
		{oneConsumer, "published_all_together", 8, true},
		{oneConsumer, "published_slices_+_timeout_+_threads", 8, false},
		{oneConsumer, "native_select_of_4_channels", 8, false},
		{matched, "native_select_of_4_channels", 1, true},
		{matched, byClock, 8, false},
		{matched, "published_4_channels_by_clock", 2, true},
		{matched, "published_4_channels_by_clock", 4, false},
		{matched, "published_GOMAXPROCS_32", 32, true},
		{matched, "published_GOMAXPROCS_32", 33, false},
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
	i := slices.IndexFunc(cpuRoster(64), func(r remedy) bool { return r.id == "published_GOMAXPROCS_32" })
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
			return 1e9 / law.At(p.Procs)
		case id == oneToOne.of(nativeSelects):
			return 150
		case id == manyToMany.of(native):
			return 30 * float64(p.Procs)
		case id == withSlots(native, 1):
			return 80
		case id == "published_all_together":
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
	contains(t, findings, "One built-in channel (published: three times as slow on 128 CPUs) is as fast, within noise, on 8 CPUs instead of 1, 1 to 1; "+
		"1.78 (1.77 to 1.79) times as fast on 8 CPUs instead of 1, P to 1; 8.00 (7.95 to 8.05) times as slow on 8 CPUs instead of 1, P to P.")
	contains(t, findings, "peaks at 4 CPUs (4 to 4), with P to 1; peaks at 1 CPU (1 to 1), with P to P.")
	contains(t, findings, "Selecting on data and a close channel instead of range (1 to 1) is 1.50 (1.50 to 1.50) times as slow at GOMAXPROCS 1, 2, 4 and 8.")
	contains(t, findings, "A capacity of 1 instead of none is 1.25 (1.25 to 1.25) times as fast at GOMAXPROCS 1, 2, 4 and 8.")
	contains(t, findings, "Instead of one channel (P producers, one consumer, GOMAXPROCS 8), sending is 4.00 (4.00 to 4.00) times as fast with “sluice.Sharded lane each runs”; "+
		"2.50 (2.50 to 2.50) times as fast with “published slices”;")
	contains(t, findings, "The combination “published all together” instead of the best of its parts, “published slices”, is 1.25 (1.25 to 1.25) times as slow, with P producers, matched consumers, GOMAXPROCS 8.")
	contains(t, findings, "sluice.Sharded lane each runs instead of one channel is 4.00 (4.00 to 4.00) times as fast with producers: 1, 2, ")
	for _, finding := range findings {
		if strings.Contains(finding, "GOMAXPROCS 16") || strings.Contains(finding, "at 16") {
			t.Errorf("drawn from 16 Ps on 8 CPUs: %s", finding)
		}
	}
}

// A law's peak has an interval, or a reason for none.
func TestPeak(t *testing.T) {
	atFour, atTwo := predict.Law{Lambda: 4e7, Sigma: 0.1, Kappa: 0.05}, predict.Law{Lambda: 4e7, Sigma: 0.1, Kappa: 0.18}
	rising := predict.Law{Lambda: 4e7, Sigma: 0.01, Kappa: 0}
	for _, tt := range []struct {
		name  string
		cpus  int
		count int
		laws  []predict.Law
		want  string
	}{
		{"sure", 16, 9, []predict.Law{atFour}, "peaks at 4 CPUs (4 to 4)"},
		{"unsure", 16, 9, []predict.Law{atFour, atTwo}, "peaks at 4 CPUs (2 to 4)"},
		{"rising", 16, 9, []predict.Law{rising}, "has no peak up to 16 CPUs"},
		{"rising or not", 16, 9, []predict.Law{rising, atFour}, "peaks from GOMAXPROCS 4 on, or not up to 16"},
		{"single", 16, 1, []predict.Law{atFour}, "peaks at 4 CPUs (no interval)"},
		{"few counts", 2, 9, []predict.Law{atFour}, "has too few counts of CPUs for a peak"},
		{"up and down", 16, 9, nil, "follows no law in any round"},
	} {
		m := pretend(cpuScalingStudy, Scale{CPUs: tt.cpus, Count: tt.count}, func(ContenderID, *Point) float64 { return 1 }).in(sectionShapes).counted()
		id := oneToOne.of(native)
		for i, p := range m {
			repetitions := p.outcome.Result(id).Repetitions
			for round := range repetitions {
				repetitions[round].Figures[0].Value = float64(1 + 98*(i%2))
				if tt.laws != nil {
					repetitions[round].Figures[0].Value = 1e9 / tt.laws[round%len(tt.laws)].At(p.Procs)
				}
			}
		}
		if got := peak(m, id); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
