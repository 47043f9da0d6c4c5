package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/report"
)

// asProgram, set in the environment, makes the test binary run as the program,
// which a test can kill. With the value stalling it stalls after so many lines of progress.
const (
	asProgram  = "SLUICE_AS_PROGRAM"
	stalling   = "stalling"
	stallAfter = 4
)

// A staller writes to the standard error output until it stalls.
type staller struct{ lines int }

func (s *staller) Write(p []byte) (int, error) {
	n, err := os.Stderr.Write(p)
	for s.lines += bytes.Count(p, []byte("\n")); s.lines >= stallAfter; {
		time.Sleep(time.Hour)
	}
	return n, err
}

// shared has a directory for each run that several tests begin with.
var shared string

func TestMain(m *testing.M) {
	noiseTime = 8 * time.Millisecond
	switch os.Getenv(asProgram) {
	case "":
	case stalling:
		os.Exit(run(context.Background(), os.Args[1:], os.Stdout, new(staller)))
	default:
		main()
	}
	var err error
	if shared, err = os.MkdirTemp("", "sluice-runs"); err != nil {
		panic(err)
	}
	status := m.Run()
	_ = os.RemoveAll(shared)
	os.Exit(status)
}

// small is a run of 7 points, and scaling one with the curves that predict reads.
var (
	small   = []string{"lab", "direct-send", "-quick", "-count", "2"}
	scaling = []string{"lab", "cpu-scaling", "-quick", "-count", "1"}
)

// measured makes dir a copy of a run: a whole one, or one that was interrupted after some
// lines of progress. It measures each run once.
func measured(t *testing.T, dir string, interruptAfter int, args []string) {
	t.Helper()
	whole := filepath.Join(shared, fmt.Sprint(args[1], interruptAfter))
	if _, err := os.Stat(whole); err != nil {
		if status, _, stderr := sluice(t, interruptAfter, append(slices.Clone(args), "-o", whole)...); status != 0 && interruptAfter == 0 {
			t.Fatalf("status %d\n%s", status, stderr)
		}
	}
	if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
		t.Fatal(err)
	}
}

