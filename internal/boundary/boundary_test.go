package boundary

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const library = "github.com/sluice-go/sluice"

// layers are the folders of packages, from the lowest layer to the highest. Each folder stands
// for those below it too, unless they are in another row. A package imports packages of its
// own layer and of lower ones. Its tests may import any package.
var layers = [][]string{
	{"internal"}, // the engines and their parts
	{"."},        // the kinds
	{"batch", "bridge", "codec", "fan", "hub", "inspect", "internal/reading", "livepage",
		"metrics/internal", "semaphore", "sluicetest", "source", "workers"},
	{"jetstream", "metrics", "spill", "contrib"}, // what other libraries are needed for
	{"bench"},
	{"bench/cmd", "bench/doctorlab", "bench/logagg", "cmd", "docs", "examples", "spill/otelstorage/collector", "stress", "tools"},
}

// required are the modules, by prefixes of their paths, that the modules which users import or
// install may require. A checker of histories and of leaks is for tests only.
var required = map[string][]string{
	".":                  nil, // for good
	"spill":              {library, "golang.org/x/sys"},
	"spill/otelstorage":  {library, "github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage", "go.opentelemetry.io/collector/", "go.uber.org/zap"},
	"jetstream":          {library, "github.com/nats-io/", "github.com/gofrs/flock", "github.com/anishathalye/porcupine", "go.uber.org/goleak"},
	"metrics/otel":       {library, "go.opentelemetry.io/"},
	"metrics/prometheus": {library, "github.com/prometheus/"},
	"cmd/sluice": {library, "github.com/alecthomas/kong", "github.com/clipperhouse/displaywidth", "github.com/gdamore/tcell/",
		"github.com/google/pprof", "github.com/schollz/progressbar/", "golang.org/x/"},
}

// addresses are the files that use more of package unsafe than Sizeof: the address of a
// goroutine's stack, as a number, and the argument of a system call.
var addresses = []string{"internal/shard/affinity.go", "internal/loopdisk/disk_linux.go"}

// blocking are the names of the standard library that may block, besides operations on built-in channels.
var blocking = []string{"sync.Cond", "sync.NewCond", "sync.WaitGroup", "time.Sleep", "time.After", "time.NewTimer", "context.AfterFunc"}

// architecture matches the names of files and the build constraints for one architecture.
var architecture = regexp.MustCompile(`(_|\b)(amd64|arm64|386|arm)(_test)?(\.go$|\b)`)

// requirement matches the direct requirements of a go.mod.
var requirement = regexp.MustCompile(`(?m)^(?:require |\t)([^ (]+\.[^ ]+) v\S+$`)

// layer returns the index of the layer of a folder, or -1.
func layer(folder string) int {
	for ; ; folder = path.Dir(folder) {
		if i := slices.IndexFunc(layers, func(row []string) bool { return slices.Contains(row, folder) }); i >= 0 {
			return i
		}
		if !strings.Contains(folder, "/") {
			return -1
		}
	}
}

// check returns what in a repository is against the rules.
func check(tree fs.FS) (wrong []string, err error) {
	err = fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (base[0] == '.' || base[0] == '_' || base == "testdata"):
			return fs.SkipDir
		case base != "go.mod" && path.Ext(base) != ".go":
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		violations := checkModule
		if base != "go.mod" {
			violations = checkFile
		}
		for _, violation := range violations(name, string(text)) {
			wrong = append(wrong, name+": "+violation)
		}
		return nil
	})
	return wrong, err
}

func checkModule(name, text string) (wrong []string) {
	may, limited := required[path.Dir(name)]
	for _, match := range requirement.FindAllStringSubmatch(text, -1) {
		if limited && !slices.ContainsFunc(may, func(prefix string) bool { return strings.HasPrefix(match[1], prefix) }) {
			wrong = append(wrong, "requires "+match[1])
		}
	}
	return wrong
}

