package doctor

import (
	"fmt"
	"math"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// Findings about lock contention on channels.
const (
	LockContention Kind = "lock contention"
	SharedDone     Kind = "shared done channel"
)

const (
	// hotShare is the share of the cores below which no remedy gave more than
	// ×1.15.
	hotShare = 0.20
	// lockBound is the lock's part of the channels' cost. Contended channels
	// with 64 senders had 0.4 to 0.9, programs bound by transfer cost 0.05 to
	// 0.2.
	lockBound = 0.30
	// mostly is the weight that all other operations together cannot exceed.
	mostly = 0.50
	// slice is the batch size that the doctor recommends.
	slice = 64
	// elsewhereToo is the smallest part of the channels' cost outside selects
	// that counts as evidence.
	elsewhereToo = 0.10
	// doneWorst and doneBest are the parts of the lock time that separate done
	// channels removed: 0.65 with both other ends busy, 0.9 otherwise.
	doneWorst, doneBest = 0.60, 0.90
	// crowd is the smallest number of goroutines that contend for a lock.
	crowd = 2
)

var lockRules = []rule{
	{
		kind: LockContention, shares: true, look: lockContention,
		reason: "64 senders on one channel: 98% of CPU time in it and 24 to 34% of the Ps asleep in its lock; " +
			"larger buffer ×0.94, batch ×3.5, shard ×3.6, one P ×1.8",
	},
	{
		kind: SharedDone, shares: true, look: sharedDone, instead: []Kind{LockContention, TransferCost, LargeSelect},
		reason: "every goroutine selects on one done channel, and each select takes its lock: separate done " +
			"channel ×3.3, no done case ×7.8",
	},
}

// hot reports whether channels cost enough for a remedy to pay.
func (f *facts) hot() bool {
	if f.avail == 0 { // then only the share of CPU time is known
		return f.channelCPU() >= f.limit(hotShare)
	}
	return f.channelCores() >= f.limit(hotShare)
}

// lockEvidence adds the evidence that all findings about locks share.
func (f *facts) lockEvidence(found *Finding) {
	found.addEvidence(profile.KindCPU, fmt.Sprintf("%s of CPU time is in channel operations, %s of all CPU time in their locks",
		format.Percent(f.channel/f.cpu), format.Percent(f.lock/f.cpu)))
	if f.asleep != nil && *f.asleep >= quietLocks {
		text := fmt.Sprintf("%s of %d threads (GOMAXPROCS) are blocked on channel locks on average (%s)", format.Number(*f.asleep), f.procs, f.asleepFrom)
		if f.asleepDoubt != "" {
			text += "; probably fewer: " + f.asleepDoubt
		}
		found.addEvidence(profile.KindMetrics, text)
	}
}

// lockConfidence rates a finding about a lock: CPU time spinning and time
// asleep are independent evidence, as is a site in the mutex profile.
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

// crowded reports whether any operation has more goroutines than the two of a
// hand-off. Unknown counts as yes.
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

// crowd returns the number of goroutines that use an operation, including
// goroutines of the same stage that are elsewhere at the moment; 0 if unknown.
func (f *facts) crowd(o *Operation) int {
	n, _ := o.count()
	for _, s := range f.stages {
		if o.root != "" && s.root == o.root {
			n = max(n, s.n)
		}
	}
	return n
}

func lockContention(f *facts) *Finding {
	o := f.costliest(anyOp)
	if o == nil || !f.hot() || f.locked() < lockBound || !f.crowded() || f.inPassing() {
		return nil
	}
	// There are many senders, and they are what a remedy changes.
	if s := f.costliest(sends); s != nil && s.Weight >= smallSite {
		o = s
	} else if s := f.costliest(f.severalSelect); s != nil && f.oneReceives(isOp(profile.Select)) {
		o = s
	}
	if f.light && polls(o) {
		return nil // it waits for no lock, and the cores are idle
	}
	found := &Finding{Channels: true, At: &o.Place, Share: known(f.channelCores()), Confidence: f.lockConfidence()}
	found.Text = fmt.Sprintf("Lock contention on one channel: %s waits for the channel's lock.", o)
	f.lockEvidence(found)
	if n, ok := o.count(); ok && n >= crowd {
		found.addEvidence(profile.KindGoroutine, fmt.Sprintf("%d goroutines are in this operation", n))
	}
	p, now := f.prices, f.load(hotWork)
	used, channels := f.engaged()
	oneP := 1 / max(used*max(1, f.avail)*(1-channels*removable(p.Contended, p.OneP)), 1.0/mostGain)
	found.Remedies = []Remedy{
		// Filling its own slices costs a sender little; a mutex or timer on the
		// way costs more.
		{Batch, "send slices of 64 values: batch.NewSender collects them, and flushes after a linger (the longest a value waits for its batch)",
			f.contendedBatch(), byLoad},
		{Shard, "give each sender its own channel, or use sluice.Sharded, if order between senders does not matter",
			f.gain(now, after(p.Contended, p.Batched, p.Sharded/2)), byLoad},
		{LowerGOMAXPROCS, "run with a lower GOMAXPROCS, if the service does little besides this channel",
			around(oneP), "the measured prices on one P and on all Ps, with one core instead of those in use"},
	}
	if oneP < worthIt {
		found.Remedies = found.Remedies[:2]
		found.RuledOut = []RuledOut{{LowerGOMAXPROCS, "the rest of the service needs its cores."}}
	}
	found.RuledOut = append(found.RuledOut, RuledOut{Buffer, "senders wait for the channel's lock, not for room, and every send takes the lock. A larger " +
		"buffer gave ×0.94 in a similar program."})
	return found
}

// contendedBatch returns the throughput with slices instead of a contended
// channel.
func (f *facts) contendedBatch() Range {
	p := f.prices
	return f.gain(f.load(hotWork), after(p.Contended, math.Sqrt(p.OwnSlices*p.Batched), p.Contended/slice))
}

// contendedOutside reports whether the other operations wait for locks too. A
// done channel is used in selects only, so then the contended channel is the
// one that carries values.
func (f *facts) contendedOutside(chosen func(*Operation) bool) bool {
	lock, spent := 0.0, 0.0
	for i := range f.operations {
		if o := &f.operations[i]; !chosen(o) {
			lock, spent = lock+value(o.Lock)+value(o.Asleep), spent+o.cost()
		}
	}
	return spent > 0 && lock >= lockBound*spent && 1-f.weight(chosen) >= elsewhereToo
}

// oneReceives reports whether several goroutines select at one end and a single
// goroutine at the other: then all of them meet at the channel of values, whose
// lock is contended as much as that of a done channel. Slices of values save both.
// Four senders and one receiver with a shared context: batch ×7.5, separate
// contexts ×0.85.
func (f *facts) oneReceives(chosen func(*Operation) bool) bool {
	alone, many := 0, 0
	for i := range f.operations {
		o := &f.operations[i]
		if !chosen(o) || o.Weight < smallSite {
			continue
		}
		switch n, counted := f.users(o); {
		case !counted || n == 0:
			return false // unknown
		case n == 1:
			alone++
		default:
			many++
		}
	}
	return alone == 1 && many > 0
}

// soloSelects reports whether one goroutine runs each select: then the two ends
// of the channel of values contend for its lock as much as for that of a done
// channel, and slices of values save both. A filter with one goroutine at each
// end gained ×2.6 with slices.
func (f *facts) soloSelects() bool {
	solo := false
	for i := range f.operations {
		o := &f.operations[i]
		if o.Op != profile.Select || o.Weight < smallSite {
			continue
		}
		if n, counted := f.users(o); !counted || n != 1 {
			return false
		}
		solo = true
	}
	return solo
}

// severalSelect reports whether several goroutines run a select.
func (f *facts) severalSelect(o *Operation) bool {
	n, counted := f.users(o)
	return o.Op == profile.Select && counted && n > 1 && o.Weight >= smallSite
}

func sharedDone(f *facts) *Finding {
	isSelect := isOp(profile.Select)
	o := f.costliest(isSelect)
	if o == nil || !f.hot() || f.weight(isSelect) < mostly || f.locked() < lockBound {
		return nil
	}
	if f.contendedOutside(isSelect) || f.oneReceives(isSelect) || f.soloSelects() {
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
		return nil // a single select locks every case without contention
	}
	found := &Finding{Channels: true, At: &o.Place, Share: known(f.channelCores()), Confidence: Medium}
	found.Text = fmt.Sprintf("Many goroutines select on one shared channel, probably done or ctx.Done(): each %s takes the channel's lock.", o)
	f.lockEvidence(found)
	if counted {
		found.addEvidence(profile.KindGoroutine, fmt.Sprintf("%d goroutines are in selects", goroutines))
	}
	// A select still locks its other channels, which two goroutines share.
	locked := f.locked()
	keep := stay{worst: 1 - locked*doneWorst, best: 1 - locked*doneBest}
	found.Remedies = []Remedy{
		{SeparateDone, "give each goroutine its own done channel or context, or none: close the channel of values " +
			"instead, or check done once per several values",
			f.gain(f.load(coldWork), keep), byLoad + "; more without a done case"},
	}
	found.RuledOut = []RuledOut{
		{Buffer, "the selects do not wait for room: each takes the lock of the shared channel, ready or not."},
		{Shard, "more channels of values do not remove the done channel, which all selects lock."},
	}
	return found
}
