package predict

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// asked returns a question about counts of a law, on a completely known machine.
func asked(l Law, cpus int, procs ...int) Question {
	here := Topology{CPUs: procs[len(procs)-1], LLC: 64, Socket: 64}
	target := here
	target.CPUs = cpus
	return Question{
		Curve: Curve{Source: "s", Machine: "Testium 9000", Version: "Go 1.26.8", Workload: "one chan"},
		Swept: Swept{Single: exactly(l, procs...)}, Here: true, CPUsKnown: true,
		Limits: Limits{here, target}, GoVersion: "Go 1.26.8", Arch: "amd64", Published: Published(),
	}
}

func written(t *testing.T, q Question) string {
	t.Helper()
	var text bytes.Buffer
	if err := NewReport(q).WriteText(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestReport(t *testing.T) {
	r := NewReport(asked(Law{2e7, 0.5, 0}, 16, 1, 2, 4, 8))
	var cpus []float64
	for _, f := range r.Figures {
		cpus = append(cpus, f.CPUs)
		if (f.CPUs <= 8) != (f.Mode == Measured) {
			t.Errorf("%+v", f)
		}
	}
	if want := []float64{1, 2, 4, 8, 16}; !slices.Equal(cpus, want) || len(r.Refused) > 0 || len(r.Order) > 0 {
		t.Errorf("figures for %v, refused %v, order %v", cpus, r.Refused, r.Order)
	}
	if r.Law == nil || !closeTo(r.Law.Sigma, 0.5, 1e-4) || r.Plateau == nil || !closeTo(r.Plateau.X, 4e7, 1e-4) || r.Plateau.Lo >= r.Plateau.X {
		t.Errorf("law %+v, plateau %+v", r.Law, r.Plateau)
	}
	if down := NewReport(asked(Law{2e7, 0.5, 0.1}, 16, 1, 2, 4, 8)); down.Plateau != nil {
		t.Errorf("what comes down has the plateau %+v", down.Plateau)
	}
	if c := r.Ceilings; c.CPUs != 16 || len(c.Lanes) != 4 || len(c.Batches) != len(batchSizes) || c.OwnCostKnown {
		t.Errorf("ceilings %+v", c)
	}
}

// A prediction does not use its own curve.
func TestReportLeavesTheCurveOut(t *testing.T) {
	q := asked(Law{2e7, 0.5, 0}, 8, 1, 2, 4)
	with := NewReport(q).Bands
	q.Curve = *trials(q.Published)[0].curve
	without := NewReport(q)
	if without.Bands[near].Curves != with[near].Curves-1 {
		t.Errorf("band from %d curves, with it from %d", without.Bands[near].Curves, with[near].Curves)
	}
	if slices.ContainsFunc(without.Beside, func(n Neighbor) bool { return n.same(q.Curve) }) {
		t.Error("it stands beside itself")
	}
}

func TestReportText(t *testing.T) {
	down := asked(Law{3e7, 2, 0.2}, 64, 1, 2, 4, 8)
	two := asked(Law{3e7, 0.5, 0}, 2, 1, 2)
	two.Swept.Batches = []Count{{1, 3e8, 3e8, 3e8, 9}, {2, 2.5e8, 2.4e8, 2.6e8, 9}}
	two.Swept.Lanes = []Count{{2, 4e7, 3.9e7, 4.1e7, 9}}
	two.Curve.Above = []int{8, 16}
	noisy := asked(Law{3e7, 0.5, 0}, 8, 1, 2, 4)
	noisy.Swept.Single[1].Lo /= 3
	own := asked(Law{3e7, 0.5, 0}, 4, 1, 2, 4)
	own.Own, own.Here, own.CPUsKnown = []Curve{mine}, false, false
	cached := asked(Law{3e7, 0.5, 0}, 8, 1, 2, 4)
	cached.Limits.Target.LLC, cached.Limits.Measured.LLC = 4, 4
	tests := []struct {
		name  string
		q     Question
		says  []string
		never []string
	}{
		{"comes down", down, []string{
			"One channel on this machine peaks at 1 CPU: 30.0 M/s (measured, 29.4 M/s to 30.6 M/s).",
			"σ = 2, κ = 0.2.", "Plateau: none, by the law", "32    ", "extrapolated",
			"No figure for 64 CPUs: too far from the measured counts: 64 CPUs are more than 4 times the 8",
			"sharded, FAA, short lock, sleeping lock, CAS loop", "It is right for 9",
			"Fewer Ps: GOMAXPROCS 1 has 3.", "Lanes: 8 on 32 CPUs reach at most", "Own cost: not measured",
			"  AWS c6g.metal Graviton2 64 cores, Go 1.19.3 (another lock)", "source: puzpuzpuz/xsync",
		}, []string{"No law", "Left out"}},
		{"two CPUs", two, []string{
			"has its highest throughput at 2 CPUs: 40.0 M/s", "so the peak may be beyond", "2 counts are too few to fit a law, so there is no prediction beyond 2 CPUs.", "measure at least 3",
			"Lanes: 2 on 2 CPUs reach at most 60.0 M/s", "Batches: of 64 on 2 CPUs reach about", "1.7 to 2x short", "Own cost: 2.8 ns per value",
			"a measured chan of slices of 64 on 2 CPUs: 250 M/s", "sluice.Sharded with its default lanes, on 2 CPUs: 40.0 M/s",
			"Left out: GOMAXPROCS 8 16, above the 2 CPUs. Such points test robustness", "sharded, FAA",
		}, []string{"extrapolated", "The law:"}},
		{"noise", noisy, []string{"No law: the points follow no law: the interval on 2 CPUs is ±67%", "quieter machine, or with more repetitions"}, []string{"The law:", "extrapolated"}},
		{"own curves", own, []string{"One channel of Testium 9000", "include 1 curve of your own", "set -from-cpus", "Plateau: 60.0 M/s (extrapolated"}, nil},
		{"behind another cache", cached, []string{"No figure for 8 CPUs: a boundary that was not measured: 8 CPUs are more than the 4 that share a last-level cache",
			"set -llc", "beyond a boundary that was not measured: no figure"}, []string{"extrapolated"}},
	}
	for _, tt := range tests {
		text := written(t, tt.q)
		for _, want := range tt.says {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the report lacks %q:\n%s", tt.name, want, text)
			}
		}
		for _, wrong := range append(tt.never, "NaN", "Inf", "%!") {
			if strings.Contains(text, wrong) {
				t.Errorf("%s: the report has %q:\n%s", tt.name, wrong, text)
			}
		}
	}
}

func TestReportJSON(t *testing.T) {
	for _, q := range []Question{asked(Law{2e7, 0.5, 0}, 16, 1, 2, 4, 8), asked(Law{2e7, 0, 0}, 64, 1, 2, 4), asked(Law{3e7, 2, 0}, 2, 1, 2)} {
		var text bytes.Buffer
		r := NewReport(q)
		if err := r.WriteJSON(&text); err != nil {
			t.Fatal(err)
		}
		var back Report
		if err := json.Unmarshal(text.Bytes(), &back); err != nil {
			t.Fatal(err)
		}
		if back.Peak.Figure != r.Peak.Figure || !slices.Equal(back.Figures, r.Figures) || len(back.Beside) != len(r.Beside) || back.NoLaw != r.NoLaw {
			t.Errorf("read back %+v, want %+v", back, r)
		}
	}
}
