package report

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/host"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
)

// everyStudy is a run of all studies with made-up figures: the i-th contender of
// a point takes i+1 times as long as the first.
func everyStudy(s lab.Scale, machine Machine) *Report {
	var runs []Run
	for _, e := range lab.All() {
		run := Run{Experiment: e, Sections: e.Sections(s)}
		for _, section := range run.Sections {
			for _, p := range section.Points {
				run.Outcomes = append(run.Outcomes, madeUp(p, section.Measures))
			}
		}
		runs = append(runs, run)
	}
	return New(machine, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), s.Size, false, runs)
}

func madeUp(p *lab.Point, measures []lab.Measure) measure.Outcome {
	outcome := measure.Outcome{Point: &p.Point, Finished: true}
	for i, entry := range p.Entries {
		result := measure.Result{Contender: entry.Contender}
		for round := range 9 {
			value := 100 * float64(i+1) * (1 + float64(round)/100)
			var figures []measure.Figure
			units := []string{measure.NsPerOp, "x-ideal", measure.BytesPeak, measure.BytesFull, measure.BytesDrained}
			for _, m := range measures {
				if !slices.Contains(units, m.Unit) {
					units = append(units, m.Unit)
				}
			}
			for _, unit := range units {
				figures = append(figures, measure.Figure{Unit: unit, Value: value})
			}
			result.Repetitions = append(result.Repetitions, measure.Repetition{Ops: 1, Figures: figures})
		}
		outcome.Results = append(outcome.Results, result)
	}
	return outcome
}

// troubledStudies has every reason to distrust a run.
func troubledStudies() *Report {
	quota := 1.5
	r := everyStudy(lab.Scale{CPUs: 64}, Machine{
		CPU: "AMD EPYC 9R14 96-Core Processor with an extraordinarily long name", CPUs: 64, OS: "linux", Arch: "amd64",
		Go: "go1.26.8 X:nocoverageredesign", Version: "commit 0123456789ab with changes", Quota: &quota,
	})
	r.Sittings = []Sitting{{Before: &host.Noise{Spread: 0.01}, After: &host.Noise{Spread: 0.341}}, {}}
	r.Failures = []string{
		"cpu-scaling, remedies one-consumer, n 64000, GOMAXPROCS 64: batch.Sender of 64: repetition 1 of 9: received 63999 values of 64000",
		"another", "a third", "a fourth",
	}
	r.Interrupted, r.Missing = true, []string{"one", "two"}
	r.eachPoint(func(_ *Experiment, p *Point) { p.Disturbed = []string{"steal"} })
	return r
}

// on80 writes to a screen of the usual width.
func on80(write func(io.Writer, format.Screen) error) func(io.Writer) error {
	return func(w io.Writer) error { return write(w, format.Screen{Width: format.UsualWidth}) }
}

// styles are the escape codes of a screen.
var styles = regexp.MustCompile(`\x1b\[[0-9;]*m`)

