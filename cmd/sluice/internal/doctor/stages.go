package doctor

import (
	"cmp"
	"fmt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// Findings about who is slow behind a channel. It is not the channel that is.
const (
	SlowStage  Kind = "slow stage"
	Downstream Kind = "downstream I/O"
)

const (
	// backedUp is how many goroutines wait to send before somebody is said to be
	// slow behind the channel: one is caught so in any program.
	backedUp = 2
	// stageLow and stageMid are what more receivers gave at least, and usually, of what
	// the cores allow: they share the memory, and the other stages run beside them.
	stageLow, stageMid = 0.55, 0.80
	// stageOut: of so many goroutines of a stage that waits outside one may do something else.
	stageOut = 4
	// downstreamCores in use: a service that waits for others used 0.02 to 0.4.
	downstreamCores = 0.5
)

var stageRules = []rule{
	{
		kind: SlowStage, shares: true, look: slowStage, instead: []Kind{PlainCPU, TakeTurns},
		reason: "slow consumer by CPU: senders wait, one core computes, the others idle; buffer ×1.0",
	},
	{
		kind: Downstream, look: downstream,
		reason: "slow downstream I/O: senders wait, nobody computes; buffer ×1.0, four times the receivers ×4",
	},
}

// backlog returns the operation at which most goroutines wait to send.
func (f *facts) backlog() (*Operation, int) {
	var most *Operation
	for i := range f.operations {
		o := &f.operations[i]
		// Where more and more wait there is no queue, but a leak.
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
	if slow == nil || f.used() > 1-idleCores {
		return nil
	}
	o := f.before(slow)
	if o == nil {
		return nil // nobody hands it anything: it is as fast as it is
	}
	found := &Finding{At: &o.Place, Share: known(1 - f.used()), Confidence: Medium}
	found.Text = fmt.Sprintf("The stage behind %s computes and cannot keep up; other cores idle.", o)
	n, _ := o.count()
	found.says(profile.KindGoroutine, goroutines(n)+" in the sends that it receives from")
	found.says(profile.KindCPU, fmt.Sprintf("%s of %s cores in use, %s of them by the %d of %s, which can use no more",
		number(f.cores), number(f.avail), number(slow.work+slow.channel), slow.n, profile.Frame{Function: slow.root}))
	if deref(o.Waiting) >= backedUp {
		found.Confidence = High
		found.says(profile.KindGoroutineText, goroutines(*o.Waiting)+" waiting to send")
	}
	if users := f.capture.CPU.Users; len(users) > 0 {
		found.says(profile.KindCPU, fmt.Sprintf("%s of CPU time in %s", percent(users[0].Self.Seconds()/f.cpu), users[0].Function))
	}
	// Cores that idle for want of this stage are used by more of it, whatever else.
	gain := f.gain(f.load(0), stay{1, 1}, slow.root)
	gain.Low = max(gain.Low, gain.High*stageLow)
	gain.Mid = max(gain.Mid, gain.High*stageMid)
	found.Remedies = []Remedy{{MoreReceivers, "let more goroutines receive, as many as there are cores, if the work can be done apart",
		gain, byLoad}}
	found.Not = []Not{
		{Buffer, "the channel is full because what is behind it is slow: a longer line is served no faster (×1.0 when tried)."},
		{Shard, "the channel's lock is not waited for."},
		{Batch, fmt.Sprintf("channels take %s of CPU time: there is little to save.", percent(f.channelCPU()))},
	}
	return found
}

// before is the send that fills the channel in front of a stage: the one where most
// goroutines are that are not of the stage itself, at least backedUp if only stacks say
// so, one if it waits. A stage's own sends go on to the next one.
func (f *facts) before(s *stage) *Operation {
	var most *Operation
	there := 0
	for i := range f.operations {
		o := &f.operations[i]
		n, _ := o.count()
		switch {
		case o.Op != profile.Send && o.Op != profile.Select || o.root == "" || o.root == s.root || f.grows(o.site) || ofRuntime(o.root):
		case n < backedUp && deref(o.Waiting) == 0 && value(o.CPU) == 0:
		case most == nil || deref(o.Waiting) > deref(most.Waiting) || deref(o.Waiting) == deref(most.Waiting) && n > there:
			most, there = o, n
		}
	}
	return most
}

// downstream needs no shares: that senders wait and nobody computes is seen by
// states alone.
func downstream(f *facts) *Finding {
	if f.capture.CPU == nil || f.cores >= downstreamCores || f.channelCores() >= hotShare {
		return nil
	}
	o, n := f.backlog()
	if n == 0 {
		return f.tokens()
	}
	out := f.waitingOutside(o)
	if out == nil {
		return f.tokens()
	}
	seen, told := f.wakes(out, o)
	if n < backedUp && (told && !seen || !told && !f.steady(o, out)) {
		return f.tokens()
	}
	found := f.outside(o, out)
	found.Text = fmt.Sprintf("What receives behind %s waits for something outside, at %s.", o, out.At)
	if out.Op == profile.Sleep {
		found.Confidence = Low
		found.Text = fmt.Sprintf("What receives behind %s sleeps, at %s: for something outside, or to keep a pace that is meant.", o, out.At)
	}
	if n < backedUp && !seen {
		found.Confidence = Low
		found.decides(f, "whether the one that waits to send waits for these")
	}
	found.Remedies = []Remedy{f.moreOutside("let four times as many goroutines receive and wait outside at once, as far as the other side bears it")}
	found.Not = []Not{
		{Buffer, "the channel is full because the other side is slow: a longer line is served no faster (×1.0 when tried)."},
		{Batch, "channels cost next to nothing here. Batches towards the other side are another matter, and may well help."},
	}
	return found
}

// tokens is for a channel that holds what is needed to go outside, such as
// connections: goroutines wait to receive one, others of the same kind have one and
// wait outside. A pool of workers that take their jobs by a receive and not by a range
// looks alike: a trace has who gives back wake who takes.
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
			gives, told := f.gives(o)
			if told && !gives {
				continue
			}
			found := f.outside(o, out)
			found.Text = fmt.Sprintf("Goroutines wait for one of few tokens or connections, %s, while others that have one wait outside, at %s.", o, out.At)
			if !told {
				found.Confidence = Low
				found.decides(f, "whether those that wait take what the others give back")
			}
			found.Remedies = []Remedy{f.moreOutside("put four times as many tokens or connections into the channel, as far as the other side bears it")}
			found.Not = []Not{{Batch, "channels cost next to nothing here."}}
			return found
		}
	}
	return nil
}

