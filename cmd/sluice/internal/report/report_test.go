package report

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/perf/benchfmt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// pretended is a small experiment with made-up figures, as if measured on a
// machine of two CPUs: with and without an axis, oversubscribed, failed, left
// out, interrupted.
func pretended(interrupted bool) *Report {
	machine := Machine{CPU: "Made-up CPU", CPUs: 2, OS: "linux", Arch: "amd64", Go: "go1.26", Version: "commit 0123456789ab", Load: "0.10"}
	r := New(machine, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), lab.Standard, interrupted, []Run{pretendedExperiment(interrupted)})
	r.Took = Duration(61500 * time.Millisecond)
	return r
}

func pretendedExperiment(interrupted bool) Run {
	perValue := []lab.Measure{lab.PerValue}
	point := func(section, load, x string, procs int, outs ...measure.LeftOut) *lab.Point {
		workers := len(load) // of a panel with a title
		return &lab.Point{Panel: lab.Panel{Workers: workers}, X: x, Point: measure.Point{
			Setting: measure.Setting{
				Name:   section + ", GOMAXPROCS " + x,
				Labels: []measure.Label{{Key: "sweep", Value: section}, {Key: "work", Value: load}},
				Procs:  procs, Count: 6,
				LeftOut: outs,
			},
			Entries: []measure.Entry{{Contender: "native, 8 slots"}, {Contender: "sluice.Kind"}},
		}}
	}
	small := measure.LeftOut{Contender: "sluice.Small", Reason: "too small for <this>"}
	sections := []lab.Section{
		{Sweep: lab.Sweep{Name: "procs", Title: "By GOMAXPROCS", Text: "Values & more.", Axis: "GOMAXPROCS", Measures: perValue},
			Points: []*lab.Point{point("procs", "one way", "1", 1, small), point("procs", "one way", "2", 2, small), point("procs", "one way", "8", 8, small)}},
		{Sweep: lab.Sweep{Name: "memory", Title: "Memory", Text: "Held.", Measures: []lab.Measure{
			{Unit: "B-peak", Title: "at the peak", Axis: "bytes per value"}, {Unit: "B-after", Title: "after", Axis: "KiB in all", Per: 1024}}},
			Points: []*lab.Point{point("memory", "", "", 2)}},
	}
	run := Run{
		Experiment: lab.Experiment{
			Study: lab.Study{
				Name: "made-up", Title: "What does a made-up channel cost?",
				Source:      lab.Source{Author: "A. Author", Title: "Nothing", Year: 2001, Machine: "abacus", Go: "0.1"},
				Notes:       []string{"Nothing here was measured."},
				PublishedIn: lab.PerOperation,
				Prediction:  "It costs < nothing.",
			},
			Published: []lab.Published{
				{Row: "row", Column: "first", Value: 425, Section: "procs", Panel: lab.Panel{Workers: 7}, X: "1", Contender: "native, 8 slots", Ours: "sluice.Kind"},
				{Row: "row", Column: "second", Value: 97.4, Section: "procs", Panel: lab.Panel{Workers: 7}, X: "4", Contender: "native, 8 slots", Ours: "sluice.Kind"},
			},
			Conclude: func(lab.Measured) lab.Conclusion {
				return lab.Conclusion{
					Answer: "A made-up channel costs 10 ns <b>.", Advice: "Use it.",
					Chart: lab.Chart{Conditions: "1 sender", Unit: "ns per value", Bars: []lab.Bar{
						{Label: "chan", Figure: stat.Summary{N: 6, Median: 10.3, Lo: 10, Hi: 10.6, Confidence: 0.96}, Baseline: true},
						{Label: "sluice.Kind", Figure: stat.Summary{N: 6, Median: 3, Lo: 0.1, Hi: 9, Confidence: 0.96}}}},
					Findings: []string{"A finding of 12% ± 3%, long enough that the terminal has to break it into two lines <b>."},
				}
			},
		},
		Sections: sections,
	}
	for i, section := range sections {
		for j, p := range section.Points {
			run.Outcomes = append(run.Outcomes, pretendOutcome(p, section.Measures, 10*(i+1)+j, interrupted))
		}
	}
	return run
}

// pretendOutcome returns figures around base for the first contender and twice
// that for the second, with a failure at GOMAXPROCS 8, and gaps after an
// interrupt.
func pretendOutcome(p *lab.Point, measures []lab.Measure, base int, interrupted bool) measure.Outcome {
	outcome := measure.Outcome{Point: &p.Point}
	for i, entry := range p.Entries {
		result := measure.Result{Contender: entry.Contender}
		count := p.Count
		switch {
		case p.Procs == 8 && i == 1:
			count, result.Err = 0, errors.New("received 9 values of 10")
		case interrupted && p.X == "":
			count = 0
		case interrupted && p.X == "8":
			count = 2
		}
		for round := range count {
			var figures []measure.Figure
			for _, m := range measures {
				figures = append(figures, measure.Figure{Unit: m.Unit, Value: float64((i+1)*base) + float64(round)/8})
			}
			result.Repetitions = append(result.Repetitions, measure.Repetition{Ops: 1000, Figures: figures})
		}
		outcome.Results = append(outcome.Results, result)
	}
	return outcome
}

