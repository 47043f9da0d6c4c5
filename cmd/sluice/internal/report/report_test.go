package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/perf/benchfmt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

var update = flag.Bool("update", false, "update the golden files")

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
		return &lab.Point{Panel: lab.Panel{Load: lab.Load(load)}, X: x, Point: measure.Point{
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
				{Row: "row", Column: "first", Value: 425, Section: "procs", Panel: lab.Panel{Load: "one way"}, X: "1", Contender: "native, 8 slots", Ours: "sluice.Kind"},
				{Row: "row", Column: "second", Value: 97.4, Section: "procs", Panel: lab.Panel{Load: "one way"}, X: "4", Contender: "native, 8 slots", Ours: "sluice.Kind"},
			},
			Conclude: func(*lab.Measured) lab.Conclusion {
				return lab.Conclusion{
					Answer: "A made-up channel costs 10 ns <b>.", Advice: "Use it.",
					Chart: lab.Chart{Conditions: "1 sender", Unit: "ns per value", Bars: []lab.Bar{
						{Label: "chan", Figure: stat.Summary{N: 6, Median: 10.3, Lo: 10, Hi: 10.6, Confidence: 0.96}, Known: true, Baseline: true},
						{Label: "sluice.Kind", Figure: stat.Summary{N: 6, Median: 3, Lo: 0.1, Hi: 9, Confidence: 0.96}}}},
					Findings: []string{"A finding of 12% ± 3%, long enough that the terminal has to break it into two lines <b>."},
					Tables: []lab.Table{{Title: "Derived", Text: "By division.", Head: []string{"size", "smallest"},
						Rows: [][]string{{"small", "1 µs"}, {"large", "2 µs"}}}},
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

// golden compares got with testdata. Run with -update after an intended change.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s has changed; it now reads\n%s", path, got)
	}
}

func TestText(t *testing.T) {
	golden(t, "whole.txt", render(t, on80(pretended(false).WriteText)))
	golden(t, "interrupted.txt", render(t, on80(pretended(true).WriteText)))
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
		lines := strings.Join(paragraph(format.Screen{Width: width}, "", text, "  "), "\n")
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
	var text strings.Builder
	if err := r.WriteText(&text, format.Screen{Width: format.UsualWidth}); err != nil || !strings.Contains(strings.Join(strings.Fields(text.String()), " "), "GOMAXPROCS exceeds the 1 CPU of this machine") {
		t.Errorf("%v\n%s", err, text.String())
	}
	for _, c := range r.config("") {
		if c.Key == "cpus" && string(c.Value) != "1" {
			t.Errorf("results.txt says %s CPUs", c.Value)
		}
	}
}
