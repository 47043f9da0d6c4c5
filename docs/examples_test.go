package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// forUsers are the packages whose constructors need an example.
var forUsers = []string{
	".", "batch", "bridge", "codec", "fan", "hub", "inspect", "jetstream", "livepage", "metrics/otel",
	"metrics/prometheus", "semaphore", "source", "spill", "workers", "contrib/watermill",
}

// TestConstructors: go doc shows an example for each constructor.
func TestConstructors(t *testing.T) {
	found := 0
	for _, folder := range forUsers {
		all, missing := constructors(t, os.DirFS(checkout), folder)
		found += all
		for _, name := range missing {
			t.Errorf("%s: no Example%s", folder, name)
		}
	}
	if found < len(forUsers) {
		t.Errorf("only %d constructors", found)
	}
}

func TestPlantedConstructor(t *testing.T) {
	tree := fstest.MapFS{
		"lib/lib.go":          {Data: []byte("package lib\nfunc New() {}\nfunc NewKeyed() {}\nfunc OpenLog() {}\nfunc newest() {}\nfunc Newton() {}\nfunc (T) NewPart() {}\ntype T int\n")},
		"lib/lib_linux.go":    {Data: []byte("package lib\nfunc OpenFile() {}\n")},
		"lib/example_test.go": {Data: []byte("package lib_test\nfunc ExampleNew() {}\nfunc ExampleOpenLog_twice() {}\nfunc ExampleNewKeyedMap() {}\n")},
	}
	all, missing := constructors(t, tree, "lib")
	if slices.Sort(missing); all != 4 || strings.Join(missing, " ") != "NewKeyed OpenFile" {
		t.Errorf("%d constructors; without an example: %q", all, missing)
	}
}

// constructors counts the constructors of a package, and returns those without an example.
func constructors(t *testing.T, top fs.FS, folder string) (all int, missing []string) {
	t.Helper()
	var names, examples []string
	files, err := fs.Glob(top, path.Join(folder, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no files: %v", folder, err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, text(t, top, name), parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			switch {
			case !ok || f.Recv != nil:
			case strings.HasSuffix(name, "_test.go"):
				examples = append(examples, f.Name.Name)
			case constructs(f.Name.Name):
				names = append(names, f.Name.Name)
			}
		}
	}
	for _, name := range names {
		shown := func(example string) bool {
			return example == "Example"+name || strings.HasPrefix(example, "Example"+name+"_")
		}
		if !slices.ContainsFunc(examples, shown) {
			missing = append(missing, name)
		}
	}
	return len(names), missing
}

// constructs reports whether a function with this name makes something: New, NewX, OpenX.
func constructs(name string) bool {
	for _, verb := range []string{"New", "Open"} {
		if rest, ok := strings.CutPrefix(name, verb); ok && (rest == "" || rest[0] >= 'A' && rest[0] <= 'Z') {
			return true
		}
	}
	return false
}