func render(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// words joins the words of a text, however it is broken into lines.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// The text has each figure in a table with its heading, all that is left out, failed and
// found, and no line that is too wide.
func TestText(t *testing.T) {
	for _, interrupted := range []bool{false, true} {
		text := render(t, on80(pretended(interrupted).WriteText))
		memory := map[bool]string{
			false: "Memory at the peak; bytes per value · less is better native, 8 slots 20.3 ± 2% sluice.Kind 40.3 ± 0.8% after; KiB in all",
			true:  "left out: sluice.Small (too small for <this>) Published, and measured here",
		}[interrupted]
		last := map[bool]string{false: "12.3 ± 3%", true: "12.1 ~ 0.5%"}[interrupted]
		for _, want := range []string{
			"made-up: What does a made-up channel cost?",
			"after A. Author, “Nothing”, 2001 (machine: abacus; Go: 0.1)",
			"By GOMAXPROCS 7 workers; ns per value · less is better, by GOMAXPROCS 1 2 8* native, 8 slots 10.3 ± 3% 11.3 ± 3% " + last,
			"sluice.Kind 20.3 ± 2% 22.3 ± 1% FAILED left out: sluice.Small (too small for <this>)",
			memory,
			"row, first 425 10.3 ± 3% 20.3 ± 2% row, second 97.4 not run not run",
			"A made-up channel costs 10 ns <b>. Use it. - A finding of 12% ± 3%, long enough",
		} {
			if !strings.Contains(words(text), want) {
				t.Errorf("interrupted %v: the text lacks %q:\n%s", interrupted, want, text)
			}
		}
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(line) - 1; n > format.UsualWidth {
				t.Errorf("a line has %d columns: %s", n, line)
			}
		}
	}
	if text := render(t, on80((&Report{Experiments: []Experiment{{Study: lab.Study{Name: "none"}}}}).WriteText)); !strings.Contains(text, "Nothing was measured.") {
		t.Errorf("the text of nothing: %s", text)
	}
}

// A table that is too wide continues below, with its labels.
func TestWideTable(t *testing.T) {
	v := view{Caption: "caption", Rows: []row{{Label: strings.Repeat("long ", 20)}}}
	for i := range 9 {
		v.Head, v.Rows[0].Cells = append(v.Head, fmt.Sprint("head ", i)), append(v.Rows[0].Cells, fmt.Sprint(i, " ± 10%"))
	}
	b := &prose{format.Text{Width: 60}}
	v.write(b)
	for i := range 9 {
		if !strings.Contains(b.String(), fmt.Sprint("head ", i)) || !strings.Contains(b.String(), fmt.Sprint(i, " ± 10%")) {
			t.Errorf("column %d is missing:\n%s", i, b.String())
		}
	}
	for line := range strings.Lines(b.String()) {
		if utf8.RuneCountInString(line) > 61 {
			t.Errorf("a line is too wide: %s", line)
		}
	}
	if n := strings.Count(b.String(), "long long"); n < 3 {
		t.Errorf("%d parts have labels:\n%s", n, b.String())
	}
}

// A results.json of an earlier version has a page, a text and a screen.
func TestSavedBefore(t *testing.T) {
	file, err := os.Open("../../../../docs/pictures/captures/lab.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Decode(stored)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.WriteFiles(t.TempDir()); err != nil {
		t.Error(err)
	}
	text := strings.Join(screenOf(t, r, format.Screen{Width: format.UsualWidth}), "\n")
	for _, e := range r.Experiments {
		if answer, _, _ := strings.Cut(words(e.Answer), ","); answer == "" || !strings.Contains(words(text), answer) {
			t.Errorf("the screen lacks %q:\n%s", e.Answer, text)
		}
	}
}

