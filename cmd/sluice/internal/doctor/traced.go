package doctor

import (
	"cmp"
	"fmt"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// Findings from a trace without a CPU profile. A trace shows which goroutines
// wait, where, for how long, and which goroutine ends the wait, but not what CPU
// time is spent on. They name the channel that holds values up; tracedgain.go
// has the remedies that a trace supports, and the verdict.
const (
	Backpressure     Kind = "backpressure"
	AlternatingWaits Kind = "alternating waits"
)

const (
	// backpressured is the mean number of goroutines waiting to send at one
	// place above which it is more than the usual jitter of a pipeline: stages
	// in lockstep had 0.24, queues in front of a slow receiver 1 per sender.
	backpressured = 0.5
	// computing is the part of the trace for which each goroutine of a
	// saturated stage runs.
	computing = 0.75
)

// addCPU ends the text of findings from a trace alone.
const addCPU = "Add a CPU profile to see the cost and a remedy."

var tracedRules = []rule{
	{
		kind: Backpressure, look: backpressure,
		reason: "a trace alone: 6 of eight sources waited to send on average, and the encoder behind them ran " +
			"all the time",
	},
	{
		kind: AlternatingWaits, look: alternatingWaits,
		reason: "a trace alone: both ends of a channel waited for 24% of it, 56,000 times per second",
	},
}

// traceOfWaits returns the trace if no CPU profile explains the waits: there is
// none, the service uses too few cores for its costs to matter, or it does not get
// the cores that it needs.
func (f *facts) traceOfWaits() *profile.Trace {
	if t := f.capture.Trace; t != nil && t.Window > 0 && (f.capture.CPU == nil || !f.loaded || f.light || f.squeezed) {
		return t
	}
	return nil
}

// traceAlone returns the trace if there is no CPU profile, else nil.
func (f *facts) traceAlone() *profile.Trace {
	if f.capture.CPU != nil {
		return nil
	}
	return f.traceOfWaits()
}

// traceSite returns the trace's record of a site, or nil if no goroutine parked
// there.
func traceSite(t *profile.Trace, at profile.Site) *profile.TraceSite {
	for i := range t.Sites {
		if t.Sites[i].Site == at {
			return &t.Sites[i]
		}
	}
	return nil
}

// backpressure examines the send with the longest waits.
func backpressure(f *facts) *Finding {
	t := f.traceOfWaits()
	if t == nil {
		return nil
	}
	var s *profile.TraceSite
	for i := range t.Sites { // the longest waits first
		if t.Sites[i].Op == profile.Send && !f.grows(t.Sites[i].Site) { // a growing number of waits is a leak
			s = &t.Sites[i]
			break
		}
	}
	if s == nil || s.Waited.Seconds() < f.limit(backpressured)*t.Window.Seconds() {
		return nil
	}
	at := place(s.Site)
	found := &Finding{At: &at, Confidence: Low}
	if f.capture.CPU != nil {
		found.Share = known(1 - min(1, f.cores/max(f.had, assumedCores)))
	}
	found.addEvidence(profile.KindTrace, fmt.Sprintf("%s goroutines wait there on average: %d waits began, and %d had not ended when the trace did",
		format.Number(s.Waited.Seconds()/t.Window.Seconds()), s.Parks, s.Still))
	from, times := receiverOf(t, s.Site)
	if from == nil {
		found.Text = fmt.Sprintf("Goroutines wait in %s, and no goroutine received from them.", s.Site)
		if f.capture.CPU == nil {
			found.Text += " " + addCPU
		}
		return found
	}
	found.addEvidence(profile.KindTrace, fmt.Sprintf("%s woke them %d times", from, times))
	stage := stageOf(t, *from)
	found.stageEvidence(t, stage)
	what, elsewhere := doing(t, stage, *from)
	f.receiverRemedies(found, stage, elsewhere)
	f.afterReceiver(found, stage, elsewhere)
	found.Text = fmt.Sprintf("Backpressure from a slow receiver: goroutines wait in %s for the %s%s.", s.Site, from, what)
	if len(found.Remedies) == 0 && f.capture.CPU == nil {
		found.Text += " " + addCPU
	}
	return found
}

// receiverOf returns the operation that woke the senders most often, or nil.
func receiverOf(t *profile.Trace, send profile.Site) (from *profile.Site, times int64) {
	for i := range t.Pairs { // the most frequent first
		if p := &t.Pairs[i]; p.Sleeper == send && (p.Waker.Op.Receives() || p.Waker.Op == profile.Select) {
			return &p.Waker, p.Count
		}
	}
	return nil, 0
}

// stageOf returns the goroutines that receive, or nil. They are found by their
// start function, which is the function that receives or its caller.
func stageOf(t *profile.Trace, from profile.Site) *profile.Stage {
	for i := range t.Stages {
		if s := &t.Stages[i]; s.Count > 0 && (s.Root == from.At.Function || s.Root == from.Caller.Function) {
			return s
		}
	}
	return nil
}

// stageEvidence describes what the goroutines of a stage did during the trace.
func (f *Finding) stageEvidence(t *profile.Trace, s *profile.Stage) {
	if s == nil {
		return
	}
	part := func(d time.Duration) string {
		return format.Percent(d.Seconds() / (float64(s.Count) * t.Window.Seconds()))
	}
	f.addEvidence(profile.KindTrace, fmt.Sprintf("%s of %s: running for %s of the trace, runnable for %s, waiting for %s",
		format.Plural(s.Count, "goroutine"), profile.Frame{Function: s.Root}, part(s.Running), part(s.Runnable), part(s.Waiting)))
}

// doing describes what the receiving goroutines do meanwhile, and returns where
// else they wait, or nil. A goroutine that is ready to run does not wait: it lacks
// a core.
func doing(t *profile.Trace, s *profile.Stage, from profile.Site) (text string, elsewhere *profile.Site) {
	if s == nil {
		return "", nil
	}
	all := float64(s.Count) * t.Window.Seconds()
	running, runnable := s.Running.Seconds(), s.Runnable.Seconds()
	switch awake := running + runnable; {
	case running >= computing*all:
		return ", which computes all the time", nil
	case awake >= all/2 && runnable >= running:
		return fmt.Sprintf(", which is ready to run for %s of the time, and gets no core", format.Percent(runnable/all)), nil
	case awake >= all/2:
		return fmt.Sprintf(", which computes for %s of the time", format.Percent(running/all)), nil
	}
	if other := waitsElsewhere(t, *s, from); other != nil {
		return fmt.Sprintf(", which itself waits mostly at the %s", other), other
	}
	return "", nil
}

// waitsElsewhere returns where the goroutines of a stage wait longer than to
// receive, or nil. The sites of a trace have no stage, so they are matched by
// function. A wait without an operation is the runtime's, such as for the
// collector.
func waitsElsewhere(t *profile.Trace, s profile.Stage, from profile.Site) *profile.Site {
	for i := range t.Sites { // the longest waits first
		site := &t.Sites[i]
		if site.Site == from {
			return nil
		}
		if site.Op != profile.Other && (site.At.Function == from.At.Function || site.At.Function == s.Root || site.Caller.Function == s.Root) {
			return &site.Site
		}
	}
	return nil
}

// alternatingWaits examines the two operations that wake each other most often.
func alternatingWaits(f *facts) *Finding {
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
	found := &Finding{At: &p.Sender, Channels: true, Confidence: Low}
	found.Text = fmt.Sprintf("Sender and receiver wait for each other alternately: %s and %s.", p.Sender, p.Receiver)
	if f.wakeRemedies(found, *p.PerSec); len(found.Remedies) == 0 {
		found.Text += " " + addCPU
	}
	found.addEvidence(profile.KindTrace, fmt.Sprintf("one wakes the other %s times per second, which takes %s per wake-up and %s cores",
		format.Count(*p.PerSec), format.Seconds(f.prices.Wakeup*1e-9), format.Number(*p.PerSec*f.prices.Wakeup*1e-9)))
	found.addEvidence(profile.KindTrace, fmt.Sprintf("%d waits to send, %s in total, and %d waits to receive, %s in total",
		sender.Parks, format.Seconds(sender.Waited.Seconds()), receiver.Parks, format.Seconds(receiver.Waited.Seconds())))
	return found
}
