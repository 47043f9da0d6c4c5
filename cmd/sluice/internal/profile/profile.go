// Package profile reads CPU, mutex, block, goroutine and leak profiles, an
// execution trace and runtime metrics of a Go service, from its /debug/pprof
// address or from saved files. It turns stacks into channel operations with
// file and line.
//
// It reports facts and does not judge them; package doctor does. Unknown values
// remain unknown: a missing part is nil, and a method for a missing value
// returns false.
//
// This package holds the formats that the Go runtime writes, and which of the
// runtime's functions, and of this module's, belong to which operation.
package profile

import (
	"time"

	"github.com/sluice-go/sluice/livepage"
)

// A Capture is the data of one process over one window of time.
//
// A zero Start, Window, GOMAXPROCS or CPUs and an empty string mean unknown. A
// part that is nil was not available; Missing may have the reason.
type Capture struct {
	Target     string        // address without user and password, or the names of the files
	Start      time.Time     // start of the window
	Window     time.Duration // length of the window, of the CPU profile if there is one
	GoVersion  string        // for example "go1.26.8"
	GOMAXPROCS int           // Ps
	CPUs       int           // cores available to the process, according to its runtime
	Machine    *Machine      // what its machine did during the CPU profile; nil if that is another machine

	CPU        *CPU
	Mutex      *Contentions // lock releases that ended waits: see Contentions
	Block      *Contentions // waits
	Goroutines *Goroutines
	Metrics    *Metrics
	Trace      *Trace
	Glimpse    *Trace // of a few milliseconds: no evidence of absence
	Leaks      *Leaks
	Flow       *livepage.Flow // the map of the service's named channels; nil if it does not use package livepage
	FlowBefore *livepage.Flow // the same at the start of the window; nil without one

	Missing []Missing // parts that could not be read
}

// A Machine is the use of all CPUs of the service's machine.
type Machine struct {
	CPUs int     `json:"cpus"`
	Busy float64 `json:"busy_cores"` // mean number, of all processes but this one
}

// A Missing is a part that could not be read, and why.
type Missing struct {
	Kind   Kind   `json:"kind"`
	Reason string `json:"reason"` // one line
}

// A Kind is a kind of profile or other data.
type Kind string

// The kinds, with the names of net/http/pprof.
const (
	KindCPU           Kind = "cpu"
	KindMutex         Kind = "mutex"
	KindBlock         Kind = "block"
	KindGoroutine     Kind = "goroutine"      // pprof format: operations, no states
	KindGoroutineText Kind = "goroutine text" // debug=2 format: states, waits, creators
	KindLeak          Kind = "goroutineleak"
	KindTrace         Kind = "trace"
	KindGlimpse       Kind = "glimpse" // a trace of a few milliseconds
	KindMetrics       Kind = "metrics"
	KindFlow          Kind = "map" // format=flow of package livepage
)

// CPU is where the process spent CPU time. All times are CPU time rather than
// wall-clock time, with the resolution of Period.
type CPU struct {
	Window time.Duration // wall-clock time; 0 if unknown
	Period time.Duration // CPU time per sample, usually 10 ms
	Total  time.Duration
	By     map[Category]time.Duration // adds up to Total
	Sites  []CPUSite                  // channel operations, Lock and Wait, by cost
	Users  []UserTime                 // functions of the service, by Self
	Stages []CPUStage                 // goroutines by their start function, by cost
	Calls  []CPUCall                  // by Time
	Timers []CPUTimers                // lines that create timers, by cost
	Spawns []CPUSpawn                 // lines that start goroutines, by cost
	Slices []CPUSlices                // lines that allocate slices, by cost
	Ends   time.Duration              // in the end of goroutines, and finding another one to run then
}

// Cores returns the mean number of cores in use, 0 if the window is unknown.
func (c *CPU) Cores() float64 {
	if c.Window <= 0 {
		return 0
	}
	return c.Total.Seconds() / c.Window.Seconds()
}

