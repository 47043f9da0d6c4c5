package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/report"
)

// labRun writes a directory of the lab, with n repetitions of a few points that
// take ns each.
func labRun(t *testing.T, dir string, n int, ns float64) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "goos: linux\ndate: 2026-11-21T12:00:%02.0fZ\nexperiment: elastic\n\n", ns/10)
	for point := range 3 {
		for i := range n {
			fmt.Fprintf(&b, "BenchmarkElastic/sweep=procs/contender=%d-2 100 %v ns/op\n", point, ns+float64(i)/100)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, report.BenchmarksFile), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestCompare(t *testing.T) {
	t.Chdir(t.TempDir())
	labRun(t, "fast", 6, 100)
	labRun(t, "same", 6, 100.001)
	labRun(t, "slow", 6, 130)
	labRun(t, "far", 6, 300)
	labRun(t, "few-fast", 3, 100)
	labRun(t, "few-slow", 3, 200)
	tests := []struct {
		args   string
		status int
		says   string // on stdout if the status is 0, on stderr otherwise
	}{
		{"fast slow", 0, "REGRESSION: 3 of 3 points are worse, at worst by 30%."},
		{"fast slow -fail-on-regression", statusFailed, "sluice: NEW is worse than OLD in 3 of 3 points\n"},
		{"slow fast -fail-on-regression", 0, "No regression"},
		{"fast same -fail-on-regression", 0, "No regression"},
		{"fast slow -fail-on-regression -threshold 40", 0, "No regression: 3 of 3 points are worse"},
		{"fast slow -fail-on-regression -threshold 40%", 0, "No regression: 3 of 3 points are worse"},
		{"fast slow -fail-on-regression -threshold 27.5", statusFailed, "NEW is worse than OLD in 3 of 3 points"},
		{"fast slow -fail-on-regression -alpha 0.01", statusFailed, "NEW is worse"},
		{"fast/results.txt slow", 0, "geomean of 3 100.0n 130.0n 1.300"},
		{"fast fast -procs 2:2", statusUsage, "invalid -procs 2:2: both are the same"},
		{"fast far -procs 2:4", statusUsage, "far has no point at GOMAXPROCS 4: it has 2"},
		{"few-fast few-slow", 0, "UNDECIDED: no point has enough repetitions"},
		{"few-fast few-slow -fail-on-regression", statusUndecided, "sluice: undecided: no point can be tested"},
		{"fast far -fail-on-regression -alpha 0.001", statusUndecided, "undecided: no point can be tested"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			status, stdout, stderr := sluice(t, 0, append([]string{"compare"}, strings.Fields(tt.args)...)...)
			output := stdout
			if status != 0 {
				output = stderr
			}
			if status != tt.status || !strings.Contains(strings.Join(strings.Fields(output), " "), strings.TrimSpace(tt.says)) {
				t.Errorf("status %d, want %d; want %q in\n%s", status, tt.status, tt.says, output)
			}
			if status == 0 && stderr != "" || status == statusUsage && stdout != "" || status == statusUndecided && !strings.HasPrefix(stdout, "UNDECIDED: ") {
				t.Errorf("stdout:\n%s\nstderr:\n%s", stdout, stderr)
			}
		})
	}
}

