package profile

import (
	"cmp"
	"fmt"
	"path"
	"strings"
)

// An Op is what a goroutine does at a Site.
type Op string

// Operations on channels.
const (
	Send        Op = "send"
	Receive     Op = "receive"      // v := <-c; where only a state says so, Range too
	Range       Op = "range"        // a loop over a channel, or v, ok := <-c: the runtime tells them from Receive only
	Select      Op = "select"       // of two cases and more, with default or without: stacks do not tell
	PollSend    Op = "poll send"    // select with one send and default
	PollReceive Op = "poll receive" // select with one receive and default
	Close       Op = "close"
)

// Other operations that make a goroutine wait.
const (
	Lock  Op = "lock"  // sync.Mutex, sync.RWMutex; in a mutex profile the Unlock
	Wait  Op = "wait"  // sync.WaitGroup, sync.Cond
	Sleep Op = "sleep" // time.Sleep
	IO    Op = "I/O"   // the network poller, a system call
	Other Op = ""      // none of these, or not known

	Accept Op = "accept" // listening for connections: I/O that nothing waits behind
)

// Channel reports whether op is an operation on channels.
func (op Op) Channel() bool {
	switch op {
	case Send, Receive, Range, Select, PollSend, PollReceive, Close:
		return true
	}
	return false
}

// Sends reports whether op hands a value over. A select may.
func (op Op) Sends() bool { return op == Send || op == PollSend }

// Receives reports whether op takes a value. A select may.
func (op Op) Receives() bool { return op == Receive || op == Range || op == PollReceive }

// A Frame is a line of a function.
type Frame struct {
	Function string // with its package's path, generic arguments left out: "example.com/q.(*Queue).Put"
	File     string // as the compiler wrote it
	Line     int    // 0 if not known
}

// String is for people: package and function, file without folders, line.
func (f Frame) String() string {
	if f.Function == "" {
		return "?"
	}
	switch {
	case f.File == "":
		return path.Base(f.Function)
	case f.Line == 0:
		return fmt.Sprintf("%s (%s)", path.Base(f.Function), path.Base(strings.ReplaceAll(f.File, `\`, "/")))
	}
	return fmt.Sprintf("%s (%s:%d)", path.Base(f.Function), path.Base(strings.ReplaceAll(f.File, `\`, "/")), f.Line)
}

// Package is the import path of the function's package.
func (f Frame) Package() string {
	slash := strings.LastIndexByte(f.Function, '/') + 1
	if dot := strings.IndexByte(f.Function[slash:], '.'); dot >= 0 {
		return f.Function[:slash+dot]
	}
	return f.Function
}

// A Site is an operation at a line of the program, and the call that led there:
// where a channel is wrapped by a method, At is the method's line and Caller
// says on whose behalf. Sites are comparable, and equal for equal places
// whichever profile they come from.
type Site struct {
	Op     Op
	At     Frame
	Caller Frame // zero if At is where the goroutine began
}

// String is for people.
func (s Site) String() string {
	if s.Op == Other {
		return s.At.String()
	}
	return string(s.Op) + " at " + s.At.String()
}

// compare orders sites by place, so that equal figures are printed in the same
// order every time.
func (s Site) compare(o Site) int {
	return cmp.Or(s.At.compare(o.At), cmp.Compare(s.Op, o.Op), s.Caller.compare(o.Caller))
}

func (f Frame) compare(o Frame) int {
	return cmp.Or(cmp.Compare(f.Function, o.Function), cmp.Compare(f.File, o.File), cmp.Compare(f.Line, o.Line))
}
