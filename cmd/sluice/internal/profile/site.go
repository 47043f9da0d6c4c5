package profile

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"strings"
)

// An Op is the operation of a goroutine at a Site.
type Op string

// Channel operations.
const (
	Send        Op = "send"
	Receive     Op = "receive"              // v := <-c; also Range where only the goroutine state is known
	Range       Op = "range"                // a loop over a channel, or v, ok := <-c: only stacks distinguish them from Receive
	Select      Op = "select"               // with two or more cases, with or without default: stacks do not distinguish them
	PollSend    Op = "non-blocking send"    // select with one send and default
	PollReceive Op = "non-blocking receive" // select with one receive and default
	Close       Op = "close"
)

// Other operations that make a goroutine wait.
const (
	Lock  Op = "lock"  // sync.Mutex, sync.RWMutex; in a mutex profile the Unlock
	Wait  Op = "wait"  // sync.WaitGroup, sync.Cond
	Sleep Op = "sleep" // time.Sleep
	// Forever is a select without cases, as in a main function that leaves the
	// work to others.
	Forever Op = "forever"
	Tick    Op = "tick" // a receive from a timer or a ticker, where the CPU profile shows that
	IO      Op = "I/O"  // the network poller, a system call
	Other   Op = ""     // none of these, or unknown

	Accept Op = "accept" // listening for connections: I/O that delays nothing
)

// Channel reports whether op is a channel operation.
func (op Op) Channel() bool {
	switch op {
	case Send, Receive, Range, Select, PollSend, PollReceive, Close:
		return true
	}
	return false
}

// Sends reports whether op sends a value. It is false for a select, which may
// send.
func (op Op) Sends() bool { return op == Send || op == PollSend }

// Receives reports whether op receives a value. It is false for a select, which
// may receive.
func (op Op) Receives() bool { return op == Receive || op == Range || op == PollReceive }

// A Frame is a line of a function.
type Frame struct {
	Function string // with package path, without type arguments: "example.com/q.(*Queue).Put"
	File     string // as written by the compiler
	Line     int    // 0 if unknown
}

// String returns package and function, file name without folders, and line.
func (f Frame) String() string {
	if f.Function == "" {
		return "?"
	}
	function, file := shortName(f.Function), path.Base(strings.ReplaceAll(f.File, `\`, "/"))
	switch {
	case f.File == "":
		return function
	case f.Line == 0:
		return fmt.Sprintf("%s (%s)", function, file)
	}
	return fmt.Sprintf("%s (%s:%d)", function, file, f.Line)
}

// version is the last element of the path of a module from version 2 on.
var version = regexp.MustCompile(`^v[0-9]+\.`)

// shortName returns a function with the name of its package: cache.New for
// example.com/cache/v2.New.
func shortName(function string) string {
	base := path.Base(function)
	if at := version.FindString(base); at != "" && base != function {
		if parent := path.Base(path.Dir(function)); parent != "." {
			return parent + "." + base[len(at):]
		}
	}
	return base
}

// Package returns the import path of the function's package.
func (f Frame) Package() string {
	slash := strings.LastIndexByte(f.Function, '/') + 1
	if dot := strings.IndexByte(f.Function[slash:], '.'); dot >= 0 {
		return f.Function[:slash+dot]
	}
	return f.Function
}

// A Site is an operation at a line of the program, with its caller: if a method
// wraps a channel, At is the line of the method and Caller shows which use it
// is. Sites are comparable, and equal for the same place in different profiles.
type Site struct {
	Op     Op
	At     Frame
	Caller Frame  // zero if At is the start function
	Call   string // the function of this module that At calls, such as "SendBatch"; "" for a built-in channel
}

// String formats the site for people.
func (s Site) String() string {
	if s.Op == Other {
		return s.At.String()
	}
	return string(s.Op) + " at " + s.At.String()
}

// compare orders sites by place, for a deterministic order of equal figures.
func (s Site) compare(o Site) int {
	return cmp.Or(s.At.compare(o.At), cmp.Compare(s.Op, o.Op), s.Caller.compare(o.Caller), cmp.Compare(s.Call, o.Call))
}

func (f Frame) compare(o Frame) int {
	return cmp.Or(cmp.Compare(f.Function, o.Function), cmp.Compare(f.File, o.File), cmp.Compare(f.Line, o.Line))
}
