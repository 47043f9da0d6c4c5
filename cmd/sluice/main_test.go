package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/report"
	"github.com/sluice-go/sluice/internal/suite"
)

// An interrupter is an error stream that sends an interrupt after a number of
// lines of progress, or never if that is 0.
type interrupter struct {
	bytes.Buffer
	after  int
	cancel context.CancelFunc
}

func (i *interrupter) Write(p []byte) (int, error) {
	n, err := i.Buffer.Write(p)
	if i.after > 0 && bytes.Count(i.Bytes(), []byte("\n")) >= i.after {
		i.cancel()
	}
	return n, err
}

// sluice runs the program. To be interrupted at a point, the lab writes a line for
// each.
func sluice(t *testing.T, interruptAfter int, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out bytes.Buffer
	progress := &interrupter{after: interruptAfter, cancel: cancel}
	if interruptAfter > 0 && args[0] == "lab" {
		args = append(slices.Clone(args), "-v")
	}
	status = run(ctx, args, &out, progress)
	return status, out.String(), progress.String()
}

// A summary is the part of results.json that the tests read.
type summary struct {
	Interrupted       bool
	Missing, Failures []string
	Experiments       []struct{ Name string }
}

func results(t *testing.T, dir string) (s summary) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, report.JSONFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{report.BenchmarksFile, report.PageFile} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	return s
}

// Every example in the help of the commands runs. Unless every test runs, the examples share
// what they would measure: see suite.
func TestManual(t *testing.T) {
	doctor := manualDoctor{pprofServer(t), t.TempDir()}
	ways := map[string]func(*testing.T, []string){
		"lab": manualLab, "report": manualLab, "predict": manualPredict, "compare": manualCompare,
		"doctor": doctor.run, "watch": manualWatch(t), "completion": manualTool,
	}
	examples := manual(t)
	for name := range ways {
		if !slices.ContainsFunc(examples, func(command []string) bool { return command[1] == name }) {
			t.Errorf("the help has no example of %s: %q", name, examples)
		}
	}
	for _, command := range examples {
		t.Run(strings.Join(command, " "), func(t *testing.T) {
			way, ok := ways[command[1]]
			if !ok {
				t.Fatalf("no test runs %q", command)
			}
			t.Chdir(t.TempDir())
			way(t, command)
		})
	}
}

// manualLab runs the lab until it has measured something, each point once. Commands that
// need an interrupted run get one.
func manualLab(t *testing.T, command []string) {
	interruptAfter, want, whole := 2, statusInterrupted, false
	switch {
	case slices.Contains(command, "list"):
		return // TestList
	case slices.Contains(command, "-resume"), command[1] == "report":
		measured(t, "sluice-lab", 3, small)
		interruptAfter, want, whole = 0, 0, command[1] == "lab"
	case slices.Contains(command, "-published"):
		interruptAfter = 1 // its first point alone takes most of a minute
	case !suite.All() && !slices.Contains(command, "-quick"):
		command = append(command, "-quick")
		fallthrough
	default:
		command = append(command, "-count", "1")
	}
	status, stdout, stderr := sluice(t, interruptAfter, command[1:]...)
	if status != want {
		t.Fatalf("status %d, want %d\n%s", status, want, stderr)
	}
	if interruptAfter == 1 {
		if _, err := os.Stat("sluice-lab"); !strings.Contains(stdout, "Nothing was measured, and no report was written.") || !os.IsNotExist(err) {
			t.Errorf("after an interrupt at the first point: %v\n%s", err, stdout)
		}
		return
	}
	dir := "sluice-lab"
	if i := slices.Index(command, "-o"); i >= 0 {
		dir = command[i+1]
	}
	if got := results(t, dir); got.Interrupted == whole || len(got.Failures) > 0 {
		t.Errorf("results %+v", got)
	}
	if !strings.Contains(stdout, filepath.Join(dir, "report.html")) {
		t.Errorf("the output lacks the path of the report:\n%s", stdout)
	}
}

