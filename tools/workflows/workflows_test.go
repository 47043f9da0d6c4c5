// Package workflows checks the workflows of GitHub Actions in .github/workflows, with
// actionlint, a program of go.mod. They run elsewhere, so nothing else here would notice a
// misspelled key. Run it with make workflows.
package workflows

import (
	"bytes"
	"os"
	"os/exec"
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

var (
	uses = regexp.MustCompile(`(?m)^[ -]*"?uses"?:.*$`)
	// pinned matches an action of this repository, or of another one at a commit, with its version.
	pinned = regexp.MustCompile(`uses: (\./\S+|[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$`)
	commit = regexp.MustCompile(`@[0-9a-f]{40} # (v\d+)`)
)

// check returns the problems of a workflow. An action of another repository must be pinned by
// its commit: the owner of a tag can move it. actionlint runs no other program: shellcheck
// and pyflakes would make the result depend on the machine.
func check(t *testing.T, text []byte) string {
	t.Helper()
	lint := exec.Command("go", "tool", "actionlint", "-shellcheck=", "-pyflakes=", "-oneline", "-")
	lint.Stdin = bytes.NewReader(commit.ReplaceAll(text, []byte("@$1 # "))) // it knows the inputs of versions only
	out, err := lint.CombinedOutput()
	if err != nil && len(out) == 0 {
		t.Fatal(err)
	}
	for _, line := range uses.FindAllString(string(text), -1) {
		if !pinned.MatchString(line) {
			out = append(out, "not pinned by a commit, with the version as a comment: "+line+"\n"...)
		}
	}
	return string(out)
}

func TestWorkflows(t *testing.T) {
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) == 0 {
		t.Fatalf("no workflows: %v", err)
	}
	for _, entry := range entries {
		if wrong := check(t, read(t, entry.Name())); wrong != "" {
			t.Errorf("%s: %s", entry.Name(), wrong)
		}
	}
	for name, step := range map[string]string{"ci.yml": "bash .ci/run ${{ matrix.steps }}", "pages.yml": "make site", "release.yml": "make binaries VERSION=\"$GITHUB_REF_NAME\""} {
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
	action := regexp.MustCompile(`actions/checkout@.*`).FindString(good)
	bare, _, _ := strings.Cut(action, " ")
	for _, planted := range []struct{ from, to, want string }{
		{"runs-on:", "run-on:", `unexpected key "run-on"`},
		{"github.ref", "github.reff", `"reff" is not defined`},
		{"contents: read", "contents: reed", `"reed" is invalid`},
		{"go-version:", "goversion:", `"goversion" is not defined`},
		{action, "actions/checkout@v5", "not pinned"},
		{action, bare[:len(bare)-1] + " # v5.1.0", "not pinned"},
		{action, bare, "not pinned"},
		{action, bare + " # v5", "not pinned"},
		{"- uses: " + action, "- name: checkout\n        uses: actions/checkout@main", "not pinned"},
	} {
		text := strings.Replace(good, planted.from, planted.to, 1)
		if wrong := check(t, []byte(text)); !strings.Contains(wrong, planted.want) {
			t.Errorf("%s instead of %s: got %q, want %q", planted.to, planted.from, wrong, planted.want)
		}
	}
}
