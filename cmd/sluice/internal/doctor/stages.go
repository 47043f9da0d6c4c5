package doctor

import (
	"fmt"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// A SlowStage behind a channel computes all the time: the channel itself is not
// the bottleneck.
const SlowStage Kind = "slow stage"

const (
	// backedUp is the number of waiting senders that indicates a slow receiver:
	// a single one appears in any program.
	backedUp = 2
	// stageLow and stageMid are the parts of the possible gain that more
	// receivers gave, at least and usually: they share memory bandwidth, and
	// the other stages run beside them.
	stageLow, stageMid = 0.55, 0.80
)

var stageRules = []rule{
	{
		kind: SlowStage, shares: true, look: slowStage, instead: []Kind{CPUBound, Lockstep},
		reason: "CPU-bound consumer: senders wait, one core computes, the others idle; buffer ×1.0",
	},
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
	found.Text = fmt.Sprintf("Slow stage: %s cannot keep up with the %s while other cores idle.", profile.Frame{Function: slow.root}, o)
	whose := "the one goroutine"
	if slow.n > 1 {
		whose = format.Plural(slow.n, "goroutine")
	}
	found.addEvidence(profile.KindCPU, fmt.Sprintf("%s of %s cores in use, %s by %s of %s: a goroutine uses one core at most",
		format.Number(f.cores), f.roomText(), format.Number(slow.work+slow.channel), whose, profile.Frame{Function: slow.root}))
	if deref(o.Waiting) >= backedUp {
		found.Confidence = High
		found.addEvidence(profile.KindGoroutineText, format.Plural(*o.Waiting, "goroutine")+" waiting for it")
	} else {
		n, _ := o.count()
		found.addEvidence(profile.KindGoroutine, format.Plural(n, "goroutine")+" in the operation that feeds it")
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
	found.Remedies = []Remedy{{MoreReceivers, "let more goroutines receive, up to the number of cores",
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
