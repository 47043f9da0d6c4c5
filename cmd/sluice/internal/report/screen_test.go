package report

import (
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
	outcome := measure.Outcome{Point: &p.Point, State: measure.State{Finished: true}}
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
	whole := render(t, on80(r.WriteText))
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
	text := words(strings.Join(screenOf(t, troubledStudies(), format.Screen{Width: format.UsualWidth, Color: true}), " "))
	for _, want := range []string{
		"Noisy machine: The time of a fixed loop varied by 34%: figures are rough.", "Failed: 4 contenders did not", "- cpu-scaling, remedies one-consumer", "- another",
		"Interrupted: 2 of ", "Disturbed: ", "cgroup quota 1.5 CPUs, speed varied by 34%", "One value costs", "sluice-lab/report.html",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the screen lacks %q:\n%s", want, text)
		}
	}
	if quiet := strings.Join(screenOf(t, everyStudy(lab.Scale{CPUs: 2}, Machine{CPUs: 2}), format.Screen{Width: format.UsualWidth}), "\n"); strings.Contains(quiet, "Noisy") || strings.Contains(quiet, "Disturbed") {
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
		"disturbed":      {of(true, Sitting{Before: quiet, After: quiet}), "took much of the machine in 179 of 179 measurements. Run again when idle.", "speed varied by 0.1%"},
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

// The bars of a chart have lengths in the ratio of their figures; a figure that is not known
// has none.
func TestBars(t *testing.T) {
	bar := func(label string, v, lo, hi float64) lab.Bar {
		b := lab.Bar{Label: label}
		b.Figure.N, b.Figure.Median, b.Figure.Lo, b.Figure.Hi, b.Figure.Confidence = 9, v, lo, hi, 0.96
		return b
	}
	c := lab.Chart{Unit: "ns per value", Bars: []lab.Bar{bar("long", 40, 40, 40), bar("short", 10, 10, 10), bar("wide", 10, 1, 30)}}
	got := strings.Join(drawn(format.Screen{Width: 50}, c), "\n")
	if want := "  long  " + strings.Repeat("█", 32) + " 40 ns\n  short " + strings.Repeat("█", 8) + " 10 ns\n  wide  not known"; got != want {
		t.Errorf("bars\n%s\nwant\n%s", got, want)
	}
}

// The screen has the answer of each study, and the advice if it is the only one.
func TestScreenOfStudies(t *testing.T) {
	r := everyStudy(lab.Scale{CPUs: 2}, Machine{CPUs: 2})
	whole := words(strings.Join(screenOf(t, r, format.Screen{Width: format.UsualWidth}), " "))
	for _, e := range r.Experiments {
		one := *r
		one.Experiments = []Experiment{e}
		one.Overview = lab.NewOverview([]lab.Conclusion{e.Conclusion})
		alone := words(strings.Join(screenOf(t, &one, format.Screen{Width: format.UsualWidth}), " "))
		if !strings.Contains(whole, e.Answer) || !strings.Contains(alone, e.Answer) || !strings.Contains(alone, e.Advice) {
			t.Errorf("%s: the screen lacks the answer:\n%s\n%s", e.Name, whole, alone)
		}
	}
}
