package docs

import (
	"bytes"
	"go/ast"
	"go/doc"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// forUsers are the packages whose constructors need an example.
var forUsers = []string{
	".", "batch", "bridge", "codec", "fan", "hub", "inspect", "jetstream", "livepage", "metrics/otel",
	"metrics/prometheus", "semaphore", "source", "spill", "workers", "contrib/watermill",
}

// TestConstructors: go doc shows an example for each constructor, New, NewX and OpenX.
func TestConstructors(t *testing.T) {
	found := 0
	for _, folder := range forUsers {
		names, err := fs.Glob(os.DirFS(checkout), path.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		set, files := token.NewFileSet(), []*ast.File{}
		for _, name := range names {
			file, err := parser.ParseFile(set, path.Join(checkout, name), nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
		p, err := doc.NewFromFiles(set, files, path.Join(library, folder))
		if err != nil {
			t.Fatal(err)
		}
		functions := p.Funcs
		for _, made := range p.Types {
			functions = append(functions, made.Funcs...)
		}
		for _, f := range functions {
			if strings.HasPrefix(f.Name, "New") || strings.HasPrefix(f.Name, "Open") {
				if found++; len(f.Examples) == 0 {
					t.Errorf("%s: no Example%s", folder, f.Name)
				}
			}
		}
	}
	if found < len(forUsers) {
		t.Errorf("only %d constructors", found)
	}
}

// allExamples returns the body of each Example of all test files, with its output, as gofmt
// formats it without indentation.
func allExamples(top fs.FS) (bodies []string) {
	_ = fs.WalkDir(top, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, _ := fs.ReadFile(top, name)
		if !bytes.Contains(text, []byte("func Example")) { // most files: do not parse them
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
		if err != nil {
			return nil
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(f.Name.Name, "Example") || f.Body == nil {
				continue
			}
			body := text[set.Position(f.Body.Lbrace).Offset+1 : set.Position(f.Body.Rbrace).Offset]
			if formatted, err := format.Source(bytes.TrimSpace(bytes.ReplaceAll(body, []byte("\n\t"), []byte("\n")))); err == nil {
				bodies = append(bodies, strings.TrimSpace(string(formatted)))
			}
		}
		return nil
	})
	return slices.Clip(bodies)
}
