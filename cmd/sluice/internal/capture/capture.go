// Package capture takes what a Go service shows of itself, or reads what was saved of
// it: a CPU profile, contention and leak profiles, dumps of goroutines in every form
// that people have, an execution trace, and the map of named channels.
//
// It returns stacks, goroutines and numbers as they were written. Package observe knows the
// meaning of a stack: this package knows the formats of the Go runtime and of
// package net/http/pprof, and none of its functions.
//
// Two rules hold for all that it reads, because a service or a file may send anything:
//
//   - what is unpacked and built in memory is bounded before it is built;
//   - a part that cannot be read is named in Missing with its reason, and does not make
//     the other parts unreadable.
package capture

import (
	"io"
	"time"

	"github.com/sluice-go/sluice/livepage"
)

// A Capture is the data of one process over one window of time.
//
// A zero Start and an empty string mean unknown. A part that is nil
// was not available; Missing may have the reason.
type Capture struct {
	Target  string    // address without user and password, or the names of the files
	Live    bool      // Target is an address, and the service was observed just now
	Start   time.Time // start of the window
	Machine *Machine  // what its machine did during the CPU profile; nil if that is another machine

	CPU   *Profile       // stacks with CPU time in nanoseconds
	Block *Profile       // stacks of waits that ended, with their time in nanoseconds
	Mutex *Profile       // stacks of releases that ended waits for locks, with the time of the waits in nanoseconds
	Leaks *Profile       // stacks of goroutines that the collector proved to be blocked forever
	Dumps []Dump         // goroutines at one moment each, the earliest first
	Trace *Trace         // an execution trace
	Flow  *livepage.Flow // the map of the service's named channels; nil if it does not use package livepage

	Missing []Missing // parts that could not be read, or do not help
}

// A Machine is the use of all CPUs of the service's machine.
type Machine struct {
	CPUs int     `json:"cpus"`
	Busy float64 `json:"busy_cores"` // mean number, of all processes but this one
}

// A Missing is a part that could not be read or does not help here, and why.
type Missing struct {
	What   string `json:"what"`             // "cpu", "trace", or the name of a file
	Reason string `json:"reason,omitempty"` // one line
}

// A Frame is a line of a function, as the compiler wrote it.
type Frame struct {
	Function string // with package path: "example.com/q.(*Queue[...]).Put"
	File     string // "" if unknown
	Line     int    // 0 if unknown
}

// A Stack is the frames of a goroutine, the innermost first, with inlined calls as
// frames of their own.
type Stack []Frame

// A Profile is stacks with what was counted at each.
type Profile struct {
	Window  time.Duration // that it covers; 0 if unknown, or since the process started
	Samples []Sample
}

// A Sample is a stack of a Profile with its value.
type Sample struct {
	Stack Stack
	Count int64 // of events; 1 for each sample of a CPU profile
	Value int64 // as Capture says for each profile; the same as Count for goroutines
}

// A Dump is the goroutines of the process at one moment.
type Dump struct {
	At        time.Time // zero if unknown
	States    bool      // its goroutines have states, numbers and waits: it is a text, and not in pprof format
	Truncated bool      // it ends before its last goroutine
	Crash     string    // the line with which the process died, such as "fatal error: all goroutines are asleep - deadlock!"; "" if it lived on
	Total     int       // goroutines
	Groups    []Goroutines
}

// Goroutines are goroutines with the same stack: one each in a text with states, and any
// number in a profile or a debug=1 text.
type Goroutines struct {
	Count int
	Stack Stack
	// The following are zero where a dump has no states.
	ID        uint64
	State     string        // the runtime's word, without remarks and minutes: "chan receive", "running"
	Waited    time.Duration // in whole minutes; 0 below one
	Forever   bool          // it waits at a nil channel or in a select without cases
	Leaked    bool          // according to the runtime
	CreatedBy Frame
	Creator   uint64 // the number of the goroutine that started it; 0 if unknown
}

// A Trace is an execution trace that can be read any number of times.
type Trace struct {
	Name string // of the file
	Size int64  // in bytes
	Open func() (io.ReadCloser, error)
}
