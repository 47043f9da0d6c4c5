package docs

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// checkout is the root of the repository, relative to this folder.
const checkout = ".."

// TestDocuments checks the links, the commands and the code of every document.
func TestDocuments(t *testing.T) {
	top := os.DirFS(checkout)
	documents := find(t, top, ".md")
	for _, needed := range []string{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/adr/README.md",
		"docs/choosing.md", "docs/metrics.md", "docs/moving.md", "docs/recipes.md", "docs/spill.md"} {
		if !slices.Contains(documents, needed) {
			t.Errorf("%s is missing", needed)
		}
	}
	examples := allExamples(top)
	for _, name := range documents {
		for _, wrong := range checkDocument(top, examples, name) {
			t.Error(wrong)
		}
	}
}

// TestReadme: the README fits on one screen, and has the two commands and the code of an
// example.
func TestReadme(t *testing.T) {
	text := text(t, os.DirFS(checkout), "README.md")
	const screen = 70
	if n := strings.Count(text, "\n"); n > screen {
		t.Errorf("README.md has %d lines (want at most %d, one screen)", n, screen)
	}
	if len(blocks(text, "go")) == 0 {
		t.Error("README.md has no Go code")
	}
	commands := regexp.MustCompile("(?s)^go run ./cmd/sluice lab .*\ngo test work ")
	if !slices.ContainsFunc(blocks(text, "sh"), commands.MatchString) {
		t.Error("README.md lacks the two commands: sluice lab, then go test work")
	}
}

// TestArchitecture: ARCHITECTURE.md shows every folder with Go files, and the index of
// the decision records lists every one.
func TestArchitecture(t *testing.T) {
	top := os.DirFS(checkout)
	shown := text(t, top, "ARCHITECTURE.md")
	for _, missing := range unmapped(shown, find(t, top, ".go")) {
		t.Errorf("ARCHITECTURE.md does not show %s", missing)
	}
	if got := unmapped(shown, []string{"internal/attic/a.go"}); len(got) != 1 {
		t.Error("a planted folder, which ARCHITECTURE.md does not show, was accepted")
	}

	index := text(t, top, "docs/adr/README.md")
	for _, name := range find(t, top, ".md") {
		if path.Dir(name) != "docs/adr" || path.Base(name) == "README.md" {
			continue
		}
		if !strings.Contains(index, "("+path.Base(name)+")") {
			t.Errorf("docs/adr/README.md does not list %s", name)
		}
		for _, wrong := range incomplete(text(t, top, name)) {
			t.Errorf("%s: %s", name, wrong)
		}
	}
	if got := incomplete("# 7. Rust\n\n## Decision\n\nNo.\n"); len(got) != 2 {
		t.Errorf("a record without two of its parts: %q", got)
	}
}

// TestContributing: CONTRIBUTING.md lists exactly the steps of .ci/run, and each is a
// target of the Makefile.
func TestContributing(t *testing.T) {
	top := os.DirFS(checkout)
	table, script := text(t, top, "CONTRIBUTING.md"), text(t, top, ".ci/run")
	if documented, run := documentedSteps(table), ciSteps(script); len(run) == 0 || !slices.Equal(documented, run) {
		t.Errorf("CONTRIBUTING.md: %q\n.ci/run: %q", documented, run)
	}
	makeTargets := targets(text(t, top, "Makefile"))
	for _, step := range ciSteps(script) {
		if !slices.Contains(makeTargets, step) {
			t.Errorf(".ci/run: the Makefile has no target %s", step)
		}
	}
	if got := ciSteps("steps=(a b)\n"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("steps of a planted script: %q", got)
	}
	if got := documentedSteps("| `make b` | that |\n| `make a` | this |\n`make c`\n"); !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("steps of a planted table: %q", got)
	}
}