// read returns the report in dir.
func read(t *testing.T, dir string) *report.Report {
	t.Helper()
	r, err := report.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// points returns the finished or the unfinished points of a report, by name.
func points(r *report.Report, finished bool) map[string]report.Point {
	found := make(map[string]report.Point)
	for _, e := range r.Experiments {
		for _, section := range e.Sections {
			for _, point := range section.Points {
				if point.Finished == finished {
					found[e.Name+" "+point.Name] = point
				}
			}
		}
	}
	return found
}

// resume resumes the run in dir, and checks that the report is complete and
// that existing points are unchanged.
func resume(t *testing.T, dir string) {
	t.Helper()
	before := read(t, dir)
	status, stdout, stderr := sluice(t, 0, "lab", "-resume", "-o", dir)
	if status != 0 {
		t.Fatalf("status %d\n%s", status, stderr)
	}
	results(t, dir) // checks all three files
	after := read(t, dir)
	if left := points(after, false); after.Interrupted || len(after.Missing) > 0 || len(left) > 0 {
		t.Errorf("after resuming: interrupted %v, missing %q, %d points not finished", after.Interrupted, after.Missing, len(left))
	}
	whole := points(after, true)
	for name, point := range points(before, true) {
		if !reflect.DeepEqual(whole[name], point) {
			t.Errorf("%s was measured to its end, and has changed:\n%+v\n%+v", name, point, whole[name])
		}
	}
	second := len(after.Sittings) - 1
	for name := range points(before, false) {
		point := whole[name]
		if point.Sitting != second {
			t.Errorf("%s has sitting %d, want %d", name, point.Sitting, second)
		}
		for _, entry := range point.Entries {
			if len(entry.Repetitions) < point.Count {
				t.Errorf("%s: %s has %d repetitions", name, entry.Contender, len(entry.Repetitions))
			}
		}
	}
	if second > 0 && !strings.Contains(strings.Join(strings.Fields(stdout), " "), "Resumed: The run was interrupted and resumed.") {
		t.Errorf("the report lacks the resumption:\n%s", stdout)
	}
}

func TestKilledAndResumed(t *testing.T) {
	out := t.TempDir()
	measured(t, out, 0, small) // its files must not be confused with the killed run's
	before, dir := contents(t, out), out+"-2"
	child := exec.Command(os.Args[0], append(small, "-v", "-o", out)...)
	// The run is resumed here, with the same GOMAXPROCS.
	child.Env = append(os.Environ(), asProgram+"="+stalling, fmt.Sprint("GOMAXPROCS=", runtime.GOMAXPROCS(0)))
	progress, err := child.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(progress)
	for range stallAfter { // one per point
		if !lines.Scan() {
			t.Fatal("the program ended by itself")
		}
	}
	if err := child.Process.Kill(); err != nil { // SIGKILL cannot be caught
		t.Fatal(err)
	}
	if child.Wait() == nil {
		t.Fatal("the program was not killed")
	}
	if after := contents(t, out); !reflect.DeepEqual(before, after) {
		t.Errorf("the killed run has changed the one before")
	}
	r := read(t, dir)
	if n := len(points(r, true)); !r.Interrupted || n < 3 || len(r.Missing) != 7-n {
		t.Fatalf("%d points finished, interrupted %v, missing %q", n, r.Interrupted, r.Missing)
	}
	if page := contents(t, dir)[report.PageFile]; !strings.Contains(page, "Interrupted") {
		t.Errorf("the page beside the results of the killed run is from the run before:\n%s", page)
	}
	for flag, want := range map[string]string{"-v": "after P. Pearl", "": " of 7 measurements are missing or incomplete."} {
		status, stdout, stderr := sluice(t, 0, strings.Fields("report "+dir+" "+flag)...)
		if status != 0 || !strings.Contains(stdout, want) || !strings.Contains(stdout, "sluice lab on ") {
			t.Errorf("report %s: status %d\n%s%s", flag, status, stdout, stderr)
		}
	}
	results(t, dir)
	resume(t, dir)
}

func TestInterrupt(t *testing.T) {
	t.Chdir(t.TempDir())
	status, stdout, stderr := sluice(t, 3, "lab", "-quick", "elastic", "direct-send")
	if status != statusInterrupted || !strings.Contains(stderr, "sluice: interrupted") {
		t.Errorf("status %d\n%s", status, stderr)
	}
	got := results(t, "sluice-lab")
	if !got.Interrupted || len(got.Missing) == 0 || len(got.Failures) > 0 {
		t.Errorf("results %+v", got)
	}
	missing := strings.Join(got.Missing, "\n")
	if strings.Contains(missing, "procs seq") || !strings.Contains(missing, "elastic, memory") || !strings.Contains(missing, "direct-send, one-way") {
		t.Errorf("missing are\n%s\nwant all except the first points", missing)
	}
	for _, want := range []string{"published flushing", "Interrupted: ", "missing or incomplete.", "report.html"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the output lacks %q:\n%s", want, stdout)
		}
	}
}

func TestInterruptedAndResumed(t *testing.T) {
	for _, after := range []int{2, 7} {
		dir := t.TempDir()
		status, stdout, stderr := sluice(t, after, append(small, "-o", dir)...)
		if status != statusInterrupted || !strings.Contains(stdout, "To resume: sluice lab -resume -o "+dir) {
			t.Errorf("interrupted at point %d: status %d\n%s%s", after, status, stdout, stderr)
		}
		if n := len(points(read(t, dir), true)); n != after-1 {
			t.Errorf("interrupted at point %d: %d points are finished", after, n)
		}
		resume(t, dir)
	}
}

