package report

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/host"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
)

// troubled is the pretended report with every remark on how it was measured.
func troubled() *Report {
	r := pretended(false)
	quota, used := 1.5, 0.25
	r.Machine.Quota, r.Machine.Procs, r.Machine.Sockets, r.Machine.Caches = &quota, 2, 1, 2
	calm := host.Noise{Threads: 2, LoopNs: 20_000, Spread: 0.013, GapNs: 2e5, LineNs: 40, ClockNs: 25, CallNs: 40}
	far := calm
	far.LineNs = 140
	start := r.Started
	r.Sittings = []Sitting{
		{Started: start, Took: Duration(time.Second), Load: "0.10", Before: &calm},
		{Started: start.Add(time.Hour), Took: Duration(time.Minute), Before: &calm, After: &far},
	}
	r.Procs, r.Count = []int{1, 2}, 6
	point := &r.Experiments[0].Sections[0].Points[1]
	point.Sitting, point.Finished, point.Usage = 1, true, &host.Usage{Wall: 1, Steal: &used}
	point.Disturbed, point.Collecting = point.Usage.Disturbances(2, 2), "garbage collection took 15% of the CPU time, in 40 cycles"
	point.Entries[1].Outliers = map[string][]int{"ns/op": {3, 5}}
	return r
}

// Reading results.json restores the report: all other files can be written from
// it.
func TestRoundTrip(t *testing.T) {
	for name, r := range map[string]*Report{"whole": pretended(false), "interrupted": pretended(true), "troubled": troubled()} {
		dir := t.TempDir()
		if err := r.WriteFiles(dir); err != nil {
			t.Fatal(err)
		}
		again, err := Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(r, again) {
			t.Errorf("%s: written\n%+v\nread\n%+v", name, r, again)
		}
		for file, write := range map[string][2]string{
			"text": {render(t, on80(r.WriteText)), render(t, on80(again.WriteText))},
			"page": {render(t, r.WritePage), render(t, again.WritePage)},
			"txt":  {render(t, r.WriteBenchmarks), render(t, again.WriteBenchmarks)},
			"head": {render(t, on80(r.WriteHead)), render(t, on80(again.WriteHead))},
		} {
			if write[0] != write[1] {
				t.Errorf("%s: the %s differs:\n%s\n%s", name, file, write[0], write[1])
			}
		}
	}
}

// Unknown figures are not read as zero.
func TestUnknownIsNull(t *testing.T) {
	text, err := json.Marshal(host.Usage{Wall: 1})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(text); !strings.Contains(got, `"steal_cpu_seconds":null`) || strings.Contains(got, ":0") {
		t.Errorf("usage is written as %s", got)
	}
}