// Share returns the categories' share of all CPU time, from 0 to 1.
func (c *CPU) Share(categories ...Category) float64 {
	if c.Total <= 0 {
		return 0
	}
	var sum time.Duration
	for _, category := range categories {
		sum += c.By[category]
	}
	return float64(sum) / float64(c.Total)
}

// A Category is a class of CPU time. Each sample belongs to one.
type Category string

// The categories.
const (
	ChannelWork  Category = "channel"      // in a channel operation or select including wake-ups, except for ChannelLock
	ChannelLock  Category = "channel lock" // acquiring or releasing a channel's lock in such an operation
	AfterPark    Category = "after park"   // the scheduler, on a thread whose goroutine has just parked for any reason
	Scheduling   Category = "scheduler"    // the scheduler otherwise: goroutines that ended or yielded, idle threads, timers
	Locking      Category = "sync"         // package sync: mutexes, wait groups, conditions
	Collecting   Category = "collector"    // marking, sweeping, assisting, write barriers
	Allocating   Category = "allocation"   // except for assists of the collector
	SystemCalls  Category = "system calls" // and the network poller, when called for a goroutine
	UserCode     Category = "user code"    // anything else with a frame of the program, including its libraries
	Profiling    Category = "profiling"    // the cost of these profiles
	OtherRuntime Category = "runtime"      // none of the above, without a frame of the program
)

// A CPUSite is the CPU time of an operation, without the scheduler's work after
// the operation has parked, which has no frame of the program.
type CPUSite struct {
	Site
	Time time.Duration // in total
	New  time.Duration // part in allocation, as in reflect.Select
	Lock time.Duration // part in the channel's lock
	Wake time.Duration // part making other goroutines runnable
	Gave time.Duration // part passing a value to a waiting receiver, of a select: it sends
	Took time.Duration // part taking one from a waiting sender, of a select: it receives
	// Roots are the start functions of the goroutines, in the order of the
	// samples. The number is bounded.
	Roots []string

	work    time.Duration // the part of Time that counts as ChannelWork
	onTimer bool          // the channel is a timer's
}

// A UserTime is the CPU time of a function of the program or of a library.
type UserTime struct {
	Function string        // without type arguments
	Self     time.Duration // in it and in the runtime functions that it calls, except for the other categories
	All      time.Duration // including all callees, in all categories
	Makes    time.Duration // part of All that creates channels in the function itself
}

// A CPUStage is the CPU time of the goroutines with one start function. They
// can use at most as many cores as there are goroutines.
type CPUStage struct {
	Root    string
	Work    time.Duration // everything except Channel
	Channel time.Duration // in channel operations
	System  time.Duration // part of Work in system calls and the network
	Syncs   time.Duration // part of System in syncs of files

	host string // function of this module that they started with, or ""
}

// A CPUCall is the CPU time of a function that a start function calls, without
// channel operations. The runtime's own functions are not listed.
type CPUCall struct {
	Root, Function string
	Time           time.Duration
}

// CPUTimers is the CPU time of creating timers with time.After or time.NewTimer
// at one line, including their channels. Waiting for them belongs to an
// operation.
type CPUTimers struct {
	At   Frame
	Root string        // the goroutines' start function
	Time time.Duration // except for garbage collection
	New  time.Duration // part in allocation
}

// A CPUSpawn is the CPU time of a go statement. A part of the cost of a goroutine
// is in CPU.Ends, which has no frame of the program.
type CPUSpawn struct {
	At   Frame
	Time time.Duration
}

// CPUSlices is the CPU time of allocating slices at one line, including
// growing them, without garbage collection.
type CPUSlices struct {
	At   Frame
	Root string // the goroutines' start function
	Time time.Duration
}