// With no points left, -resume rewrites the files and measures nothing.
func TestResumeOfAWholeRun(t *testing.T) {
	dir := t.TempDir()
	measured(t, dir, 0, small)
	page := filepath.Join(dir, report.PageFile)
	if err := os.Remove(page); err != nil {
		t.Fatal(err)
	}
	before := read(t, dir)
	resume(t, dir)
	if after := read(t, dir); !reflect.DeepEqual(before, after) {
		t.Errorf("results.json has changed:\n%+v\n%+v", before, after)
	}
}

// A resumed run that is interrupted at once keeps the existing points.
func TestInterruptLeavesTheReport(t *testing.T) {
	dir := t.TempDir()
	measured(t, dir, 3, small)
	before := points(read(t, dir), true)
	status, _, _ := sluice(t, 1, "lab", "-resume", "-o", dir)
	if after := points(read(t, dir), true); status != statusInterrupted || len(before) == 0 || !reflect.DeepEqual(before, after) {
		t.Errorf("status %d, points before %v, after %v", status, before, after)
	}
}

// Each sitting has its own load at the start.
func TestLoadOfEachSitting(t *testing.T) {
	dir := t.TempDir()
	measured(t, dir, 3, small)
	r := read(t, dir)
	const impossible = "-1.00"
	r.Machine.Load, r.Sittings[0].Load = impossible, impossible
	if err := r.Save(dir); err != nil {
		t.Fatal(err)
	}
	resume(t, dir)
	after := read(t, dir)
	if after.Machine.Load != impossible || after.Sittings[0].Load != impossible || after.Sittings[1].Load == impossible {
		t.Errorf("loads: %q when the run began; sittings %+v", after.Machine.Load, after.Sittings)
	}
}

