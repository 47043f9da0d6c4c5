package doctor

import (
	"fmt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// Findings about what it costs to hand a value over.
const (
	HandOver  Kind = "hand-over"
	TinyJobs  Kind = "tiny jobs"
	TakeTurns Kind = "both ends park"
	OneValue  Kind = "channel for each value"
)

const (
	// handOverShare of CPU time, parks included. Pools of 1 µs jobs had 0.5 to
	// 0.7, of 100 µs 0.03 to 0.08: their best remedy gave ×1.07.
	handOverShare = 0.15
	// idleCores is the part of the cores that must idle for parking to be what
	// holds back a service that spends little on channels.
	idleCores = 0.15
	// turnsShare of CPU time in channels, parks included: with less, cores idle for
	// another reason. Stages that took turns had 0.08 and 0.10.
	turnsShare = 0.03
	// busyWakeups a second, for each core there is: fewer do not idle it.
	busyWakeups = 2_000
	// parks is the part of the channels' cost in parking and waking from which on more
	// slots help.
	parks = 0.15
	// madeAnew is the part of the channels' cost in making them from which on they are made
	// for each value: 0.3 was measured then, and nothing where they stay.
	madeAnew = 0.05
	// madeHere is the part of the channels' cost at an operation of the function that
	// makes them.
	madeHere = 0.10
	// bothEnds: prices are of the time between two values, while both ends work.
	bothEnds = 2
	// rarely: of so many waits at one end, one at the other is by chance.
	rarely = 20
	// poolOf is how many goroutines that do the same are a pool.
	poolOf = 3
)

var handOverRules = []rule{
	{
		kind: HandOver, shares: true, look: handOver,
		reason: "unbuffered pipeline: 27 % of CPU after parks, buffer ×2.9; ping-pong 34 %",
	},
	{
		kind: TinyJobs, shares: true, look: tinyJobs, instead: []Kind{HandOver, HotChannel},
		reason: "pool of 1 µs jobs: buffer ×2.1, batch ×2.3; of 100 µs jobs ×1.07, which is not found",
	},
	{
		kind: OneValue, shares: true, look: oneValue, instead: []Kind{HandOver, TinyJobs},
		reason: "a channel and a goroutine for each call: 0, 1 or 128 slots ×1.0, the call itself ×2.1 and ×5.5",
	},
	{
		kind: TakeTurns, shares: true, look: takeTurns, instead: []Kind{PlainCPU},
		reason: "channel and scheduler only 8 % of CPU, but 30 % of the cores idle with both ends parking: buffer ×1.48",
	},
}

// handsOver reports whether channels cost much and it is not by their locks.
func (f *facts) handsOver() bool {
	return f.channelCPU() >= f.limit(handOverShare) && (f.locked() < lockBound || !f.crowded()) && f.weight(handsNothing) < mostly
}

func handsNothing(o *Operation) bool { return polls(o) || o.Op == profile.Close }

// senders is how many goroutines are known to be in sends that cost anything.
func (f *facts) senders() int {
	sum := 0
	for i := range f.operations {
		if o := &f.operations[i]; sends(o) && o.Weight >= smallSite {
			n, _ := o.count()
			sum += n
		}
	}
	return sum
}

func handOver(f *facts) *Finding {
	o := f.dearest(anyOp)
	if o == nil || !f.handsOver() {
		return nil
	}
	found := f.handOverFinding(o)
	found.Text = fmt.Sprintf("Handing values over costs more than it need: the dearest is %s.", o)
	now := f.load(coldWork)
	f.handOverRemedies(found)
	found.Remedies = append(found.Remedies,
		Remedy{Fuse, "let one goroutine do what two stages do, where their work is short", now.fused(f.avail),
			"what is left of the work, on one core at least and on all at most"})
	found.Not = append(found.Not, Not{Shard, "the channel's lock is hardly waited for: more channels would each cost as much."})
	return found
}

// tinyJobs is a hand-over with a pool at one end.
func tinyJobs(f *facts) *Finding {
	if f.channelCPU() < f.limit(handOverShare) || f.weight(polls) >= mostly || f.senders() >= crowd {
		return nil
	}
	var pool *Operation
	for i := range f.operations {
		o := &f.operations[i]
		if n, _ := o.count(); receives(o) && n >= poolOf && (pool == nil || o.Weight > pool.Weight) {
			pool = o
		}
	}
	if pool == nil || pool.Weight < smallSite && waits(pool) == 0 {
		return nil
	}
	n, _ := pool.count()
	found := f.handOverFinding(pool)
	found.Text = fmt.Sprintf("The jobs are too small for what it costs to hand them to a pool: %s, in %d goroutines.", pool, n)
	found.says(profile.KindGoroutine, fmt.Sprintf("%d goroutines receive at this line", n))
	f.handOverRemedies(found)
	found.Not = append(found.Not,
		Not{MoreReceivers, "the pool's goroutines wait for jobs already: more of them only wait in a longer line."},
		Not{Shard, "the channel's lock is hardly waited for: it is handing over that costs."})
	return found
}

// oneValue is a hand-over by a channel that is made for it: a future, or the answer to
// one question. Slots and batches are for channels that carry many values.
func oneValue(f *facts) *Finding {
	if !f.handsOver() {
		return nil
	}
	for _, u := range f.capture.CPU.Users {
		made := u.Makes.Seconds()
		if made == 0 || made < madeAnew*(f.channel+f.parked) {
			continue
		}
		o := f.dearest(func(o *Operation) bool { return o.site.At.Function == u.Function })
		if o == nil || o.Weight < madeHere {
			continue
		}
		found := f.handOverFinding(o)
		found.Text = fmt.Sprintf("A channel is made for each value that it hands over: %s.", o)
		found.says(profile.KindCPU, fmt.Sprintf("%s of CPU time goes into making channels in this function", percent(made/f.cpu)))
		found.Remedies = []Remedy{{Fuse, "call what fills the channel, where nothing else is done meanwhile; or ask for several values at a time",
			f.gain(f.called(made), stay{ownCost, 0}), byLoad}}
		const once = "the channel carries one value and is thrown away: of 0, 1 or 128 slots all were as fast."
		found.Not = []Not{{Buffer, once}, {Shard, "each hand-over has a channel of its own already."}}
		return found
	}
	return nil
}

// called is the load of which a call would take away, beside the channels' cost, the CPU
// seconds of making them, and at best the goroutines that are started for them.
func (f *facts) called(made float64) load {
	l := f.load(coldWork)
	l.gone = min(l.own, l.gone+f.loadUnit()*(made/f.cpu+f.share(profile.Scheduling)))
	return l
}

func (f *facts) handOverFinding(o *Operation) *Finding {
	found := &Finding{Channels: true, At: &o.Place, Share: known(max(f.channelCores(), f.channelCPU()*f.used())), Confidence: Medium}
	found.says(profile.KindCPU, fmt.Sprintf("%s of CPU time is in channel operations, and %s in the scheduler after they parked",
		percent(f.channel/f.cpu), percent(f.parked/f.cpu)))
	if f.wakeups != nil {
		cores := *f.wakeups * f.prices.Wakeup * 1e-9
		found.says(profile.KindMetrics, fmt.Sprintf("%s wake-ups a second: at %s each that is %s cores",
			count(*f.wakeups), duration(f.prices.Wakeup*1e-9), number(cores)))
		if f.cores > 0 && cores >= handOverShare/2*f.cores {
			found.Confidence = High
		}
	}
	return found
}

// parking is the part of the channels' cost that parking and waking is. Channels that
// were hardly ever empty or full had 0.05 of it and less, those without slots 0.3 to 0.7.
func (f *facts) parking() float64 {
	woken := 0.0
	for i := range f.operations {
		woken += f.operations[i].wake
	}
	if f.channel+f.parked == 0 {
		return 0
	}
	return (f.parked + woken) / (f.channel + f.parked)
}

// handOverRemedies adds remedies for the price that is paid: that of a hand-over, or
// that of a channel which has slots already.
func (f *facts) handOverRemedies(found *Finding) {
	p, now := f.prices, f.load(coldWork)
	// Selects of both ends look at two cases each, as of a channel and a context.
	looking := 4 * p.Case * f.weight(isOp(profile.Select))
	price, buffered := p.HandOver+looking, p.Buffered+looking
	if f.parking() < parks {
		price = buffered
		found.Not = append(found.Not, Not{Buffer, "hardly anybody parks: the channel has room, and it is the passing itself that costs."})
	} else {
		found.Remedies = append(found.Remedies, Remedy{Buffer, "give the channel slots, 128 or so, if it has none or few",
			f.gain(now, after(price, buffered, buffered)), byLoad})
	}
	found.Remedies = append(found.Remedies, Remedy{Batch, "send slices of values (sluice.Batcher, sluice.Batches; sluice.Workers sizes its own)",
		f.gain(now, after(price, p.Batched, bothEnds*p.OwnSlices)), byLoad})
}

// switching is the share of CPU time that goes where nothing is handed over any
// more: channels, and the scheduler as far as it works for them.
func (f *facts) switching() float64 {
	share := f.channelCPU()
	if all := f.capture.CPU.By[profile.AfterPark].Seconds(); all > 0 {
		// What readParks held back as too much for channels, and what the scheduler
		// does beside, is theirs as far as the parks are.
		rest := f.share(profile.AfterPark, profile.Scheduling) - f.parked/f.cpu
		share += rest * min(1, f.parked/all*1.5)
	}
	return min(share, 1)
}

// takeTurns is for programs whose channels cost little CPU time, and yet keep the
// cores from working: each end waits for the other in turn.
func takeTurns(f *facts) *Finding {
	if f.avail == 0 || f.channelCPU() >= handOverShare || f.channelCPU() < turnsShare ||
		f.share(profile.Collecting, profile.Allocating) >= collectorShare || f.used() > 1-idleCores || f.wakeups == nil ||
		*f.wakeups < busyWakeups*f.avail {
		return nil
	}
	from, to := f.bothPark()
	if from == nil || to == nil || from.Parks != nil && to.Parks != nil && oneSided(*from.Parks, *to.Parks) {
		return nil
	}
	found := &Finding{Channels: true, At: &from.Place, Share: known(1 - f.used()), Confidence: Medium}
	found.Text = fmt.Sprintf("Both ends wait for each other in turn, and cores idle meanwhile: %s and %s.", from, to)
	found.says(profile.KindCPU, fmt.Sprintf("%s of %s cores in use; channels and the scheduler after them take only %s of that",
		number(f.cores), number(f.avail), percent(f.channelCPU())))
	found.says(profile.KindMetrics, fmt.Sprintf("%s wake-ups a second", count(*f.wakeups)))
	if from.Parks == nil {
		found.Confidence = Low // one look at where goroutines wait is no count of how often
		found.decides(f, "whether both ends wait for each other, or one of them only")
	}
	p := f.prices
	found.Remedies = []Remedy{{Buffer, "give the channel slots, so that each end can work while the other one does",
		f.gain(f.load(coldWork), after(p.HandOver, p.Buffered, p.Buffered)), byLoad}}
	found.Not = []Not{
		{Shard, "nobody waits for the channel's lock."},
		{FewerPs, "the cores are not contended: they idle."},
	}
	return found
}

// oneSided reports whether one end hardly ever waits: then it is slow, and they do
// not take turns.
func oneSided(a, b int64) bool { return min(a, b)*rarely < max(a, b) }

// bothPark returns the send and the receive where most is waited, nil where
// nobody waits.
func (f *facts) bothPark() (from, to *Operation) {
	for i := range f.operations {
		o := &f.operations[i]
		parked := waits(o) > 0 || o.wake > 0 && o.Parks == nil
		switch {
		case !parked || o.Weight == 0:
		case sends(o) && (from == nil || waits(o) > waits(from)):
			from = o
		case receives(o) && (to == nil || waits(o) > waits(to)):
			to = o
		}
	}
	return from, to
}
