// Package profile reads what a Go service shows of itself: CPU, mutex, block,
// goroutine and leak profiles, an execution trace and runtime metrics. It gets
// them from the service's /debug/pprof address or from saved files, and turns
// stacks into channel operations at a file and line.
//
// It says what is there and judges nothing: whether a figure is bad, and what to
// do, is package finding's. What is not known stays not known: a part that was
// not there is nil, and a figure that was not there is not ok.
//
// What may enter: formats that the Go runtime writes, and the knowledge of which
// of its functions belong to which operation.
package profile

import "time"

// A Capture is what is known of one process over one window of time.
//
// Zero is no possible value of Window, GOMAXPROCS and CPUs, and stands for "not
// known"; so do the zero Start and the empty strings. A part that is nil was not
// there, and Missing may say why.
type Capture struct {
	Target     string        // the address, without user and password, or the files' common name
	Start      time.Time     // when the window began
	Window     time.Duration // how long the process was watched, by the CPU profile if there is one
	GoVersion  string        // such as "go1.26.8"
	GOMAXPROCS int           // Ps
	CPUs       int           // cores that the process may use, as its runtime counts them

	CPU        *CPU
	Mutex      *Contentions // who made others wait for a lock: see Contentions
	Block      *Contentions // who waited
	Goroutines *Goroutines
	Metrics    *Metrics
	Trace      *Trace
	Leaks      *Leaks

	Missing []Missing // what was looked for and could not be had
}

// A Missing is a part that was looked for in vain.
type Missing struct {
	Kind   Kind   `json:"kind"`
	Reason string `json:"reason"` // one line
}

// A Kind is one of the things that a service shows of itself.
type Kind string

// The kinds, by the names that net/http/pprof gives them.
const (
	KindCPU           Kind = "cpu"
	KindMutex         Kind = "mutex"
	KindBlock         Kind = "block"
	KindGoroutine     Kind = "goroutine"      // the pprof form: operations, no states
	KindGoroutineText Kind = "goroutine text" // the debug=2 form: states, waits, creators
	KindLeak          Kind = "goroutineleak"
	KindTrace         Kind = "trace"
	KindMetrics       Kind = "metrics"
)

// CPU is where the process spent CPU time. All times are CPU time, not time on
// the wall, as far as samples of Period each can tell.
type CPU struct {
	Window time.Duration // on the wall; 0 if not known
	Period time.Duration // CPU time that one sample stands for, usually 10 ms
	Total  time.Duration
	By     map[Category]time.Duration // sums up to Total
	Sites  []CPUSite                  // operations, the dearest first: those on channels, and Lock and Wait
	Users  []UserTime                 // functions of the service, the one with the most Self first
	Stages []CPUStage                 // goroutines by the function that they began with, the dearest first
	Timers []CPUTimers                // lines that make timers, the dearest first
}

// Cores is the mean number of cores in use, 0 if the window is not known.
func (c *CPU) Cores() float64 {
	if c.Window <= 0 {
		return 0
	}
	return c.Total.Seconds() / c.Window.Seconds()
}

// Share is the part of all CPU time that categories took together, from 0 to 1.
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

// A Category is what a sample of CPU time was spent on. Each sample is in one.
type Category string

// The categories.
const (
	ChannelWork  Category = "channel"      // in a channel operation or select, waking others included, less the next
	ChannelLock  Category = "channel lock" // in such an operation, taking or releasing a channel's lock
	AfterPark    Category = "after park"   // the scheduler, on the stack of a thread whose goroutine has just parked, on whatever
	Scheduling   Category = "scheduler"    // the scheduler otherwise: goroutines that ended or yielded, idle threads, timers
	Locking      Category = "sync"         // package sync: mutexes, wait groups, conditions
	Collecting   Category = "collector"    // marking, sweeping, assisting, write barriers
	Allocating   Category = "allocation"   // less the collector's assists
	SystemCalls  Category = "system calls" // and the network poller, as far as it is called for a goroutine
	UserCode     Category = "user code"    // all else with a frame of the program, its libraries included
	Profiling    Category = "profiling"    // what taking these profiles cost
	OtherRuntime Category = "runtime"      // no frame of the program, and none of the above
)

// A CPUSite is the CPU time of an operation. The scheduler's work after the
// operation has parked has no frame of the program and is not in it.
type CPUSite struct {
	Site
	Time time.Duration // all of it
	New  time.Duration // of it allocating, as reflect.Select does
	Lock time.Duration // of it taking and releasing the channel's lock
	Wake time.Duration // of it making another goroutine runnable
}

