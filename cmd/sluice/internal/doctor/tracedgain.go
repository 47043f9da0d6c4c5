package doctor

import (
	"fmt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// A trace alone, such as a dump of a flight recorder, shows how long goroutines
// run and wait. That is enough for a remedy in three cases: a stage that
// computes all the time beside idle cores, a stage that waits for I/O, and two
// goroutines that wake each other for most of their running time. It is also
// enough to see that no channel holds anything up.

const (
	// wokenShare is the part of the running time in wake-ups above which they
	// are worth a remedy. The price of a wake-up is without the cost of tracing,
	// and the running time is with it: the true part is higher.
	wokenShare = 0.15
	// quietShare is the part below which no channel costs much, and
	// quietSenders the mean number of goroutines waiting to send below which no
	// receiver holds them up.
	quietShare   = 0.03
	quietSenders = 0.1
	// shortTrace is the shortest trace that shows that nothing waits.
	shortTrace = 0.02 // seconds
)

// readTraceAlone sets the cores in use from a trace without a CPU profile.
func (f *facts) readTraceAlone() {
	if t := f.traceAlone(); t != nil {
		f.cores = t.Running.Seconds() / t.Window.Seconds()
	}
}

// receiverRemedies suggests more receivers behind a send that waits: beside idle
// cores if they compute, and beside any if they wait for I/O.
func (f *facts) receiverRemedies(found *Finding, s *profile.Stage, elsewhere *profile.Site) {
	window := f.capture.Trace.Window.Seconds()
	switch {
	case s == nil:
		return
	case s.Running.Seconds() >= computing*float64(s.Count)*window:
		if f.avail == 0 || float64(s.Count) >= f.avail || f.used() > 1-idleCores {
			return
		}
		most := min(f.avail/float64(s.Count), 1/f.used())
		found.Remedies = []Remedy{{MoreReceivers, "let more goroutines receive, up to the number of cores",
			between(most*stageLow, most*stageMid, most*(1+uncertain)), "the idle cores in the trace, and one core per goroutine of the stage"}}
	case elsewhere != nil && elsewhere.Op == profile.IO && f.cores < downstreamCores:
		found.Remedies = []Remedy{f.moreReceivers()}
	default:
		return
	}
	found.Confidence = Medium
	found.RuledOut = []RuledOut{{Buffer, "the receiver is slow: a longer queue drains no faster (measured ×1.0)."}}
}

// afterReceiver sets the next step where no remedy fits a slow receiver.
func (f *facts) afterReceiver(found *Finding, s *profile.Stage, elsewhere *profile.Site) {
	switch {
	case len(found.Remedies) > 0 || s == nil:
	case elsewhere != nil:
		found.Next = fmt.Sprintf("shorten the wait at the %s, or let more goroutines receive if they can wait at the same time", elsewhere)
	case f.squeezed:
		found.Next = "first the CPU limit; then " + f.divideWork(s.Root)
	default:
		found.Next = f.divideWork(s.Root)
	}
}

// wakeRemedies suggests fewer wake-ups between two goroutines that wake each
// other perSec times, if that is most of what they do.
func (f *facts) wakeRemedies(found *Finding, perSec float64) {
	if f.cores == 0 {
		return
	}
	least := min(1, perSec*f.prices.Wakeup*1e-9/f.cores)
	if least < wokenShare {
		return
	}
	most := min(1-1/mostGain, bothEnds*least)
	low, high := 1/(1-least/2), 1/(1-most)*(1+uncertain)
	mid := 1 / (1 - (least+most)/2)
	found.Confidence = Medium
	found.Remedies = []Remedy{{Batch, f.batchHow(found), between(low, mid, high), "the measured price of a wake-up, as a part of the running time in the trace"}}
}

// tracedVerdict decides from a trace alone.
func (f *facts) tracedVerdict(t *profile.Trace, findings []Finding) Verdict {
	for i := range findings {
		switch best := findings[i].Best(); {
		case findings[i].Minor || best == nil:
		case !findings[i].Channels:
			return No
		case best.Gain.Mid >= worthIt:
			return Yes
		}
	}
	switch {
	case len(findings) > 0 || t.Window.Seconds() < shortTrace:
		return Undetermined
	case f.cores < floorCores:
		return Idle
	case f.tracedSenders(t) < quietSenders && f.wakeShare(t) < quietShare:
		return No
	}
	return Undetermined
}

// tracedSenders returns the mean number of goroutines waiting in sends and
// selects whose wait other goroutines ended.
func (f *facts) tracedSenders(t *profile.Trace) float64 {
	waited := 0.0
	for i := range t.Sites {
		if t.Sites[i].Op == profile.Send {
			waited += t.Sites[i].Waited.Seconds()
		}
	}
	return waited / t.Window.Seconds()
}

// wakeShare returns the part of the running time that waking goroutines takes.
func (f *facts) wakeShare(t *profile.Trace) float64 {
	if f.cores == 0 {
		return 0
	}
	return float64(t.Wakeups) / t.Window.Seconds() * f.prices.Wakeup * 1e-9 / f.cores
}

// tracedAnswer states a verdict without findings.
func (f *facts) tracedAnswer(t *profile.Trace, v Verdict) string {
	figures := fmt.Sprintf("%s cores were in use, %s goroutines waited to send on average, and wake-ups took %s of the running time",
		format.Number(f.cores), format.Number(f.tracedSenders(t)), format.Percent(f.wakeShare(t)))
	window := format.Seconds(t.Window.Seconds())
	switch v {
	case No:
		return fmt.Sprintf("Channels were not the problem during this trace of %s: %s. %s", window, figures, "A CPU profile shows what else costs.")
	case Idle:
		return fmt.Sprintf("Too little load to tell from this trace of %s: %s.", window, figures)
	}
	return fmt.Sprintf("This trace of %s does not show whether channels are the problem: %s. %s", window, figures, addCPU)
}
