// Package observe turns a capture into what the goroutines of a service did: their
// roles, what each role's time is, what they wait for and which goroutines end those waits, and what
// the CPU time was spent on.
//
// An Observation is plain data: rows with indexes, no opinion. Everything that comes
// after it (the model, the laws, the remedies, the map) reads an Observation and nothing
// that lies before it. The rows come from an execution trace where there is one; dumps,
// CPU and block profiles give the columns that they have, and leave the others unknown.
//
// What adds up to what:
//
//   - the parts of Role.Time add up to Role.Alive; Disk is a part of System;
//   - the Means of a role's Waits are parts of its Outside, Sleep, Lock, Limit, Partner,
//     Disk and Unknown, and each wait is in one row;
//   - the Means of the Wakes of a Wait add up to its Mean, without the waits that had not
//     ended;
//   - the Cores of Spent add up to Cores.Used, and each sample is in one row; what is
//     Asleep is not part of Used.
//
// Goroutines that take profiles and traces or serve the live page are in no row, except
// for their CPU time, which is Profiling.
//
// This package holds which functions of the runtime, of the standard library, of common
// libraries and of this module's own channels belong to which operation.
package observe

import (
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/capture"
	"github.com/sluice-go/sluice/livepage"
)

// An Observation is what one process did in one window of time. All figures are means
// over that window, in goroutines, cores or events per second, unless they say otherwise.
type Observation struct {
	Target  string
	Live    bool
	Start   time.Time
	Sources Sources
	Cores   Cores

	Roles []Role     // by Alive, the largest first
	Nodes []Node     // what roles wait at
	Waits []Wait     // by Mean, the largest first
	Wakes []Wake     // the wake-ups that ended them, by Mean
	Spent []Spend    // CPU time, by Cores
	Stood []Standing // goroutines that do not move, by Count: see standing.go

	Flow      *livepage.Flow // the service's own map of named channels, or nil
	Artifacts []Artifact     // what makes the figures untrustworthy, the worst first
	Missing   []Gap          // what is unknown, and why
}

// Sources lists what an Observation was made of, because an answer must keep to what its
// sources can say.
type Sources struct {
	CPU     time.Duration // length of the CPU profile; 0 without one
	Samples int64         // of the CPU profile
	Trace   time.Duration // length of the trace; 0 without one
	Events  int64         // of the trace
	Block   bool
	Mutex   bool
	Leaks   bool
	Dumps   int           // dumps with states
	Counts  int           // dumps without states
	Apart   time.Duration // between the first and the last dump; 0 if unknown
	Crash   string        // see capture.Dump
}

// Cores is the CPU that there is, and that was used. 0 means unknown, except for Others.
type Cores struct {
	Procs    int     // GOMAXPROCS
	CPUs     int     // of the machine, as the runtime sees it
	Used     float64 // by the CPU profile
	Running  float64 // goroutines that run or are in a system call, by the trace: at most Procs
	Runnable float64 // goroutines that wait for a core, by the trace
	Others   float64 // of the machine, used by other processes; 0 if unknown
	Starved  float64 // part of the running time of goroutines in which their thread had no core (a quota, other processes); 0 if unknown
}

// A Role is the goroutines with the same job: with one start function, or, where that
// belongs to a library (a pool's worker, errgroup, the handler of a server), with the
// first function of the program that it calls.
type Role struct {
	Name    string // short, and unique in the observation: "worker", "(*Server).handle", "run (main.go:42)" for a closure
	Start   Frame  // start function, or first function of the program
	Host    string // the function of a library that really started the goroutines: "golang.org/x/sync/errgroup.(*Group).Go.func1"; "" otherwise
	Runtime bool   // it belongs to the runtime, to this observation, or to a library that has no function of the program: never the bottleneck

	Alive   float64 // goroutines
	Created float64 // per second; a goroutine of a library that turns to another job counts again
	By      Frame   // where most of them were started; time.goFunc for callbacks of time.AfterFunc; zero if unknown

	// Time is Alive by what the goroutines do. Its parts add up to Alive. All are zero
	// without a trace; then Waits have what dumps say.
	Time Time
	// Own are the parts of their life for which single goroutines were busy (not
	// waiting for partners), the largest first, of at most 64: skew.
	Own []float64
	// Full is the part of short slices of the window (5 ms) in which all goroutines of
	// the role were busy all the time. Much above the product of the busy shares, the
	// work comes in bursts.
	Full float64
}

// Time is what the goroutines of a role do, each in goroutines.
type Time struct {
	Running  float64 // on a core, without system calls
	Runnable float64 // waiting for a core
	System   float64 // in a system call
	Disk     float64 // part of System in syncs, and in reads and writes of files that took long enough to have waited
	Outside  float64 // waiting for the network, a timer that is not part of a select with partners, a child process
	Sleep    float64 // in time.Sleep, or waiting for a tick and nothing else
	Lock     float64 // for a lock of package sync
	Limit    float64 // for a slot of a limit: a semaphore, a pool, SetLimit
	Partner  float64 // for another goroutine: channel, select, condition, wait group
	Collect  float64 // for the garbage collector
	Unknown  float64 // the wait began before the window, and its stack is not known
}

