package doctor

import (
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// A wrapper is a function that does nothing but a channel operation, for callers
// of another type or package: a method of a queue, or a generic helper. A person
// would look at the caller, so the place of the operation names both.

// thin is the work of a wrapper beside its operation, as a part of the CPU time
// of the operation: a method that is only a send has none.
const thin = 0.10

// nameUsers marks the operations in wrappers.
func (f *facts) nameUsers() {
	for i := range f.operations {
		if o := &f.operations[i]; f.wraps(o) {
			o.User = o.site.Caller.String()
		}
	}
}

// wraps reports whether the function of an operation only wraps it.
func (f *facts) wraps(o *Operation) bool {
	at, caller := o.site.At, o.site.Caller
	if caller.Function == "" || o.site.Call != "" || enclosing(at.Function) == enclosing(caller.Function) {
		return false
	}
	if at.Package() == caller.Package() && receiverType(at.Function) == receiverType(caller.Function) && !f.shared(at) {
		return false
	}
	if standard(caller) && !standard(at) {
		return false // the standard library calls the program
	}
	return f.workIn(at.Function)*f.window <= thin*f.spentIn(at.Function)
}

// shared reports whether several functions call this one for its operation.
func (f *facts) shared(at profile.Frame) bool {
	callers := make(map[string]bool)
	for i := range f.operations {
		if o := &f.operations[i]; o.site.At == at && o.site.Caller.Function != "" {
			callers[o.site.Caller.Function] = true
		}
	}
	return len(callers) > 1
}

// standard reports whether a function belongs to the standard library: to one of
// its packages that call a program.
func standard(f profile.Frame) bool {
	first, _, _ := strings.Cut(f.Package(), "/")
	switch first {
	case "bufio", "context", "database", "encoding", "html", "io", "log", "net", "os", "runtime", "slices", "sync", "testing", "text", "time":
		return true
	}
	return false
}

// spentIn returns the CPU seconds of the operations in a function.
func (f *facts) spentIn(function string) (seconds float64) {
	for i := range f.operations {
		if o := &f.operations[i]; o.Function == function {
			seconds += value(o.CPU)
		}
	}
	return seconds
}
