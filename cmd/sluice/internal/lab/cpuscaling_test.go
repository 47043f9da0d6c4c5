package lab

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/predict"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
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

// A GOMAXPROCS above the CPUs is marked, in every experiment.
func TestPointsBeyondTheCPUs(t *testing.T) {
	for _, e := range All() {
		beyond := 0
		for _, section := range e.Sections(Scale{CPUs: 3, Procs: []int{2, 3, 4, 9}}) {
			for _, p := range section.Points {
				if p.Beyond != (p.Procs > 3) {
					t.Errorf("%s, %s: beyond three CPUs: %v", e.Name, p.Name, p.Beyond)
				}
				marked := slices.ContainsFunc(p.Labels, func(l measure.Label) bool { return l.Value == "oversubscribed" })
				if marked != p.Beyond {
					t.Errorf("%s, %s: beyond three CPUs %v, and so named in results.txt: %v", e.Name, p.Name, p.Beyond, marked)
				}
				if p.Beyond {
					beyond++
				}
			}
		}
		if beyond == 0 {
			t.Errorf("%s has no point with more Ps than CPUs", e.Name)
		}
	}
}

// A sweep over GOMAXPROCS is one series of benchmarks. Oversubscribed points,
// which are no data, have another name.
func TestSweepsAreSeries(t *testing.T) {
	scale := Scale{CPUs: 128}
	for _, section := range cpuSections(scale)[:3] {
		series := make(map[string]bool)
		for _, p := range section.Points {
			name := ""
			for _, label := range p.Labels {
				name += "/" + label.Key + "=" + label.Value
			}
			if strings.Contains(name, "oversubscribed") != p.Beyond {
				t.Errorf("%s, beyond the CPUs %v, is called %s", p.Name, p.Beyond, name)
			}
			if !p.Beyond {
				series[p.Panel.String()+name] = true
			}
		}
		if panels := len(pretend(cpuScalingStudy, scale, func(ContenderID, *Point) float64 { return 1 }).panels(section.Name)); len(series) != panels {
			t.Errorf("%s: %d panels are %d series", section.Name, panels, len(series))
		}
	}
}