// gives reports whether a send in the function of a receive wakes it, and whether
// there is a trace that would say so.
func (f *facts) gives(o *Operation) (seen, told bool) {
	for _, p := range f.pairs() {
		if p.Sleeper == o.site {
			told = true
			seen = seen || p.Waker.Op.Sends() && p.Waker.At.Function == o.Function
		}
	}
	return seen, told
}

// wakes reports whether the goroutines that wait outside wake who waits at o, and
// whether there is a trace that would say so.
func (f *facts) wakes(out *profile.GoroutineSite, o *Operation) (seen, told bool) {
	for _, p := range f.pairs() {
		if p.Sleeper == o.site {
			told = true
			by := p.Waker.At.Function
			seen = seen || by == out.Root || by == out.At.Function || p.Waker.Caller.Function == out.Root
		}
	}
	return seen, told
}

// outside is a finding on who waits outside while others wait at o.
func (f *facts) outside(o *Operation, out *profile.GoroutineSite) *Finding {
	found := &Finding{At: &o.Place, Share: known(1 - f.used()), Confidence: Medium}
	found.says(profile.KindGoroutineText, fmt.Sprintf("%s waiting to %s, %d in %s", goroutines(deref(o.Waiting)), o.Op, out.Count(), out.At))
	found.says(profile.KindCPU, fmt.Sprintf("%s cores in use: nobody computes", number(f.cores)))
	return found
}

// moreOutside is four times as many goroutines outside, which is what was tried; cores
// bound it where they are short.
func (f *facts) moreOutside(how string) Remedy {
	room := 1 / f.used()
	if f.avail == 0 { // there is one core at least
		room = 1 / max(f.cores, 1.0/mostGain)
	}
	return Remedy{MoreReceivers, how, between(min(2, room), min(4, room), min(5, room)),
		"waits outside overlap, until the other side or the cores are full"}
}

// waitingOutside returns where most goroutines wait in the network or in a system
// call, or else asleep, who listens for connections left out; nil
// if there is nobody.
func (f *facts) waitingOutside(o *Operation) *profile.GoroutineSite {
	g := f.capture.Goroutines
	if g == nil {
		return nil
	}
	var most *profile.GoroutineSite
	for i := range g.Sites {
		s := &g.Sites[i]
		switch {
		case s.Op != profile.IO && s.Op != profile.Sleep, serving(*s), ofRuntime(s.Root), s.Count() == 0:
		case most == nil || cmp.Or(cmp.Compare(f.behind(s, o), f.behind(most, o)), cmp.Compare(s.Count(), most.Count())) > 0:
			most = s
		}
	}
	return most
}

// behind ranks who waits outside by how likely it is that they receive what is sent
// at o: another stage in the network, one that sleeps, senders themselves, as of a
// semaphore, and last the goroutine that the program began with.
func (f *facts) behind(s *profile.GoroutineSite, o *Operation) int {
	switch {
	case s.Root == "main.main":
		return 0
	case s.Root != "" && s.Root == o.root:
		return 1
	case s.Op == profile.Sleep:
		return 2
	}
	return 3
}

// steady reports whether one goroutine that waits to send is a queue: it did so in
// both snapshots, and the goroutines of the same repository that wait outside are all
// that there are of their stage, so that nobody is left to receive.
func (f *facts) steady(o *Operation, out *profile.GoroutineSite) bool {
	g := f.capture.Goroutines
	if !g.GrowthKnown || !neighbours(o.Function, out.Root) {
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
