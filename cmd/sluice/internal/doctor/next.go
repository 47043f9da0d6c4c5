package doctor

import (
	"fmt"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// A finding without a remedy says what to do instead, or why there is nothing to
// do: a reader must not have to guess whether the screen was cut.

// nextSteps are the next steps for kinds whose rules do not set one.
var nextSteps = map[Kind]string{
	GarbageCollection: "allocate less (/debug/pprof/allocs shows where), or give the collector more memory (GOGC, GOMEMLIMIT)",
	SyncMutex:         "hold it for less time, split what it guards, or give each goroutine its own",
	SystemCallBound:   "make fewer and larger calls, such as with a bufio.Writer",
	CPUBound:          "none needed for the channels: make the code itself cheaper, or give it more cores",
	Backpressure:      "find out what the receiver spends its time on: more receivers or less work for each value help, a longer queue does not",
	SlowStage:         "make the work of that stage cheaper, or divide it: a longer queue does not help",
	Downstream:        "find out which goroutines receive: more of them help if they wait for something outside, a longer queue does not",
	ExhaustedPool:     "hold an object for less time: whether a second one is allowed is not seen",
	AlternatingWaits:  "add a CPU profile of the same time: it shows what the waits cost, and which remedy pays",
}

// complete sets the next step of a finding without a remedy.
func (f *Finding) complete() {
	if len(f.Remedies) > 0 || f.Next != "" {
		return
	}
	if f.Next = nextSteps[f.Kind]; f.Next != "" {
		return
	}
	f.Next = "no remedy is known to be safe here"
	if len(f.RuledOut) > 0 {
		f.Next += fmt.Sprintf(": not %s, because %s", f.RuledOut[0].Name, strings.TrimSuffix(f.RuledOut[0].Why, "."))
	}
}

const (
	// shownCalls is the number of functions that the work of a stage is in, and
	// smallCall the smallest part of the CPU time of one.
	shownCalls, smallCall = 2, 0.05
)

// callsOf names the functions that the goroutines with a start function spend
// their CPU time in, in parentheses after a space, or returns "".
func (f *facts) callsOf(root string) string {
	if calls := f.calls(root); len(calls) > 0 {
		return " (" + format.And(calls) + ")"
	}
	return ""
}

// calls lists the functions that a start function calls and that cost most, with
// their parts of the CPU time.
func (f *facts) calls(root string) (names []string) {
	if f.capture.CPU == nil || f.cpu == 0 {
		return nil
	}
	for _, call := range f.capture.CPU.Calls { // by time
		if part := call.Time.Seconds() / f.cpu; call.Root == root && part >= smallCall && len(names) < shownCalls {
			names = append(names, fmt.Sprintf("%s %s", profile.Frame{Function: call.Function}, format.Percent(part)))
		}
	}
	return names
}

// divideWork is the next step behind a receiver that works most of the time.
func (f *facts) divideWork(root string) string {
	work := "its work"
	if calls := f.calls(root); len(calls) > 0 {
		work += " (" + format.And(calls) + " of CPU time)"
	}
	return "let more goroutines receive, if values can be processed at the same time, or move " + work + " into the goroutines that send"
}
