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
		Curve: Curve{Source: "s", Machine: "Testium 9000", Version: "Go 1.26.8", Workload: "one chan", Design: ChannelDesign},
		Swept: Swept{Single: exactly(l, procs...)}, Here: true, CPUsKnown: true,
		Limits: Limits{here, target}, Published: Published(),
	}
}

// written returns the text of a report without its line breaks. No line is wider
// than the screen, at any width.
func written(t *testing.T, q Question, details bool) string {
	t.Helper()
	r := NewReport(q)
	var text bytes.Buffer
	for _, width := range []int{60, 80, 120} {
		text.Reset()
		if err := r.WriteText(&text, width, details); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d of %d columns: %s", n, width, line)
			}
		}
	}
	return strings.Join(strings.Fields(text.String()), " ")
}

func TestReport(t *testing.T) {
	r := NewReport(asked(Law{2e7, 0.5, 0}, 16, 1, 2, 4, 8))
	var cpus []int
	for _, f := range r.Figures {
		cpus = append(cpus, f.CPUs)
		if (f.CPUs <= 8) != (f.Mode == Measured) {
			t.Errorf("%+v", f)
		}
	}
	if want := []int{1, 2, 4, 8, 16}; !slices.Equal(cpus, want) || len(r.Refused) > 0 {
		t.Errorf("figures for %v, refused %v", cpus, r.Refused)
	}
	if r.Law == nil || !closeTo(r.Law.Sigma, 0.5, 1e-4) {
		t.Errorf("law %+v", r.Law)
	}
	// A sweep that begins with two CPUs has no figure for one, which is not
	// refused either.
	if r := NewReport(asked(Law{2e7, 0.5, 0}, 16, 2, 4, 8)); len(r.Refused) > 0 || r.Figures[0].CPUs != 2 {
		t.Errorf("figures %v, refused %v", r.Figures, r.Refused)
	}
}

// A prediction does not use its own curve.
func TestReportLeavesTheCurveOut(t *testing.T) {
	for i, c := range Published()[:5] {
		q := asked(Law{2e7, 0.5, 0}, 0, 1, 2, 4)
		q.Curve, q.Swept.Single, q.Limits = c, c.Points[:MinCounts], oneCache
		r := NewReport(q)
		if slices.ContainsFunc(r.Alike, func(a Curve) bool { return a.same(c) }) {
			t.Errorf("%s stands beside itself", c.facts())
		}
		q.Published = slices.Delete(slices.Clone(Published()), i, i+1)
		if without := NewReport(q); !slices.Equal(r.Figures, without.Figures) {
			t.Errorf("%s: %+v, without it %+v", c.facts(), r.Figures, without.Figures)
		}
	}
}

