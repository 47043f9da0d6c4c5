package boundary

import (
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/token"
	"maps"
	"slices"
	"strings"
)

// A room is the permissions of a folder. The keys are import paths, in this
// repository "./" and the folder. The values are the reasons.
//
// An import from outside the standard library needs a permission everywhere. An
// import from the standard library needs one in the library itself, unless it is in
// everyday: reading clocks, starting goroutines, accessing memory or communicating
// changes what a channel is.
type room struct {
	imports permissions // of its code and its tests
	tests   permissions // of its tests only
	// pointers are the files that use more of unsafe than Sizeof, for addresses
	// that the race detector and checkptr need not see.
	pointers permissions
}

type permissions map[string]string

// A source is one Go file of the repository.
type source struct {
	folder string // "." or a path below it
	name   string
	module string // the folder of its module
	test   bool
	file   *ast.File
}

// everyday lists the packages of the standard library that need no reason.
var everyday = []string{"cmp", "context", "errors", "fmt", "iter", "math/bits", "slices", "strconv", "strings", "sync/atomic"}

// forbidden lists imports that no row can permit, with the reason.
var forbidden = map[string]string{
	"C":      "the library must build wherever Go does, without other tools",
	"plugin": "a program is one binary",
}

// check returns the violations of the sources.
func check(sources []source, rooms map[string]room) (wrong []string) {
	used := map[string]bool{}
	for _, s := range sources {
		where := s.folder + "/" + s.name
		r, ok := rooms[s.folder]
		if !ok {
			wrong = append(wrong, where+": its folder has no row in the table")
			continue
		}
		used[s.folder] = true
		for _, path := range imports(s.file) {
			if why := forbidden[path]; why != "" {
				wrong = append(wrong, fmt.Sprintf("%s: imports %s: %s", where, path, why))
				continue
			}
			switch {
			case r.imports[path] != "":
				if !s.test {
					used[s.folder+" imports "+path] = true
				}
			case s.test && r.tests[path] != "":
				used[s.folder+" tests "+path] = true
			case s.free(path):
			default:
				wrong = append(wrong, fmt.Sprintf("%s: imports %s, which the row of its folder does not permit", where, path))
			}
		}
		if s.unsafe() && r.pointers[s.name] != "" {
			used[s.folder+" pointers "+s.name] = true
		} else if s.unsafe() {
			wrong = append(wrong, where+": uses more of unsafe than Sizeof, which hides accesses from the race detector and checkptr")
		}
		if s.linknames() {
			wrong = append(wrong, where+": go:linkname depends on internals of the runtime")
		}
		if arch := s.architecture(); arch != "" {
			wrong = append(wrong, fmt.Sprintf("%s: is for %s only: the same code is tested on each architecture", where, arch))
		}
		if s.mustNotWait() {
			for _, what := range waits(s.file) {
				wrong = append(wrong, fmt.Sprintf("%s: %s: only internal/park may block", where, what))
			}
		}
	}
	for folder, r := range rooms {
		if !used[folder] {
			wrong = append(wrong, folder+": a row in the table, but no Go file")
			continue
		}
		for kind, permitted := range map[string]permissions{"imports": r.imports, "tests": r.tests, "pointers": r.pointers} {
			for path := range permitted {
				if !used[folder+" "+kind+" "+path] {
					wrong = append(wrong, fmt.Sprintf("%s: %s: permits %s, which nothing uses", folder, kind, path))
				}
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}

// imports returns the imports of a file, in this repository as "./" and the folder.
func imports(file *ast.File) (paths []string) {
	const own = "github.com/sluice-go/sluice"
	for _, spec := range file.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		if path == own {
			path = "./"
		} else if folder, ok := strings.CutPrefix(path, own+"/"); ok {
			path = "./" + folder
		}
		paths = append(paths, path)
	}
	return paths
}

// free reports whether the source may import path without a reason.
func (s source) free(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	if strings.Contains(first, ".") { // a host's name, or "./"
		// An external test may import the package that it tests.
		return s.test && path == "./"+strings.TrimPrefix(s.folder, ".")
	}
	if s.module == "." && !s.test || path == "unsafe" {
		return slices.Contains(everyday, path)
	}
	return true
}

// unsafe reports whether the file uses more of package unsafe than Sizeof.
func (s source) unsafe() (more bool) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			pkg, ok := selector.X.(*ast.Ident)
			more = more || ok && pkg.Name == "unsafe" && selector.Sel.Name != "Sizeof"
		}
		return true
	})
	return more
}

// linknames reports whether the file has a go:linkname directive.
func (s source) linknames() bool {
	for _, group := range s.file.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, "//go:linkname ") {
				return true
			}
		}
	}
	return false
}

// architectures are the usual ones: no code here is for one of them.
var architectures = []string{"amd64", "arm64", "386", "arm"}

// architecture returns the architecture that the name of the file, or its build
// constraint, depends on, or "".
func (s source) architecture() (arch string) {
	name := strings.TrimSuffix(strings.TrimSuffix(s.name, ".go"), "_test")
	if i := strings.LastIndexByte(name, '_'); i >= 0 && slices.Contains(architectures, name[i+1:]) {
		return name[i+1:]
	}
	for _, group := range s.file.Comments {
		for _, c := range group.List {
			expr, err := constraint.Parse(c.Text)
			if err != nil {
				continue // not a constraint
			}
			expr.Eval(func(tag string) bool {
				if slices.Contains(architectures, tag) {
					arch = tag
				}
				return true
			})
		}
	}
	return arch
}

// mustNotWait reports whether the source belongs to an engine.
func (s source) mustNotWait() bool {
	return !s.test && strings.HasPrefix(s.folder, "internal/") && s.folder != "internal/park"
}

// waits returns the operations of a file that may block, according to its syntax:
// operations on built-in channels outside of a select with a default, and calls
// known to block.
func waits(file *ast.File) (found []string) {
	mayBlock := map[ast.Node]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectStmt); ok {
			withDefault := false
			for _, clause := range s.Body.List {
				withDefault = withDefault || clause.(*ast.CommClause).Comm == nil
			}
			if withDefault {
				for _, clause := range s.Body.List {
					if comm := clause.(*ast.CommClause).Comm; comm != nil {
						mayBlock[operation(comm)] = false
					}
				}
			}
		}
		return true
	})
	names := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if _, judged := mayBlock[n]; judged {
			return true
		}
		switch n := n.(type) {
		case *ast.SendStmt:
			names["a send"] = true
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				names["a receive"] = true
			}
		case *ast.SelectorExpr:
			if pkg, ok := n.X.(*ast.Ident); ok && slices.Contains(waiting, pkg.Name+"."+n.Sel.Name) {
				names[pkg.Name+"."+n.Sel.Name] = true
			}
		}
		return true
	})
	return slices.Sorted(maps.Keys(names))
}

// waiting lists names of the standard library that may block.
var waiting = []string{"sync.Cond", "sync.NewCond", "sync.WaitGroup", "time.Sleep", "time.After", "time.NewTimer", "context.AfterFunc"}

// operation returns the send or the receive of a case of a select.
func operation(comm ast.Stmt) ast.Node {
	var received ast.Expr
	switch comm := comm.(type) {
	case *ast.ExprStmt:
		received = comm.X
	case *ast.AssignStmt:
		received = comm.Rhs[0]
	default:
		return comm
	}
	for {
		paren, ok := received.(*ast.ParenExpr)
		if !ok {
			return received
		}
		received = paren.X
	}
}