// A run is not resumed with another machine, program or plan.
func TestResumeRefuses(t *testing.T) {
	dir := t.TempDir()
	measured(t, dir, 3, small)
	path := filepath.Join(dir, report.JSONFile)
	for _, tt := range []struct {
		change func(*report.Report)
		says   string
	}{
		{func(r *report.Report) { r.Machine.CPU = "Abacus" }, `has another CPU "Abacus", here `},
		{func(r *report.Report) { r.Machine.Go = "go1.1" }, `has another Go "go1.1", here "go1.`},
		{func(r *report.Report) { r.Machine.Version, r.Machine.Binary = "commit 0", "0" }, `has another version of sluice "commit 0", here `},
		{func(r *report.Report) { r.Machine.Binary = "0" }, `has another binary of sluice "0", here `},
		{func(r *report.Report) { r.Size = "huge" }, `has the unknown size "huge"`},
		{func(r *report.Report) { r.Experiments[0].Name = "" }, "an experiment without a name"},
		{func(r *report.Report) { r.Experiments[0].Name = "direct" }, `unknown experiment "direct"`},
		{func(r *report.Report) { r.Experiments[0].Sections[0].Points[0].Name = "else" }, `point "else" differs from the planned`},
		{func(r *report.Report) { r.Experiments[0].Sections[0].Points[0].Entries[0].Contender = "else" }, `has the contender "else" (want "native")`},
		{func(r *report.Report) { r.Schema++ }, "unsupported schema 3 (want 2)"},
		{func(r *report.Report) { r.Tool = "" }, "not written by sluice lab"},
	} {
		t.Run(tt.says, func(t *testing.T) {
			foreign := t.TempDir()
			r := read(t, dir)
			tt.change(r)
			if err := r.Save(foreign); err != nil {
				t.Fatal(err)
			}
			refuses(t, foreign, tt.says, "lab", "-resume", "-o", foreign)
		})
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	refuses(t, dir, "not written by sluice lab", "lab", "-resume", "-o", dir)
}

// refuses runs a command that must write one line and not change the directory.
func refuses(t *testing.T, dir, says string, args ...string) {
	t.Helper()
	before := contents(t, dir)
	status, stdout, stderr := sluice(t, 0, args...)
	if status != statusUsage || !strings.Contains(stderr, says) || strings.Count(stderr, "\n") != 1 || stdout != "" {
		t.Errorf("status %d, want %d; error output, want one line with %q:\n%s%s", status, statusUsage, says, stderr, stdout)
	}
	if after := contents(t, dir); !reflect.DeepEqual(before, after) {
		t.Errorf("the directory has changed from %q to %q", before, after)
	}
}

func TestList(t *testing.T) {
	status, stdout, stderr := sluice(t, 0, "lab", "list")
	if status != 0 {
		t.Fatal(stderr)
	}
	for _, e := range lab.All() {
		for _, want := range []string{e.Name, e.Title, e.Source.Author, e.Source.Title, e.Sections(lab.Scale{})[0].Title} {
			if !strings.Contains(stdout, want) {
				t.Errorf("the list lacks %q of %s:\n%s", want, e.Name, stdout)
			}
		}
	}
	if n := strings.Count(stdout, " standard, "); n != len(lab.All()) {
		t.Errorf("%d experiments have a duration:\n%s", n, stdout)
	}
}

// pretended is an experiment of one point with the given entries.
func pretended(name string, entries ...measure.Entry) lab.Experiment {
	return lab.Experiment{
		Study: lab.Study{Name: name, Title: "What?"},
		Sections: func(lab.Scale) []lab.Section {
			point := measure.Point{Setting: measure.Setting{Name: "only", Procs: 1, Count: 6}, Entries: entries}
			return []lab.Section{{Sweep: lab.Sweep{Name: "only", Title: "Only", Measures: []lab.Measure{lab.PerValue}},
				Points: []*lab.Point{{Point: point}}}}
		},
		Conclude: func(lab.Measured) lab.Conclusion { return lab.Conclusion{} },
	}
}

var sound = measure.Entry{Contender: "sound", Pass: func() (measure.Reading, error) {
	return measure.Reading{Ops: 1, Elapsed: 5}, nil
}}

// A contender that loses a value, and one that never ends, cause an error in
// the report, and do not affect the other contenders' figures. In a bubble only
// the one that never ends takes time, however slow the machine is.
func TestFailuresAreNamed(t *testing.T) {
	defer func(before time.Duration) { noiseTime = before }(noiseTime)
	noiseTime = 0 // the loop that measures it would wait for a clock that stands still
	for name, says := range map[string]string{"lossy": "lossy: received 9 values of 10", "stuck": "the pass did not end after 2m0s"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				defer close(release)
				pass := func() (measure.Reading, error) {
					if name == "stuck" {
						<-release
					}
					return measure.Reading{}, errors.New(says)
				}
				var stdout, stderr bytes.Buffer
				e := pretended("faulty", sound, measure.Entry{Contender: lab.ContenderID(name), Pass: pass})
				s := newSession(streams{&stdout, &stderr}, []lab.Experiment{e}, lab.Scale{}, dir)
				s.verbose = true
				err := s.run(t.Context())
				if status := complain(&stderr, "", err); !errors.Is(err, errIncomplete) || status != statusFailed {
					t.Errorf("error %v, status %d", err, status)
				}
				got := results(t, dir)
				if len(got.Failures) != 1 || !strings.Contains(got.Failures[0], "faulty, only: "+name+": ") || !strings.Contains(got.Failures[0], says) {
					t.Errorf("failures %q", got.Failures)
				}
				text := strings.Join(strings.Fields(stdout.String()), " ")
				for _, want := range []string{"FAILED", "5.00 ± 0%", says} {
					if !strings.Contains(text, want) {
						t.Errorf("the output lacks %q:\n%s", want, &stdout)
					}
				}
			})
		})
	}
}

// The plan uses the granted CPUs, not all of the machine.
func TestPlanKnowsTheCPUs(t *testing.T) {
	s := newSession(streams{}, lab.All(), lab.Scale{Size: lab.Quick}, t.TempDir())
	if want := s.machine.Whole(); s.scale.CPUs != want {
		t.Errorf("planned for %d CPUs, want %d", s.scale.CPUs, want)
	}
}
