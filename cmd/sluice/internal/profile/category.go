package profile

import "strings"

// Functions in which a channel operation or a select spends its own time. Under
// them a lock is a channel's; a lock farther down, as of the scheduler when it
// wakes a thread, is part of the work.
func onChannel(function string) bool {
	name, ok := strings.CutPrefix(function, "runtime.")
	if !ok {
		return false
	}
	name, _, _ = strings.Cut(name, ".") // closures: chansend.func1
	switch name {
	case "chansend", "chansend1", "chanrecv", "chanrecv1", "chanrecv2", "send", "recv",
		"selectgo", "sellock", "selunlock", "selectnbsend", "selectnbrecv", "closechan",
		"chanparkcommit", "selparkcommit":
		return true
	}
	return false
}

// locking reports whether function takes or releases a lock of the runtime.
func locking(function string) bool {
	switch function {
	case "runtime.lock", "runtime.lockWithRank", "runtime.lock2",
		"runtime.unlock", "runtime.unlockWithRank", "runtime.unlock2":
		return true
	}
	return false
}

// waking reports whether function makes a goroutine runnable.
func waking(function string) bool {
	return function == "runtime.goready" || function == "runtime.ready"
}

// inChannelLock reports whether below, the frames inside of an operation on a
// channel, is in that channel's lock.
func inChannelLock(below stack) bool {
	for i, f := range below {
		if onChannel(f.Function) {
			return i > 0 && locking(below[i-1].Function)
		}
	}
	return false
}

// inWake reports whether below wakes a goroutine.
func inWake(below stack) bool {
	for _, f := range below {
		if waking(f.Function) {
			return true
		}
	}
	return false
}

// makesChannel reports whether below makes a channel.
func makesChannel(below stack) bool {
	for _, f := range below {
		if strings.HasPrefix(f.Function, "runtime.makechan") {
			return true
		}
	}
	return false
}

// makesTimer returns the line that s makes a timer at, if it does.
func makesTimer(s stack) (at Frame, ok bool) {
	s = s[:min(len(s), maxFrames)]
	for i := len(s) - 2; i >= 0; i-- {
		if f := s[i].Function; (f == "time.After" || f == "time.NewTimer") && !hidden(s[i+1]) {
			return s[i+1], true
		}
	}
	return Frame{}, false
}

// inAllocation reports whether below makes something.
func inAllocation(below stack) bool {
	for _, f := range below {
		if category, ok := clueOf(f.Function); ok {
			return category == Allocating
		}
	}
	return false
}

// A clue puts a stack into a category by the beginning of a function's name.
type clue struct {
	prefix   string
	category Category
}

// clues are tried on each frame below the program's line; the innermost frame
// that has one decides. Names of the runtime, as of Go 1.22 to 1.26.
var clues = []clue{
	{"runtime.blockevent", Profiling},
	{"runtime.saveblockevent", Profiling},
	{"runtime.mutexevent", Profiling},
	{"runtime.sigprof", Profiling},
	{"runtime.profilealloc", Profiling},
	{"runtime.mProf_", Profiling},
	{"runtime.(*profBuf)", Profiling},
	{"runtime.(*mLockProfile)", Profiling},
	{"runtime.traceLocker.", Profiling},
	{"runtime.traceWriter.", Profiling},
	{"runtime.traceEventWriter.", Profiling},
	{"runtime.traceStack", Profiling},

	{"runtime.gc", Collecting},
	{"runtime.bgsweep", Collecting},
	{"runtime.bgscavenge", Collecting},
	{"runtime.sweepone", Collecting},
	{"runtime.deductSweepCredit", Collecting},
	{"runtime.(*sweepLocked)", Collecting},
	{"runtime.(*sweepLocker)", Collecting},
	{"runtime.markroot", Collecting},
	{"runtime.scan", Collecting},
	{"runtime.greyobject", Collecting},
	{"runtime.wbBufFlush", Collecting},
	{"runtime.wbZero", Collecting},
	{"runtime.wbMove", Collecting},
	{"runtime.bulkBarrier", Collecting},
	{"runtime.(*scavenge", Collecting},

	{"runtime.malloc", Allocating},
	{"runtime.newobject", Allocating},
	{"runtime.newarray", Allocating},
	{"runtime.makeslice", Allocating},
	{"runtime.growslice", Allocating},
	{"runtime.makechan", Allocating},

	{"syscall.", SystemCalls},
	{"internal/runtime/syscall.", SystemCalls},
	{"internal/poll.", SystemCalls},
	{"runtime.entersyscall", SystemCalls},
	{"runtime.exitsyscall", SystemCalls},
	{"runtime.reentersyscall", SystemCalls},

	{"runtime.newproc", Scheduling},
	{"runtime.Gosched", Scheduling},
	{"time.Sleep", Scheduling},
}

// rootClues are tried on the outermost frames of a stack without a line of the
// program: threads between goroutines.
var rootClues = map[string]Category{
	"runtime.park_m":       AfterPark,
	"runtime.schedule":     Scheduling,
	"runtime.findRunnable": Scheduling,
	"runtime.goexit0":      Scheduling,
	"runtime.goschedImpl":  Scheduling,
	"runtime.sysmon":       Scheduling,
	"runtime.mstart":       Scheduling,
	"runtime.mstart0":      Scheduling,
	"runtime.mstart1":      Scheduling,
	"runtime.mcall":        Scheduling,
	"runtime.startm":       Scheduling,
	"runtime.stopm":        Scheduling,
	"runtime.wakep":        Scheduling,
}

// categorize says what the CPU was doing on s, of which p is what place says.
func categorize(s stack, p placed) Category {
	if own(s) {
		return Profiling
	}
	channel := p.site.Op.Channel()
	if channel && len(p.below) > 0 && p.below[0].Function == "runtime.cputicks" {
		return Profiling // channels read the clock only for a block profile
	}
	nobody := p.site.At.Function == ""
	for _, f := range p.below {
		if category, ok := clueOf(f.Function); ok {
			switch {
			case category == Allocating && channel:
				continue // a waiter's record
			case category == SystemCalls && nobody:
				continue // the scheduler polls the network
			}
			return category
		}
	}
	switch {
	case channel && inChannelLock(p.below):
		return ChannelLock
	case channel:
		return ChannelWork
	case p.site.Op == Lock, p.site.Op == Wait:
		return Locking
	case !nobody:
		return UserCode
	}
	for _, f := range s[:min(len(s), maxFrames)] { // park_m is inside of mcall
		if category := rootClues[f.Function]; category == AfterPark {
			return AfterPark
		}
	}
	for _, f := range s[:min(len(s), maxFrames)] {
		if category, ok := rootClues[f.Function]; ok {
			return category
		}
	}
	return OtherRuntime
}

func clueOf(function string) (Category, bool) {
	for _, c := range clues {
		if strings.HasPrefix(function, c.prefix) {
			return c.category, true
		}
	}
	return "", false
}
