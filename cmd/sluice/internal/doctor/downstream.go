package doctor

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// A Downstream behind a channel waits for the network, a disk or a timer: the channel
// itself is not the bottleneck.
const Downstream Kind = "downstream I/O"

const (
	// stageOut is the number of waiting goroutines of a stage for each one that
	// may do something else.
	stageOut = 4
	// downstreamCores bounds the cores in use: services that waited for I/O
	// used 0.02 to 0.4.
	downstreamCores = 0.5
)

var downstreamRules = []rule{
	{
		kind: Downstream, look: downstream, instead: []Kind{TransferCost, TinyJobs, Lockstep, Bursts, CPULimit, Backpressure, SystemCallBound},
		reason: "slow downstream I/O: senders wait, CPU is idle; buffer ×1.0, four times the receivers ×4. A sync of a file after 8 values, behind a dispatcher " +
			"that waited to send 86% of the time: one sync for up to 64 ×4.3, four files ×1.4 to ×1.75",
	},
}

// backlog returns the send with the most waiting goroutines.
func (f *facts) backlog() (*Operation, int) {
	var most *Operation
	for i := range f.operations {
		o := &f.operations[i]
		// A growing number of waiting goroutines is a leak, not a queue.
		if o.Op == profile.Send && o.Waiting != nil && !f.grows(o.site) && (most == nil || *o.Waiting > *most.Waiting) {
			most = o
		}
	}
	if most == nil {
		return nil, 0
	}
	return most, *most.Waiting
}

// downstream needs no CPU shares: a trace, or else goroutine states, show that
// senders wait while CPU is idle.
func downstream(f *facts) *Finding {
	if found := f.outsideByTrace(); found != nil {
		return found
	}
	if f.capture.CPU == nil || f.cores >= downstreamCores || f.channelCores() >= hotShare {
		return nil
	}
	o, n := f.backlog()
	if n == 0 {
		return f.tokens()
	}
	out, rival := f.waitingOutside(o)
	if out == nil {
		return f.tokens()
	}
	seen, traced := f.wakes(out, o)
	if n < backedUp && (traced && !seen || !traced && !f.steady(o, out)) {
		return f.tokens()
	}
	found := f.outside(o, out)
	switch {
	case rival != nil:
		found = f.outside(o, nil)
		found.Confidence = Low
		found.Text = fmt.Sprintf("Slow receivers, and no lack of CPU: goroutines wait in %s. The receiver is unknown: it may wait at %s or at %s.", o, out.At, rival.At)
		found.decides(f, "which goroutines receive")
	case out.Op == profile.Sleep:
		found.Confidence = Low
		found.Text = fmt.Sprintf("The receivers behind %s sleep at %s: to wait for something external, or to limit their rate on "+
			"purpose.", o, out.At)
	default:
		found.Text = fmt.Sprintf("Slow downstream I/O: the receivers behind %s wait for it at %s.", o, out.At)
	}
	if n < backedUp && !seen {
		found.Confidence = Low
		found.decides(f, "whether the waiting sender waits for these goroutines")
	}
	if seen {
		found.addEvidence(profile.KindTrace, fmt.Sprintf("these goroutines receive: they wake the senders%s", f.timesPerSecond(o)))
	}
	found.Remedies = []Remedy{f.moreReceivers()}
	found.RuledOut = []RuledOut{
		{Buffer, "the channel is full because the downstream service is slow: a longer queue drains no faster " +
			"(measured ×1.0)."},
		{Batch, "channels cost almost nothing here. Batched requests to the downstream service are a different " +
			"matter, and may help."},
	}
	return found
}

// tokens detects a channel of tokens, such as connections: some goroutines wait
// to receive one while others of the same stage hold one and wait for I/O. A
// worker pool that uses receives instead of a range looks the same, unless a
// trace shows that a release wakes the waiters.
func (f *facts) tokens() *Finding {
	g := f.capture.Goroutines
	if g == nil || !g.InKnown {
		return nil
	}
	for i := range f.operations {
		o := &f.operations[i]
		if o.Op != profile.Receive || deref(o.Waiting) < backedUp || o.root == "" {
			continue
		}
		for j := range g.Sites {
			out := &g.Sites[j]
			if out.Root != o.root || out.Op != profile.IO && out.Op != profile.Sleep || out.Count() == 0 || serving(*out) {
				continue
			}
			gives, traced := f.gives(o)
			if traced && !gives {
				continue
			}
			found := f.outside(o, out)
			found.Text = fmt.Sprintf("Too few tokens or connections: goroutines wait in %s while others hold one and wait for I/O at %s.", o, out.At)
			if !traced {
				found.Confidence = Low
				found.decides(f, "whether the waiting goroutines take the tokens that the others release")
			}
			found.Remedies = []Remedy{f.moreConcurrency("use four times as many tokens or connections, if the downstream service allows it")}
			found.RuledOut = []RuledOut{{Batch, "channels cost almost nothing here."}}
			return found
		}
	}
	return nil
}

// gives reports whether a send in the function of a receive wakes it, and
// whether a trace could show that.
func (f *facts) gives(o *Operation) (seen, traced bool) {
	for _, p := range f.pairs() {
		if p.Sleeper == o.site {
			traced = true
			seen = seen || p.Waker.Op.Sends() && p.Waker.At.Function == o.Function
		}
	}
	return seen, traced
}

