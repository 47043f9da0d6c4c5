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

	"github.com/sluice-go/sluice/internal/suite"
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
	c := newComparison(paths[0], paths[1], Defaults)
	err := c.read()
	runtime.ReadMemStats(&after)
	if err != nil || len(c.keys) != 1 || c.New.values("line-ns")[0] != "51" {
		t.Fatalf("%+v, %v", c, err)
	}
	// With the race detector, a regular expression often allocates the machine that it would reuse.
	if took := after.TotalAlloc - before.TotalAlloc; took > logged/16 && !suite.Race {
		t.Errorf("%d bytes were allocated for two files of %d", took, logged)
	}
}

// TestTooManyResults: files whose results need more memory than is allowed are refused,
// by an error that says so.
func TestTooManyResults(t *testing.T) {
	const good = "BenchmarkSend 100 1 ns/op\n"
	for what, text := range map[string]string{
		"a result": good + good, "a malformed result": good + "BenchmarkSend 100 fast\n" + good,
		"a setting": "cpu: fast\n" + good + good, "a reading": good + "# line-ns: 52\n" + good,
	} {
		for kept, want := range map[int]bool{0: false, maxKept - 30: true} {
			s := newComparison("", "new.txt", Defaults).side(1)
			s.kept = kept
			_, err := s.read(strings.NewReader(text), new(benchfmt.Reader))
			if errors.Is(err, errTooMany) != want || want && (!strings.HasPrefix(err.Error(), "new.txt:") || !strings.Contains(err.Error(), "64 MiB")) {
				t.Errorf("%s after %d bytes: %v", what, kept, err)
			}
		}
	}
}
