package compare

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"
)

// written returns a file with what write writes.
func written(t *testing.T, name string, write func(to *bufio.Writer)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	to := bufio.NewWriter(f)
	write(to)
	if err := errors.Join(to.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestFilesAreNotHeld: the memory for a comparison follows the results, not the length of
// the files, which may be logs with results in between.
func TestFilesAreNotHeld(t *testing.T) {
	const logged = 64 << 20
	var paths [2]string
	for side := range paths {
		paths[side] = written(t, fmt.Sprint(side), func(to *bufio.Writer) {
			line := strings.Repeat("=", 1000) + "\n"
			for range logged / len(line) {
				_, _ = to.WriteString(line)
			}
			fmt.Fprintf(to, "# line-ns: 5%d\n", side)
			for i := range 6 {
				fmt.Fprintf(to, "BenchmarkSend 100 %d ns/op\n", 100+side+i)
			}
		})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := read(paths, nil)
	runtime.ReadMemStats(&after)
	if err != nil || len(r.keys) != 1 || r.runs[1].values("line-ns")[0] != "51" {
		t.Fatalf("%+v, %v", r, err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > logged/16 {
		t.Errorf("%d bytes were allocated for two files of %d", took, logged)
	}
}

// TestTooManyResults: files whose results need more memory than is allowed are refused,
// by an error that says so.
func TestTooManyResults(t *testing.T) {
	r := &results{values: map[Key]*[2][]float64{}}
	r.runs[1].Path = "new.txt"
	r.held = maxHeld - 100
	if err := r.hold(1, 100); err != nil {
		t.Errorf("as much as is allowed: %v", err)
	}
	for what, line := range map[string]string{
		"a result": "BenchmarkSend 100 1 ns/op\n", "a malformed result": "BenchmarkSend 100 fast ns/op\n",
		"a setting": "cpu: fast\nBenchmarkSend 100 1 ns/op\n", "a reading": "# line-ns: 52\n",
	} {
		path := written(t, "many", func(to *bufio.Writer) { _, _ = to.WriteString(line) })
		old := written(t, "old", func(to *bufio.Writer) { _, _ = to.WriteString("BenchmarkSend 100 1 ns/op\n\n") })
		full := &results{values: map[Key]*[2][]float64{}, held: maxHeld}
		err := full.addFile(1, file{path: path}, new(benchfmt.Reader))
		if err == nil || !strings.Contains(err.Error(), "too many results") || !strings.Contains(err.Error(), "128 MiB") {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := read([2]string{old, path}, nil); err != nil && strings.Contains(err.Error(), "too many") {
			t.Errorf("%s alone: %v", what, err)
		}
	}
}

// TestIdentical: two files are compared to their ends.
func TestIdentical(t *testing.T) {
	long := strings.Repeat("=", 200_000)
	for _, test := range []struct {
		a, b string
		same bool
	}{{long, long, true}, {long, long[1:] + "-", false}, {long, "-" + long[1:], false}, {long, long[1:], false}, {long[:1<<16], long[:1<<16], true}} {
		a, b := strings.NewReader(test.a), strings.NewReader(test.b)
		if same, err := equal(a, b); same != test.same || err != nil {
			t.Errorf("%d and %d bytes: %v, %v", len(test.a), len(test.b), same, err)
		}
	}
}