// parts returns the parts of t, and Disk, a part of a part, last.
func (t *Time) parts() [11]*float64 {
	return [...]*float64{&t.Running, &t.Runnable, &t.System, &t.Outside, &t.Sleep, &t.Lock, &t.Limit, &t.Partner, &t.Collect, &t.Unknown, &t.Disk}
}

func (t *Time) sum() (all float64) {
	parts := t.parts()
	for _, part := range parts[:10] {
		all += *part
	}
	return all
}

// add adds o, times by.
func (t *Time) add(o *Time, by float64) {
	to, from := t.parts(), o.parts()
	for i := range to {
		*to[i] += *from[i] * by
	}
}

// An Op is what a goroutine does at a line.
type Op string

// The operations.
const (
	Send        Op = "send"
	Receive     Op = "receive" // including range
	Select      Op = "select"  // of two or more cases, with or without default
	PollSend    Op = "non-blocking send"
	PollReceive Op = "non-blocking receive"
	Close       Op = "close"
	Lock        Op = "lock"
	Unlock      Op = "unlock"
	CondWait    Op = "condition"
	Signal      Op = "signal" // or broadcast
	GroupWait   Op = "wait group"
	GroupDone   Op = "done"
	Acquire     Op = "acquire" // a slot of a limit, of a semaphore, of a pool
	Sleep       Op = "sleep"
	Network     Op = "network"
	File        Op = "file"  // a system call for a file, or a sync
	Yield       Op = "yield" // runtime.Gosched
	Other       Op = ""
)

// A NodeKind is what roles meet at.
type NodeKind string

// The kinds of nodes.
const (
	Channel   NodeKind = "channel"
	Mutex     NodeKind = "lock"
	Limit     NodeKind = "limit" // a semaphore or a pool, also one made of a channel or inside a library
	Condition NodeKind = "condition"
	Group     NodeKind = "wait group"
	Outside   NodeKind = "outside" // the network, another process
	Disk      NodeKind = "disk"
	Timer     NodeKind = "timer"
)

// A Node is something that goroutines meet or wait at. A channel is the lines that its
// wake-ups connect: the trace does not name channels.
type Node struct {
	Kind  NodeKind
	Name  string // of a named channel, or of a limit ("database/sql", "errgroup.SetLimit"); otherwise made from a line
	Named uint64 // ID of the channel on the service's own map; 0 if it has none
	Lines []Line // where it is used, the most frequent first
}

// A Line is an operation at a line of the program.
type Line struct {
	Op Op
	// At is the innermost line of the program. Where a library or package sync is
	// between it and the wait, In is the function of the library that At calls:
	// "database/sql.(*DB).QueryContext", "golang.org/x/sync/errgroup.(*Group).Go"; for
	// channels of this module, "sluice.(*Bounded).Send".
	At Frame
	In string
	// Caller is the line of the program that called the function of At, or, where At is
	// in a library, that started it; zero if At is in the start function.
	Caller Frame
}

// A Wait is a role's waits at one line. Rates and means are unknown (0, with Known
// false) where there is no trace; Standing has what dumps know.
type Wait struct {
	Role int // index of Observation.Roles
	Node int // index of Observation.Nodes
	Line
	Known   bool
	Mean    float64       // goroutines that wait here
	Rate    float64       // waits that ended, per second
	Longest time.Duration // in dumps, in whole minutes
}

// A Wake is a role that ended waits of one row of Waits.
type Wake struct {
	Wait int // index of Observation.Waits
	Role int // index of Observation.Roles; -1 if a timer, the network or another process did
	By   Line
	Rate float64 // per second
	Mean float64 // the part of the wait's Mean that these wake-ups ended
}

// A Category is a class of CPU time. Each sample belongs to one.
type Category string

// The categories.
const (
	OwnCode     Category = "own code"  // of the program and its libraries
	Passing     Category = "channels"  // channel operations, including the wake-ups in them
	Scheduling  Category = "scheduler" // including looking for work, idle threads that spin, goroutines that start and end
	Locking     Category = "locks"     // package sync, atomics of locks
	Collecting  Category = "collector"
	Allocating  Category = "allocation"
	Making      Category = "construction" // of things that are made to be used many times, with their memory
	SystemCalls Category = "system calls"
	Timers      Category = "timers" // making, stopping and running timers and contexts with deadlines
	Profiling   Category = "profiling"
	Detector    Category = "race detector"
	Foreign     Category = "not Go" // cgo
	Asleep      Category = "asleep" // waits that macOS counts as CPU time
)

// A Spend is CPU time of one role at one line.
type Spend struct {
	Role int // index of Observation.Roles; -1 if no goroutine of the program
	Line
	What    Category
	Cores   float64
	Samples int64
	Parks   bool   // some of the time is in parking: an operation that waits at times. Of a channel operation without it, every turn was ready, or there is a default
	Makes   string // what is made, where that is the cost: "channel", "goroutine", "timer", "compressor", or another of cpu.go; "" otherwise
}

// A Frame is a line of the program, with the function's full name but without type
// arguments and suffixes of the compiler.
type Frame struct {
	Function string
	File     string
	Line     int
}

// An Artifact is something about the process or the platform that makes figures wrong.
type Artifact struct {
	Kind string // "race build", "macOS", "32 bit", "other processes", "truncated trace"
	Text string // one sentence: what it does to the figures, and what to do
	Bars bool   // no verdict can be based on CPU time
}

// A Gap is something unknown, and why.
type Gap = capture.Missing
