package workflows

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const folder = "../../.github/workflows"

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func check(t *testing.T, name string, text []byte) []string {
	t.Helper()
	wrong, err := lint(name, text)
	if err != nil {
		t.Fatal(err)
	}
	return wrong
}

func TestWorkflows(t *testing.T) {
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) == 0 {
		t.Fatalf("no workflows: %v", err)
	}
	for _, entry := range entries {
		for _, wrong := range check(t, entry.Name(), read(t, entry.Name())) {
			t.Error(wrong)
		}
	}
	for name, step := range map[string]string{"ci.yml": "bash .ci/run ${{ matrix.steps }}", "pages.yml": "make site"} {
		if !strings.Contains(string(read(t, name)), "- run: "+step+"\n") {
			t.Errorf("%s does not run %s", name, step)
		}
	}
}

// TestAllSteps: the machines of ci.yml run each step of .ci/run once.
func TestAllSteps(t *testing.T) {
	script, err := os.ReadFile("../../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^steps=\((.*)\)$`).FindSubmatch(script)
	matrix := regexp.MustCompile(`(?m)^        steps:\n((?: {10}- .*\n)+)`).FindSubmatch(read(t, "ci.yml"))
	if list == nil || matrix == nil {
		t.Fatal("no list of steps")
	}
	all, run := strings.Fields(string(list[1])), strings.Fields(strings.ReplaceAll(string(matrix[1]), "- ", ""))
	slices.Sort(all)
	slices.Sort(run)
	if !slices.Equal(all, run) {
		t.Errorf(".ci/run has the steps %q, ci.yml runs %q", all, run)
	}
}

// TestPlantedWorkflow breaks a workflow once for each kind of mistake.
func TestPlantedWorkflow(t *testing.T) {
	good := string(read(t, "ci.yml"))
	for _, planted := range []struct{ from, to, want string }{
		{"runs-on:", "run-on:", `unexpected key "run-on"`},
		{"github.ref", "github.reff", `"reff" is not defined`},
		{"contents: read", "contents: reed", `"reed" is invalid`},
		{"go-version:", "goversion:", `"goversion" is not defined`},
	} {
		text := strings.Replace(good, planted.from, planted.to, 1)
		if wrong := strings.Join(check(t, "ci.yml", []byte(text)), "\n"); !strings.Contains(wrong, planted.want) {
			t.Errorf("%s instead of %s: got %q, want %q", planted.to, planted.from, wrong, planted.want)
		}
	}
}
