package flow

import (
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// A frame is a function of the program on a stack, and where it called the next one.
type frame struct {
	function string // without type arguments, and without the suffix of a loop body
	file     string
	line     int
	entry    uintptr // of the function; 0 if it was inlined
	// gap reports whether functions of other modules are between this frame and the
	// one outside of it: it was called back.
	gap bool
}

// A path is a stack from the goroutine's function inwards. Only functions of the program
// itself are in it, unless there are none: then those of other modules, but never this
// library or the standard library.
type path struct {
	frames []frame
	root   string // the function that the goroutine began with, of any module
}

// pathOf symbolizes a stack. Its frames are empty if the stack is entirely in libraries.
func pathOf(stack []uintptr) path {
	var p path
	var own, others []frame // innermost first
	ownGap, othersGap := false, false
	symbols := runtime.CallersFrames(stack)
	for more := len(stack) > 0; more; {
		var s runtime.Frame
		s, more = symbols.Next()
		if s.Function == "" || strings.HasPrefix(s.Function, "runtime.") {
			continue
		}
		f := frame{function: plain(s.Function), file: s.File, line: s.Line}
		if s.Func != nil {
			f.entry = s.Entry
		}
		p.root = f.function
		switch ownerOf(f.function) {
		case theProgram:
			own, ownGap = join(own, f, ownGap), false
			othersGap = true
		case anotherModule:
			others, othersGap = join(others, f, othersGap), false
			ownGap = true
		case standard:
			ownGap, othersGap = true, true
		case library: // its callbacks are part of the stage that called it
		}
	}
	p.frames = own
	if len(own) == 0 {
		p.frames = others
	}
	for i, j := 0, len(p.frames)-1; i < j; i, j = i+1, j-1 {
		p.frames[i], p.frames[j] = p.frames[j], p.frames[i]
	}
	return p
}

// join appends a frame further out, and combines a function with itself: a recursion, or
// the body of a loop over a function. It combines a function also with its own closures,
// and those of functions that were inlined in it: they have its name before theirs. gap
// reports whether other functions are in between.
func join(inner []frame, f frame, gap bool) []frame {
	n := len(inner)
	for n > 0 && isClosure(inner[n-1].function) && strings.HasPrefix(inner[n-1].function, f.function+".") {
		n--
	}
	inner = inner[:n]
	if n > 0 {
		if inner[n-1].function == f.function {
			return inner
		}
		inner[n-1].gap = gap
	}
	return append(inner, f)
}

// plain returns the name of a function without type arguments, and without the suffixes
// of loop bodies and method values.
func plain(function string) string {
	depth := 0 // of brackets
	function = strings.Map(func(r rune) rune {
		switch {
		case r == '[':
			depth++
			return -1
		case r == ']':
			depth--
			return -1
		case depth > 0:
			return -1
		}
		return r
	}, function)
	function = strings.TrimSuffix(function, "-fm")
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
	if pkg == "main" || strings.HasSuffix(pkg, "_test") {
		return theProgram
	}
	if rest, ok := strings.CutPrefix(pkg, module); ok && (rest == "" || rest[0] == '/') {
		first, _, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
		for _, p := range programs {
			if first == p {
				return theProgram
			}
		}
		return library
	}
	for _, m := range modules().own {
		if within(pkg, m) {
			return theProgram
		}
	}
	for _, m := range modules().others {
		if within(pkg, m) {
			return anotherModule
		}
	}
	if first, _, _ := strings.Cut(pkg, "/"); strings.Contains(first, ".") {
		return anotherModule
	}
	return standard
}

func within(pkg, module string) bool {
	rest, ok := strings.CutPrefix(pkg, module)
	return ok && (rest == "" || rest[0] == '/')
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

// A moduleList has the paths of the modules in the program. Those under development,
// as in a workspace, belong to it.
type moduleList struct{ own, others []string }

var modules = sync.OnceValue(func() (list moduleList) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return list
	}
	if info.Main.Path != "" {
		list.own = append(list.own, info.Main.Path)
	}
	for _, m := range info.Deps {
		if m.Version == "(devel)" || m.Replace != nil && m.Replace.Version == "" {
			list.own = append(list.own, m.Path)
		} else {
			list.others = append(list.others, m.Path)
		}
	}
	return list
})