func checkFile(name, text string) (wrong []string) {
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return []string{err.Error()}
	}
	folder, test := path.Dir(name), strings.HasSuffix(name, "_test.go")
	own := layer(folder)
	if own < 0 {
		wrong = append(wrong, "its folder is in no layer")
	}
	for _, spec := range file.Imports {
		imported := strings.Trim(spec.Path.Value, `"`)
		below, ours := strings.CutPrefix(imported, library)
		switch {
		case imported == "C" || imported == "plugin":
			wrong = append(wrong, "imports "+imported)
		case ours && !test && layer(path.Join(".", below)) > own:
			wrong = append(wrong, "imports "+imported+", which is of a higher layer")
		}
	}
	for _, group := range file.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, "//go:linkname ") {
				wrong = append(wrong, "go:linkname")
			}
			if constraint.IsGoBuild(c.Text) && architecture.MatchString(c.Text) {
				wrong = append(wrong, "is for one architecture")
			}
		}
	}
	if architecture.MatchString(path.Base(name)) {
		wrong = append(wrong, "is for one architecture")
	}
	if test {
		return wrong
	}
	operations, names := 0, map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SendStmt:
			operations++
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				operations++
			}
		case *ast.SelectStmt: // with a default, the operations of its cases do not block
			isDefault := func(s ast.Stmt) bool { return s.(*ast.CommClause).Comm == nil }
			if slices.ContainsFunc(n.Body.List, isDefault) {
				operations -= len(n.Body.List) - 1
			}
		case *ast.SelectorExpr:
			if pkg, ok := n.X.(*ast.Ident); ok {
				names[pkg.Name+"."+n.Sel.Name] = true
			}
		}
		return true
	})
	for used := range maps.Keys(names) {
		if strings.HasPrefix(used, "unsafe.") && used != "unsafe.Sizeof" && !slices.Contains(addresses, name) {
			wrong = append(wrong, used+" hides accesses from the race detector")
		}
	}
	if own == 0 && folder != "internal/park" {
		if operations > 0 || slices.ContainsFunc(blocking, func(call string) bool { return names[call] }) {
			wrong = append(wrong, "blocks: only internal/park may")
		}
	}
	return wrong
}

func TestBoundaries(t *testing.T) {
	wrong, err := check(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, violation := range wrong {
		t.Error(violation)
	}
}

// TestPlanted breaks each rule once, in a repository that keeps them all.
func TestPlanted(t *testing.T) {
	good := map[string]string{
		"go.mod":                "module " + library + "\n\ngo 1.25\n",
		"spill/go.mod":          "module m\n\nrequire (\n\t" + library + " v0.0.0\n\tgolang.org/x/sys v0.45.0\n\tgolang.org/x/text v0.1.0 // indirect\n)\n",
		"root.go":               `package sluice; import "` + library + `/internal/engine"`,
		"internal/e/e_test.go":  `package e; import "` + library + `"; func f() { <-token }`,
		"internal/park/park.go": `package park; func f() { <-token }`,
		"internal/e/e.go":       `package e; import "unsafe"; var _ = unsafe.Sizeof(0); func f() { select { case a <- v: default: }; select { case v := <-(a): default: } }`,
		"cmd/tool/main.go":      `package main; import "` + library + `/batch"; func main() { <-done }`,
	}
	tests := []struct{ name, file, text, want string }{
		{"nothing", "go.mod", good["go.mod"], ""},
		{"a folder in no layer", "util/u.go", `package util`, "no layer"},
		{"an engine that imports a kind", "internal/e/x.go", `package e; import "` + library + `"`, "higher layer"},
		{"a kind that imports a package", "x.go", `package sluice; import "` + library + `/batch"`, "higher layer"},
		{"a package that imports a command", "batch/x.go", `package batch; import "` + library + `/cmd/tool"`, "higher layer"},
		{"a module of the library", "go.mod", "module m\n\nrequire golang.org/x/sync v0.1.0\n", "requires golang.org/x/sync"},
		{"a module of spill", "spill/go.mod", "module m\n\nrequire (\n\tgolang.org/x/net v0.1.0\n)\n", "requires golang.org/x/net"},
		{"cgo in a test", "cmd/tool/x_test.go", `package main; import "C"`, "imports C"},
		{"linkname", "internal/e/x.go", "package e\n//go:linkname f runtime.f\nfunc f()", "go:linkname"},
		{"a pointer", "internal/e/x.go", `package e; var p unsafe.Pointer`, "unsafe.Pointer"},
		{"a file for an architecture", "x_arm64.go", `package sluice`, "architecture"},
		{"a test for an architecture", "x_386_test.go", `package sluice`, "architecture"},
		{"a constraint", "x.go", "//go:build linux && !amd64\n\npackage sluice", "architecture"},
		{"a receive", "internal/e/x.go", `package e; func f() { <-ready }`, "blocks"},
		{"a send", "internal/e/x.go", `package e; func f() { ready <- v }`, "blocks"},
		{"a select that waits", "internal/e/x.go", `package e; func f() { select { case v, ok := <-ready: } }`, "blocks"},
		{"a receive behind a default", "internal/e/x.go", `package e; func f() { select { case a <- 1: <-b; default: } }`, "blocks"},
		{"a receive in a case", "internal/e/x.go", `package e; func f() { select { case a <- <-b: default: } }`, "blocks"},
		{"a condition", "internal/e/x.go", `package e; var c sync.Cond`, "blocks"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tree := fstest.MapFS{test.file: {Data: []byte(test.text)}}
			for name, text := range good {
				if name != test.file {
					tree[name] = &fstest.MapFile{Data: []byte(text)}
				}
			}
			wrong, err := check(tree)
			if test.want == "" && len(wrong) == 0 && err == nil {
				return
			}
			if err != nil || len(wrong) != 1 || test.want == "" || !strings.Contains(wrong[0], test.want) {
				t.Errorf("%q, %v; want one violation with %q", wrong, err, test.want)
			}
		})
	}
}
