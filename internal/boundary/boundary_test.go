package boundary

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// checkout is the root of the repository.
const checkout = "../.."

// TestRooms checks the repository against the table.
func TestRooms(t *testing.T) {
	sources := read(t)
	if len(sources) < 50 {
		t.Fatalf("read %d Go files, want at least 50", len(sources))
	}
	for _, wrong := range check(sources, rooms) {
		t.Error(wrong)
	}
}

// TestEachRowCounts removes each row, and each permission, from the table: the
// check must report that.
func TestEachRowCounts(t *testing.T) {
	byFolder := map[string][]source{}
	for _, s := range read(t) {
		byFolder[s.folder] = append(byFolder[s.folder], s)
	}
	for folder, r := range rooms {
		sources := byFolder[folder]
		row := map[string]room{folder: r}
		before := check(sources, row)
		for _, permitted := range []permissions{r.imports, r.tests, r.pointers} {
			for path, why := range permitted {
				if strings.TrimSpace(why) == "" {
					t.Errorf("%s: no reason for %s", folder, path)
				}
				delete(permitted, path)
				if slices.Equal(check(sources, row), before) {
					t.Errorf("%s: removing the permission of %s has no effect", folder, path)
				}
				permitted[path] = why
			}
		}
		if slices.Equal(check(sources, nil), before) {
			t.Errorf("%s: removing its row has no effect", folder)
		}
	}
}

// TestLibraryStandsAlone: the root module has no requirements.
func TestLibraryStandsAlone(t *testing.T) {
	text, err := os.ReadFile(checkout + "/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range requirements(string(text)) {
		t.Errorf("go.mod: %s", wrong)
	}
	planted := "module m\n\ngo 1.25\n\nrequire (\n\tgolang.org/x/sync v0.1.0\n)\n"
	if len(requirements(planted)) == 0 {
		t.Error("a planted requirement was not found")
	}
}