// The page of a troubled run has all remarks on how it was measured.
func TestTroubledPage(t *testing.T) {
	page := words(render(t, troubled().WritePage))
	for _, want := range []string{
		"The run was interrupted and resumed. All figures of one point are from one of its 2 parts;",
		"The machine changed during the run: ", "made-up, procs, GOMAXPROCS 2: other guests", "garbage collection took 15% of the CPU time",
		"(sockets: 1, last-level caches: 2)", "cgroup quota 1.5 CPUs", "sluice lab made-up -procs 1,2 -count 6",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(page, "<dt>Noise</dt>"); n != 2 {
		t.Errorf("%d noises, want 2", n)
	}
}

// pretendedRun plans the pretended experiment again, with no outcomes.
func pretendedRun() Run {
	run := pretendedExperiment(false)
	var points []*measure.Point
	for _, outcome := range run.Outcomes {
		points = append(points, outcome.Point)
	}
	run.Outcomes = measure.NewOutcomes(points)
	return run
}

func TestRestore(t *testing.T) {
	r := pretended(true)
	points := r.Experiments[0].Sections[0].Points
	points[0].Finished, points[0].Sitting, points[2].Finished = true, 3, true
	runs := []Run{pretendedRun()}
	if err := r.Restore(runs); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{6, 0, 2, 0} {
		outcome := &runs[0].Outcomes[i]
		if n := len(outcome.Results[0].Repetitions); n != want || outcome.Finished != (want > 0) {
			t.Errorf("point %d: %d repetitions, finished %v, want %d", i, n, outcome.Finished, want)
		}
	}
	if err := runs[0].Outcomes[2].Results[1].Err; err == nil || err.Error() != "received 9 values of 10" {
		t.Errorf("the failure has become %v", err)
	}
	if sitting := runs[0].Outcomes[0].Sitting; sitting != 3 {
		t.Errorf("the first point has sitting %d", sitting)
	}
	// The restored outcomes give the same report.
	again := New(r.Machine, r.Started, 0, true, runs)
	if !reflect.DeepEqual(again.Experiments[0].Sections[0].Points[0], points[0]) {
		t.Errorf("the first point was\n%+v\nand is\n%+v", points[0], again.Experiments[0].Sections[0].Points[0])
	}
}

func TestRestoreRefuses(t *testing.T) {
	for says, change := range map[string]func(*Report){
		"it has 0 points (want 4)":                   func(r *Report) { r.Experiments = nil },
		"it has 1 points":                            func(r *Report) { r.Experiments[0].Sections = r.Experiments[0].Sections[1:] },
		`point "x" differs from the planned`:         func(r *Report) { r.Experiments[0].Sections[0].Points[0].Name = "x" },
		`"procs, GOMAXPROCS 1" differs from`:         func(r *Report) { r.Experiments[0].Sections[0].Points[0].Count++ },
		`has the contender "x" (want "sluice.Kind")`: func(r *Report) { r.Experiments[0].Sections[0].Points[0].Entries[1].Contender = "x" },
	} {
		r := pretended(false)
		change(r)
		if err := r.Restore([]Run{pretendedRun()}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want %q", err, says)
		}
	}
}

// New finds outliers and disturbed points.
func TestMarks(t *testing.T) {
	run := pretendedExperiment(false)
	outcome := &run.Outcomes[0]
	times := []float64{10, 10.1, 10.2, 10.3, 10.4, 10.5, 10.6, 50, 10.2}
	outcome.Results[0].Repetitions = nil
	for _, ns := range times {
		outcome.Results[0].Repetitions = append(outcome.Results[0].Repetitions, measure.Repetition{Ops: 1, Figures: []measure.Figure{{Unit: measure.NsPerOp, Value: ns}}})
	}
	for i := range outcome.Results[1].Repetitions {
		outcome.Results[1].Repetitions[i].Figures[0].Value = float64(10 + 40*i)
	}
	stolen := 0.5
	outcome.Usage = &host.Usage{Wall: 1, Steal: &stolen}
	memory := &run.Outcomes[3]
	memory.Usage = outcome.Usage
	r := New(Machine{CPUs: 2}, time.Time{}, 0, false, []Run{run})
	point := r.Experiments[0].Sections[0].Points[0]
	if e := point.Entries[0]; !reflect.DeepEqual(e.Outliers, map[string][]int{"ns/op": {7}}) || e.Summaries["ns/op"].N != 9 {
		t.Errorf("with an outlier: %+v", e)
	}
	if e := point.Entries[1]; e.Outliers != nil {
		t.Errorf("with a wide interval: %+v", e)
	}
	if len(point.Disturbed) != 1 || !strings.Contains(point.Disturbed[0], "25.0%") {
		t.Errorf("disturbed by %q", point.Disturbed)
	}
	if held := r.Experiments[0].Sections[1].Points[0]; held.Disturbed != nil || held.Usage == nil {
		t.Errorf("bytes were disturbed by %q", held.Disturbed)
	}
	if text := words(render(t, on80(r.WriteText))); !strings.Contains(text, "native, 8 slots 10.3") || !strings.Contains(text, "sluice.Kind not known") {
		t.Errorf("the text: %s", text)
	}
}
