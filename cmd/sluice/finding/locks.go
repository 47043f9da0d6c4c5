package finding

import (
	"fmt"

	"github.com/sluice-go/sluice/cmd/sluice/profile"
)

// Findings about the lock of a channel.
const (
	HotChannel Kind = "hot channel"
	SharedDone Kind = "shared done channel"
	UsedAsLock Kind = "channel used as a lock"
)

const (
	// hotShare of the cores: below, no remedy gave more than ×1.15.
	hotShare = 0.20
	// lockBound: the part of the channels' cost that is their locks'. Hot
	// channels of 64 senders had 0.4 to 0.9, hand-over programs 0.05 to 0.2.
	lockBound = 0.30
	// mostly: an operation that all others together cannot outweigh.
	mostly = 0.50
	// bestCase: how much more than the price a remedy of a hot channel gave at
	// most. Prices are of a channel that is busy, not of one that is fought for.
	bestCase = 1.6
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
	{
		kind: UsedAsLock, shares: true, look: usedAsLock, instead: []Kind{HotChannel, HandOver, SharedDone},
		reason: "the same function sends and receives, and waits at one of them only: sync.Mutex ×1.54",
	},
}

// hot reports whether channels take enough to be worth a remedy.
func (f *facts) hot() bool {
	if f.avail == 0 { // then only the share of the CPU time is known
		return f.channelCPU() >= hotShare
	}
	return f.channelCores() >= hotShare
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

func hotChannel(f *facts) *Finding {
	o := f.dearest(anyOp)
	if o == nil || !f.hot() || f.locked() < lockBound {
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
	if lone, ok := o.count(); ok && lone < crowd {
		found.Confidence = Low
	}
	p := f.prices
	used, channels := f.engaged()
	oneP := 1 / max(used*max(1, f.avail)*(1-channels*removable(p.Contended, p.OneP)), 1.0/mostGain)
	found.Remedies = []Remedy{
		{Batch, "send slices of 64 values, one slice a send (sluice.Batcher collects them, and flushes after a linger)",
			between(f.saving(p.Contended, p.Batched), f.saving(p.Contended, p.OwnSlices), bestCase*f.saving(p.Contended, p.OwnSlices)),
			byPrices + ": from slices that all senders share to slices of their own"},
		{Shard, "give each sender a channel, or a lane of sluice.Sharded, if no order among senders is needed",
			between(f.saving(p.Contended, p.Batched), f.saving(p.Contended, p.Sharded), bestCase*f.saving(p.Contended, p.Sharded)), byPrices},
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

func sharedDone(f *facts) *Finding {
	isSelect := isOp(profile.Select)
	o := f.dearest(isSelect)
	if o == nil || !f.hot() || f.weight(isSelect) < mostly || f.locked() < lockBound {
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
	// The lock of the shared channel is all of what is locked but the share that
	// the select's own channels would have alone.
	part := f.locked() * f.weight(isSelect)
	used, channels := f.engaged()
	mid := bounded(used, channels*part/max(f.weight(isSelect), mostly), 0.9)
	found.Remedies = []Remedy{
		{OwnDone, "give each goroutine a done channel or a context of its own, or none: close the channel of values, or look at done once in many values",
			between(mid*gainBelow, mid, mid*2.5), byBound + "; the most is for no done case at all"},
	}
	found.Not = []Not{
		{Buffer, "the selects do not wait for room: they take the lock of the shared channel whether anything is ready or not."},
		{Shard, "more channels of values leave the done channel, which all selects still lock."},
	}
	return found
}

// usedAsLock looks for operations on both sides in one function: a lock's waiters
// wait at one of them only, at the other nobody ever does. A stage of a pipeline
// waits at both.
func usedAsLock(f *facts) *Finding {
	s, r := f.dearest(sends), f.dearest(receives)
	if s == nil || r == nil || !f.hot() || !sameFunction(s, r) || f.weight(isOneOf(s, r)) < mostly {
		return nil
	}
	taking, giving := s, r // sem <- x to lock
	if waits(r) > waits(s) {
		taking, giving = r, s // <-token to lock
	}
	if waits(taking) == 0 || waits(giving)*10 > waits(taking) {
		return nil
	}
	found := &Finding{Channels: true, At: &taking.Place, Share: known(f.channelCores()), Confidence: Medium}
	found.Text = fmt.Sprintf("A channel is used as a lock: %s takes it, and the same function gives it back at line %d.",
		taking, giving.Line)
	f.lockEvidence(found)
	found.says(profile.KindGoroutine, fmt.Sprintf("goroutines wait at the %s only, never at the %s", taking.Op, giving.Op))
	// Who waits for a channel always parks and is handed it; who waits for a mutex
	// tries a few times first, and may take it in passing.
	mid := f.saving(f.prices.HandOver, f.prices.Mutex)
	found.Remedies = []Remedy{{Mutex, "use a sync.Mutex, if the channel has one slot and no select is on it",
		between(mid*0.5, mid, mid*gainAbove), byPrices + "; ×1.54 and ×3.6 in programs like this"}}
	found.Not = []Not{
		{Buffer, "slots are how many may be inside at once: more of them are another program."},
		{Batch, "no values move: there is nothing to collect."},
	}
	return found
}

func sameFunction(a, b *Operation) bool {
	if a.site.At.Function == b.site.At.Function {
		return true
	}
	// Lock and Unlock, methods of a type that wraps the channel, on behalf of one caller.
	return a.site.Caller.Function != "" && a.site.Caller.Function == b.site.Caller.Function &&
		a.site.At.Package() == b.site.At.Package()
}

func isOneOf(all ...*Operation) func(*Operation) bool {
	return func(o *Operation) bool {
		for _, one := range all {
			if one == o {
				return true
			}
		}
		return false
	}
}

// waits is how much is waited at an operation: parks, else goroutines.
func waits(o *Operation) int64 {
	if o.Parks != nil {
		return *o.Parks
	}
	return int64(deref(o.Waiting))
}
