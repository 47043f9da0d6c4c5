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

	"github.com/sluice-go/sluice/cmd/sluice/internal/host"
	"github.com/sluice-go/sluice/cmd/sluice/internal/predict"
)

// curve is a file of curves of three machines. The layout of the last one's
// CPUs is unknown.
const curve = `source,machine,version,workload,procs,ops_per_s_or_ns,unit,note,kind,design,cpus,domain
s,big,Go 1.26,one chan,1,30,ns/op,,curve,channel,4,64
s,big,Go 1.26,one chan,2,60,ns/op,,curve,channel,4,64
s,big,Go 1.26,one chan,4,100,ns/op,,curve,channel,4,64
s,big,Go 1.26,one chan,8,90,ns/op,,curve,channel,4,64
s,small,Go 1.26,one chan,1,30,ns/op,,curve,channel,,
s,small,Go 1.26,one chan,2,60,ns/op,,curve,channel,,
s,plain,Go 1.26,one chan,1,30,ns/op,,curve,channel,,
s,plain,Go 1.26,one chan,2,60,ns/op,,curve,channel,,
s,plain,Go 1.26,one chan,4,90,ns/op,,curve,channel,,
`

// predictions changes to a temporary directory, which is also the user's
// configuration directory, with a file of curves and a foreign file.
func predictions(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"XDG_CONFIG_HOME", "HOME", "AppData"} {
		t.Setenv(name, dir)
	}
	for name, content := range map[string]string{"curve.csv": curve, "foreign.csv": "name,age\nx,3\n", "notes.txt": "hello\n"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// manualPredict measures with one repetition.
func manualPredict(t *testing.T, command []string) {
	predictions(t)
	status, stdout, stderr := sluice(t, 0, append(command[1:], "-count", "1")...)
	if status != 0 {
		t.Fatalf("status %d\n%s", status, stderr)
	}
	want := "One channel on this machine "
	switch {
	case slices.Contains(command, "-score"):
		want = "Goals up to 2x"
	case slices.Contains(command, "-add"):
		want = "Added to "
	}
	if !strings.Contains(stdout, want) {
		t.Errorf("the output lacks %q:\n%s", want, stdout)
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
		{"-consumers many", "-consumers must be one of"},
		{"-series x", "-series requires -from"},
		{"-from-cpus 4", "-from-cpus requires -from"},
		{"-from curve.csv -procs 1", "remove one of them"},
		{"-source me", "require -add"},
		{"-score -add", "-score allows only"},
		{"-add -json", "remove -json"},
		{"-from gone.csv", "gone.csv"},
		{"-from foreign.csv", "no benchmark with two"},
		{"-from notes.txt", "no benchmark with two"},
		{"-from curve.csv", "3 series: select one with -series"},
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
		{"-series big -cpus 16", "10.8 M/s  extrapolated", "No figure"},
		{"-series big -cpus 32", "No figure for 32 CPUs: too far", ""},
		{"-series big -cpus 16 -llc 8 -socket 8", "more than the 8 that share a last-level cache", ""},
		{"-series big", "The law: ", "No law"},
		{"-series big", "Left out: GOMAXPROCS 8, above the 4 CPUs", ""},
		{"-series big -from-cpus 2", "Left out: GOMAXPROCS 4 8, above the 2 CPUs", "The law: "},
		{"-series big -cpus 16 -llc 2 -socket 2", "more than the 2 that share a last-level cache", "extrapolated"}, // measured within 64
		{"-series plain -cpus 16", "it is unknown how many CPUs share a last-level cache", "extrapolated"},
		{"-series plain -cpus 16 -llc 16", "extrapolated", "No figure"}, // and at least as many share a socket
		{"-series plain -cpus 16 -llc 2", "extrapolated", "No figure"},  // measured across two
		{"-series plain -cpus 16 -llc 8", "more than the 8 that share a last-level cache", ""},
		{"-series small", "2 counts are too few to fit a law", "The law: "},
		{"-series small", "The file does not have the number of CPUs", ""},
	}
	for _, tt := range tests {
		args := append([]string{"predict", "-from", "curve.csv"}, strings.Fields(tt.args)...)
		status, stdout, stderr := sluice(t, 0, args...)
		if status != 0 || !strings.Contains(stdout, tt.says) || tt.never != "" && strings.Contains(stdout, tt.never) {
			t.Errorf("%s: status %d, want %q and not %q:\n%s%s", tt.args, status, tt.says, tt.never, stdout, stderr)
		}
	}
}

// An added curve is used the next time, from the user's directory or a file.
func TestPredictAdd(t *testing.T) {
	predictions(t)
	for _, where := range [][]string{nil, {"-curves", "mine.csv"}} {
		before := score(t, where...)
		add := append([]string{"predict", "-add", "-from", "curve.csv", "-series", "big", "-from-cpus", "8", "-source", "me", "-machine", "my own", "-note", "at night"}, where...)
		if status, stdout, stderr := sluice(t, 0, add...); status != 0 || !strings.Contains(stdout, "my own; Go 1.26; one chan; 3 counts") {
			t.Fatalf("status %d\n%s%s", status, stdout, stderr)
		}
		if after := score(t, where...); after.Rows[1].Curves != before.Rows[1].Curves+1 {
			t.Errorf("%v: the score had %d curves, and has %d", where, before.Rows[1].Curves, after.Rows[1].Curves)
		}
		status, stdout, _ := sluice(t, 0, append([]string{"predict", "-from", "curve.csv", "-series", "big"}, where...)...)
		if status != 0 || !strings.Contains(stdout, "include 1 curve of your own") || !strings.Contains(stdout, "  my own") {
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
	if status != 0 || !strings.Contains(stdout, "Left out: GOMAXPROCS "+over+", above the ") || !strings.Contains(stdout, "has its highest throughput at 1 CPU: ") {
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
