package main

import (
	"context"
	"math"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/paced"
	"github.com/sluice-go/sluice/bench/results"
	"github.com/sluice-go/sluice/bench/rounds"
	"github.com/sluice-go/sluice/bench/workload"
)

// quick returns the settings of a very short measurement.
func quick(t *testing.T, args ...string) settings {
	t.Helper()
	s, err := parse(append([]string{"-rounds", "3", "-time", "1ms"}, args...))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestParse(t *testing.T) {
	s := quick(t, "-rate", "500, 8k,1.5M", "-procs", "1,8", "-senders", "8", "-group", "4", "-job", "20us", "-sleep")
	if !slices.Equal(s.rates, []float64{500, 8000, 1.5e6}) || !slices.Equal(s.Procs, []int{1, 8}) {
		t.Errorf("rates %v, procs %v", s.rates, s.Procs)
	}
	l, err := s.at(1.5e6)
	want := paced.Load{Rate: 1.5e6, Senders: 8, Receivers: 1, Group: 4, Job: 20 * time.Microsecond, Values: 1500, Sleep: true}
	if err != nil || l != want {
		t.Errorf("load %+v, %v", l, err)
	}
	if l, err := s.at(500); err != nil || l.Values != leastValues {
		t.Errorf("a slow load has %d values, %v", l.Values, err)
	}
	for _, wrong := range [][2]string{
		{"-rate", "0"}, {"-rate", "fast"}, {"-rate", "-1k"}, {"-rate", "NaN"}, {"-rate", "5G"}, {"-rate", ""},
		{"-procs", "0"}, {"-procs", "x"}, {"-rounds", "0"}, {"-time", "0s"}, {"-timeout", "0s"}, {"-kinds", "("},
		{"-senders", "0"}, {"-receivers", "-1"}, {"-group", "-1"}, {"-job", "-1us"}, {"-rate=1k", "more"},
	} {
		s, err := parse(wrong[:])
		if err == nil {
			_, err = s.at(1000)
		}
		if err == nil || !strings.Contains(err.Error(), strings.TrimLeft(wrong[0], "-")) && !strings.Contains(err.Error(), "want") && wrong[1] != "more" {
			t.Errorf("%v: %v", wrong, err)
		}
	}
}

// Each kind stands beside the built-in channel of its capacity, used in the same way.
func TestKinds(t *testing.T) {
	all := kinds(t.Context())
	for i, k := range all {
		if k.Name == without {
			continue
		}
		if !k.Contender.Can(k.Capacity, 8, 8) {
			t.Errorf("%s cannot do 8->8", k.Name)
		}
		at := slices.IndexFunc(all, func(r kind) bool { return r.Name == k.Reference })
		switch {
		case strings.HasPrefix(k.Name, "native"):
			if k.Reference != "" {
				t.Errorf("%s has the reference %q", k.Name, k.Reference)
			}
		case at < 0 || at > i:
			t.Errorf("%s has no reference before it", k.Name)
		case all[at].Capacity != k.Capacity || strings.HasSuffix(k.Name, "ctx") != strings.HasSuffix(k.Reference, "select"):
			t.Errorf("%s has the reference %s", k.Name, k.Reference)
		}
	}
}

func TestChoose(t *testing.T) {
	names := func(match string) (names []string) {
		for _, k := range choose(kinds(context.Background()), settings{Flags: rounds.Flags{Match: regexp.MustCompile(match)}}.named) {
			names = append(names, k.Name)
		}
		return names
	}
	if got := names("Bounded 128$|^Elastic$"); !slices.Equal(got, []string{without, "native 128", "Bounded 128", "Elastic"}) {
		t.Errorf("chose %v", got)
	}
	if got := names("nothing"); got != nil {
		t.Errorf("chose %v", got)
	}
	if got := names(without); !slices.Equal(got, []string{without}) {
		t.Errorf("chose %v", got)
	}
	if got := names(""); len(got) != len(kinds(context.Background())) {
		t.Errorf("chose %d kinds", len(got))
	}
}

// Every kind runs once in each round, and each round begins with another kind.
func TestMeasureTakesTurns(t *testing.T) {
	s := quick(t)
	l, err := s.at(1e6)
	if err != nil {
		t.Fatal(err)
	}
	var turns []string
	watched := func(name string) kind {
		return kind{Name: name, Capacity: 1, Contender: contender.Contender{Name: name, Make: func(capacity int) contender.Channel {
			turns = append(turns, name)
			return contender.Native().Make(capacity)
		}}}
	}
	before := runtime.GOMAXPROCS(0)
	c := measure(t.Context(), s, l, 3, []kind{watched("a"), watched("b"), watched("c")})
	if got := strings.Join(turns, ""); got != "abcbcacab" {
		t.Errorf("turns %s", got)
	}
	if runtime.GOMAXPROCS(0) != before {
		t.Errorf("GOMAXPROCS is %d, was %d", runtime.GOMAXPROCS(0), before)
	}
	for _, r := range c.rows {
		if len(r.rounds) != 3 || r.err != nil || !(r.median(p50) > 0) || !(r.median(p99) >= r.median(p50)) || !(r.median(p999) >= r.median(p99)) {
			t.Errorf("row %+v", r)
		}
	}
}

func TestMeasureReportsFailures(t *testing.T) {
	s := quick(t, "-timeout", "50ms")
	l, err := s.at(1e6)
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	defer close(stop)
	hangs := kind{Name: "hangs", Contender: contender.Contender{Name: "hangs", Make: func(int) contender.Channel {
		<-stop
		return contender.Native().Make(1)
	}}}
	cannot := kind{Name: "cannot", Contender: contender.NativeSlices()}
	c := measure(t.Context(), s, l, 1, []kind{hangs, cannot})
	var text strings.Builder
	c.show(&text)
	for i, want := range []string{"hangs: 1000 values not received after 50ms", "cannot do 1->1"} {
		if c.rows[i].err == nil || len(c.rows[i].rounds) > 0 || !strings.Contains(text.String(), want) {
			t.Errorf("want %q in\n%s", want, text.String())
		}
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if c := measure(canceled, s, l, 1, []kind{hangs}); len(c.rows[0].rounds) > 0 || c.rows[0].err != nil {
		t.Errorf("after an interrupt: %+v", c.rows[0])
	}
}

func TestFigures(t *testing.T) {
	ours := row{rounds: []round{{cpu: 3}, {cpu: 10}, {cpu: 4}}}
	reference := row{rounds: []round{{cpu: 1}, {cpu: 5}, {cpu: 4}}}
	if got := ours.median(cpu); got != 4 {
		t.Errorf("median %v", got)
	}
	if got := ours.against(reference, cpu); got != 2 {
		t.Errorf("ratio %v, want the median of 3, 2 and 1", got)
	}
	if got := rounds.Median([]float64{4, 1, 3, 2}); got != 2.5 {
		t.Errorf("median of four %v", got)
	}
	if !math.IsNaN(rounds.Median(nil)) {
		t.Error("median of nothing is a number")
	}
}

func TestReport(t *testing.T) {
	if err := report(t.Context(), quick(t, "-procs", "1", "-kinds", "Bounded 1$", "-rate", "1M", "-senders", "2")); err != nil {
		t.Error(err)
	}
	if _, err := parse([]string{"-o", "x"}); err == nil || !strings.Contains(err.Error(), "-o requires -table") {
		t.Errorf("-o alone: %v", err)
	}
	if err := report(t.Context(), quick(t, "-table", "speed")); err == nil || !strings.Contains(err.Error(), "unknown table") {
		t.Errorf("got %v", err)
	}
	if err := report(t.Context(), quick(t, "-kinds", "nothing")); err == nil || !strings.Contains(err.Error(), "no kind matches") {
		t.Errorf("got %v", err)
	}
}

// Every load of the tables can be run by its kinds, and no section has two rows of one
// name.
func TestTables(t *testing.T) {
	s := quick(t)
	seen := map[string]bool{}
	for _, table := range tables {
		if got, err := tableNamed(table.name); err != nil || got.title != table.title {
			t.Errorf("table %s: %v", table.name, err)
		}
		if table.grid {
			clear(seen) // it has loads of the others, too
		}
		for _, l := range table.loads {
			load, err := s.lasting(l.load, leastOfTable)
			if err != nil || load.Values < leastOfTable {
				t.Fatalf("%s: %+v, %v", table.name, load, err)
			}
			c := cell{load: load}
			for _, k := range choose(kinds(t.Context()), l.kinds) {
				name := c.describe() + k.Name
				if seen[name] {
					t.Errorf("%s: two rows of %s", table.name, name)
				}
				seen[name] = true
				if k.Name != without && !k.Contender.Can(k.Capacity, load.Senders, load.Receivers) {
					t.Errorf("%s: %s cannot do it", table.name, name)
				}
			}
		}
	}
	if _, err := tableNamed("speed"); err == nil || !strings.Contains(err.Error(), "want rates, ends, jobs, grid, whole-grid, ping-pong") {
		t.Errorf("an unknown table: %v", err)
	}
}

func TestMarkdown(t *testing.T) {
	r := func(name, reference string, cpu, p50, p99 float64) row {
		n := round{cpu: cpu, voluntary: 1.25, sent: delays{p50, p99, 2 * p99}, intended: delays{3 * p50, 0, 0}}
		return row{kind: kind{Name: name, Reference: reference}, rounds: []round{n, n, n}}
	}
	c := cell{procs: 2, others: 0.125, load: paced.Load{Rate: 10_000, Senders: 8, Receivers: 1, Group: 1}, rows: []row{
		r(without, "", 1000, 10, 20),
		r("native 128", "", 2000, 100, 1000),
		r("Bounded 128", "native 128", 1600, 80, 900),
		r("Elastic", "native 128", 2000, 110, 1300),
		r("Sharded", "native 128", 2010, 120, 1310),
		{kind: kind{Name: "Rendezvous", Reference: "native 0"}, err: context.Canceled},
	}}
	text := tables[0].markdown(quick(t), results.Host{Commit: "c0ffee"}, time.Time{}, []cell{c})
	for _, want := range []string{
		"## Channels that are not busy\n", "commit: c0ffee", "other processes took 12% (at most 12%)",
		"| paced 10k/s, 8->1 no channel | 2 | - | 1.00 | 0.00 | 0.01 | 0.0 | 0.0 | 0.0 | 1.25 | - | - | - | |\n",
		"| paced 10k/s, 8->1 Bounded 128 | 2 | native 128 | 1.60 | 0.60 | 0.08 | 0.9 | 1.8 | 0.2 | 1.25 | 0.80 | 0.80 | 0.90 | goal |\n",
		"Elastic | 2 | native 128 | 2.00 | 1.00 | 0.11 | 1.3 | 2.6 | 0.3 | 1.25 | 1.00 | 1.10 | 1.30 | pass |\n",
		"| falls short: CPU, p50, p99 |\n", "no figure: context canceled",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the section lacks %q:\n%s", want, text)
		}
	}
	if got := verdict(r("Bounded 128 ctx", "native 128 select", 1, 1, 1), [3]float64{0.9, 1.01, 1}); got != "falls short: p50" {
		t.Errorf("against a select: %s", got)
	}
	if got := others([]cell{{others: -1}}); got != "an unknown share" {
		t.Errorf("others: %s", got)
	}
}

func TestBusySeconds(t *testing.T) {
	if got, ok := busySeconds("cpu  100 200 300 4000 5000 600 700 800 0 0\ncpu0 1 2\n"); !ok || got != 27 {
		t.Errorf("busy for %v s, %v", got, ok)
	}
	for _, wrong := range []string{"", "cpu0 1 2 3 4 5 6 7 8", "cpu 1 2 3", "cpu a b c d e f g h"} {
		if _, ok := busySeconds(wrong); ok {
			t.Errorf("%q is accepted", wrong)
		}
	}
	now := time.Now()
	before := machineLoad{at: now, busy: 10, own: 4, known: true}
	after := machineLoad{at: now.Add(10 * time.Second), busy: 10 + 3*float64(runtime.NumCPU()), own: 4 + float64(runtime.NumCPU()), known: true}
	if got := after.othersSince(before); math.Abs(got-0.2) > 1e-9 {
		t.Errorf("others took %v of the time, want 0.2", got)
	}
	if got := after.othersSince(machineLoad{at: now}); got != -1 {
		t.Errorf("an unknown load gives %v", got)
	}
}

func TestRealTimePolicy(t *testing.T) {
	const before = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 "
	for policy, want := range map[string]bool{"0": false, "1": true, "2": true, "3": false} {
		if got := realTimePolicy("12 (paced x) " + before + policy + " 0 0\n"); got != want {
			t.Errorf("policy %s: %v", policy, got)
		}
	}
	if realTimePolicy("") {
		t.Error("an unknown policy is real-time")
	}
}

// A duel has both contenders in turns, and its section all rows.
func TestPingPong(t *testing.T) {
	s := quick(t, "-time", "100us", "-procs", "1", "-kinds", "Bounded 1$|Pipe|one goroutine", "-table", "ping-pong", "-o", t.TempDir()+"/RESULTS.md")
	if err := report(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(s.Out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<!-- begin paced ping-pong -->", "| ping-pong Bounded 1 | 1 | native |", "| 1->1 Pipe | 1 | chanx |", "| one goroutine Bounded 128 one to one |"} {
		if !strings.Contains(string(written), want) {
			t.Errorf("the section lacks %q:\n%s", want, written)
		}
	}
	names := map[string]bool{}
	for _, d := range duels(t.Context()) {
		if names[d.name] || !d.work.Can(d.reference) || !d.work.Can(d.ours) || d.goal <= d.floor {
			t.Errorf("duel %s, floor %v, goal %v", d.name, d.floor, d.goal)
		}
		names[d.name] = true
	}
	even := duel{"even", workload.PingPong(1), contender.Native(), contender.Native(), 1, 2}
	r := even.play(t.Context(), quick(t, "-rounds", "1", "-time", "100us"), 1)
	if r.err != nil || len(r.ratios) != 1 || r.ratios[0] != r.referenceNs[0]/r.oursNs[0] {
		t.Errorf("score %+v", r)
	}
	lossy := duel{"lossy", workload.PingPong(1), contender.Native(), contender.NativeSlices(), 1, 2}
	if r := lossy.play(t.Context(), s, 1); r.err == nil {
		t.Error("a contender that cannot do it has a score")
	}
	for ratio, want := range map[float64]string{0.9: "falls short", 1: "pass", 2: "goal"} {
		if got := (score{duel: lossy, ratios: []float64{ratio}}).verdict(); got != want {
			t.Errorf("a ratio of %v: %s", ratio, got)
		}
	}
}
