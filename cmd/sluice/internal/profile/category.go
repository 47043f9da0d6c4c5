package profile

import "strings"

// onChannel reports whether function is where a channel operation or select
// spends its own time. A lock directly below it is a channel's; a lock further
// down, such as the scheduler's lock in a wake-up, is part of the operation's
// work.
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

// locking reports whether function acquires or releases a lock of the runtime.
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

// inChannelLock reports whether below, the frames inside a channel operation,
// is in the lock of that channel.
func inChannelLock(below stack) bool {
	for i, f := range below {
		if onChannel(f.Function) {
			return i > 0 && locking(below[i-1].Function)
		}
	}
	return false
}

// inLock reports whether a channel operation is in the lock of its channel.
func (p *placed) inLock() bool {
	if p.site.Call != "" {
		return inEngineLock(p.below) // a lock below it belongs to a parked goroutine
	}
	return inChannelLock(p.below)
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

// passes returns what a select does in below: it passes a value to a receiver
// that waits, or takes one from a sender that waits; or "".
func passes(below stack) Op {
	for i, f := range below {
		if f.Function != "runtime.selectgo" {
			continue
		}
		for _, inner := range below[:i] {
			switch inner.Function {
			case "runtime.send":
				return Send
			case "runtime.recv":
				return Receive
			}
		}
	}
	return ""
}

// makesChannel reports whether below creates a channel.
func makesChannel(below stack) bool {
	for _, f := range below {
		if strings.HasPrefix(f.Function, "runtime.makechan") {
			return true
		}
	}
	return false
}

// startsGoroutine reports whether below is in a go statement.
func startsGoroutine(below stack) bool {
	for _, f := range below {
		if strings.HasPrefix(f.Function, "runtime.newproc") {
			return true
		}
	}
	return false
}

// makesSlice reports whether below allocates or grows a slice.
func makesSlice(below stack) bool {
	for _, f := range below {
		if strings.HasPrefix(f.Function, "runtime.makeslice") || f.Function == "runtime.growslice" {
			return true
		}
	}
	return false
}

// endsGoroutine reports whether s is on a thread whose goroutine has ended.
func endsGoroutine(s stack) bool {
	for _, f := range s[:min(len(s), maxFrames)] {
		if f.Function == "runtime.goexit0" {
			return true
		}
	}
	return false
}

// makesTimer returns the line at which s creates a timer, if any.
func makesTimer(s stack) (at Frame, ok bool) {
	s = s[:min(len(s), maxFrames)]
	for i := len(s) - 2; i >= 0; i-- {
		if f := s[i].Function; (f == "time.After" || f == "time.NewTimer") && !hidden(s[i+1]) && !library(s[i+1]) {
			return s[i+1], true
		}
	}
	return Frame{}, false
}

// inAllocation reports whether below allocates.
func inAllocation(below stack) bool {
	for _, f := range below {
		if category, ok := clueOf(f.Function); ok {
			return category == Allocating
		}
	}
	return false
}

// A clue assigns a stack to a category by the prefix of a function's name.
type clue struct {
	prefix   string
	category Category
}

// clues are tried on each frame below the program's line; the innermost match
// decides. The names apply to Go 1.22 to 1.26.
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
	{timerSend, Scheduling},
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

// categorize returns the category of s, which p describes.
func categorize(s stack, p placed) Category {
	if own(s) {
		return Profiling
	}
	channel := p.site.Op.Channel()
	if channel && len(p.below) > 0 && p.below[0].Function == "runtime.cputicks" {
		return Profiling // channels read the clock for a block profile only
	}
	noProgram := p.site.At.Function == ""
	for _, f := range p.below {
		if category, ok := clueOf(f.Function); ok {
			switch {
			case category == Allocating && channel:
				continue // a waiter's record
			case category == SystemCalls && noProgram:
				continue // the scheduler polls the network
			case category == Scheduling && channel && p.site.Call != "":
				continue // a waiter that yields before it parks
			}
			return category
		}
	}
	switch {
	case channel && p.inLock():
		return ChannelLock
	case channel:
		return ChannelWork
	case p.site.Op == Lock, p.site.Op == Wait:
		return Locking
	case !noProgram:
		return UserCode
	}
	for _, f := range s[:min(len(s), maxFrames)] { // mcall calls park_m
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
