package flow

import (
	"go/token"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/sluice-go/sluice/internal/callsite"
)

// A frame is a function of the program on a stack, and where it called the next one.
type frame struct {
	function string // without type arguments, and without the suffix of a loop body
	file     string
	line     int
	entry    uintptr // of the function; 0 if it was inlined
	owner    owner
	// gap reports whether functions of others are between this frame and the one outside of
	// it: it was called back.
	gap bool
}

// A path is a stack from the goroutine's function inwards. Only functions of the program
// itself are in it, unless there are none: then those of other modules, but never this
// library or the standard library. A function is combined with itself, in a recursion or
// the body of a loop over a function, and with its own closures, and those of functions that
// were inlined in it: they have its name before theirs.
type path struct {
	frames []frame
	root   frame // what the goroutine began with, of any module
}

// pathOf symbolizes a stack. Its frames are empty if the stack is entirely in libraries.
func pathOf(stack callsite.Stack) path {
	var all []frame // innermost first
	kept := anotherModule
	symbols := runtime.CallersFrames(stack[:])
	for more := true; more; {
		var s runtime.Frame
		s, more = symbols.Next()
		if s.Function == "" || strings.HasPrefix(s.Function, "runtime.") {
			continue
		}
		f := frame{function: plain(s.Function), file: s.File, line: s.Line}
		if s.Func != nil {
			f.entry = s.Entry
		}
		if f.owner = ownerOf(f.function); f.owner == theProgram {
			kept = theProgram
		}
		all = append(all, f)
	}
	if len(all) == 0 {
		return path{}
	}
	p := path{root: all[len(all)-1]}
	var last *frame
	gap := false
	for _, f := range slices.Backward(all) {
		switch {
		case f.owner == library: // its callbacks are part of the stage that called it
		case f.owner != kept:
			gap = true
		case last != nil && isClosure(f.function) && strings.HasPrefix(f.function, last.function+"."):
		case last != nil && f.function == last.function:
			f.gap = last.gap
			*last, gap = f, false
		default:
			f.gap, gap = gap, false
			p.frames = append(p.frames, f)
			last = &p.frames[len(p.frames)-1]
		}
	}
	return p
}

// isStage reports whether a frame is a function of this library that programs call: a go statement
// may begin with it, as in go fan.In(ctx, out, in).
func (f *frame) isStage() bool {
	pkg := packageOf(f.function)
	name := strings.TrimPrefix(f.function, pkg+".")
	return f.owner == library && token.IsExported(name) && !strings.Contains(name, ".") && !strings.Contains(pkg, "/internal/")
}

// plain returns the name of a function, as the runtime writes it, without the place of its
// type arguments, and without the suffixes of loop bodies and method values.
func plain(function string) string {
	function = strings.TrimSuffix(strings.Replace(function, "[...]", "", 1), "-fm")
	for {
		at := strings.LastIndex(function, "-range")
		if at < 0 || strings.Trim(function[at+len("-range"):], "0123456789") != "" {
			return function
		}
		function = function[:at]
	}
}

type owner uint8

const (
	standard owner = iota
	library
	anotherModule
	theProgram
)

// module is the path of this module. Folders of it that use the library as any other
// program does count as programs.
const module = "github.com/sluice-go/sluice"

var programs = []string{"bench", "cmd", "examples", "stress", "tools"}

func ownerOf(function string) owner {
	pkg := packageOf(function)
	first, _, _ := strings.Cut(pkg, "/")
	below, ours := strings.CutPrefix(pkg+"/", module+"/")
	folder, _, _ := strings.Cut(below, "/")
	switch {
	case pkg == "main", strings.HasSuffix(pkg, "_test"), ours && slices.Contains(programs, folder):
		return theProgram
	case ours:
		return library
	case slices.ContainsFunc(developed(), func(m string) bool { return strings.HasPrefix(pkg+"/", m+"/") }):
		return theProgram
	case strings.Contains(first, "."):
		return anotherModule
	}
	return standard
}

// packageOf returns the import path of a function's package.
func packageOf(function string) string {
	slash := strings.LastIndexByte(function, '/') + 1
	dot := strings.IndexByte(function[slash:], '.')
	if dot < 0 {
		return function
	}
	// A dot in the last element of an import path is escaped in the name of a function.
	return strings.ReplaceAll(function[:slash+dot], "%2e", ".")
}

// developed returns the paths of the modules that belong to the program: its own, and those
// under development, as in a workspace.
var developed = sync.OnceValue(func() (paths []string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	if info.Main.Path != "" {
		paths = append(paths, info.Main.Path)
	}
	for _, m := range info.Deps {
		if m.Version == "(devel)" || m.Replace != nil && m.Replace.Version == "" {
			paths = append(paths, m.Path)
		}
	}
	return paths
})
