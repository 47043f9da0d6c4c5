package workflows

import (
	"os"
	"path/filepath"
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
	for name, step := range map[string]string{"ci.yml": "bash .ci/run", "pages.yml": "make site"} {
		if !strings.Contains(string(read(t, name)), "- run: "+step+"\n") {
			t.Errorf("%s does not run %s", name, step)
		}
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