func TestBenchmarks(t *testing.T) {
	text := render(t, pretended(false).WriteBenchmarks)
	reader := benchfmt.NewReader(strings.NewReader(text), BenchmarksFile)
	seen := make(map[string][]float64)
	for reader.Scan() {
		switch record := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Errorf("benchstat cannot read: %v", record)
		case *benchfmt.Result:
			if cpu := record.GetConfig("cpu"); cpu != "Made-up CPU" {
				t.Errorf("%s has the CPU %q", record.Name, cpu)
			}
			value, _ := record.Value("B-peak")
			if value == 0 {
				value, _ = record.Value("sec/op")
			}
			seen[string(record.Name)] = append(seen[string(record.Name)], value)
		}
	}
	if err := reader.Err(); err != nil {
		t.Fatal(err)
	}
	// Three points with two contenders, one of which failed at the third point,
	// and the memory of both.
	if len(seen) != 7 {
		t.Errorf("%d benchmarks, want 7", len(seen))
	}
	for name, samples := range seen {
		if len(samples) != 6 {
			t.Errorf("%s has %d lines, want 6", name, len(samples))
		}
	}
	const name = "MadeUp/sweep=procs/work=one_way/contender=native_8_slots-2"
	if got := seen[name]; len(got) == 0 || math.Abs(got[0]-11e-9) > 1e-15 {
		t.Errorf("%s: %v, want 11 ns first", name, got)
	}
	if _, base := benchfmt.Name("MadeUp/sweep=procs/contender=a-2").Parts(); len(base) != 3 {
		t.Errorf("benchmark names have %d parts for a reader, want 3", len(base))
	}
}

func TestJSON(t *testing.T) {
	text := render(t, pretended(true).WriteJSON)
	var got struct {
		Schema      int
		Took        float64 `json:"took_seconds"`
		Interrupted bool
		Missing     []string
		Failures    []string
		Experiments []struct {
			Published []struct{ Published float64 }
			Sections  []struct {
				Points []struct {
					Oversubscribed bool
					Entries        []struct {
						Contender   string
						Error       string
						Repetitions []struct{ Figures []measure.Figure }
					}
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if got.Schema != Schema || got.Took != 61.5 || !got.Interrupted || len(got.Failures) != 1 || len(got.Missing) != 2 {
		t.Errorf("schema %d, took %v s, interrupted %v, failures %v, missing %v", got.Schema, got.Took, got.Interrupted, got.Failures, got.Missing)
	}
	points := got.Experiments[0].Sections[0].Points
	var over []bool
	for _, p := range points {
		over = append(over, p.Oversubscribed)
	}
	if !slices.Equal(over, []bool{false, false, true}) {
		t.Errorf("oversubscribed %v, want the last one", over)
	}
	if e := points[0].Entries[0]; e.Contender != "native, 8 slots" || len(e.Repetitions) != 6 || e.Repetitions[1].Figures[0].Value != 10.125 {
		t.Errorf("first entry: %+v", e)
	}
	if e := points[2].Entries[1]; !strings.Contains(e.Error, "received 9 values of 10") {
		t.Errorf("failed entry: %+v", e)
	}
}

func TestDecodeOtherSchema(t *testing.T) {
	text := render(t, pretended(false).WriteJSON)
	for schema, want := range map[string]string{"1": "unsupported schema 1 (want 2)", "3": "unsupported schema 3 (want 2)"} {
		_, err := Decode([]byte(strings.Replace(text, `"schema": 2`, `"schema": `+schema, 1)))
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestWrap(t *testing.T) {
	const text = "a hand-off saves 12% ± 3% at GOMAXPROCS 2"
	for width := 20; width < 50; width++ {
		lines := strings.Join(format.Screen{Width: width}.Paragraph("", unbroken(text), "  "), "\n")
		for line := range strings.Lines(lines) {
			line = strings.TrimSuffix(line, "\n")
			if len([]rune(line)) > width {
				t.Errorf("width %d: %q is too long", width, line)
			}
			if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "%") || strings.HasPrefix(trimmed, "±") || strings.HasSuffix(trimmed, "±") {
				t.Errorf("width %d: a figure is broken at %q", width, line)
			}
		}
		if got := strings.Join(strings.Fields(lines), " "); got != text {
			t.Errorf("width %d: wrapped into %q", width, got)
		}
	}
}

// Points above the cgroup's quota are oversubscribed, and results.txt has the
// granted number of CPUs.
func TestQuotaOversubscribes(t *testing.T) {
	quota := 1.5
	machine := Machine{CPUs: 16, Quota: &quota}
	r := New(machine, time.Time{}, lab.Standard, false, []Run{pretendedExperiment(false)})
	for _, p := range r.Experiments[0].Sections[0].Points {
		if p.Oversubscribed != (p.Procs > 1) {
			t.Errorf("GOMAXPROCS %d under a quota of %v: oversubscribed %v", p.Procs, quota, p.Oversubscribed)
		}
	}
	if text := words(render(t, on80(r.WriteText))); !strings.Contains(text, "1 2* 8*") {
		t.Errorf("the text does not mark them:\n%s", text)
	}
	for _, c := range r.config("") {
		if c.Key == "cpus" && string(c.Value) != "1" {
			t.Errorf("results.txt says %s CPUs", c.Value)
		}
	}
}
