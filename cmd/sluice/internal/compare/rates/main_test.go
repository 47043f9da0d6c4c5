package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writeRun writes a run of points that take around 100 ns.
func writeRun(t *testing.T, dir string, offset float64) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("experiment: elastic\n\n")
	for point := range 30 {
		for i := range 6 {
			fmt.Fprintf(&b, "BenchmarkElastic/n=%d 100 %v ns/op 7 widgets\n", point, 100+offset+float64(i)/10)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "results.txt"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Runs that hardly differ have no false alarm, and every planted slowdown is found.
func TestRates(t *testing.T) {
	t.Chdir(t.TempDir())
	writeRun(t, "a", 0)
	writeRun(t, "b", 0.05)
	var b strings.Builder
	if err := run([]string{"a", "b"}, &b); err != nil {
		t.Fatal(err)
	}
	for i, p := range plants {
		name, want := fmt.Sprintf("%d x %v", p.points, p.factor), "2 2 0 0 100%"
		if p.points == 0 {
			name, want = "nothing", "2 0 0 2"
		}
		row := strings.Split(b.String(), "\n")[i+1]
		if got := strings.Join(strings.Fields(strings.TrimPrefix(row, name)), " "); got != want || !strings.HasPrefix(row, name) {
			t.Errorf("row %q, want %s: %s", row, name, want)
		}
	}
}

func TestFaultyRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	writeRun(t, "a", 0)
	for _, dirs := range [][]string{nil, {"a"}, {"a", "gone"}} {
		if err := run(dirs, &strings.Builder{}); err == nil {
			t.Errorf("%q accepted", dirs)
		}
	}
}
