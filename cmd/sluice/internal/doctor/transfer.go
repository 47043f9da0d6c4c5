package doctor

import (
	"fmt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// Findings about the cost of passing values between goroutines.
const (
	TransferCost    Kind = "transfer cost"
	TinyJobs        Kind = "tiny jobs"
	ChannelPerValue Kind = "channel per value"
)

const (
	// transferShare is a share of CPU time, parks included. Pools of 1 µs jobs
	// had 0.5 to 0.7; pools of 100 µs jobs 0.03 to 0.08, where the best remedy
	// gave ×1.07.
	transferShare = 0.15
	// idleCores is the part of the cores that must be idle before parking
	// counts as the bottleneck of a service that spends little on channels.
	idleCores = 0.15
	// busyWakeups is the rate of wake-ups per second and core below which they
	// cannot idle it.
	busyWakeups = 2_000
	// parks is the part of the channels' cost in parking and waking above which
	// more slots help.
	parks = 0.15
	// madeAnew is the part of the channels' cost in creating channels above
	// which there is one per value: 0.03 to 0.3 were measured then, the less the more the
	// service waited for cores, and 0 for long-lived channels.
	madeAnew = 0.025
	// madeHere is the smallest part of the channels' cost at an operation of
	// the function that creates them.
	madeHere = 0.10
	// passingShare is the share of CPU time in channels, passingParks the part of
	// it in parking and waking, and passingOwn the share of the program's own
	// work, collection included, up to or from which slices of values pay as
	// little as they save: an exporter of metrics with 0.22, 0.19 and 0.7 had
	// ×0.93 with slices, a store of metrics with 0.3, 0.1 to 0.2 and 0.6 had
	// ×1.06 with locks; 0.41 of the CPU time in channels gave ×1.69.
	passingShare, passingParks, passingOwn = 0.35, 0.24, 0.50
	// passingUsed is the smallest part of the cores in use then.
	passingUsed = 0.60
	// bothEnds converts a price, which is the time between two values while
	// both ends work.
	bothEnds = 2
	// sliceGarbage is the price of allocating and collecting the slices of a
	// batch, in nanoseconds per value, if the values are not small: reusing the
	// slices of 256-byte values gave ×3 over new ones.
	sliceGarbage = 15
	// bufferedWorst is the price of a channel with slots whose ends still wait at
	// times, as a factor.
	bufferedWorst = 1.2
	// poolPart is the smallest cost of a pool's receive, as a part of the costliest
	// operation, unless that one sends to it: a relay had a pool of 0.2 behind
	// the channel that cost most.
	poolPart = 0.5
	// poolOf is the smallest number of identical goroutines that form a pool.
	poolOf = 3
)

var transferRules = []rule{
	{
		kind: TransferCost, shares: true, look: transferCost,
		reason: "unbuffered pipeline: 27% of CPU time after parks, buffer ×2.9; ping-pong 34%",
	},
	{
		kind: TinyJobs, shares: true, look: tinyJobs, instead: []Kind{TransferCost, LockContention},
		reason: "pool of 1 µs jobs: buffer ×2.1, batch ×2.3; the ×1.07 of 100 µs jobs is not reported",
	},
	{
		kind: ChannelPerValue, shares: true, look: channelPerValue, instead: []Kind{TransferCost, TinyJobs},
		reason: "a channel and a goroutine per call: 0, 1 or 128 slots ×1.0, a direct call ×2.1 and ×5.5",
	},
}

// transfersCost reports whether channels cost much for another reason than
// their locks.
func (f *facts) transfersCost() bool {
	return !f.inPassing() && !f.outweighed() && !f.overWire() && f.channelCPU() >= f.limit(transferShare) && (f.locked() < lockBound || !f.crowded() || !f.hot()) && f.weight(transfersNothing) < mostly
}

// inPassing reports whether goroutines pass values in passing: they compute most
// of the time, on all cores that the service gets, and hardly ever wait for each
// other. A value in a slice is copied and read from memory once more, which costs
// as much then.
func (f *facts) inPassing() bool {
	return f.capture.Goroutines != nil && f.weight(transfersNothing) < mostly && // who waits is known, and values are passed
		f.channelCPU() >= f.limit(transferShare) && f.channelCPU() < passingShare && f.parking() < passingParks &&
		f.ownShare() >= passingOwn && f.cores >= passingUsed*f.reachable()
}

// outweighed reports whether a stage writes each value with a system call, which
// costs more than channels: with fewer calls there are fewer wake-ups as well.
func (f *facts) outweighed() bool {
	w := f.writer()
	return w != nil && (w.full || f.channelCPU() < passingShare && w.system >= f.channelCPU()*f.cpu)
}

// ownShare returns the share of CPU time in the program's own code and in the
// memory that it allocates.
func (f *facts) ownShare() float64 {
	return f.share(profile.UserCode, profile.Collecting, profile.Allocating)
}

func transfersNothing(o *Operation) bool { return polls(o) || o.Op == profile.Close }

// senders returns the number of goroutines known to be in sends with a cost.
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

func transferCost(f *facts) *Finding {
	o := f.costliest(anyOp)
	if o == nil || !f.transfersCost() || f.answersOnly() {
		return nil
	}
	found := f.transferFinding(o)
	found.Text = fmt.Sprintf("The cost is in passing values one by one. The most expensive operation is %s.", o)
	now := f.load(coldWork)
	f.transferRemedies(found)
	fused := now.fusedGain(f.avail)
	if f.light {
		fused = f.gain(now, stay{0, 0})
	}
	if f.chain() {
		fused = first(fused, found.Remedies)
	}
	found.Remedies = append(found.Remedies,
		Remedy{Fuse, "let one goroutine do the work of both stages, if it is short", fused,
			"the remaining work, on one core or on all cores"})
	found.RuledOut = append(found.RuledOut, RuledOut{Shard, "the channel's lock is hardly contended: several channels would each cost as much."})
	return found
}

// tinyJobs detects transfer cost with a pool at one end.
// onlyFeeds reports whether one operation alone may send what another receives.
func (f *facts) onlyFeeds(from, to *Operation) bool {
	_, other := f.otherEnds(to)
	return sends(from) && len(other) == 1 && other[0] == from
}

func tinyJobs(f *facts) *Finding {
	if f.channelCPU() < f.limit(transferShare) || f.weight(polls) >= mostly || f.senders() >= crowd || f.overWire() {
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
	if most := f.costliest(anyOp); most != nil && pool.Weight < poolPart*most.Weight && !f.onlyFeeds(most, pool) {
		return nil // the cost is elsewhere
	}
	n, _ := pool.count()
	found := f.transferFinding(pool)
	found.Text = fmt.Sprintf("Jobs are too small for the cost of passing them to a pool: %s, in %d goroutines.", pool, n)
	found.addEvidence(profile.KindGoroutine, fmt.Sprintf("%d goroutines receive at this line", n))
	f.transferRemedies(found)
	found.RuledOut = append(found.RuledOut,
		RuledOut{MoreReceivers, "the pool's goroutines already wait for jobs: more of them only lengthen the wait queue."},
		RuledOut{Shard, "the channel's lock is hardly contended: the cost is in the transfer."})
	return found
}

// channelPerValue detects channels that are created for a single value: a
// future, or the response to one request. Slots and batches only help channels
// that carry many values.
func channelPerValue(f *facts) *Finding {
	if !f.transfersCost() {
		return nil
	}
	for _, u := range f.capture.CPU.Users {
		made := u.Makes.Seconds()
		if made == 0 || made < madeAnew*(f.channel+f.parked) {
			continue
		}
		o := f.costliest(func(o *Operation) bool { return o.site.At.Function == u.Function })
		if o == nil || o.Weight < madeHere {
			continue
		}
		found := f.transferFinding(o)
		found.maker = u.Function
		found.Text = fmt.Sprintf("A channel is created for each value: %s.", f.requests(o))
		if sends(o) {
			found.Text = fmt.Sprintf("A channel is created for each value, for the answer to the %s.", f.requests(o))
		}
		found.addEvidence(profile.KindCPU, fmt.Sprintf("%s of CPU time is spent creating channels in this function", format.Percent(made/f.cpu)))
		f.perValueRemedies(found, made)
		const once = "the channel carries one value and is discarded: 0, 1 and 128 slots were equally fast."
		found.RuledOut = []RuledOut{{Buffer, once}, {Shard, "each transfer already has its own channel."}}
		return found
	}
	return nil
}

// requests lists the sends of a function that creates channels, o first, which cost most: each may
// be a request with a channel for its response.
func (f *facts) requests(o *Operation) string {
	list := []string{o.String()}
	for i := range f.operations {
		if x := &f.operations[i]; x != o && sends(x) && x.site.At.Function == o.site.At.Function && x.Weight >= madeHere {
			list = append(list, x.String())
		}
	}
	return format.And(list)
}

// severalMid and severalHigh are what requests of several values gain beyond a direct call,
// which has a mutex: ×1.6 and ×2.0 were measured.
const severalMid, severalHigh = 1.6, 2.0

// perValueRemedies adds a direct call, which one goroutine makes after the other,
// or slices, if goroutines work ahead of the one that receives.
func (f *facts) perValueRemedies(found *Finding, made float64) {
	slices := f.gain(f.called(made), stay{ownCost, 1.0 / slice})
	if f.worksAhead(found) {
		found.Remedies = []Remedy{{Batch, "let each goroutine work on a slice of values, and its channel carry the slice of results", slices, byLoad}}
		return
	}
	several := between(slices.Low, slices.Mid*severalMid, slices.High*severalHigh)
	found.Remedies = []Remedy{
		{Fuse, "instead of a request and its response, call the function that computes the response, with a mutex for what its goroutine owns", f.gain(f.called(made), stay{ownCost, 0}), byLoad},
		{Batch, "where several values are ready, request all of them at once: a slice of values, and one of results (two services gained ×4 and ×4.9, where the call gave ×2.5 and ×2.4 and its mutex was the next limit)", several, byLoad},
	}
}

// called returns the load in which a direct call also saves the CPU seconds of
// creating channels and, at best, the goroutines started for them.
func (f *facts) called(made float64) load {
	l := f.load(coldWork)
	starts := f.loadUnit() * (made/f.cpu + f.share(profile.Scheduling))
	l.gone, l.sched = min(l.own, l.gone+starts), min(l.own, l.sched+starts)
	return l
}

func (f *facts) transferFinding(o *Operation) *Finding {
	found := &Finding{Channels: true, At: &o.Place, Share: known(max(f.channelCores(), f.channelCPU()*f.used())), Confidence: Medium}
	found.addEvidence(profile.KindCPU, fmt.Sprintf("%s of CPU time is in channel operations, and %s in the scheduler when goroutines block in them",
		format.Percent(f.channel/f.cpu), format.Percent(f.parked/f.cpu)))
	if f.wakeups != nil {
		cores := *f.wakeups * f.prices.Wakeup * 1e-9
		found.addEvidence(f.wakeupsFrom, fmt.Sprintf("%s wake-ups per second, at %s each, take %s cores",
			format.Count(*f.wakeups), format.Seconds(f.prices.Wakeup*1e-9), format.Number(cores)))
		if f.cores > 0 && cores >= transferShare/2*f.cores {
			found.Confidence = High
		}
	}
	return found
}

// parking returns the part of the channels' cost in parking and waking.
// Channels that were rarely empty or full had at most 0.05, unbuffered ones 0.3
// to 0.7.
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

// transferRemedies adds remedies for the price paid now: an unbuffered
// transfer, or a transfer through a channel that has slots already.
func (f *facts) transferRemedies(found *Finding) {
	p, now, basis := f.prices, f.load(coldWork), byLoad
	if f.inBursts() {
		f, basis = f.onCoresInUse(), basis+", of which no more are used, because the work comes in bursts"
	}
	// Selects at both ends poll two cases each, for example a channel and a
	// context.
	looking := 4 * p.Case * f.weight(isOp(profile.Select))
	price, buffered := p.Unbuffered+looking, p.Buffered+looking
	if f.parking() < parks {
		price = buffered
		found.RuledOut = append(found.RuledOut, RuledOut{Buffer, "goroutines rarely park: the channel has room, and the cost is in the transfer itself."})
	} else {
		found.Remedies = append(found.Remedies, Remedy{Buffer, f.bufferHow(found),
			f.gain(now, f.ofChannel(found, after(price, buffered*bufferedWorst, buffered))), basis})
	}
	found.Remedies = append(found.Remedies, Remedy{Batch, f.batchHow(found),
		f.gain(now, after(price, p.Batched+sliceGarbage, bothEnds*p.OwnSlices)), basis})
}

// ofChannel returns the part of the channels' cost that stays where a change is made
// to one channel, or to those in a row: at worst, no other one is like it.
func (f *facts) ofChannel(found *Finding, keep stay) stay {
	o := f.operation(found)
	if o == nil {
		return keep
	}
	part := o.Weight
	for _, p := range f.pairs() {
		switch o.site {
		case p.Waker:
			part = max(part, o.Weight+f.operationAt(p.Sleeper).Weight)
		case p.Sleeper:
			part = max(part, o.Weight+f.operationAt(p.Waker).Weight)
		}
	}
	if len(f.pairs()) == 0 {
		part = max(part, min(1, 2*o.Weight))
	}
	all := 0.0
	for _, h := range f.rowOf(o) {
		all += f.operationAt(h.send).Weight + f.operationAt(h.receive).Weight
	}
	part = max(part, all)
	return stay{1 - min(1, part)*(1-keep.worst), keep.best}
}

// switching returns the share of CPU time that disappears without transfers:
// channels, and the scheduler as far as it works for them.
func (f *facts) switching() float64 {
	share := f.channelCPU()
	if all := f.capture.CPU.By[profile.AfterPark].Seconds(); all > 0 {
		// The rest of the scheduler's time, beyond the bound of readParks, is
		// attributed to channels in the proportion of their parks.
		rest := f.share(profile.AfterPark, profile.Scheduling) - f.parked/f.cpu
		share += rest * min(1, f.parked/all*1.5)
	}
	return min(share, 1)
}