func screenOf(t *testing.T, r *Report, s format.Screen) []string {
	t.Helper()
	text := render(t, func(w io.Writer) error { return r.WriteHead(w, s) }) +
		render(t, func(w io.Writer) error { return r.WriteScreen(w, s, "sluice-lab/report.html") })
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// On a terminal of the usual width, and on wider ones, a run takes one screen. No
// line is wider than the terminal.
func TestScreenFits(t *testing.T) {
	for name, r := range map[string]*Report{
		"two CPUs": everyStudy(lab.Scale{CPUs: 2}, Machine{CPUs: 2}),
		"quick":    everyStudy(lab.Scale{CPUs: 2, Size: lab.Quick}, Machine{CPUs: 2}),
		"troubled": troubledStudies(),
		"one":      pretended(true),
	} {
		for _, width := range []int{format.NarrowestWidth, 60, format.UsualWidth, 120, format.WidestWidth} {
			lines := screenOf(t, r, format.Screen{Width: width})
			if most := screenLines - otherLines; width >= format.UsualWidth && len(lines) > most {
				t.Errorf("%s, %d columns: %d lines, want at most %d:\n%s", name, width, len(lines), most, strings.Join(lines, "\n"))
			}
			if text := strings.Join(lines, "\n"); name == "two CPUs" && width < format.UsualWidth && !strings.Contains(text, "\n2. ") {
				t.Errorf("%s, %d columns: the screen lacks a result:\n%s", name, width, text)
			}
			for _, line := range lines {
				if n := utf8.RuneCountInString(line); n > width {
					t.Errorf("%s, %d columns: a line has %d:\n%s", name, width, n, line)
				}
				if strings.Contains(line, "\x1b") {
					t.Errorf("%s: an escape code without colors: %q", name, line)
				}
			}
		}
	}
}

// TestScreenOfHostileNames: a results.json may hold anything; of escape codes, a terminal
// gets the styles of the screen only.
func TestScreenOfHostileNames(t *testing.T) {
	const hostile = "\x1b[2J\u202eexe\x9b"
	r := troubledStudies()
	r.Machine.CPU, r.Machine.Go, r.Machine.Version = hostile, hostile, hostile
	r.Failures = append(r.Failures, hostile)
	for i := range r.Experiments {
		r.Experiments[i].Title += hostile
	}
	whole := render(t, on80(r.WriteText)) + render(t, on80(r.WriteHeader))
	for _, text := range []string{
		whole,
		strings.Join(screenOf(t, r, format.Screen{Width: format.UsualWidth}), "\n"),
		styles.ReplaceAllString(strings.Join(screenOf(t, r, format.Screen{Width: format.UsualWidth, Color: true}), "\n"), ""),
	} {
		for _, r := range text {
			if r != '\n' && !unicode.IsPrint(r) {
				t.Fatalf("%q in %q", r, text)
			}
		}
	}
}

func TestScreenOfTrouble(t *testing.T) {
	lines := screenOf(t, troubledStudies(), format.Screen{Width: format.UsualWidth, Color: true})
	if want := loud + "NOISY MACHINE: the time of a fixed loop varied by 34%. Figures are rough.\x1b[0m"; lines[0] != want {
		t.Errorf("the first line is %q, want %q", lines[0], want)
	}
	text := strings.Join(strings.Fields(strings.Join(lines, " ")), " ")
	for _, want := range []string{"FAILED: cpu-scaling", "… and 2 more failures", "Interrupted: 2 measurements are missing or incomplete, of ", "Disturbed: ", "cgroup quota 1.5 CPUs, speed varied by 34%", "One value costs", "sluice-lab/report.html"} {
		if !strings.Contains(text, want) {
			t.Errorf("the screen lacks %q:\n%s", want, text)
		}
	}
	if quiet := strings.Join(screenOf(t, everyStudy(lab.Scale{CPUs: 2}, Machine{CPUs: 2}), format.Screen{Width: format.UsualWidth}), "\n"); strings.Contains(quiet, "NOISY") || strings.Contains(quiet, "Disturbed") {
		t.Errorf("a quiet machine is called noisy:\n%s", quiet)
	}
}

// TestScreenOfDisturbance: reasons not to trust a run are wrapped, not cut, and the
// quiet loop of before does not stand at the top of a disturbed run.
func TestScreenOfDisturbance(t *testing.T) {
	of := func(disturbed bool, sitting Sitting) string {
		r := everyStudy(lab.Scale{CPUs: 2}, Machine{CPUs: 2})
		r.Sittings = []Sitting{sitting}
		r.eachPoint(func(_ *Experiment, p *Point) {
			if p.Reduced = 1; disturbed {
				p.Disturbed = []string{"steal"}
			}
		})
		return strings.Join(strings.Fields(strings.Join(screenOf(t, r, format.Screen{Width: format.UsualWidth}), " ")), " ")
	}
	quiet := &host.Noise{Spread: 0.001}
	for name, test := range map[string]struct {
		text, says, not string
	}{
		"disturbed":      {of(true, Sitting{Before: quiet, After: quiet}), "so figures are rough. Run again when idle.", "speed varied by 0.1%"},
		"still quiet":    {of(false, Sitting{Before: quiet, After: quiet}), "speed varied by 0.1%", "before the run"},
		"not over yet":   {of(false, Sitting{Before: quiet}), "speed varied by 0.1% before the run", "Disturbed"},
		"a noisy loop":   {of(true, Sitting{Before: &host.Noise{Spread: 0.3}, After: quiet}), "speed varied by 30%", "before the run"},
		"reduced, whole": {of(false, Sitting{}), "because the machine was too slow or too busy for the time of the run. Run again when idle, or set -count.", "…"},
	} {
		if !strings.Contains(test.text, test.says) || strings.Contains(test.text, test.not) {
			t.Errorf("%s lacks %q, or has %q:\n%s", name, test.says, test.not, test.text)
		}
	}
}

// Every study has its question, and bars whose lengths are in the ratio of their
// figures.
func TestScreenOfStudies(t *testing.T) {
	r := everyStudy(lab.Scale{CPUs: 2}, Machine{CPUs: 2})
	text := strings.Join(screenOf(t, r, format.Screen{Width: 100}), "\n")
	for i := range r.Experiments {
		if !strings.Contains(text, r.Experiments[i].Title) {
			t.Errorf("the screen lacks %s:\n%s", r.Experiments[i].Name, text)
		}
	}
	unknown := lab.Bar{Label: "wide"}
	unknown.Figure.N, unknown.Figure.Median, unknown.Figure.Lo, unknown.Figure.Hi, unknown.Figure.Confidence = 9, 10, 1, 30, 0.96
	bar := func(label string, v float64) lab.Bar {
		b := lab.Bar{Label: label, Known: true}
		b.Figure.N, b.Figure.Median, b.Figure.Lo, b.Figure.Hi, b.Figure.Confidence = 9, v, v, v, 0.96
		return b
	}
	limited := lab.Bar{Label: "less", Limited: true}
	limited.Figure.N, limited.Figure.Median, limited.Figure.Lo, limited.Figure.Hi, limited.Figure.Confidence = 9, 2, -1, 5, 0.96
	all := []lab.Bar{bar("long", 40), bar("short", 10), limited, unknown}
	few := screen{Screen: format.Screen{Width: 50}, studies: []*Experiment{{Conclusion: lab.Conclusion{Chart: lab.Chart{Unit: "ns per value", Bars: all}}}}, detail: details[0]}
	got := strings.Join(few.bars()[0], "\n")
	want := "  long  " + strings.Repeat("█", 35) + " 40 ns\n  short " + strings.Repeat("█", 8) + "▊ 10 ns\n  less  ████▍ < 5 ns\n  wide  not known"
	if fmt.Sprint(got) != want {
		t.Errorf("bars\n%s\nwant\n%s", got, want)
	}
	if chart, _ := fewChart("", lab.Chart{Unit: "ns per value", Bars: all[:3]}, false); !strings.Contains(string(chart), "&lt; 5 ns") || strings.Contains(string(chart), format.NotKnown) {
		t.Errorf("the chart lacks the limit:\n%s", chart)
	}
}

// A run of one study has room for its answer.
func TestScreenOfOneStudy(t *testing.T) {
	r := everyStudy(lab.Scale{CPUs: 2}, Machine{CPUs: 2})
	for _, e := range r.Experiments {
		one := *r
		one.Experiments = []Experiment{e}
		one.Overview = lab.NewOverview([]lab.Conclusion{one.Experiments[0].Conclusion})
		text := strings.Join(strings.Fields(strings.Join(screenOf(t, &one, format.Screen{Width: format.UsualWidth}), " ")), " ")
		if !strings.Contains(text, e.Answer) || !strings.Contains(text, e.Advice) {
			t.Errorf("%s: the screen lacks the answer:\n%s", e.Name, text)
		}
	}
}
