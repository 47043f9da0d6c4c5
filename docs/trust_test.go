package docs

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// TestTrust: the first table of trust.md has lower limits of counts. With -v it prints the
// counts. A limit below half of its count is out of date.
func TestTrust(t *testing.T) {
	top := os.DirFS(checkout)
	counts := countTests(t, top)
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%s: %d", what, counts[what])
	}
	for _, wrong := range checkLimits(text(t, top, "docs/trust.md"), counts) {
		t.Error(wrong)
	}
}

// TestPlantedTrust breaks each rule for limits once.
func TestPlantedTrust(t *testing.T) {
	tree := fstest.MapFS{
		"go.mod":                              {Data: []byte("module m\n")},
		"a.go":                                {Data: []byte("package a\n\nvar A = 1\n")},
		"a_test.go":                           {Data: []byte("package a\n\nfunc TestA(t *testing.T) {}\nfunc ExampleA() {}\nfunc FuzzA(f *testing.F) {}\n")},
		"sub/go.mod":                          {Data: []byte("module m/sub\n")},
		"sub/b.go":                            {Data: []byte("package b\n")},
		"sluicetest/internal/mutant/fault.go": {Data: []byte("package mutant\n\nconst (\n\tNone Fault = \"\"\n\n\tA Fault = \"late\"\n)\n")},
	}
	got := countTests(t, tree)
	want := map[string]int{
		"lines of code": 4, "lines of code of the root module": 3, "lines of tests": 12, "lines of tests of the root module": 12,
		"tests": 1, "examples": 1, "fuzz targets": 1, "faults of a channel that the suite must find": 1,
		"services with a known bottleneck": 0, "public programs with a measured change": 0, "steps of .ci/run": 0,
	}
	if !maps.Equal(got, want) {
		t.Errorf("counts of a planted tree: %v, want %v", got, want)
	}
	counts := map[string]int{"tests": 10}
	for _, planted := range []struct{ table, want string }{
		{"| tests | 10 |", ""},
		{"| tests | 11 |", "10"},
		{"| tests | 4 |", "10"},
		{"| tests | many |", "many"},
		{"| pests | 10 |", "pests"},
		{"", "tests"},
	} {
		wrong := strings.Join(checkLimits("| what | at least |\n|---|--:|\n"+planted.table+"\n\n| c | 4 |\n", counts), "\n")
		if (wrong == "") != (planted.want == "") || !strings.Contains(wrong, planted.want) {
			t.Errorf("%q: got %q, want %q", planted.table, wrong, planted.want)
		}
	}
}

// checkLimits returns what is wrong in the table of limits of a document.
func checkLimits(document string, counts map[string]int) (wrong []string) {
	_, table, _ := strings.Cut(document, "| what | at least |\n|---|--:|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	seen := map[string]bool{}
	for line := range strings.Lines(table) {
		cells := cellsOf(strings.TrimSpace(line))
		if len(cells) != 2 {
			continue
		}
		limit, err := strconv.Atoi(strings.ReplaceAll(cells[1], ",", ""))
		count, known := counts[cells[0]]
		seen[cells[0]] = true
		switch {
		case err != nil:
			wrong = append(wrong, fmt.Sprintf("%s: %q is no number", cells[0], cells[1]))
		case !known:
			wrong = append(wrong, fmt.Sprintf("nothing counts %q", cells[0]))
		case count < limit, count > 2*limit:
			wrong = append(wrong, fmt.Sprintf("%s: there are %d, which the limit %d does not describe", cells[0], count, limit))
		}
	}
	for what := range counts {
		if !seen[what] {
			wrong = append(wrong, "no limit for "+what)
		}
	}
	return wrong
}

var (
	declared = regexp.MustCompile(`(?m)^func (Test|Example|Fuzz)`)
	fault    = regexp.MustCompile(`(?m)^\t\w+ +Fault = "[^"]+"`)
)

// countTests counts what the table of limits is about. The conformance suite and the
// histories are tests, although their files are not named so.
func countTests(t *testing.T, top fs.FS) map[string]int {
	counts := map[string]int{"lines of code": 0, "lines of code of the root module": 0}
	names := map[string]string{"Test": "tests", "Example": "examples", "Fuzz": "fuzz targets"}
	for _, name := range find(t, top, ".go") {
		source := text(t, top, name)
		what := "lines of code"
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "sluicetest/") || strings.HasPrefix(name, "stress/") {
			what = "lines of tests"
			for _, match := range declared.FindAllStringSubmatch(source, -1) {
				counts[names[match[1]]]++
			}
		}
		lines := strings.Count(source, "\n")
		counts[what] += lines
		if inRoot(top, name) {
			counts[what+" of the root module"] += lines
		}
	}
	faults, _ := fs.ReadFile(top, "sluicetest/internal/mutant/fault.go")
	counts["faults of a channel that the suite must find"] = len(fault.FindAll(faults, -1))
	counts["services with a known bottleneck"] = folders(top, "bench/doctorlab/trial/testdata")
	counts["public programs with a measured change"] = folders(top, "bench/doctorlab/corpus")
	script, _ := fs.ReadFile(top, ".ci/run")
	counts["steps of .ci/run"] = len(ciSteps(string(script)))
	return counts
}

// inRoot reports whether no folder between a file and the root has a go.mod.
func inRoot(top fs.FS, name string) bool {
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		if _, err := fs.Stat(top, folder+"/go.mod"); err == nil {
			return false
		}
	}
	return true
}

// folders returns the number of folders in a folder.
func folders(top fs.FS, name string) (n int) {
	entries, _ := fs.ReadDir(top, name)
	for _, entry := range entries {
		if entry.IsDir() {
			n++
		}
	}
	return n
}
