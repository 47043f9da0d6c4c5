package doctor

import (
	"fmt"
	"math"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// Findings about the lock of a channel.
const (
	HotChannel Kind = "hot channel"
	SharedDone Kind = "shared done channel"
)

const (
	// hotShare of the cores: below, no remedy gave more than ×1.15.
	hotShare = 0.20
	// lockBound: the part of the channels' cost that is their locks'. Hot
	// channels of 64 senders had 0.4 to 0.9, hand-over programs 0.05 to 0.2.
	lockBound = 0.30
	// mostly: an operation that all others together cannot outweigh.
	mostly = 0.50
	// slice is how many values the doctor tells to send at a time.
	slice = 64
	// elsewhereToo: outside of selects, the least part of the channels' cost there that says something.
	elsewhereToo = 0.10
	// doneWorst and doneBest are the parts of the time in locks that own done channels
	// freed selects from: 0.65 where both other ends were busy, 0.9 where they were not.
	doneWorst, doneBest = 0.60, 0.90
	// crowd is how many goroutines at least contend for a lock.
	crowd = 2
)

var lockRules = []rule{
	{
		kind: HotChannel, shares: true, look: hotChannel,
		reason: "64 senders on one channel: 98 % of CPU in it and 24 to 34 % of the Ps asleep in its lock; " +
			"bigger buffer ×0.94, batch ×3.5, shard ×3.6, one P ×1.8",
	},
	{
		kind: SharedDone, shares: true, look: sharedDone, instead: []Kind{HotChannel, HandOver, ManyCases},
		reason: "every goroutine selects on a done channel of all: its lock is taken by each select; " +
			"own done channel ×3.3, no done case ×7.8",
	},
}

// hot reports whether channels take enough to be worth a remedy.
func (f *facts) hot() bool {
	if f.avail == 0 { // then only the share of the CPU time is known
		return f.channelCPU() >= f.limit(hotShare)
	}
	return f.channelCores() >= f.limit(hotShare)
}

// lockEvidence adds what all findings on locks are from.
func (f *facts) lockEvidence(found *Finding) {
	found.says(profile.KindCPU, fmt.Sprintf("%s of CPU time is in channel operations, %s of it in their locks",
		percent(f.channel/f.cpu), percent(f.lock/max(f.channel, 1e-9))))
	if f.asleep != nil && *f.asleep >= quietLocks {
		text := fmt.Sprintf("%s of %d Ps asleep in channel locks on average (%s)", number(*f.asleep), f.procs, f.asleepFrom)
		if f.asleepDoubt != "" {
			text += "; likely fewer: " + f.asleepDoubt
		}
		found.says(profile.KindMetrics, text)
	}
}

// lockConfidence: CPU time spinning and time asleep are two witnesses, the place
// in the mutex profile a third.
func (f *facts) lockConfidence() Confidence {
	channels, _, _ := f.mutexProfile()
	switch {
	case f.asleep == nil || f.asleepDoubt != "":
		return Medium
	case channels > 0 || *f.asleep >= quietLocks && f.lock > 0:
		return High
	}
	return Medium
}

// crowded reports whether more goroutines use channels than one at either end of each:
// two that meet at a lock are handing over. What is not known is taken to be so.
func (f *facts) crowded() bool {
	known := false
	for i := range f.operations {
		o := &f.operations[i]
		if o.Weight < smallSite {
			continue
		}
		n := f.crowd(o)
		_, counted := o.count()
		known = known || counted
		if n >= crowd {
			return true
		}
	}
	return !known
}

// crowd is how many goroutines use an operation, those of the same stage that are
// elsewhere at the moment counted in; 0 if not known.
func (f *facts) crowd(o *Operation) int {
	n, _ := o.count()
	for _, s := range f.stages {
		if o.root != "" && s.root == o.root {
			n = max(n, s.n)
		}
	}
	return n
}

func hotChannel(f *facts) *Finding {
	o := f.dearest(anyOp)
	if o == nil || !f.hot() || f.locked() < lockBound || !f.crowded() {
		return nil
	}
	// The send is what there are many of, and what is to be changed.
	if s := f.dearest(sends); s != nil && s.Weight >= smallSite {
		o = s
	}
	found := &Finding{Channels: true, At: &o.Place, Share: known(f.channelCores()), Confidence: f.lockConfidence()}
	found.Text = fmt.Sprintf("One channel is where everybody meets: %s waits for its lock.", o)
	f.lockEvidence(found)
	if n, ok := o.count(); ok && n >= crowd {
		found.says(profile.KindGoroutine, fmt.Sprintf("%d goroutines are in this operation", n))
	}
	p, now := f.prices, f.load(hotWork)
	used, channels := f.engaged()
	oneP := 1 / max(used*max(1, f.avail)*(1-channels*removable(p.Contended, p.OneP)), 1.0/mostGain)
	found.Remedies = []Remedy{
		// Slices of its own cost a sender little; those that pass a mutex or a timer on the way, more.
		{Batch, "send slices of 64 values, one slice a send (sluice.Batcher collects them, and flushes after a linger)",
			f.gain(now, after(p.Contended, math.Sqrt(p.OwnSlices*p.Batched), p.Contended/slice)), byLoad},
		{Shard, "give each sender a channel, or a lane of sluice.Sharded, if no order among senders is needed",
			f.gain(now, after(p.Contended, p.Batched, p.Sharded/2)), byLoad},
		{FewerPs, "run with a lower GOMAXPROCS, if the service does little beside this channel",
			around(oneP), "measured prices on one P against those on all, with one core in place of those used"},
	}
	if oneP < worthIt {
		found.Remedies = found.Remedies[:2]
		found.Not = []Not{{FewerPs, "what the service does beside the channel needs its cores."}}
	}
	found.Not = append(found.Not, Not{Buffer, "it is not room that is waited for but the channel's lock, which every send takes whatever the " +
		"capacity: a larger buffer gave ×0.94 in a program like this."})
	return found
}

// fightsOutside reports whether the operations that are not chosen wait for locks as
// well. A done channel is in selects only: then it is the channel of values.
func (f *facts) fightsOutside(chosen func(*Operation) bool) bool {
	lock, spent := 0.0, 0.0
	for i := range f.operations {
		if o := &f.operations[i]; !chosen(o) {
			lock, spent = lock+value(o.Lock)+value(o.Asleep), spent+o.cost()
		}
	}
	return spent > 0 && lock >= lockBound*spent && 1-f.weight(chosen) >= elsewhereToo
}

func sharedDone(f *facts) *Finding {
	isSelect := isOp(profile.Select)
	o := f.dearest(isSelect)
	if o == nil || !f.hot() || f.weight(isSelect) < mostly || f.locked() < lockBound {
		return nil
	}
	if f.fightsOutside(isSelect) {
		return nil
	}
	goroutines, counted := 0, false
	for i := range f.operations {
		if isSelect(&f.operations[i]) {
			n, ok := f.operations[i].count()
			goroutines, counted = goroutines+n, counted || ok
		}
	}
	if counted && goroutines < crowd || value(f.asleep) < quietLocks && !counted {
		return nil // a lone select locks every case, and waits for none
	}
	found := &Finding{Channels: true, At: &o.Place, Share: known(f.channelCores()), Confidence: Medium}
	found.Text = fmt.Sprintf("Many goroutines select on one channel that they share, likely done or ctx.Done(): "+
		"each %s takes its lock.", o)
	f.lockEvidence(found)
	if counted {
		found.says(profile.KindGoroutine, fmt.Sprintf("%d goroutines are in selects", goroutines))
	}
	// A select still locks its own channels, for which two goroutines may meet.
	locked := f.locked()
	keep := stay{worst: 1 - locked*doneWorst, best: 1 - locked*doneBest}
	found.Remedies = []Remedy{
		{OwnDone, "give each goroutine a done channel or a context of its own, or none: close the channel of values, or look at done once in many values",
			f.gain(f.load(coldWork), keep), byLoad + "; more if there is no done case at all"},
	}
	found.Not = []Not{
		{Buffer, "the selects do not wait for room: they take the lock of the shared channel whether anything is ready or not."},
		{Shard, "more channels of values leave the done channel, which all selects still lock."},
	}
	return found
}
