package docs

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"
)

// checkout is the root of the repository, relative to this folder.
const checkout = ".."

// TestDocuments checks every document.
func TestDocuments(t *testing.T) {
	top := os.DirFS(checkout)
	examples := allExamples(top)
	for _, name := range find(t, top, ".md") {
		for _, wrong := range checkDocument(top, examples, name) {
			t.Errorf("%s: %s", name, wrong)
		}
	}
}

// TestPlantedDocument breaks each rule for documents once.
func TestPlantedDocument(t *testing.T) {
	tree := fstest.MapFS{
		"Makefile":         {Data: []byte("test: ## all\n\tgo test work\n")},
		"cmd/tool/main.go": {Data: []byte("package main\n")},
		"lib/lib.go":       {Data: []byte("package lib\n")},
		"lib/lib_test.go":  {Data: []byte("package lib\n\nfunc Example() {\n\tSend(1)\n\t// Output:\n}\n\nfunc TestLib() {}\n")},
		"bin/run":          {Data: []byte("exit 0\n")},
		installing:         {Data: []byte("`go get x@latest`\n")},
		"docs/more.md":     {Data: []byte("# More of `it`!\n")},
	}
	good := "# T\n\n[more](docs/more.md), [web](https://example.com), [part](#t), [its](docs/more.md#more-of-it), `make test`, `New[T](nil)`, [`more`](docs/more.md)\n\n" +
		"```sh\ngo run ./cmd/tool -x  # comment\nsluice look -far-away :6060 | head -40\ngo test work\ngo test ./lib -run TestLib\ngo test ./...\nmake test X=1\nbash bin/run\nexport GOPROXY=off\ngo get x@v0.0.0\n```\n\n" +
		"```go\nSend(1)\n// Output:\n```\n\nGo 1.26, 2026-11-29: 30 ns, 1 hour, x1.2 ns\n"
	for _, planted := range []struct{ from, to, want string }{
		{"", "", ""},
		{"docs/more.md)", "docs/gone.md)", "does not resolve"},
		{"#t)", "#gone)", "no heading for the link to #gone"},
		{"#more-of-it", "#less", "docs/more.md has no heading for the link to #less"},
		{"`make test`", "`make coffee`", "no target coffee"},
		{"make test X", "make coffee X", "no target coffee"},
		{"go run ./cmd/tool", "go run ./lib", "lib is not a command"},
		{"go run ./cmd/tool", "go run ./gone", "gone is not a command"},
		{"go test ./...", "go test ./gone/...", "no folder gone"},
		{"go test ./...", "FAST=1 go test ./gone/...", "no folder gone"},
		{"-run TestLib", "-run 'TestLib|TestGone'", "no test TestGone"},
		{"bash bin/run", "bash bin/gone", "no script bin/gone"},
		{"get x@", "get gone@", "not a command of docs/releases.md"},
		{"bash bin/run", "rm -rf .", "unknown command"},
		{"Send(1)", "Send(2)", "not the body of an example"},
		{"```go", "```python", "unknown language"},
		{"// Output:\n```", "// Output:\n", "not closed"},
		{"Go 1.26, ", "", "without their origin"},
		{"2026-11-29", "30 November", "without their origin"},
	} {
		tree["DOC.md"] = &fstest.MapFile{Data: []byte(strings.Replace(good, planted.from, planted.to, 1))}
		wrong := strings.Join(checkDocument(tree, allExamples(tree), "DOC.md"), "\n")
		if (wrong == "") != (planted.want == "") || !strings.Contains(wrong, planted.want) {
			t.Errorf("%q instead of %q: got %q, want %q", planted.to, planted.from, wrong, planted.want)
		}
	}
}

var (
	quoted = regexp.MustCompile("`[^`\n]*`")
	link   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	inline = regexp.MustCompile("`((?:make|go|sluice) [^`]+)`")

	// A figure is a measured time; its origin is a version of Go and a date, or the page that has them.
	figure = regexp.MustCompile(`\b\d[0-9.,]* ?(?:ns|µs)\b`)
	origin = regexp.MustCompile(`(?is)go ?1\.\d.*20\d\d-\d\d-\d\d|20\d\d-\d\d-\d\d.*go ?1\.\d|RESULTS\.md`)
)