// wakes reports whether the goroutines that wait for I/O wake those at o, and
// whether a trace could show that.
func (f *facts) wakes(out *profile.GoroutineSite, o *Operation) (seen, traced bool) {
	for _, p := range f.pairs() {
		if p.Sleeper == o.site && p.Waker.Op.Channel() {
			traced = true
			by := p.Waker.At.Function
			seen = seen || by == out.Root || by == out.At.Function || p.Waker.Caller.Function == out.Root ||
				out.Caller.Function != "" && by == out.Caller.Function
		}
	}
	return seen, traced
}

// timesPerSecond returns how often the goroutines at o are woken, with a leading
// space, or "".
func (f *facts) timesPerSecond(o *Operation) string {
	n := int64(0)
	for _, p := range f.pairs() {
		if p.Sleeper == o.site && p.Waker.Op.Channel() {
			n += p.Count
		}
	}
	window := f.wakeTrace().Window.Seconds()
	if window <= 0 {
		return ""
	}
	return fmt.Sprintf(" %s times per second", format.Count(float64(n)/window))
}

// outside returns a finding about goroutines that wait at o for others in I/O,
// which are at out; nil if they are unknown.
func (f *facts) outside(o *Operation, out *profile.GoroutineSite) *Finding {
	found := &Finding{At: &o.Place, Share: known(1 - f.used()), Confidence: Medium, outside: out}
	waiting := fmt.Sprintf("%s waiting to %s", format.Plural(deref(o.Waiting), "goroutine"), o.Op)
	if out != nil {
		waiting += fmt.Sprintf(", %d in %s", out.Count(), out.At)
	}
	found.addEvidence(profile.KindGoroutineText, waiting)
	found.addEvidence(profile.KindCPU, fmt.Sprintf("only %s cores in use", format.Number(f.cores)))
	return found
}

// moreReceivers is moreConcurrency for the receivers of a channel.
func (f *facts) moreReceivers() Remedy {
	return f.moreConcurrency("run four times as many receivers, if the downstream service allows it")
}

// moreConcurrency predicts four times as many goroutines in I/O, the measured
// case, within the available cores.
func (f *facts) moreConcurrency(how string) Remedy {
	room := 1 / f.used()
	if f.avail == 0 { // there is at least one core
		room = 1 / max(f.cores, 1.0/mostGain)
	}
	return Remedy{MoreReceivers, how, between(min(2, room), min(4, room), min(5, room)),
		"waits for I/O overlap, until the downstream service or the cores are saturated"}
}

// waitingOutside returns the site where the goroutines behind o wait for the
// network or a system call, or else sleep; nil without any. A trace shows which
// goroutines receive. Without it, those with a receive are the likeliest; if
// goroutines with another start function are as likely, rival is one of them.
func (f *facts) waitingOutside(o *Operation) (out, rival *profile.GoroutineSite) {
	g := f.capture.Goroutines
	if g == nil {
		return nil, nil
	}
	for i := range g.Sites {
		s := &g.Sites[i]
		if s.Op != profile.IO && s.Op != profile.Sleep || serving(*s) || ofRuntime(s.Root) || s.Count() == 0 {
			continue
		}
		if seen, traced := f.wakes(s, o); traced && !seen {
			continue
		}
		order := -1
		if out != nil {
			order = cmp.Compare(f.behind(s, o), f.behind(out, o))
		}
		switch {
		case out == nil || order > 0:
			out, rival = s, nil
		case order == 0 && s.Root != out.Root:
			rival = s
			if s.Count() > out.Count() {
				out, rival = s, out
			}
		case order == 0 && s.Count() > out.Count():
			out = s
		}
	}
	return out, rival
}

// behind ranks goroutines in I/O by the evidence that they receive what is sent
// at o: they run a receive; they are another stage in the network, a sleeping
// one, or the senders themselves (a semaphore); and last the main goroutine.
func (f *facts) behind(s *profile.GoroutineSite, o *Operation) int {
	switch {
	case s.Root == "main.main":
		return 0
	case s.Root != "" && s.Root == o.root:
		return 1
	case f.receivesToo(s, o):
		return 4
	case s.Op == profile.Sleep:
		return 2
	}
	return 3
}

// receivesToo reports whether goroutines with the same start function run a
// receive or a select that may belong to the send at o. One where all of them
// wait does not.
func (f *facts) receivesToo(s *profile.GoroutineSite, o *Operation) bool {
	for i := range f.operations {
		r := &f.operations[i]
		if s.Root != "" && slices.Contains(r.roots, s.Root) && !sends(r) && faces(o, r) && !bothWait(o, r) && sameRepository(o.Function, r.Function) {
			return true
		}
	}
	return false
}

// steady reports whether a single waiting sender is a queue: it waited in both
// snapshots, and the goroutines in I/O are almost all of their stage and of the
// same repository, so that none is left to receive.
func (f *facts) steady(o *Operation, out *profile.GoroutineSite) bool {
	g := f.capture.Goroutines
	if !g.GrowthKnown || !sameRepository(o.Function, out.Root) {
		return false
	}
	elsewhere := 0
	for _, s := range g.Sites {
		switch {
		case s.Site == o.site && s.Earlier == 0:
			return false
		case s.Root == out.Root && s.Site != out.Site:
			elsewhere += s.Count()
		}
	}
	return elsewhere*stageOut <= out.Count()
}
