package observe

import (
	"cmp"
	"go/token"
	"path"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/capture"
)

// maxFrames is more than the runtime records (128 plus inlined calls).
const maxFrames = 1024

// A placed is what a stack means.
type placed struct {
	Line // At is zero in a goroutine of the runtime that does nothing known

	node NodeKind // what the operation waits at; "" if it does not wait
	name string   // of that, where it is known: "database/sql"
	role Frame    // start function, or first function of the program; zero without a function of the program
	host string   // the function that the goroutine started with, where that is another one
	own  bool     // it serves profiles, traces or the live page: it never counts
	side portSide // what a select did when it woke another goroutine
	at   int      // index of the frame of At; the length of the stack without one
}

// A step is a frame whose name is plain, with its level.
type step struct {
	Frame
	level level
	pkg   string
}

// place finds the program's line in s and its operation:
//
//   - At is the innermost line of the program; without one, of a library, and without
//     that, of the standard library;
//   - the outermost function below At with a meaning is the operation;
//   - the outermost function of the program is the role, middleware and functions that
//     only start others aside.
func place(s capture.Stack) placed {
	steps := stepsOf(s)
	p := placed{at: line(steps)}
	if p.at < len(steps) {
		p.At = steps[p.at].Frame
	}
	var m meaning
	for i, f := range steps {
		if i > p.at || i == p.at && f.level == program {
			break // a line of a library counts as one of its functions
		}
		if f.Function == "runtime.selectgo" {
			p.side = selects[f.Line]
		}
		if found, ok := meaningOf(f.Function, f.pkg); ok && found.covers(m.op) {
			m = found
		}
	}
	p.Op, p.node, p.name = m.op, m.node, m.name
	if p.In = calledBy(steps, p.at); p.In == "" && p.node == Limit && p.at < len(steps) && steps[p.at].level < program {
		p.In = p.At.Function // the library itself waits for a slot
	}
	p.around(steps)
	p.own = strings.HasPrefix(p.host, "runtime.trace") || strings.HasPrefix(p.host, "runtime.(*trace")
	p.own = p.own || slices.ContainsFunc(steps, func(f step) bool { return observers[f.pkg] && !wrappers[f.Function] })
	return p
}

// covers reports whether a function with meaning m that does inner does what m says. A
// lock stays a lock wherever it is, except in this module's channels.
func (m meaning) covers(inner Op) bool {
	if inner == Lock || inner == Unlock {
		return m.node == Channel
	}
	return m.only == "" || cmp.Or(inner, nothing) == m.only
}

func stepsOf(s capture.Stack) []step {
	steps := make([]step, min(len(s), maxFrames))
	for i, f := range s[:len(steps)] {
		function := plain(f.Function)
		pkg := packageOf(function)
		steps[i] = step{Frame{function, f.File, f.Line}, levelOf(function, f.File, pkg), pkg}
	}
	return steps
}

// line returns the index of the line that counts, or the number of steps.
func line(steps []step) int {
	ofLibrary, ofStandard := len(steps), len(steps)
	for i, f := range steps {
		switch f.level {
		case program:
			return i
		case library:
			// Of this module, the function that was called; of others, what waits.
			if ofLibrary == len(steps) || strings.HasPrefix(f.pkg, Module) {
				ofLibrary = i
			}
		case std:
			ofStandard = i
		}
	}
	if ofLibrary < len(steps) {
		return ofLibrary
	}
	return ofStandard
}

// calledBy returns the function that the line at steps[at] calls, if that is one of a
// library or of package sync.
func calledBy(steps []step, at int) string {
	for i := at - 1; i >= 0; i-- {
		f := steps[i]
		switch {
		case f.level == hidden && f.pkg != "sync":
			continue
		case f.level == library && iterator(f.Function, f.File):
			continue // inlined, with the name of the function around it
		case strings.HasPrefix(f.pkg, Module):
			return path.Base(closing(f.Function))
		case f.level == hidden && !token.IsExported(last(f.Function)):
			continue // a helper of a lock
		}
		return closing(f.Function)
	}
	return ""
}

// around sets the caller, the role and the host.
func (p *placed) around(steps []step) {
	outermost, role := -1, -1
	for i := p.at; i < len(steps); i++ {
		f := steps[i]
		if f.level == hidden {
			continue
		}
		outermost = i
		if f.level < program {
			continue
		}
		middleware := role >= 0 && slices.ContainsFunc(steps[role:i], func(f step) bool { return routers[f.Function] })
		if (role < 0 || !starter(f.Function)) && !middleware {
			role = i
		}
		loop := i+1 < len(steps) && steps[i+1].Function == p.At.Function // an iterator, inlined into the function around it
		if i > p.at && p.Caller.Function == "" && f.Function != p.At.Function && !loop {
			p.Caller = f.Frame
		}
	}
	if role >= 0 {
		p.role = steps[role].Frame
	}
	switch {
	case outermost >= 0 && outermost != role:
		p.host = steps[outermost].Function
	case outermost < 0:
		for _, f := range steps {
			if f.Function != "runtime.goexit" {
				p.host = f.Function
			}
		}
	}
}
