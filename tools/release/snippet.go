package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
)

// readme runs the README of the release: each Go snippet as a
// program, which must print its comment "Output:", and the commands that install. The
// tests of the documents must pass, too: the release has changed two of them.
func (w *workshop) readme(ctx context.Context) error {
	text, err := w.clone.read("README.md")
	if err != nil {
		return err
	}
	snippets := blocks(string(text), "go")
	if len(snippets) == 0 {
		return errors.New("README.md has no Go code")
	}
	for i, snippet := range snippets {
		if err := w.runSnippet(ctx, fmt.Sprintf("snippet-%d", i+1), snippet); err != nil {
			return err
		}
	}
	if err := w.runInstallation(ctx, string(text)); err != nil {
		return err
	}
	_, err = w.goCommand(ctx, w.clone.dir, nil, "test", "./docs")
	return err
}

// runInstallation runs the lines of the README that call go get and go install, in a new
// module.
func (w *workshop) runInstallation(ctx context.Context, text string) error {
	dir, err := w.program("reader", w.modules[0].goes, "")
	if err != nil {
		return err
	}
	found := 0
	for _, block := range blocks(text, "sh") {
		for line := range strings.Lines(block) {
			line, _, _ = strings.Cut(line, "#")
			words := strings.Fields(line)
			if len(words) < 3 || words[0] != "go" || words[1] != "get" && words[1] != "install" {
				continue
			}
			found++
			if _, err := w.goCommand(ctx, dir, w.proxies(), words[1:]...); err != nil {
				return err
			}
		}
	}
	if found == 0 {
		return errors.New("README.md has no command that installs")
	}
	return nil
}

// runSnippet builds the body of an example as a program, and runs it.
func (w *workshop) runSnippet(ctx context.Context, name, snippet string) error {
	text, err := programOf(snippet, w.root)
	if err != nil {
		return fmt.Errorf("README.md, %s: %w", name, err)
	}
	dir, err := w.program(name, w.modules[0].goes, text)
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

// blocks returns the code blocks of a document in a language.
func blocks(document, language string) (texts []string) {
	for _, match := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(document, -1) {
		texts = append(texts, match[1])
	}
	return texts
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

// programOf returns the program whose main function is the snippet. It imports the
// packages of the standard library that are in the list. A package that
// is not among them belongs to the library.
func programOf(snippet, root string) (string, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", "package main\n\nfunc main() {\n"+snippet+"\n}\n", parser.ParseComments)
	if err != nil {
		return "", err
	}
	var imports []string
	for _, unresolved := range file.Unresolved {
		name := unresolved.Name
		if !selects(file, unresolved) || slices.Contains(imports, name) {
			continue
		}
		imports = append(imports, name)
	}
	program := "package main\n\nimport (\n"
	for _, name := range imports {
		switch {
		case slices.Contains(standard, name):
			program += fmt.Sprintf("\t%q\n", name)
		case name == path.Base(root):
			program += fmt.Sprintf("\t%q\n", root)
		default:
			program += fmt.Sprintf("\t%q\n", path.Join(root, name))
		}
	}
	formatted, err := format.Source([]byte(program + ")\n\nfunc main() {\n" + snippet + "\n}\n"))
	return string(formatted), err
}

// selects reports whether an identifier is the name before a dot.
func selects(file *ast.File, ident *ast.Ident) (found bool) {
	ast.Inspect(file, func(node ast.Node) bool {
		if selector, ok := node.(*ast.SelectorExpr); ok && selector.X == ident {
			found = true
		}
		return !found
	})
	return found
}
