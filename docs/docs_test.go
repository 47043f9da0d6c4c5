package docs

import (
	"io/fs"
	"os"
	"path"
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
	examples := allExamples(top)
	for _, name := range documents {
		for _, wrong := range checkDocument(top, examples, name) {
			t.Error(wrong)
		}
	}
}

// TestPlantedDocument breaks each rule for documents once.
func TestPlantedDocument(t *testing.T) {
	tree := fstest.MapFS{
		"Makefile":         {Data: []byte("test: ## all\n\tgo test work\n")},
		"go.work":          {Data: []byte("use .\n")},
		"cmd/tool/main.go": {Data: []byte("package main\n")},
		"lib/lib.go":       {Data: []byte("package lib\n")},
		"lib/lib_test.go":  {Data: []byte("package lib\n\nfunc Example() {\n\tSend(1)\n\t// Output:\n}\n\nfunc TestLib() {}\n")},
		"bin/run":          {Data: []byte("exit 0\n")},
		"docs/more.md":     {Data: []byte("# More of `it`!\n")},
	}
	good := "# T\n\n[more](docs/more.md), [web](https://example.com), [part](#t), [its](docs/more.md#more-of-it), `make test`, `New[T](nil)`, [`more`](docs/more.md)\n\n" +
		"```sh\ngo run ./cmd/tool -x  # comment\nsluice look -far-away :6060 | head -40\ngo test work\ngo test ./lib -run TestLib\ngo test ./...\nmake test X=1\nbash bin/run\nexport GOPROXY=off\ngo -C ../sluice install -ldflags=-s ./cmd/tool\ngo get github.com/sluice-go/sluice@latest\ngo install github.com/sluice-go/sluice/cmd/tool@v0.1.0\n```\n\n" +
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
		{"```sh\nFAST=1 go test ./gone/...\n```", "no folder gone"},
		{"```sh\ngo test ./lib -run 'TestLib|TestGone'\n```", "no test 'TestLib|TestGone'"},
		{"```sh\nbash bin/gone\n```", "no script bin/gone"},
		{"```sh\ngo get github.com/sluice-go/sluice/gone@latest\n```", "no folder gone"},
		{"`go install github.com/sluice-go/sluice/lib`", "is not a version"},
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