// TestCompareIncomplete: a check does not pass because a benchmark of OLD did not run to
// its end in NEW, has another unit there, or is missing.
func TestCompareIncomplete(t *testing.T) {
	t.Chdir(t.TempDir())
	results := func(factor float64, unit string, names ...string) (text string) {
		text = "goos: linux\npkg: example.com/q\n"
		for _, name := range names {
			for i := range 6 {
				text += fmt.Sprintf("Benchmark%s-8   \t  297183\t%10.2f %s\t      48 B/op\n", name, factor*(100+float64(i)/10), unit)
			}
		}
		return text
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const end = "exit status 2\nFAIL\texample.com/q\t8.120s\nFAIL\n"
	whole := results(1.0001, "ns/op", "Send", "Pool")
	write("old", results(1, "ns/op", "Send", "Pool")+"PASS\nok  \texample.com/q\t8.1s\n")
	for name, tt := range map[string]struct {
		text, flags string
		status      int
		says        string // the beginning of stdout
	}{
		"whole":        {whole + "PASS\n", "", 0, "No regression"},
		"microseconds": {results(0.0010001, "µs/op", "Send", "Pool"), "", 0, "No regression: none of 4 points"},
		"slower in µs": {results(0.003, "µs/op", "Send", "Pool"), "", statusFailed, "REGRESSION: 2 of 4 points are worse, at worst by a factor of 3.0."},
		"panic":        {results(1.0001, "ns/op", "Send") + "BenchmarkPool-8   \tpanic: closed\n\ngoroutine 51 [running]:\n" + end, "", statusFailed, "FAILED in NEW: BenchmarkPool-8: panic: closed\n"},
		"panic first":  {"BenchmarkSend-8   \tpanic: closed\n" + end, "", statusFailed, "FAILED in NEW: BenchmarkSend-8: panic: closed\n"},
		"deadlock":     {results(1.0001, "ns/op", "Send") + "fatal error: all goroutines are asleep - deadlock!\n" + end, "", statusFailed, "FAILED in NEW: fatal error: all goroutines are asleep - deadlock!\n"},
		"failed":       {whole + "--- FAIL: BenchmarkPool-8\n    pool_test.go:88: lost 3 values\n" + end, "", statusFailed, "FAILED in NEW: BenchmarkPool-8 failed\n"},
		"not built":    {whole + "FAIL\texample.com/r [build failed]\nFAIL\n", "", statusFailed, "FAILED in NEW: FAIL example.com/r [build failed]\n"},
		"unit":         {results(1.0001, "apples", "Send") + results(1.0001, "ns/op", "Pool"), "", statusUndecided, "UNDECIDED: 1 point of OLD is not in NEW"},
		"all units":    {"pkg: example.com/q\nBenchmarkSend-8 1 2 apples\nBenchmarkPool-8 1 2 apples\n", "", statusUndecided, "UNDECIDED: 4 points of OLD are not in NEW"},
		"missing":      {results(1.0001, "ns/op", "Send"), "", statusUndecided, "UNDECIDED: 2 points of OLD are not in NEW, and may be worse (if on purpose: -gone)."},
		"renamed":      {results(1.0001, "ns/op", "Send", "Pools"), "-gone ^Pool-", 0, "No regression: none of 2 points"},
		"worse":        {results(3, "ns/op", "Send"), "-gone Pool", statusFailed, "REGRESSION: 1 of 2 points is worse, at worst by a factor of 3.0."},
	} {
		write(name, tt.text)
		args := append([]string{"compare", "old", name}, strings.Fields(tt.flags)...)
		status, stdout, stderr := sluice(t, 0, append(args, "-fail-on-regression")...)
		if status != tt.status || !strings.HasPrefix(strings.Join(strings.Fields(stdout), " "), strings.TrimSpace(tt.says)) {
			t.Errorf("%s: status %d (want %d)\n%s\n%s", name, status, tt.status, stdout, stderr)
		}
		if _, failed, ok := strings.Cut(tt.says, "FAILED in NEW: "); ok && stderr != "sluice: failed in NEW: "+failed {
			t.Errorf("%s: stderr %q", name, stderr)
		}
		if status, _, _ := sluice(t, 0, args...); status != 0 {
			t.Errorf("%s without -fail-on-regression: status %d", name, status)
		}
	}
	// Standard input is a file, too.
	in, err := os.Open("missing")
	if err != nil {
		t.Fatal(err)
	}
	defer func(was *os.File) { os.Stdin = was }(os.Stdin)
	os.Stdin = in
	if status, stdout, stderr := sluice(t, 0, "compare", "old", "-", "-fail-on-regression"); status != statusUndecided {
		t.Errorf("from standard input: status %d\n%s\n%s", status, stdout, stderr)
	}
}

// A failed comparison writes one line to stderr, and no file.
func TestCompareMistakes(t *testing.T) {
	t.Chdir(t.TempDir())
	labRun(t, "fast", 6, 100)
	labRun(t, "slow", 6, 130)
	if err := os.WriteFile("foreign", []byte("a letter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		args  string
		lines int // 2 with a hint at the help
		says  string
	}{
		{"fast gone", 1, "sluice: gone: "},
		{"fast foreign", 1, "sluice: foreign has no result in Go's benchmark format: "},
		{"fast fast", 1, "sluice: fast and fast have identical contents"},
		{"fast .", 1, "sluice: . has no results.txt"},
		{"fast slow -alpha 2", 1, "sluice: invalid alpha 2 (want a number between 0 and 1)"},
		{"fast slow -threshold=-1", 1, "sluice: invalid threshold -1%"},
		{"fast slow -threshold much", 2, `invalid percentage "much"`},
		{"fast slow -procs 1", 2, `invalid -procs 1 (want two values of GOMAXPROCS, such as 1:2)`},
		{"fast slow -procs 1:many", 2, `invalid -procs 1:many`},
		{"fast slow -alpha low", 2, "-alpha"},
		{"fast slow -gone (", 2, "missing closing )"},
		{"fast", 2, "compare requires <new>"},
		{"fast slow slower", 2, "unexpected argument slower"},
		{"fast slow -quick", 2, "unknown flag -quick"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			status, stdout, stderr := sluice(t, 0, append([]string{"compare"}, strings.Fields(tt.args)...)...)
			if status != statusUsage || stdout != "" || !strings.Contains(stderr, tt.says) || strings.Count(stderr, "\n") != tt.lines {
				t.Errorf("status %d, stdout %q, stderr\n%s\nwant %d lines with %q", status, stdout, stderr, tt.lines, tt.says)
			}
			if tt.lines == 2 && !strings.HasSuffix(stderr, "\nRun 'sluice compare -help' for the flags.\n") {
				t.Errorf("no hint at the help of the command:\n%s", stderr)
			}
		})
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) != 3 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestCompareJSON(t *testing.T) {
	t.Chdir(t.TempDir())
	labRun(t, "fast", 6, 100)
	labRun(t, "slow", 6, 130)
	status, stdout, stderr := sluice(t, 0, "compare", "-json", "-fail-on-regression", "fast", "slow")
	if status != statusFailed || !strings.Contains(stderr, "NEW is worse") {
		t.Errorf("status %d\n%s", status, stderr)
	}
	var got struct {
		Threshold float64
		Points    []struct{ Regression bool }
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || got.Threshold != 0.05 || len(got.Points) != 3 || !got.Points[0].Regression {
		t.Errorf("%v: %+v of\n%s", err, got, stdout)
	}
}
