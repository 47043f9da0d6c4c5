package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// Findings about a slow stage behind a channel: the channel itself is not the
// bottleneck.
const (
	SlowStage  Kind = "slow stage"
	Downstream Kind = "downstream I/O"
)

const (
	// backedUp is the number of waiting senders that indicates a slow receiver:
	// a single one appears in any program.
	backedUp = 2
	// stageLow and stageMid are the parts of the possible gain that more
	// receivers gave, at least and usually: they share memory bandwidth, and
	// the other stages run beside them.
	stageLow, stageMid = 0.55, 0.80
	// stageOut is the number of waiting goroutines of a stage for each one that
	// may do something else.
	stageOut = 4
	// downstreamCores bounds the cores in use: services that waited for I/O
	// used 0.02 to 0.4.
	downstreamCores = 0.5
)

var stageRules = []rule{
	{
		kind: SlowStage, shares: true, look: slowStage, instead: []Kind{CPUBound, Lockstep},
		reason: "CPU-bound consumer: senders wait, one core computes, the others idle; buffer ×1.0",
	},
	{
		kind: Downstream, look: downstream,
		reason: "slow downstream I/O: senders wait, CPU is idle; buffer ×1.0, four times the receivers ×4",
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

func slowStage(f *facts) *Finding {
	slow := f.limiting()
	if slow == nil {
		slow = f.serial()
	}
	room := f.room()
	if slow == nil || f.cores > (1-idleCores)*room {
		return nil
	}
	o := f.before(slow)
	if o == nil {
		o = f.asking(slow)
	}
	if o == nil {
		o = f.inputOf(slow)
	}
	if o == nil {
		return nil // no other goroutine feeds it
	}
	if n, _ := o.count(); f.avail == 0 && n < backedUp {
		return nil // it may have no core to spare
	}
	found := &Finding{At: &o.Place, Share: known(1 - f.cores/room), Confidence: Medium}
	found.Text = fmt.Sprintf("Slow stage: the goroutines behind %s cannot keep up while other cores idle.", o)
	n, _ := o.count()
	found.addEvidence(profile.KindGoroutine, format.Plural(n, "goroutine")+" in the operation that feeds it")
	found.addEvidence(profile.KindCPU, fmt.Sprintf("%s of %s cores in use; the %d goroutines of %s use %s, and cannot use more",
		format.Number(f.cores), f.roomText(), slow.n, profile.Frame{Function: slow.root}, format.Number(slow.work+slow.channel)))
	if deref(o.Waiting) >= backedUp {
		found.Confidence = High
		found.addEvidence(profile.KindGoroutineText, format.Plural(*o.Waiting, "goroutine")+" waiting for it")
	}
	if users := f.capture.CPU.Users; len(users) > 0 {
		found.addEvidence(profile.KindCPU, fmt.Sprintf("%s of CPU time in %s", format.Percent(users[0].Self.Seconds()/f.cpu), users[0].Function))
	}
	if !f.takes(slow) {
		found.alleges(slow, o)
		return found
	}
	// More goroutines of this stage use the idle cores, whatever else changes.
	gain := f.gain(f.load(0), stay{1, 1}, slow.root)
	gain.Low = max(gain.Low, gain.High*stageLow)
	gain.Mid = max(gain.Mid, gain.High*stageMid)
	found.Remedies = []Remedy{{MoreReceivers, "let more goroutines receive, up to the number of cores, if items can be processed independently",
		gain, byLoad}}
	found.RuledOut = []RuledOut{
		{Buffer, "the channel is full because the stage behind it is slow: a longer queue drains no faster " +
			"(measured ×1.0)."},
		{Shard, "the channel's lock is not contended."},
		{Batch, fmt.Sprintf("channels take only %s of CPU time.", format.Percent(f.channelCPU()))},
	}
	return found
}

// before returns the send that fills the channel in front of a stage: the one
// with the most goroutines of other stages, at least backedUp of them or one
// that waits. A stage's own sends feed the next stage.
func (f *facts) before(s *stage) *Operation {
	var most *Operation
	there := 0
	for i := range f.operations {
		o := &f.operations[i]
		n, _ := o.count()
		switch {
		case o.Op != profile.Send && o.Op != profile.Select || o.root == "" || o.root == s.root || f.grows(o.site) || ofRuntime(o.root):
		case ofNetwork(o.root) && !ofNetwork(s.root): // its selects are between its own goroutines
		case n < backedUp && deref(o.Waiting) == 0 && value(o.CPU) == 0:
		case most == nil || deref(o.Waiting) > deref(most.Waiting) || deref(o.Waiting) == deref(most.Waiting) && n > there:
			most, there = o, n
		}
	}
	return most
}

// ofNetwork reports whether goroutines with this start function belong to a
// connection of package net/http or database/sql.
func ofNetwork(root string) bool {
	return strings.HasPrefix(root, "net/http.") || strings.HasPrefix(root, "database/sql.")
}

// inputOf returns the costliest receive or select of a stage into which another
// stage of the same package sends without waiting, or nil.
func (f *facts) inputOf(s *stage) *Operation {
	feeds := func(o *Operation) bool {
		return o.Op == profile.PollSend && f.startOf(o) != s.root && o.site.At.Package() == profile.Frame{Function: s.root}.Package()
	}
	if f.costliest(feeds) == nil {
		return nil
	}
	return f.costliest(func(o *Operation) bool {
		return f.startOf(o) == s.root && (receives(o) || o.Op == profile.Select)
	})
}

// downstream needs no CPU shares: goroutine states show that senders wait while
// CPU is idle.
func downstream(f *facts) *Finding {
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
	found.Remedies = []Remedy{f.moreConcurrency("run four times as many receivers, if the downstream service allows it")}
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
