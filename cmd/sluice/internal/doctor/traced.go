package doctor

import (
	"cmp"
	"fmt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// Findings of a trace where there is no CPU profile. It has who waits, where and for how
// long, and who ends that; it has not what CPU time is spent on, so they say at which
// channel values are held up, and no more: no verdict hangs on them, and no remedy.
const (
	HeldUp  Kind = "held up"
	InTurns Kind = "waits in turns"
)

const (
	// heldUp is how many goroutines wait to send at one place, on average over the trace,
	// from which on it is more than a pipeline's usual catching of breath: stages that
	// took turns had 0.24, queues in front of somebody slow 1 for each sender.
	heldUp = 0.5
	// computing is the part of the trace that each goroutine of a stage runs, from which
	// on it has no time to wait: an encoder that held others up ran for all of it.
	computing = 0.75
)

// addCPU is what makes more of it, at the end of each of their sentences.
const addCPU = "A CPU profile beside the trace would tell what it costs, and what to do."

var tracedRules = []rule{
	{
		kind: HeldUp, look: heldByReceiver,
		reason: "a trace alone: of eight sources 6 waited to send on average, and the encoder behind them ran all the time",
	},
	{
		kind: InTurns, look: inTurns,
		reason: "a trace alone: both ends of a channel waited for 24 % of it, 56,000 times a second",
	},
}

// ofTrace reports whether the kind is one that only a trace is known for.
func (k Kind) ofTrace() bool { return k == HeldUp || k == InTurns }

// traceAlone is the trace if nothing tells what CPU time is spent on, nil if that is
// told, or if there is no trace.
func (f *facts) traceAlone() *profile.Trace {
	if t := f.capture.Trace; f.capture.CPU == nil && t != nil && t.Window > 0 {
		return t
	}
	return nil
}

// traceSite is what a trace has of a site, nil if nobody parked there.
func traceSite(t *profile.Trace, at profile.Site) *profile.TraceSite {
	for i := range t.Sites {
		if t.Sites[i].Site == at {
			return &t.Sites[i]
		}
	}
	return nil
}

// heldByReceiver is for the send that goroutines wait longest at.
func heldByReceiver(f *facts) *Finding {
	t := f.traceAlone()
	if t == nil {
		return nil
	}
	var s *profile.TraceSite
	for i := range t.Sites { // the longest waits first
		if t.Sites[i].Op == profile.Send {
			s = &t.Sites[i]
			break
		}
	}
	if s == nil || s.Waited.Seconds() < f.limit(heldUp)*t.Window.Seconds() {
		return nil
	}
	at := place(s.Site)
	found := &Finding{At: &at, Confidence: Low}
	found.says(profile.KindTrace, fmt.Sprintf("%s wait there on average: %d times one began to wait, and %d still did at the end",
		number(s.Waited.Seconds()/t.Window.Seconds()), s.Parks, s.Still))
	from, times := receiverOf(t, s.Site)
	if from == nil {
		found.Text = fmt.Sprintf("Goroutines wait at the %s, and nobody took a value from them. %s", s.Site, addCPU)
		return found
	}
	found.says(profile.KindTrace, fmt.Sprintf("%s woke them %d times", from, times))
	found.Text = fmt.Sprintf("Goroutines wait at the %s for who receives, the %s%s. %s", s.Site, from, f.doing(found, t, *from), addCPU)
	return found
}

// receiverOf is who woke those that wait to send most often, nil if nobody did.
func receiverOf(t *profile.Trace, send profile.Site) (from *profile.Site, times int64) {
	for i := range t.Pairs { // the most frequent first
		if p := &t.Pairs[i]; p.Sleeper == send && (p.Waker.Op.Receives() || p.Waker.Op == profile.Select) {
			return &p.Waker, p.Count
		}
	}
	return nil, 0
}

// doing says what the goroutines that receive do meanwhile, as far as they begin with
// the function that receives or the one that calls it.
func (f *facts) doing(found *Finding, t *profile.Trace, from profile.Site) string {
	for _, s := range t.Stages {
		all := float64(s.Count) * t.Window.Seconds()
		if s.Root != from.At.Function && s.Root != from.Caller.Function || all == 0 {
			continue
		}
		found.says(profile.KindTrace, fmt.Sprintf("%s of %s: running for %s of the trace, able to run for %s, waiting for %s",
			goroutines(s.Count), profile.Frame{Function: s.Root}, percent(s.Running.Seconds()/all), percent(s.Runnable.Seconds()/all), percent(s.Waiting.Seconds()/all)))
		if s.Running.Seconds() >= computing*all {
			return ", which computes all the time"
		}
		if other := waitsElsewhere(t, s, from); other != nil {
			return fmt.Sprintf(", which itself waits most at the %s", other)
		}
		return ""
	}
	return ""
}

// waitsElsewhere is where the goroutines of a stage wait longer than to receive, nil if
// that is nowhere. A trace's sites have no stage: they are told by their functions.
func waitsElsewhere(t *profile.Trace, s profile.Stage, from profile.Site) *profile.Site {
	for i := range t.Sites { // the longest waits first
		site := &t.Sites[i]
		if site.Site == from {
			return nil
		}
		if site.At.Function == from.At.Function || site.At.Function == s.Root || site.Caller.Function == s.Root {
			return &site.Site
		}
	}
	return nil
}

// inTurns is for the two operations that wake each other most often, where both wait.
func inTurns(f *facts) *Finding {
	t := f.traceAlone()
	if t == nil {
		return nil
	}
	pairs := seenPartners(t)
	if len(pairs) == 0 || value(pairs[0].PerSec) < busyWakeups*max(1, f.avail) {
		return nil
	}
	p := &pairs[0]
	var sender, receiver *profile.TraceSite
	for _, pair := range t.Pairs {
		for _, s := range []profile.Site{pair.Waker, pair.Sleeper} {
			switch place(s) {
			case p.Sender:
				sender = cmp.Or(sender, traceSite(t, s))
			case p.Receiver:
				receiver = cmp.Or(receiver, traceSite(t, s))
			}
		}
	}
	if sender == nil || receiver == nil || oneSided(sender.Parks, receiver.Parks) {
		return nil
	}
	found := &Finding{At: &p.Sender, Confidence: Low}
	found.Text = fmt.Sprintf("Both ends wait for each other in turn: %s and %s. %s", p.Sender, p.Receiver, addCPU)
	found.says(profile.KindTrace, fmt.Sprintf("one wakes the other %s times a second: at %s each that is %s cores",
		count(*p.PerSec), duration(f.prices.Wakeup*1e-9), number(*p.PerSec*f.prices.Wakeup*1e-9)))
	found.says(profile.KindTrace, fmt.Sprintf("%d waits to send, of %s together, and %d to receive, of %s",
		sender.Parks, duration(sender.Waited.Seconds()), receiver.Parks, duration(receiver.Waited.Seconds())))
	return found
}
