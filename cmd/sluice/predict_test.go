package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluice-go/sluice/cmd/sluice/internal/host"
	"github.com/sluice-go/sluice/cmd/sluice/internal/predict"
	"github.com/sluice-go/sluice/internal/suite"
)

// curve is a file of curves of three machines. The layout of the last one's
// CPUs is unknown.
const curve = header + `s,big,Go 1.26,one chan,1,30,ns/op,,curve,channel,4,64
s,big,Go 1.26,one chan,2,60,ns/op,,curve,channel,4,64
s,big,Go 1.26,one chan,4,100,ns/op,,curve,channel,4,64
s,big,Go 1.26,one chan,8,90,ns/op,,curve,channel,4,64
s,small,Go 1.26,one chan,1,30,ns/op,,curve,channel,,
s,small,Go 1.26,one chan,2,60,ns/op,,curve,channel,,
s,plain,Go 1.26,one chan,1,30,ns/op,,curve,channel,,
s,plain,Go 1.26,one chan,2,60,ns/op,,curve,channel,,
s,plain,Go 1.26,one chan,4,90,ns/op,,curve,channel,,
`

const (
	header = "source,machine,version,workload,procs,ops_per_s_or_ns,unit,note,kind,design,cpus,domain\n"
	row    = "s,mine,Go 1.26,one chan,N,30N,ns/op,,curve,channel,8,8\n"
)

// predictions changes to a temporary directory, which is also the user's
// configuration directory, with a file of curves and a foreign file.
func predictions(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"XDG_CONFIG_HOME", "HOME", "AppData"} {
		t.Setenv(name, dir)
	}
	for name, content := range map[string]string{"curve.csv": curve, "foreign.csv": "name,age\nx,3\n", "notes.txt": "hello\n",
		"empty.csv": "\n", "bad.csv": header + "s,m,v,w,x,1,ops/s,,,,,\n", "foreign.json": "{}",
		"mine.csv": header + strings.ReplaceAll(row, "N", "1") + strings.ReplaceAll(row, "N", "2") + strings.ReplaceAll(row, "N", "4") + strings.ReplaceAll(row, "N", "8"),
	} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// manualPredict runs the commands of predict with one repetition and, unless every test runs, on