// requirements returns the lines of a go.mod other than the module's name and its
// Go version.
func requirements(mod string) (lines []string) {
	for line := range strings.Lines(mod) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !slices.Contains([]string{"", "//", "module", "go"}, word) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// TestPlanted violates each rule once, in a small repository without other
// violations.
func TestPlanted(t *testing.T) {
	table := func() map[string]room {
		return map[string]room{
			".":                {imports: permissions{"./internal/engine": "why"}},
			"internal/engine":  {imports: permissions{"time": "why"}},
			"cmd/tool":         {imports: permissions{"./": "why", "example.com/flags": "why"}, tests: permissions{"example.com/diff": "why"}},
			"internal/handoff": {imports: permissions{"unsafe": "why"}, pointers: permissions{"stack.go": "why"}},
			"internal/park":    {},
		}
	}
	good := map[string]string{
		"root.go":                   `package sluice; import ("fmt"; "github.com/sluice-go/sluice/internal/engine")`,
		"root_test.go":              `package sluice_test; import ("os"; "github.com/sluice-go/sluice")`,
		"internal/engine/e.go":      `package engine; import "time"`,
		"internal/park/park.go":     `package park; func f() { <-token }`,
		"internal/handoff/h.go":     `package handoff; func f() { select { case ready <- v: default: }; select { case v := <-ready: default: } }`,
		"cmd/tool/main.go":          `package main; import ("os"; "example.com/flags"; "github.com/sluice-go/sluice")`,
		"cmd/tool/main_test.go":     `package main; import ("testing"; "example.com/diff"; "github.com/sluice-go/sluice")`,
		"internal/handoff/x_t.go":   `package handoff; import "sync/atomic"`,
		"internal/handoff/stack.go": `package handoff; import "unsafe"; var p unsafe.Pointer`,
	}
	if wrong := check(plant(t, good), table()); len(wrong) > 0 {
		t.Fatalf("before a violation is planted: %q", wrong)
	}
	tests := []struct{ breaks, file, text, want string }{
		{"a folder without a row", "internal/util/u.go", `package util`, "no row"},
		{"an engine that imports a kind", "internal/handoff/x.go", `package handoff; import "github.com/sluice-go/sluice"`, "imports ./,"},
		{"an import of a module", "x.go", `package sluice; import "golang.org/x/sync/errgroup"`, "imports golang.org/x/sync/errgroup"},
		{"an import of a module by a test", "x_test.go", `package sluice; import "go.uber.org/goleak"`, "imports go.uber.org/goleak"},
		{"a test's import in the code", "cmd/tool/x.go", `package main; import "example.com/diff"`, "imports example.com/diff"},
		{"a clock in the library", "x.go", `package sluice; import "time"`, "imports time"},
		{"unsafe in a command", "cmd/tool/x.go", `package main; import "unsafe"`, "imports unsafe"},
		{"a pointer that is not safe", "internal/handoff/x.go", `package handoff; var p unsafe.Pointer`, "Sizeof"},
		{"cgo in a test", "cmd/tool/x_test.go", `package main; import "C"`, "imports C"},
		{"linkname", "internal/handoff/x.go", "package handoff\n//go:linkname f runtime.f\nfunc f()", "go:linkname"},
		{"a file for an architecture", "x_arm64.go", `package sluice`, "for arm64 only"},
		{"a test for an architecture", "x_386_test.go", `package sluice`, "for 386 only"},
		{"a constraint of an architecture", "x.go", "//go:build linux && !amd64\n\npackage sluice", "for amd64 only"},
		{"a receive", "internal/handoff/x.go", `package handoff; func f() { <-ready }`, "a receive"},
		{"a send", "internal/handoff/x.go", `package handoff; func f() { ready <- v }`, "a send"},
		{"a select that waits", "internal/handoff/x.go", `package handoff; func f() { select { case v, ok := <-ready: } }`, "a receive"},
		{"a receive behind a default", "internal/handoff/x.go", `package handoff; func f() { select { case a <- 1: <-b; default: } }`, "a receive"},
		{"a receive as what a case sends", "internal/handoff/x.go", `package handoff; func f() { select { case a <- <-b: default: } }`, "a receive"},
		{"a condition", "internal/handoff/x.go", `package handoff; var c sync.Cond`, "sync.Cond"},
		{"a row without a folder", "cmd/tool/main.go", "", "no Go file"},
		{"a permission of pointers without a use", "internal/handoff/stack.go", `package handoff; import "unsafe"`, "permits stack.go"},
		{"a permission without a use", "internal/engine/e.go", `package engine`, "permits time"},
		{"a test's permission without a use", "cmd/tool/main_test.go", "", "permits example.com/diff"},
	}
	for _, test := range tests {
		t.Run(test.breaks, func(t *testing.T) {
			files := maps.Clone(good)
			files[test.file] = test.text
			if test.text == "" {
				delete(files, test.file)
				if test.file == "cmd/tool/main.go" {
					delete(files, "cmd/tool/main_test.go")
				}
			}
			wrong := check(plant(t, files), table())
			if len(wrong) != 1 || !strings.Contains(wrong[0], test.want) {
				t.Errorf("got %q, want one complaint with %q", wrong, test.want)
			}
		})
	}
}

// plant parses the given files.
func plant(t *testing.T, files map[string]string) (sources []source) {
	t.Helper()
	for name, text := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		module := "."
		if strings.HasPrefix(name, "cmd/tool") {
			module = "cmd/tool"
		}
		sources = append(sources, newSource(name, module, file))
	}
	return sources
}

// read parses every Go file of the repository.
func read(t *testing.T) (sources []source) {
	t.Helper()
	top := os.DirFS(checkout)
	err := fs.WalkDir(top, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			base := path.Base(name)
			if name != "." && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		text, err := fs.ReadFile(top, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
		if err != nil {
			return err
		}
		sources = append(sources, newSource(name, moduleOf(top, path.Dir(name)), file))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return sources
}

// moduleOf is the nearest folder, from folder upwards, with a go.mod.
func moduleOf(top fs.FS, folder string) string {
	for ; folder != "."; folder = path.Dir(folder) {
		if _, err := fs.Stat(top, folder+"/go.mod"); err == nil {
			break
		}
	}
	return folder
}

func newSource(name, module string, file *ast.File) source {
	return source{
		folder: path.Dir(name),
		name:   path.Base(name),
		module: module,
		test:   strings.HasSuffix(name, "_test.go"),
		file:   file,
	}
}