// oneRunOfTwoProcs compares two values of GOMAXPROCS in one run.
func oneRunOfTwoProcs(t *testing.T, command []string) {
	labRun(t, "run", 6, 100)
	path := filepath.Join("run", report.BenchmarksFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	both := string(text) + strings.ReplaceAll(string(text), "-2 100 10", " 100 20")
	if err := os.WriteFile(path, []byte(both), 0o600); err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr := sluice(t, 0, command[1:]...)
	if status != 0 || !strings.Contains(stdout, "3 are better") || !strings.Contains(stdout, "geomean of 3     200.0n  100.0n  0.500") {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
}

// manualCompare compares two runs. The second one is clearly worse.
func manualCompare(t *testing.T, command []string) {
	labRun(t, "before", 6, 100)
	labRun(t, "after", 6, 120)
	if slices.Contains(command, "-procs") {
		oneRunOfTwoProcs(t, command)
		return
	}
	want := 0
	if slices.Contains(command, "-fail-on-regression") {
		want = statusFailed
	}
	status, stdout, stderr := sluice(t, 0, command[1:]...)
	if status != want {
		t.Errorf("status %d, want %d\n%s", status, want, stderr)
	}
	if json := slices.Contains(command, "-json"); strings.HasPrefix(stdout, "{") != json || strings.HasPrefix(stdout, "REGRESSION: 3 of 3 points") == json {
		t.Errorf("output\n%s", stdout)
	}
}

// manualTool runs a command that writes a text.
func manualTool(t *testing.T, command []string) {
	if status, stdout, stderr := sluice(t, 0, command[1:]...); status != 0 || !strings.Contains(stdout, "sluice") || stderr != "" {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
}

// manual returns the examples of each command's help, split into words.
func manual(t *testing.T) (examples [][]string) {
	t.Helper()
	for _, name := range commandNames(newParser(&commands{}, streams{})) {
		_, help, _ := sluice(t, 0, "help", name)
		_, below, _ := strings.Cut(help, "\nExample")
		for line := range strings.Lines(below) {
			if command, ok := strings.CutPrefix(strings.TrimLeft(line, " "), "sluice "); ok && line[0] == ' ' {
				command, _, _ = strings.Cut(command, "  ") // the rest is an explanation
				command, _, _ = strings.Cut(command, " > ")
				examples = append(examples, append([]string{"sluice"}, strings.Fields(command)...))
			}
		}
	}
	return examples
}

// Each command has help, with each spelling of the flag, and without arguments there is
// a list of the commands.
func TestHelp(t *testing.T) {
	_, list, _ := sluice(t, 0)
	for _, name := range commandNames(newParser(&commands{}, streams{})) {
		if !strings.Contains(list, "\n  "+name) {
			t.Errorf("the list lacks %s:\n%s", name, list)
		}
		_, help, _ := sluice(t, 0, "help", name)
		for _, flag := range []string{"-help", "--help", "-h"} {
			if status, stdout, _ := sluice(t, 0, name, flag); status != 0 || stdout != help || !strings.HasPrefix(help, "Usage: sluice "+name) {
				t.Errorf("%s %s: status %d\n%s", name, flag, status, stdout)
			}
		}
	}
}

func TestMistakes(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		args   string
		status int
		says   string
	}{
		{"lab elastc", statusUsage, `unknown experiment "elastc": did you mean "elastic"?`},
		{"lab sharks", statusUsage, `unknown experiment "sharks" (want ` + strings.Join(lab.Names(), ", ")},
		{"-v", statusUsage, "'sluice version'"},
		{"-x lab", statusUsage, "unknown flag -x: flags follow a command"},
		{"dcotor", statusUsage, `unknown command "dcotor": did you mean "doctor"?`},
		{"help dcotor", statusUsage, `unknown command "dcotor": did you mean "doctor"?`},
		{"lab -quik", statusUsage, `unknown flag -quik, did you mean "-quick"?`},
		{"version -x", statusUsage, "unknown flag -x\n"},
		{"watch", statusUsage, "watch requires <address>"},
		{"watch localhost:1 -kind buonded", statusUsage, `unknown kind "buonded": did you mean "bounded"?`},
		{"compare file", statusUsage, "compare requires <new>"},
		{"completion bsh", statusUsage, `unknown shell "bsh": did you mean "bash"?`},
		{"doctor -", statusUsage, "-: no such file or directory (save the standard input, and name the file)"},
		{"doctor file -", statusUsage, "-: no such file or directory (save the standard input, and name the file)"},
		{"doctor nowhere", statusUsage, "nowhere: no such file or directory (if it is a host, add the port: nowhere:6060)"},
		{"doctor -html nowhere/page.html file", statusUsage, "sluice: nowhere: no such file or directory"},
		{"doctor -fail-on", statusUsage, "-fail-on requires a value (want found)"},
		{"lab -o", statusUsage, "-o requires a value"},
		{"lab -procs 1,x", statusUsage, `-procs: "x" is not a number from 1 to 4096 (want, for example, -procs 1,2,`},
		{"lab -procs 0", statusUsage, `"0" is not a number from 1 to 4096`},
		{"lab -procs ,", statusUsage, `"" is not a number from 1 to 4096`},
		{"lab -procs 99999", statusUsage, `"99999" is not a number from 1 to 4096`},
		{"lab -published -procs 2", statusUsage, "remove -procs"},
		{"lab -quick -published", statusUsage, "-quick and -published can't be used together"},
		{"lab -count -1", statusUsage, "-count requires a value; for the value -1, write -count=-1"},
		{"lab -count 0", statusUsage, "invalid -count 0 (want 1 to 1000)"},
		{"lab -procs=", statusUsage, `"" is not a number from 1 to 4096`},
		{"lab -count 100000", statusUsage, "invalid -count 100000 (want 1 to 1000)"},
		{"lab -count many", statusUsage, `invalid -count "many" (want a number)`},
		{"lab -fast", statusUsage, "unknown flag -fast"},
		{"frobnicate", statusUsage, "frobnicate"},
		{"lab -o file", statusUsage, "cannot create the directory for the report"},
		{"lab -o /proc/sluice", statusUsage, "cannot create the directory for the report"},
		{"lab -resume", statusUsage, "sluice-lab has no run to resume"},
		{"lab -resume -o /proc", statusUsage, "/proc has no run to resume"},
		{"lab elastic -resume", statusUsage, "-resume takes the experiments and settings of the interrupted run"},
		{"lab -resume -quick", statusUsage, "remove the others"},
		{"lab list elastic", statusUsage, "lab list takes no other arguments"},
		{"report file", statusUsage, "file is a file (want the directory of a run)"},
		{"report nowhere", statusUsage, "nowhere has no report"},
		{"report", statusUsage, "sluice-lab has no report"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			status, stdout, stderr := sluice(t, 0, strings.Fields(tt.args)...)
			if status != tt.status || !strings.Contains(stderr, tt.says) {
				t.Errorf("status %d, want %d; error output, want %q:\n%s", status, tt.status, tt.says, stderr)
			}
			first, hint, _ := strings.Cut(strings.TrimSpace(stderr), "\n")
			if !strings.HasPrefix(first, "sluice: ") || hint != "" && !strings.HasPrefix(hint, "Run 'sluice") || strings.Contains(hint, "\n") {
				t.Errorf("more than a line and a hint at the flags:\n%s", stderr)
			}
			if strings.Contains(stderr, "%  ") || stdout != "" {
				t.Errorf("it began to measure:\n%s%s", stdout, stderr)
			}
		})
	}
}

func TestGoFlags(t *testing.T) {
	in := strings.Fields("lab -quick --published -o dir -o=dir -procs=1,2 -h -- -quick")
	want := strings.Fields("lab --quick --published -o dir -o=dir --procs=1,2 -h -- -quick")
	if got := goFlags(in); !slices.Equal(got, want) {
		t.Errorf("goFlags = %q, want %q", got, want)
	}
}

func TestParseProcs(t *testing.T) {
	var got procs
	if err := got.UnmarshalText([]byte("8, 1,2,2")); err != nil || !slices.Equal(got, []int{1, 2, 8}) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestDashInName: only a whole argument stands for the standard input.
func TestDashInName(t *testing.T) {
	if status, _, stderr := sluice(t, 0, "doctor", "before - after"); status != statusUsage || !strings.Contains(stderr, "no such file or directory") {
		t.Errorf("status %d, %s", status, stderr)
	}
}