// A machine with fewer CPUs does not measure the figures of 64 and of 128 CPUs.
func TestPublishedPlacesNeedTheirCPUs(t *testing.T) {
	for _, tt := range []struct{ cpus, places int }{{2, 1}, {64, 2}, {96, 2}, {128, 3}} {
		section := cpuShapes(Scale{Size: AsPublished, CPUs: tt.cpus})
		places := 0
		for _, f := range cpuPublished() {
			if slices.ContainsFunc(section.Points, func(p *Point) bool { return p.X == f.X }) {
				places++
			}
		}
		if places != tt.places {
			t.Errorf("on %d CPUs %d published figures have a place, want %d", tt.cpus, places, tt.places)
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
			// "remedy: 16 channels by clock" is in "remedy: 16 channels by
			// clock, slices of 64".
			for feature := range strings.SplitSeq(strings.TrimPrefix(part.contender.Name, "remedy: "), ", ") {
				if feature != "1 channel" && !strings.Contains(r.contender.Name, feature) {
					t.Errorf("%q, %s, has no %q of its part %q", r.id, r.contender.Name, feature, name)
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
		{LoadOneConsumer, byClock, 1, true}, // even if P is 1
		{LoadOneConsumer, byClock, 8, true},
		{LoadOneConsumer, allTogether, 8, true},
		{LoadOneConsumer, withoutMore, 8, false},
		{LoadOneConsumer, nativeFan4, 8, false},
		{loadMatched, nativeFan4, 1, true},
		{loadMatched, byClock, 8, false},
		{loadMatched, byClockOf(4), 2, true},
		{loadMatched, byClockOf(4), 4, false},
		{loadMatched, capped, 32, true},
		{loadMatched, capped, 33, false},
		{LoadOneConsumer, ShardedLanes, 1, false},
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
	for _, p := range cpuRemedies(Scale{Size: Quick, Procs: []int{33}}).Points {
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
		case id == manyToOne.of(Native):
			return 1e9 / law.At(float64(p.Procs))
		case id == oneToOne.of(nativeSelects):
			return 150
		case id == manyToMany.of(Native):
			return 30 * float64(p.Procs)
		case id == withSlots(Native, 1):
			return 80
		case id == allTogether:
			return 50
		case id == SharedSlices:
			return 40
		case id == timeAfter:
			return 400
		case id == ShardedLanes:
			return 25
		}
		return 100
	})
	contains(t, findings, "One built-in channel, 1 to 1, carries 9.96 (9.93 to 9.99) million values per second on 1 CPU and 9.96 (9.93 to 9.99) on 8: no difference beyond noise.")
	contains(t, findings, "One built-in channel, P to P, carries 33.2 (33.1 to 33.3) million values per second on 1 CPU and 4.15 (4.14 to 4.16) on 8: divided by 8.00.")
	contains(t, findings, "times 1.78; published: divided by three from 1 to 128 CPUs.")
	contains(t, findings, "One built-in channel, P to 1: the scaling law through 1 to 8 CPUs (σ 0.1, κ 0.05) has its peak at 4 CPUs, with 83.9 million values per second; the rounds agree.")
	contains(t, findings, "One built-in channel, P to P: the scaling law through 1 to 8 CPUs (σ 1, κ 1) has its peak at 1 CPU")
	contains(t, findings, "Selecting on data and a close channel instead of range (1 to 1) costs 50.0% ± 0.0% more at GOMAXPROCS 1, 50.0% ± 0.0% more at 2, 50.0% ± 0.0% more at 4 and 50.0% ± 0.0% more at 8.")
	contains(t, findings, "A capacity of 1 instead of none saves 20.0% ± 0.0% at GOMAXPROCS 1")
	contains(t, findings, "Throughput of each remedy alone, as a multiple of one channel's (P producers, matched consumers, GOMAXPROCS 8): "+
		"“sluice.Sharded, lane each, runs” 4.00 (4.00 to 4.00), “published, slices” 2.50 (2.50 to 2.50) and “published, timeout by time.After” 0.250 (0.250 to 0.250). "+
		"No difference beyond noise: “published, pinned threads”")
	contains(t, findings, "Best remedy (P producers, one consumer, GOMAXPROCS 8): “sluice.Sharded, lane each, runs”, with 4.00 (4.00 to 4.00) times the throughput of one channel; ahead of “published, slices” beyond noise.")
	contains(t, findings, "The combination “published, all together”, compared with the best of its parts, “published, slices” (P producers, matched consumers), carries 0.800 (0.800 to 0.800) times as much at GOMAXPROCS 8.")
	contains(t, findings, "sluice.Sharded, lane each, runs, compared with one channel, carries 4.00 (4.00 to 4.00) times as much with 1 producer, 4.00 (4.00 to 4.00) with 2 producers, ")
	for _, finding := range findings {
		if strings.Contains(finding, "GOMAXPROCS 16") || strings.Contains(finding, "at 16") {
			t.Errorf("drawn from 16 Ps on 8 CPUs: %s", finding)
		}
	}
}

// A throughput changes from the fewest to the most CPUs only if the intervals
// do not overlap.
func TestFromOneCPU(t *testing.T) {
	for cost, want := range map[float64]string{
		100.3: "on 8: no difference beyond noise.",
		99.7:  "on 8: no difference beyond noise.",
		104:   "on 8: divided by 1.04.", // not by 1.0
		110:   "on 8: divided by 1.10.",
		50:    "on 8: times 2.00.",
	} {
		findings := onEight(func(_ ContenderID, p *Point) float64 {
			if p.Procs == 8 {
				return cost
			}
			return 100
		})
		if !strings.HasSuffix(findings[0], want) {
			t.Errorf("from 100 ns to %v: %q, want %q", cost, findings[0], want)
		}
	}
}

func TestBestNeedsALead(t *testing.T) {
	nothing := onEight(func(ContenderID, *Point) float64 { return 100 })
	contains(t, nothing, "No remedy alone makes a difference beyond noise (P producers, one consumer, GOMAXPROCS 8).")
	tied := onEight(func(id ContenderID, _ *Point) float64 {
		if id == ShardedLanes || id == SharedSlices {
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
	few := cpuConclusion(pretend(cpuScalingStudy, Scale{CPUs: 8, Count: 2}, func(id ContenderID, _ *Point) float64 {
		if id == ShardedLanes {
			return 50
		}
		return 100
	}))
	contains(t, few.Findings, "Remedies (P producers, one consumer, GOMAXPROCS 8): too few repetitions to distinguish from noise.")
	if len(few.Summary) != 0 {
		t.Errorf("with two repetitions: %q", few.Summary)
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
	for _, outcome := range measured.outcomes {
		for i := range outcome.Results {
			for j := range outcome.Results[i].Repetitions {
				r := &outcome.Results[i].Repetitions[j]
				r.Figures = append(r.Figures, measure.Figure{Unit: measure.LockWait, Value: float64(len(NameOf(outcome.Results[i].Contender)))})
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
			0:                   {NameOf(Native), "1.00", "itself", "6.0"},
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

func TestCarries(t *testing.T) {
	gain := func(median, lo, hi, confidence float64) stat.Change {
		return stat.Change{Summary: stat.Summary{N: 9, Median: median, Lo: lo, Hi: hi, Confidence: confidence}}
	}
	more, same, few := gain(1, 0.9, 1.2, 0.96), gain(0.1, -0.1, 0.2, 0.96), gain(-0.5, -0.6, -0.4, 0)
	for _, tt := range []struct {
		places []place
		want   string
	}{
		{nil, ""},
		{[]place{{"1", same}, {"2", more}, {"4", few}, {"8", same}},
			"It carries 2.0 (1.90 to 2.2) times as much at GOMAXPROCS 2 and 0.50 (no interval) at 4; as much, within noise, at 1 and at 8."},
		{[]place{{"1", same}, {"2", same}}, "It carries as much, within noise, at GOMAXPROCS 1 and at 2."},
		{[]place{{"1", gain(5, 0.2, 20, 0.96)}, {"2", gain(-0.9, -0.99, -0.2, 0.96)}},
			"It carries at least 1.20 times as much at GOMAXPROCS 1 and at most 0.80 at 2."},
		{[]place{{"1", more}}, "It carries 2.0 (1.90 to 2.2) times as much at GOMAXPROCS 1."},
	} {
		if got := carries("It", atGOMAXPROCS, tt.places); got != tt.want {
			t.Errorf("carries says\n%s, want\n%s", got, tt.want)
		}
	}
}

func TestShardFrom(t *testing.T) {
	type costs map[ContenderID]float64 // by contender and number of producers: "native 4"
	for _, tt := range []struct {
		name  string
		costs costs
		want  string
	}{
		{"from four on", costs{ShardedLanes + " 4": 50, ShardedLanes + " 8": 25, ownSharded + " 32": 20},
			"On 2 CPUs, use more than one channel from 4 producers on: sluice.Sharded, lane each, runs carries 2.00 (2.00 to 2.00) times as much as one built-in channel " +
				"of 4096 slots, and 1.60 (1.60 to 1.60) times as much as one sluice.Bounded."},
		{"not in between", costs{ShardedLanes + " 2": 50, nativeFan2 + " 8": 50, nativeFan2 + " 32": 50}, "from 8 producers on"},
		{"always", costs{ownSharded + " 1": 50, ownSharded + " 2": 50, ownSharded + " 4": 50, ownSharded + " 8": 50, ownSharded + " 32": 50},
			"use more than one channel from 1 producer on: sluice.Sharded carries"},
		{"never", costs{}, "On 2 CPUs, several channels carry no more single values than one: with 32 producers, no multi-channel design"},
		{"faster than the built-in channel, but not than one of ours", costs{ShardedLanes + " 32": 90}, "several channels carry no more single values than one"},
		{"not at the largest", costs{ShardedLanes + " 8": 20}, "several channels carry no more single values than one"},
	} {
		got := cpuConclusion(pretend(cpuScalingStudy, Scale{CPUs: 2}, func(id ContenderID, p *Point) float64 {
			if cost, ok := tt.costs[id+" "+ContenderID(p.X)]; ok && p.Procs == 2 {
				return cost
			}
			if id == ownBounded {
				return 80
			}
			return 100
		})).Summary
		if len(got) != 1 || !strings.Contains(got[0], tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
