package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// goBlock matches the Go code in a document.
var goBlock = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")

// readme runs the README of the release: each Go snippet as a program, which must print
// its comment "Output:". The tests of the documents must pass, too: the release has
// changed two of them.
func (w *workshop) readme(ctx context.Context) error {
	text, err := w.clone.read("README.md")
	if err != nil {
		return err
	}
	snippets := goBlock.FindAllStringSubmatch(string(text), -1)
	if len(snippets) == 0 {
		return errors.New("README.md has no Go code")
	}
	for i, snippet := range snippets {
		if err := w.runSnippet(ctx, fmt.Sprintf("snippet-%d", i+1), snippet[1]); err != nil {
			return err
		}
	}
	_, err = w.goCommand(ctx, w.clone.dir, nil, "test", "./docs")
	return err
}

// runSnippet builds the body of an example as a program, and runs it.
func (w *workshop) runSnippet(ctx context.Context, name, snippet string) error {
	dir, err := w.program(name, w.modules[0].goes, programOf(snippet, w.root, w.clone.dir))
	if err != nil {
		return err
	}
	if _, err := w.goCommand(ctx, dir, w.proxies(), "get", w.modules[0].at(w.version)); err != nil {
		return err
	}
	out, err := w.goCommand(ctx, dir, w.proxies(), "run", ".")
	if err != nil {
		return err
	}
	if want := output(snippet); strings.TrimSpace(string(out)) != want {
		return fmt.Errorf("README.md, %s prints:\n%s\nwant:\n%s", name, out, want)
	}
	return nil
}

// output returns what the comment "Output:" at the end of an example says.
func output(snippet string) string {
	_, comment, _ := strings.Cut(snippet, "// Output:\n")
	var lines []string
	for line := range strings.Lines(comment) {
		lines = append(lines, strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "//")))
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// standard are the packages of the standard library that snippets use by name.
var standard = []string{"context", "errors", "fmt", "log", "strings", "sync", "time"}

// selected matches a name before an exported one.
var selected = regexp.MustCompile(`\b([a-z]\w*)\.[A-Z]`)

// programOf returns the program whose main function is the snippet. It imports packages
// of the standard list and of the library, which is in a folder.
func programOf(snippet, root, folder string) string {
	imports := map[string]bool{}
	for _, match := range selected.FindAllStringSubmatch(snippet, -1) {
		name := match[1]
		_, err := os.Stat(filepath.Join(folder, name))
		switch {
		case slices.Contains(standard, name):
			imports[name] = true
		case name == path.Base(root):
			imports[root] = true
		case err == nil:
			imports[path.Join(root, name)] = true
		}
	}
	program := "package main\n\nimport (\n"
	for _, name := range slices.Sorted(maps.Keys(imports)) {
		program += fmt.Sprintf("\t%q\n", name)
	}
	return program + ")\n\nfunc main() {\n" + snippet + "\n}\n"
}