// TestPlantedDocument breaks each rule for documents once.
func TestPlantedDocument(t *testing.T) {
	tree := fstest.MapFS{
		"Makefile":           {Data: []byte("test: ## all\n\tgo test work\n")},
		"go.work":            {Data: []byte("use .\n")},
		"cmd/tool/main.go":   {Data: []byte("package main\n")},
		"cmd/sluice/look.go": {Data: []byte("package main\n\ntype lookCommand struct {\n\tHTML bool `name:\"html\"`\n\tFarAway bool `help:\"x\"`\n\tNear bool `name:\"close-by\"`\n}\n")},
		"lib/lib.go":         {Data: []byte("package lib\n")},
		"lib/lib_test.go":    {Data: []byte("package lib\n\nfunc Example() {\n\tSend(1)\n\t// Output:\n}\n\nfunc TestLib() {}\n")},
		"bin/run":            {Data: []byte("exit 0\n")},
		"docs/more.md":       {Data: []byte("# More of `it`!\n")},
	}
	good := "# T\n\n[more](docs/more.md), [web](https://example.com), [part](#t), [its](docs/more.md#more-of-it), `make test`, `New[T](nil)`, [`more`](docs/more.md)\n\n" +
		"```sh\ngo run ./cmd/tool -x  # comment\nsluice look -far-away -close-by=1 :6060 | head -40\ngo run ./cmd/sluice look -html p\ngo test work\ngo test ./lib -run TestLib\ngo test ./...\nmake test X=1\nbash bin/run\ngo get github.com/sluice-go/sluice@latest\ngo install github.com/sluice-go/sluice/cmd/tool@v0.1.0\n```\n\n" +
		"```go\nSend(1)\n// Output:\n```\n"
	tree["DOC.md"] = &fstest.MapFile{Data: []byte(good)}
	examples := allExamples(tree)
	if wrong := checkDocument(tree, examples, "DOC.md"); len(wrong) > 0 {
		t.Fatalf("the correct document: %q", wrong)
	}
	for _, planted := range []struct{ text, want string }{
		{"[gone](docs/gone.md)", "does not resolve"},
		{"[`gone`](docs/gone.md), `more`", "does not resolve"},
		{"[part](#gone)", "no heading for the link to #gone"},
		{"[part](docs/more.md#less)", "docs/more.md has no heading for the link to #less"},
		{"`make coffee`", "no target coffee"},
		{"`go test ./gone`", "no folder gone"},
		{"```sh\nmake coffee\n```", "no target coffee"},
		{"```sh\ngo run ./lib\n```", "lib is not a command"},
		{"```sh\ngo run ./gone\n```", "no folder gone"},
		{"```sh\ngo test ./gone/...\n```", "no folder gone"},
		{"```sh\ngo test ./lib -run 'TestLib|TestGone'\n```", "no test 'TestLib|TestGone'"},
		{"```sh\nbash bin/gone\n```", "no script bin/gone"},
		{"```sh\ngo get github.com/sluice-go/sluice/gone@latest\n```", "no folder gone"},
		{"`go install github.com/sluice-go/sluice/lib`", "is not a version"},
		{"```sh\nsluice examine\n```", "no command examine"},
		{"`sluice look -y`", "no flag -y"},
		{"`go run ./cmd/sluice look -y`", "no flag -y"},
		{"```sh\nrm -rf .\n```", "unknown command"},
		{"```go\nSend(2)\n```", "not the body of an example"},
		{"```python\n1\n```", `"python"`},
		{"```sh\nmake test", "not closed"},
	} {
		tree["DOC.md"] = &fstest.MapFile{Data: []byte(good + "\n" + planted.text + "\n")}
		if wrong := checkDocument(tree, examples, "DOC.md"); len(wrong) != 1 || !strings.Contains(wrong[0], planted.want) {
			t.Errorf("%q: got %q, want one problem with %q", planted.text, wrong, planted.want)
		}
	}
}

// find returns the files with the given extension. It skips testdata and hidden folders,
// except the templates for GitHub.
func find(t *testing.T, top fs.FS, ext string) (names []string) {
	t.Helper()
	err := fs.WalkDir(top, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && name != "." && name != ".github" && (strings.HasPrefix(path.Base(name), ".") || path.Base(name) == "testdata") {
			return fs.SkipDir
		}
		if path.Ext(name) == ext {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func text(t *testing.T, top fs.FS, name string) string {
	t.Helper()
	text, err := fs.ReadFile(top, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