// A UserTime is the CPU time of a function of the program or of a library.
type UserTime struct {
	Function string        // generic arguments left out
	Self     time.Duration // in it and in what it calls of the runtime, less the other categories
	All      time.Duration // with everything that it calls, of all categories
	Makes    time.Duration // of All, making channels at a line of its own
}

// A CPUStage is the CPU time of the goroutines that began with one function: of as
// many as there are of them, no more cores than that can be used.
type CPUStage struct {
	Root    string
	Work    time.Duration // all that is not the next
	Channel time.Duration // in operations on channels
}

// CPUTimers is the CPU time of making timers at a line of the program: of time.After
// and time.NewTimer, their channels included. What goroutines do that wait for them is
// an operation's.
type CPUTimers struct {
	At   Frame
	Root string        // the function that the goroutines began with
	Time time.Duration // less what the collector took of it
	New  time.Duration // of it allocating
}

// Contentions is a mutex or a block profile.
//
// The mutex profile says who held a lock for which others waited: the operation
// is the one that released the lock, and Delay is what others waited in all.
// That of a channel's own lock is there too, as operations on channels; runtime
// locks that belong to no channel are in Runtime. It sees a sample of
// the events and may miss most of those of runtime locks: WHERE is to be taken
// from it, HOW MUCH from Metrics.MutexWait.
//
// The block profile says who waited and was woken. Goroutines that still wait
// are not in it; those that wait because there is nothing to do are.
type Contentions struct {
	Window  time.Duration // between two readings that were subtracted; 0 if it is since the process began
	Sites   []Contention  // longest Delay first
	Runtime Contention    // in the runtime, for no operation of the program; Site is empty
	Own     Contention    // of the handlers that serve profiles: in no other figure; Site is empty
}

// A Contention is a number of waits and their time.
type Contention struct {
	Site
	Count int64         // waits
	Delay time.Duration // in all waits together
}

// Goroutines is who was there at the end of the window, and in what.
type Goroutines struct {
	Total       int
	StatesKnown bool           // there was a debug=2 text: States, and what depends on them, is known
	InKnown     bool           // there was a pprof form: GoroutineSite.In is known
	States      map[string]int // goroutines by state in the runtime's words, without how long
	Earlier     int            // goroutines at the beginning of the window
	GrowthKnown bool           // there was an earlier snapshot: Earlier, GoroutineSite.Earlier
	Apart       time.Duration  // between the two; 0 if not known
	Sites       []GoroutineSite
}

// A GoroutineSite is the goroutines with the same operation at the same place.
// A stack says that a goroutine is inside of an operation; only the state says
// whether it waits there or could run: of 64 "in chansend" all may be runnable.
type GoroutineSite struct {
	Site
	In        int           // by stacks: inside of the operation, waiting or not
	Waiting   int           // by states: waiting in it
	Runnable  int           // by states: at this place, and running or able to
	Longest   time.Duration // longest wait, in whole minutes: the runtime does not say more; 0 below one
	NilChan   bool          // waits on a nil channel or a select of no cases: for ever
	Earlier   int           // at the beginning of the window: In, or Waiting where In is not known
	CreatedBy Frame         // where most of them were started
	Root      string        // the function that most of them began with
}

// Count is how many goroutines are known to be in the operation.
func (s GoroutineSite) Count() int { return max(s.In, s.Waiting) }

// Leaks is the goroutineleak profile: goroutines blocked for ever, as the
// collector proved by finding what they wait for unreachable.
type Leaks struct {
	Total int
	Sites []GoroutineSite // In is the number leaked
}

// Trace is what an execution trace says of waiting and waking.
type Trace struct {
	Window    time.Duration // from the first to the last event
	Truncated bool          // the file ends within an event: the figures are of what comes before
	Running   time.Duration // of all goroutines together
	Runnable  time.Duration // of all goroutines together: able to run, waiting for a P
	Wakeups   int64         // goroutines made runnable by another goroutine
	Pairs     []Pair        // most frequent first
	Sites     []TraceSite   // longest Waited first
	Stages    []Stage       // goroutines by the function that they began with, longest Running first
}

// A Pair is who made whom runnable, at which operations.
type Pair struct {
	Waker, Sleeper Site
	Count          int64
}

// A TraceSite is an operation in which goroutines parked.
type TraceSite struct {
	Site
	Parks  int64
	Waited time.Duration // from parking to being made runnable, of all together
	Still  int           // goroutines that were still parked there at the end
}

// A Stage is the goroutines that began with the same function.
type Stage struct {
	Root     string
	Count    int           // goroutines seen
	Running  time.Duration // of all together, as the next two
	Runnable time.Duration
	Waiting  time.Duration
}