// Contentions is a mutex or a block profile.
//
// In a mutex profile, the site is the release of a lock that other goroutines
// waited for, and Delay is their total wait. It includes locks of channels, as
// channel operations; other locks of the runtime are in Runtime. The profile is
// a sample and may miss most events of runtime locks: use it for sites, and
// Metrics.MutexWait for amounts.
//
// In a block profile, the site is the operation that waited. It omits
// goroutines that still wait, and includes those that waited because there was
// nothing to do.
type Contentions struct {
	Window  time.Duration // between the two readings; 0 for everything since the process started
	Sites   []Contention  // by Delay
	Runtime Contention    // in the runtime, without an operation of the program; Site is empty
	Own     Contention    // in the handlers that serve profiles, not counted elsewhere; Site is empty
}

// A Contention is a number of waits and their time.
type Contention struct {
	Site
	Count int64         // waits
	Delay time.Duration // total of all waits
}

// Goroutines are the goroutines at the end of the window, by operation.
type Goroutines struct {
	Total       int
	StatesKnown bool           // there is a debug=2 text, for States and the fields that depend on it
	InKnown     bool           // there is a profile in pprof format, for GoroutineSite.In
	States      map[string]int // goroutines by the runtime's name of their state, without durations
	Earlier     int            // goroutines at the start of the window
	GrowthKnown bool           // there is an earlier snapshot, for Earlier and GoroutineSite.Earlier
	EarlierOf   map[string]int // the same by their start function; nil if unknown
	Apart       time.Duration  // time between the snapshots; 0 if unknown
	Awake       int            // by stack: not parked, hence running or ready to run; a lower bound
	AwakeBefore int            // the same at the start of the window
	Sites       []GoroutineSite
	// StartedBy is the start functions of the goroutines that started those with
	// another one, and how many: of goroutines of which both are in the text.
	StartedBy map[string]map[string]int

	adopted map[string]map[Frame]bool // see hosted
}

// A GoroutineSite is the goroutines with the same operation at the same place.
// A stack shows that a goroutine is in an operation; only the state shows
// whether it waits or is runnable: all of 64 goroutines "in chansend" may be
// runnable.
type GoroutineSite struct {
	Site
	In        int           // by stack: in the operation, waiting or not
	Waiting   int           // by state: waiting in it
	Runnable  int           // by state: at this place, and running or runnable
	Longest   time.Duration // longest wait in whole minutes, the runtime's resolution; 0 below one
	NilChan   bool          // waits on a nil channel or in an empty select: forever
	Earlier   int           // at the start of the window: In, or Waiting where In is unknown
	CreatedBy Frame         // where most of them were started
	Root      string        // start function of most of them

	host string // function of this module that they started with, or ""
}

// Count returns the number of goroutines known to be in the operation.
func (s GoroutineSite) Count() int { return max(s.In, s.Waiting) }

// Leaks is the goroutineleak profile: goroutines blocked forever, as the
// garbage collector proved by finding the objects that they wait for
// unreachable.
type Leaks struct {
	Total int
	Sites []GoroutineSite // In is the number of leaked goroutines
}

// Trace is the waits and wake-ups of an execution trace.
type Trace struct {
	Window    time.Duration // from the first to the last
	Truncated bool          // the file ends within an event, or reading it took too long: the figures cover the part before
	Running   time.Duration // total of all goroutines
	Runnable  time.Duration // total of all goroutines: waiting for a P
	Wakeups   int64         // goroutines made runnable by
	Pairs     []Pair        // by Count
	Sites     []TraceSite   // by Waited
	Stages    []Stage       // goroutines by their start function, by Running
}

// A Pair is an operation that made goroutines in another operation runnable.
type Pair struct {
	Waker, Sleeper Site
	Count          int64
}

// A TraceSite is an operation in which goroutines parked.
type TraceSite struct {
	Site
	Parks  int64
	Waited time.Duration // from parking to becoming runnable, in total
	Still  int           // goroutines still parked there at the end
	Sync   bool          `json:",omitempty"` // it is a sync of a file; no park, and only if it took long
}

// A Stage is the goroutines with the same start function.
type Stage struct {
	Root     string
	Count    int           // goroutines seen
	Running  time.Duration // total, like the next two
	Runnable time.Duration
	Waiting  time.Duration

	host string // function of this module that they started with, or ""
}
