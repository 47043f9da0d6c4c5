package predict

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
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

// written returns the report without its line breaks, and checks their form.
func written(t *testing.T, q Question, details bool) string {
	t.Helper()
	var text bytes.Buffer
	if err := NewReport(q).WriteText(&text, details); err != nil {
		t.Fatal(err)
	}
	checkForm(t, text.String(), details)
	return strings.Join(strings.Fields(text.String()), " ")
}

// checkForm checks that a text has at most 80 columns and, without details, 30
// lines.
func checkForm(t *testing.T, text string, details bool) {
	t.Helper()
	const screen = 30
	if n := strings.Count(text, "\n"); n > screen && !details {
		t.Errorf("%d lines:\n%s", n, text)
	}
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
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
	if r.Law == nil || !closeTo(r.Law.Sigma, 0.5, 1e-4) {
		t.Errorf("law %+v", r.Law)
	}
	if c := r.Ceilings; c.CPUs != 16 || len(c.Lanes) != 4 || len(c.Batches) != 0 || c.OwnCostKnown {
		t.Errorf("ceilings %+v", c)
	}
	// A sweep that begins with two CPUs has no figure for one, which is not
	// refused either.
	if r := NewReport(asked(Law{2e7, 0.5, 0}, 16, 2, 4, 8)); len(r.Refused) > 0 || r.Figures[0].CPUs != 2 {
		t.Errorf("figures %v, refused %v", r.Figures, r.Refused)
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
	two.Curve.Above, two.Others = []int{8, 8, 16}, 117
	noisy := asked(Law{3e7, 0.5, 0}, 8, 1, 2, 4)
	noisy.Swept.Single[0].Lo /= 3
	own := asked(Law{3e7, 0.5, 0}, 4, 1, 2, 4)
	own.Own, own.Here, own.CPUsKnown, own.Curve.Design = []Curve{mine}, false, false, RetryLoop
	cached := asked(Law{3e7, 0.5, 0}, 8, 1, 2, 4)
	cached.Limits.Target.LLC, cached.Limits.Measured.LLC = 4, 4
	swift := asked(Law{2e7, 0.5, 0}, 8, 1, 2, 4)
	swift.Curve.Version = "Swift"
	many := asked(Law{2e7, 0.5, 0}, 32, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24)
	tests := []struct {
		name    string
		q       Question
		details bool
		says    []string
		never   []string
	}{
		{"comes down", down, false, []string{
			"One channel on this machine carries most on 1 CPU: 30.0 M/s, measured (29.4 M/s to 30.6 M/s).",
			"It carries 3.", "times as much on 1 CPU as on 8 (", " 32 ", "extrapolated",
			"No figure for 64 CPUs: too far from the measured counts: 64 CPUs are more than 4 times the 8",
			"32 lanes at most 960 M/s, derived from one channel", "batches no figure: their cost per value was not measured", "With -v: ",
			"Up to 2x the measured CPUs, predictions of 17 of Go's published curves are no better than to assume no change: off by a factor of 1.12 (median) instead of 1.09.",
			"Up to 4x the measured CPUs, predictions of 13 of Go's published curves are off by a factor of 1.15 (median); to assume no change, by 1.36.",
		}, []string{"No prediction", "Left out", "The law", "Published curves", "other series"}},
		{"comes down, in detail", down, true, []string{
			"σ = 2, κ = 0.2.", "By the law there is no plateau", "sharded, FAA, short lock, sleeping lock, CAS loop", "This is right for 9",
			"AWS c6g.metal Graviton2 64 cores, Go 1.19.3 (another lock)", "source: puzpuzpuz/xsync", "2 lanes: at most ", "fell short by up to 2.3x (4 curves)",
		}, []string{"With -v"}},
		{"two CPUs", two, false, []string{
			"carries most on 2 CPUs: 40.0 M/s", "No larger number of CPUs has a figure, so more may carry more.",
			"No prediction beyond 2 CPUs: too few counts of CPUs: 2 measured (want at least 3, such as 1, 2 and 4).",
			"2 lanes 40.0 M/s, measured (39.0 M/s to 41.0 M/s)", "batches of 8 at most ", "batches of 64 250 M/s, measured (240 M/s to 260 M/s)", "batches of 512 at most 2",
			"Left out: GOMAXPROCS 8 16, above the 2 CPUs.", "117 other series: -list shows them, -series chooses one.",
		}, []string{"extrapolated", "off by", "times as much"}},
		{"noise", noisy, false, []string{"No prediction beyond 4 CPUs: the points follow no law: the interval on 1 CPU is ±67%", "quieter machine, or with more repetitions"}, []string{"extrapolated"}},
		{"own curves", own, false, []string{"This resource (CAS loop) on Testium 9000", "include 1 curve of your own", "set -from-cpus"}, []string{"One channel"}},
		{"behind another cache", cached, false, []string{"No figure for 8 CPUs: a boundary that was not measured: 8 CPUs are more than the 4 that share a last-level cache", "set -llc"}, []string{"extrapolated"}},
		{"another language", swift, false, []string{"predictions of 83 of published curves are off by a factor of 1.14"}, []string{"Go's", "no better"}},
		{"many counts", many, false, []string{" 16 ", " 24 ", " 32 "}, []string{" 23 "}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := written(t, tt.q, tt.details)
			for _, want := range tt.says {
				if !strings.Contains(text, want) {
					t.Errorf("the report lacks %q:\n%s", want, text)
				}
			}
			for _, wrong := range append(tt.never, "NaN", "Inf", "%!", " 1 CPUs", "excerpt", "unknown;") {
				if strings.Contains(text, wrong) {
					t.Errorf("the report has %q:\n%s", wrong, text)
				}
			}
		})
	}
}

// The text about each published curve fits a screen.
func TestReportFits(t *testing.T) {
	for _, c := range Published() {
		q := asked(Law{2e7, 0.5, 0}, 64, 1, 2, 4)
		q.Curve, q.Swept.Single = c, nil
		for _, p := range c.Points {
			q.Swept.Single = append(q.Swept.Single, Count{p.Procs, p.X, p.X, p.X, 1})
		}
		q.Published = Published()[:20] // the bands of all take long
		written(t, q, false)
	}
}

func TestReportJSON(t *testing.T) {
	for _, q := range []Question{asked(Law{2e7, 0.5, 0}, 16, 1, 2, 4, 8), asked(Law{2e7, 0, 0}, 64, 1, 2, 4), {Swept: Swept{Single: exactly(laws[1].law, 1, 2, 4)}, Limits: oneCache}, asked(Law{3e7, 2, 0}, 2, 1, 2)} {
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