// checkDocument returns the problems of a document: links that do not resolve, commands that do
// not exist, Go code that is not the body of an example, figures without their origin.
func checkDocument(top fs.FS, examples []string, name string) (wrong []string) {
	document, err := fs.ReadFile(top, name)
	if err != nil {
		return []string{err.Error()}
	}
	complain := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	prose, fenced, err := split(string(document))
	if err != nil {
		complain("%v", err)
	}
	for _, match := range link.FindAllStringSubmatch(quoted.ReplaceAllString(prose, ""), -1) {
		to, part, _ := strings.Cut(match[1], "#")
		if strings.Contains(to, "://") {
			continue
		}
		at := path.Join(path.Dir(name), to)
		if to == "" {
			at = name
		}
		target, err := fs.ReadFile(top, at)
		if _, missing := fs.Stat(top, at); missing != nil {
			complain("the link to %s does not resolve", to)
		} else if part != "" && (err != nil || !slices.Contains(anchors(string(target)), part)) {
			complain("%s has no heading for the link to #%s", at, part)
		}
	}
	var commands []string
	for _, match := range inline.FindAllStringSubmatch(prose, -1) {
		commands = append(commands, match[1])
	}
	for _, block := range fenced {
		switch code := strings.TrimSpace(block.text); {
		case block.language == "sh":
			commands = append(commands, strings.Split(code, "\n")...)
		case block.language == "go" && !slices.Contains(examples, code):
			complain("the code is not the body of an example: %s", code)
		case block.language != "go" && block.language != "":
			complain("unknown language %q of a code block (want sh or go)", block.language)
		}
	}
	for _, command := range commands {
		if err := checkCommand(top, command); err != nil {
			complain("%q: %v", command, err)
		}
	}
	if found := figure.FindString(prose); found != "" && !origin.MatchString(prose) && path.Dir(name) != "docs/adr" {
		complain("figures, such as %s, without their origin", found)
	}
	return wrong
}

// TestBoard: the times in the README are on the speed board.
func TestBoard(t *testing.T) {
	readme, _ := os.ReadFile(checkout + "/README.md")
	board, err := os.ReadFile(checkout + "/bench/RESULTS.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range figure.FindAll(readme, -1) {
		if cell := regexp.MustCompile(`\| \**` + strings.Fields(string(found))[0] + `\** \|`); !cell.Match(board) {
			t.Errorf("README.md: %s is not on the speed board", found)
		}
	}
}

// anchors returns the anchors of a document's headings, as GitHub derives them from plain words.
func anchors(document string) (names []string) {
	prose, _, _ := split(document)
	for line := range strings.Lines(prose) {
		if heading := strings.TrimLeft(line, "#"); heading != line {
			names = append(names, strings.Map(func(r rune) rune {
				switch {
				case r == ' ':
					return '-'
				case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
					return unicode.ToLower(r)
				}
				return -1
			}, strings.TrimSpace(heading)))
		}
	}
	return names
}

// A fence is a code block of a document.
type fence struct{ language, text string }

// split separates the prose of a document from its code blocks, and removes the indentation of
// these.
func split(document string) (prose string, fenced []fence, err error) {
	var outside strings.Builder
	var open *fence
	indent := ""
	for line := range strings.Lines(document) {
		trimmed := strings.TrimSpace(line)
		switch {
		case open == nil && strings.HasPrefix(trimmed, "```"):
			open = &fence{language: strings.TrimPrefix(trimmed, "```")}
			indent = line[:strings.Index(line, "```")]
		case open == nil:
			outside.WriteString(line)
		case trimmed == "```":
			fenced, open = append(fenced, *open), nil
		default:
			open.text += strings.TrimPrefix(line, indent)
		}
	}
	if open != nil {
		err = fmt.Errorf("a code block is not closed")
	}
	return outside.String(), fenced, err
}

// find returns the files with the given extension. It skips testdata and hidden folders, except
// the templates for GitHub.
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