// one CPU. Those of sluice-lab read a run of the study of scaling.
func manualPredict(t *testing.T, command []string) {
	t.Helper()
	predictions(t)
	const here = "One channel on this machine "
	want := here
	switch {
	case slices.Contains(command, "sluice-lab"):
		measured(t, "sluice-lab", 0, scaling)
		want = "One channel on "
		if slices.Contains(command, "-list") {
			want = "\n* native_P_to_P  (1 2)\n"
		}
	case slices.Contains(command, "-score"):
		want = "up to 2x, contended"
	case slices.Contains(command, "-add"):
		want = "Added to "
	}
	args := command[1:]
	if !slices.Contains(command, "-list") {
		args = append(args, "-count", "1")
	}
	switch {
	case suite.All():
	case slices.Contains(command, "-add"): // one count is no curve
		args = append(args, "curve.csv", "-series", "plain")
	case want == here:
		args = append(args, "-procs", "1")
	}
	status, stdout, stderr := sluice(t, 0, args...)
	if status != 0 || !strings.Contains(stdout, want) {
		t.Fatalf("status %d, want %q\n%s%s", status, want, stdout, stderr)
	}
	for line := range strings.Lines(stdout) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 && !strings.HasPrefix(line, "Added to ") {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestPredictMistakes(t *testing.T) {
	predictions(t)
	tests := []struct{ args, says string }{
		{"-procs 1,x", `"x" is not a number from 1 to 4096`},
		{"-count 0", "invalid -count 0 (want 1 to 1000)"},
		{"-capacity=-1", "invalid -capacity -1 (want 0 or more)"},
		{"-capacity 99999999", "invalid -capacity 99999999 (want at most"},
		{"-cpus 99999", "too many CPUs (want at most 4096)"},
		{"-consumers many", `unknown -consumers "many" (want `},
		{"-series x", "-series requires a FILE, such as sluice-lab"},
		{"-from-cpus 4", "-from-cpus requires a FILE"},
		{"-list", "-list requires a FILE"},
		{"-list -json curve.csv", "-list allows only FILE"},
		{"curve.csv -from curve.csv", "FILE and -from are the same"},
		{"-from curve.csv -procs 1", "remove one of them"},
		{"-source me", "require a FILE or -add"},
		{"-score curve.csv -source me", "require a FILE or -add"},
		{"-score -add", "-score allows only"},
		{"-add -json", "remove -json"},
		{"-score -cpus 4", "-score allows only"},
		{"-score foreign.csv", "foreign.csv: not a file of curves: the first line has no count of CPUs"},
		{"-score curve.csv -series small", "no curve has a count to predict from 3 smaller ones"},
		{"-score curve.csv -series none", `no series has "none" in its name`},
		{"-from gone.csv", "gone.csv"},
		{"gone -list", "gone does not exist: want the directory of a run"},
		{".", "results.json does not exist: want the directory of a run"},
		{"empty.csv", "empty.csv: not a file of curves: it is empty"},
		{"bad.csv", `bad.csv: no row can be used: line 2: invalid procs "x"`},
		{"foreign.json", "foreign.json: not written by sluice lab"},
		{"-curves bad.csv", "bad.csv: no row can be used"},
		{"-from foreign.csv", "\n  cpus,ops/s\n  1,31000000\n"},
		{"-from notes.txt", "no throughput (ops/s or ns/op)"},
		{"-from curve.csv", "3 series: choose one with -series"},
		{"-from curve.csv -series medium", `no series has "medium" in its name`},
		{"-curves foreign.csv -score", "foreign.csv: not a file of curves"},
		{"-curves gone.csv -score", "no curves in the file"},
		{"-add -from curve.csv -series small -curves foreign.csv", "foreign.csv: not a file of curves"},
		{"-add -from curve.csv -series small -curves curve.csv", "already has a curve"},
	}
	for _, tt := range tests {
		status, stdout, stderr := sluice(t, 0, append([]string{"predict"}, strings.Fields(tt.args)...)...)
		if status != statusUsage || !strings.Contains(stderr, tt.says) || stdout != "" {
			t.Errorf("%s: status %d, want %d; error output, want %q:\n%s%s", tt.args, status, statusUsage, tt.says, stderr, stdout)
		}
	}
	if content, err := os.ReadFile("foreign.csv"); err != nil || string(content) != "name,age\nx,3\n" {
		t.Errorf("the foreign file is now %q, %v", content, err)
	}
}

func TestPredictFromFile(t *testing.T) {
	predictions(t)
	tests := []struct{ args, says, never string }{
		{"-series big -cpus 16", "M/s extrapolated", "No figure"},
		{"-series big -cpus 32", "No figure for 32 CPUs: too far", ""},
		{"-series big -cpus 16 -llc 8 -socket 8", "more than the 8 that share a last-level cache", ""},
		{"-series big -v", "The law: ", "No prediction"},
		{"-series big", "Left out: GOMAXPROCS 8, above the 4 CPUs", ""},
		{"-series big -from-cpus 2", "Left out: GOMAXPROCS 4 8, above the 2 CPUs", "extrapolated"},
		{"-series big -cpus 16 -llc 2 -socket 2", "more than the 2 that share a last-level cache", "extrapolated"}, // measured within 64
		{"-series plain -cpus 16", "it is unknown how many CPUs share a last-level cache", "extrapolated"},
		{"-series plain -cpus 16 -llc 16", "extrapolated", "No figure"}, // and at least as many share a socket
		{"-series plain -cpus 16 -llc 2", "extrapolated", "No figure"},  // measured across two
		{"-series plain -cpus 16 -llc 8", "more than the 8 that share a last-level cache", ""},
		{"-series small", "too few counts of CPUs: 2 measured (want at least 3, such as 1, 2 and 4)", "extrapolated"},
		{"-series small", "The file does not have the number of CPUs", ""},
	}
	for _, tt := range tests {
		args := append([]string{"predict", "-from", "curve.csv"}, strings.Fields(tt.args)...)
		status, stdout, stderr := sluice(t, 0, args...)
		stdout = strings.Join(strings.Fields(stdout), " ")
		if status != 0 || !strings.Contains(stdout, tt.says) || tt.never != "" && strings.Contains(stdout, tt.never) {
			t.Errorf("%s: status %d, want %q and not %q:\n%s%s", tt.args, status, tt.says, tt.never, stdout, stderr)
		}
	}
}

// A run of the lab has its own default, batches and lanes; its directory,
// results.json and results.txt have the same figures.
func TestPredictFromLab(t *testing.T) {
	predictions(t)
	measured(t, "sluice-lab", 0, scaling)
	var first predict.Report
	for i, name := range []string{"", "results.json", "results.txt"} {
		status, stdout, stderr := sluice(t, 0, "predict", filepath.Join("sluice-lab", name), "-json")
		var r predict.Report
		if err := json.Unmarshal([]byte(stdout), &r); status != 0 || err != nil {
			t.Fatalf("%s: status %d, %v\n%s", name, status, err, stderr)
		}
		if i == 0 {
			first = r
		}
		if len(r.Swept.Single) == 0 || len(r.Swept.Batches) == 0 || !slices.Equal(r.Swept.Single, first.Swept.Single) || r.Others < 10 || !r.CPUsKnown {
			t.Errorf("%s: %+v, %d others", name, r.Swept, r.Others)
		}
		if !strings.Contains(r.Curve.Workload, "native_P_to_P of cpu-scaling") {
			t.Errorf("%s: the curve is %q", name, r.Curve.Workload)
		}
		if runtime.NumCPU() > 1 && (len(r.Swept.Lanes) == 0 || len(r.Remedies) != 4) {
			t.Errorf("%s: lanes %+v, remedies %+v", name, r.Swept.Lanes, r.Remedies)
		}
	}
	if status, stdout, stderr := sluice(t, 0, "predict", "sluice-lab", "-series", "sluice.Bounded_P_to_P"); status != 0 || !strings.Contains(stdout, "contender=sluice.Bounded_P_to_P") {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
}

// A malformed line is skipped with a warning; after five there is a summary.
func TestPredictWarns(t *testing.T) {
	predictions(t)
	bad := strings.ReplaceAll(row, "N", "x")
	content := header + strings.ReplaceAll(row, "N", "1") + bad + strings.ReplaceAll(row, "N", "2") + strings.Repeat(bad, 7)
	if err := os.WriteFile("some.csv", []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"some.csv"}, {"some.csv", "-list"}, {"-curves", "some.csv", "mine.csv"}} {
		status, stdout, stderr := sluice(t, 0, append([]string{"predict"}, args...)...)
		if status != 0 || stdout == "" || !strings.HasPrefix(stderr, `sluice: warning: some.csv: skipped line 3: invalid procs "x" (want a number of CPUs`) ||
			!strings.HasSuffix(stderr, "sluice: warning: some.csv: 3 more lines skipped\n") || strings.Count(stderr, "\n") != 6 {
			t.Errorf("%q: status %d, error output\n%s", args, status, stderr)
		}
	}
}

// -score with a file predicts the file's curves, and says where it is no better
// than flat.
func TestPredictScoreFile(t *testing.T) {
	predictions(t)
	status, stdout, stderr := sluice(t, 0, "predict", "-score", "mine.csv")
	if status != 0 || !strings.Contains(stdout, "Curves of mine.csv") || !strings.Contains(stdout, "flat") {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
	status, stdout, _ = sluice(t, 0, "predict", "-score", "-json", "mine.csv")
	var s predict.Score
	if err := json.Unmarshal([]byte(stdout), &s); status != 0 || err != nil || s.File != "mine.csv" || len(s.Rows) == 0 || s.Rows[0].Curves != 1 {
		t.Errorf("status %d, %v, %+v", status, err, s)
	}
}

// An added curve is used the next time, from the user's directory or a file.
func TestPredictAdd(t *testing.T) {
	predictions(t)
	for _, where := range [][]string{nil, {"-curves", "own.csv"}} {
		before := score(t, where...)
		add := append([]string{"predict", "-add", "-from", "curve.csv", "-series", "big", "-from-cpus", "8", "-source", "me", "-machine", "my own", "-note", "at night"}, where...)
		if status, stdout, stderr := sluice(t, 0, add...); status != 0 || !strings.Contains(stdout, "one chan; my own; Go 1.26; 4 counts") {
			t.Fatalf("status %d\n%s%s", status, stdout, stderr)
		}
		if after := score(t, where...); after.Rows[0].Curves != before.Rows[0].Curves+1 {
			t.Errorf("%v: the score had %d curves, and has %d", where, before.Rows[0].Curves, after.Rows[0].Curves)
		}
		status, stdout, _ := sluice(t, 0, append([]string{"predict", "-from", "curve.csv", "-series", "big", "-v"}, where...)...)
		if status != 0 || !strings.Contains(stdout, "include 1 curve of your own") || !strings.Contains(stdout, "one chan; my own; Go 1.26") {
			t.Errorf("%v: status %d\n%s", where, status, stdout)
		}
	}
	if _, err := os.Stat(filepath.Join("sluice", "curves.csv")); err != nil && runtime.GOOS == "linux" {
		t.Error(err)
	}
}

// score returns the score from its JSON, without a file that does not exist yet.
func score(t *testing.T, where ...string) (s predict.Score) {
	t.Helper()
	if len(where) > 0 {
		if _, err := os.Stat(where[1]); err != nil {
			where = nil
			t.Setenv("XDG_CONFIG_HOME", t.TempDir())
		}
	}
	status, stdout, stderr := sluice(t, 0, append([]string{"predict", "-score", "-json"}, where...)...)
	if err := json.Unmarshal([]byte(stdout), &s); status != 0 || err != nil {
		t.Fatalf("status %d, %v\n%s", status, err, stderr)
	}
	return s
}

// More Ps than CPUs are left out with a message; 1 is always measured.
func TestPredictOversubscribed(t *testing.T) {
	predictions(t)
	over := strconv.Itoa(host.This().Whole() + 1)
	status, stdout, stderr := sluice(t, 0, "predict", "-count", "1", "-procs", over)
	if status != 0 || !strings.Contains(strings.Join(strings.Fields(stdout), " "), "Left out: GOMAXPROCS "+over+", above the ") || !strings.Contains(stdout, "carries most on 1 CPU: ") {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
	if strings.Contains(stderr, "GOMAXPROCS "+over) {
		t.Errorf("it was measured:\n%s", stderr)
	}
}

func TestPredictInterrupt(t *testing.T) {
	predictions(t)
	status, stdout, stderr := sluice(t, 2, "predict")
	if status != statusInterrupted || stdout != "" {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
}