func TestReportText(t *testing.T) {
	down := asked(Law{3e7, 2, 0.2}, 64, 1, 2, 4, 8)
	two := asked(Law{3e7, 0.5, 0}, 2, 1, 2)
	two.Swept.Batches = []Point{{1, 3e8, 3e8, 3e8, 9}, {2, 2.5e8, 2.4e8, 2.6e8, 9}}
	two.Swept.Lanes = []Point{{2, 4e7, 3.9e7, 4.1e7, 9}}
	two.Curve.Above, two.Others = []int{8, 8, 16}, 117
	noisy := asked(Law{3e7, 0.5, 0}, 8, 1, 2, 4)
	noisy.Swept.Single[0].Lo /= 3
	own := asked(Law{3e7, 0.5, 0}, 4, 1, 2, 4)
	own.Own, own.Here, own.CPUsKnown, own.Curve.Design = []Curve{mine}, false, false, "CAS loop"
	unknown := asked(Law{3e7, 0, 0}, 16, 1, 2, 4)
	unknown.Curve, unknown.Here = Curve{}, false
	cached := asked(Law{3e7, 0.5, 0}, 8, 1, 2, 4)
	cached.Limits.Target.LLC, cached.Limits.Measured.LLC = 4, 4
	many := asked(Law{2e7, 0.5, 0}, 32, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24)
	for _, tt := range []struct {
		name    string
		q       Question
		details bool
		says    []string
		never   []string
	}{
		{"comes down", down, false, []string{
			"One channel on this machine carries most on 1 CPU: 30.0 M/s, measured (29.4 M/s to 30.6 M/s).",
			"It carries 3.", "times as much on 1 CPU as on 8 (", " 32 ", "extrapolated", "It includes that nothing changes beyond 8 CPUs.",
			"No figure for 64 CPUs: too far from the measured counts: 64 CPUs are more than 4 times the 8",
			"32 lanes at most 979 M/s: 32 CPUs times 30.6 M/s", "batches no figure: their cost per value was not measured",
		}, []string{"No prediction", "Left out", "The law", "Published curves", "other series"}},
		{"comes down, in detail", down, true, []string{"σ = 2, κ = 0.2.", "By the law there is no plateau", "Published curves that looked most like", "source: "}, nil},
		{"two CPUs", two, false, []string{
			"carries most on 2 CPUs: 40.0 M/s", "No larger number of CPUs has a figure, so more may carry more.",
			"No prediction beyond 2 CPUs: too few counts of CPUs: 2 measured (want at least 3, such as 1, 2 and 4).",
			"2 lanes 40.0 M/s, measured (39.0 M/s to 41.0 M/s)", "batches of 8 at most ", "batches of 64 250 M/s, measured (240 M/s to 260 M/s)", "batches of 512 at most 2",
			"Left out: GOMAXPROCS 8 16, above the 2 CPUs.", "117 other series: -list shows them, -series chooses one.",
		}, []string{"extrapolated", "times as much", "looked like"}},
		{"noise", noisy, false, []string{"No prediction beyond 4 CPUs: the points follow no law, as the interval on 1 CPU is ±67%", "quieter machine, or with more repetitions"}, []string{"extrapolated"}},
		{"own curves", own, false, []string{"This curve on Testium 9000", "include 1 curve of your own", "set -from-cpus"}, []string{"One channel"}},
		{"a file without labels", unknown, true, []string{"This curve carries most on 16 CPUs"}, []string{"One channel", "The curve:", "It includes"}},
		{"behind another cache", cached, false, []string{"No figure for 8 CPUs: a boundary that was not measured: 8 CPUs are more than the 4 that share a last-level cache", "set -llc"}, []string{"extrapolated"}},
		{"many counts", many, false, []string{" 16 ", " 24 ", " 32 "}, []string{" 23 "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := written(t, tt.q, tt.details)
			for _, want := range tt.says {
				if !strings.Contains(text, want) {
					t.Errorf("the report lacks %q:\n%s", want, text)
				}
			}
			for _, wrong := range append(tt.never, "NaN", "Inf", "%!", " 1 CPUs") {
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
		q.Curve, q.Swept.Single = c, c.Points
		q.Published = Published()[:10] // the past of all takes long
		written(t, q, false)
	}
}

func TestReportJSON(t *testing.T) {
	for _, q := range []Question{asked(Law{2e7, 0.5, 0}, 16, 1, 2, 4, 8), asked(Law{2e7, 0, 0}, 64, 1, 2, 4), asked(Law{2e7, 0, 0}, 64, 2, 4, 8), {Swept: Swept{Single: exactly(laws[1].law, 1, 2, 4)}, Limits: oneCache}, asked(Law{3e7, 2, 0}, 2, 1, 2)} {
		r := NewReport(q)
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var back Report
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if back.Peak.Figure != r.Peak.Figure || !slices.Equal(back.Figures, r.Figures) || len(back.Alike) != len(r.Alike) || back.NoLaw != r.NoLaw {
			t.Errorf("read back %+v, want %+v", back, r)
		}
	}
}
