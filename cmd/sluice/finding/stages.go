package finding

import (
	"fmt"

	"github.com/sluice-go/sluice/cmd/sluice/profile"
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
	// stageCores in use: below, the slow one is not computing.
	stageCores = 0.5
	// stageUser is the share of CPU time in code of the program.
	stageUser = 0.5
	// downstreamCores in use: a service that waits for others used 0.02 to 0.4.
	downstreamCores = 0.5
)

var stageRules = []rule{
	{
		kind: SlowStage, shares: true, look: slowStage, instead: []Kind{PlainCPU},
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
	o, n := f.backlog()
	cpu := f.capture.CPU
	if n < backedUp || f.avail == 0 || f.channelCPU() >= handOverShare || f.share(profile.UserCode) < stageUser ||
		f.cores < stageCores || f.used() > 1-idleCores || len(cpu.Users) == 0 {
		return nil
	}
	who := cpu.Users[0]
	found := &Finding{At: &o.Place, Share: known(1 - f.used()), Confidence: Medium}
	found.Text = fmt.Sprintf("The stage behind %s computes and cannot keep up; other cores idle.", o)
	found.says(profile.KindGoroutineText, goroutines(n)+" waiting to send")
	found.says(profile.KindCPU, fmt.Sprintf("%s of %s cores in use, %s of it in %s",
		number(f.cores), number(f.avail), percent(who.Self.Seconds()/f.cpu), who.Function))
	mid := bounded(f.used(), f.channelCPU(), 0)
	found.Remedies = []Remedy{{MoreReceivers, "let more goroutines receive, as many as there are cores, if the work can be done apart",
		around(mid), byBound}}
	found.Not = []Not{
		{Buffer, "the channel is full because what is behind it is slow: a longer line is served no faster (×1.0 when tried)."},
		{Shard, "the channel's lock is not waited for."},
		{Batch, fmt.Sprintf("channels take %s of CPU time: there is nothing to save.", percent(f.channelCPU()))},
	}
	return found
}

// downstream needs no shares: that senders wait and nobody computes is seen by
// states alone.
func downstream(f *facts) *Finding {
	o, n := f.backlog()
	if n < backedUp || f.capture.CPU == nil || f.cores >= downstreamCores || f.channelCores() >= hotShare {
		return nil
	}
	where, waiting := f.waitingOutside()
	if waiting == 0 {
		return nil
	}
	found := &Finding{At: &o.Place, Share: known(1 - f.used()), Confidence: Medium}
	found.Text = fmt.Sprintf("What receives behind %s waits for something outside, at %s.", o, where)
	found.says(profile.KindGoroutineText, fmt.Sprintf("%s waiting to send, %d in %s", goroutines(n), waiting, where))
	found.says(profile.KindCPU, fmt.Sprintf("%s cores in use: nobody computes", number(f.cores)))
	// Four times the receivers is what was tried; cores bound it where they are short.
	room := 1 / f.used()
	if f.avail == 0 { // there is one core at least
		room = 1 / max(f.cores, 1.0/mostGain)
	}
	found.Remedies = []Remedy{{MoreReceivers, "let four times as many goroutines receive and wait outside at once, as far as the other side bears it",
		between(min(2, room), min(4, room), min(5, room)), "waits outside overlap, until the other side or the cores are full"}}
	found.Not = []Not{
		{Buffer, "the channel is full because the other side is slow: a longer line is served no faster (×1.0 when tried)."},
		{Batch, "channels cost next to nothing here. Batches towards the other side are another matter, and may well help."},
	}
	return found
}

// waitingOutside returns where most goroutines wait in the network, in a system
// call or asleep, those that listen for connections left out.
func (f *facts) waitingOutside() (at profile.Frame, n int) {
	g := f.capture.Goroutines
	if g == nil {
		return at, 0
	}
	for _, s := range g.Sites {
		if (s.Op == profile.IO || s.Op == profile.Sleep) && !serving(s) && s.Count() > n {
			at, n = s.At, s.Count()
		}
	}
	return at, n
}
