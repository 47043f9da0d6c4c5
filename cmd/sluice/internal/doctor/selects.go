package doctor

import (
	"fmt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// Findings about selects and polling.
const (
	LargeSelect Kind = "large select"
	Pump        Kind = "forwarding goroutine"
	Polling     Kind = "polling"
)

const (
	// selectShare is a share of CPU time: a forwarding goroutine took 0.3 or
	// more, a select of 64 cases 0.9.
	selectShare = 0.25
	// pollShare is a share of CPU time. A failed attempt costs 3 ns, so this
	// share means millions of them.
	pollShare = 0.15
	// pumpEnds is the smallest share of the channels' cost at either end of a
	// forwarding goroutine.
	pumpEnds = 0.03
	// pumpSelect is the part of the channels' cost in the select of a forwarding
	// goroutine: 0.57 where both ends worked for half a microsecond.
	pumpSelect = 0.40
	// manyOf is the number of cases above which merging them saves more than
	// the rest of a select costs.
	manyOf = 5
	// manyTimes is the smallest cost of such a select, as a multiple of the operations
	// at its other ends, which each value costs as well: with two cases it costs
	// about twice as much as they do, and was seen at 1.4 times; a pool with a channel
	// for each of 16 workers had 4.7, selects of 32 to 56 cases 8 to 20.
	manyTimes = 3
	// parkedCase is the factor for a case of a select that parks, which enters
	// and leaves the wait queue of each channel: 55 and 70 ns with 32 and 40
	// cases, where the price is 20.
	parkedCase = 2.5
	// queueAtBest is the best-case price of a value in a growing queue, as a part
	// of a buffered channel's: with one sender and one receiver, 113 ns where
	// a forwarding goroutine between two buffered channels takes 360 ns, and 165
	// ns instead of 1,070 ns with eight senders, on a busy machine. See
	// BenchmarkPricePump.
	queueAtBest = 0.7
	// lone is the largest number of goroutines that run a forwarding
	// goroutine's or dispatcher's select.
	lone = 2
)

// emptyLock is the largest part of a non-blocking receive in the channel's lock if it
// mostly finds nothing: that takes no lock. A scheduler that polls had 0.01, a free
// list of buffers, which has one nearly each time, 0.8.
const emptyLock = 0.20

var selectRules = []rule{
	{
		kind: LargeSelect, shares: true, look: largeSelect, instead: []Kind{LockContention, TransferCost, TinyJobs},
		reason: "a select of 64 cases locks, sorts and enqueues on all of them: one merged channel ×30",
	},
	{
		kind: Pump, shares: true, look: pump, instead: []Kind{LargeSelect, LockContention, TransferCost, TinyJobs, SharedDone},
		reason: "two channels and a goroutine between them: mutex and slice ×3.5",
	},
	{
		kind: Polling, shares: true, look: polling, instead: []Kind{LockContention, TransferCost, CPUBound},
		reason: "a loop of selects with default that finds nothing keeps a core busy",
	},
}

// selecting returns the most expensive select if selects dominate the channels'
// cost, and reports whether few goroutines run it.
func (f *facts) selecting() (*Operation, bool) {
	isSelect := isOp(profile.Select)
	o := f.costliest(isSelect)
	if o == nil || f.channelCPU()*f.weight(isSelect) < f.limit(selectShare) {
		return nil, false
	}
	n, counted := o.count()
	return o, !counted || n <= lone
}

func largeSelect(f *facts) *Finding {
	o, few := f.selecting()
	if o == nil || !few || o.Weight < mostly { // pipeline stages that watch a context have one each
		return nil
	}
	cases, from := f.cases(o)
	if cases > 0 && cases < manyOf || o.Weight < manyTimes*f.otherEndsOf(o) {
		return nil
	}
	found := &Finding{Channels: true, At: &o.Place, Share: known(f.channelCores()), Confidence: Medium}
	found.Text = fmt.Sprintf("Expensive select, probably with many cases: %s.", o)
	share := value(o.CPU) / f.cpu
	found.addEvidence(profile.KindCPU, fmt.Sprintf("%s of CPU time is in this select", format.Percent(share)))
	if n, ok := o.count(); ok {
		found.addEvidence(profile.KindGoroutine, format.Plural(n, "goroutine")+" in it: its locks are not contended")
	} else {
		found.Confidence = Low
	}
	gain, now := Range{}, f.load(coldWork)
	p := f.prices
	if cases > 0 {
		found.addEvidence(profile.KindMetrics, fmt.Sprintf("at most about %s cases: %s", format.Number(cases), from))
		gain = f.gain(now, f.merged(now, cases))
	} else { // up to the gain for 64 cases, and none for two
		found.Confidence = Low
		found.decides(f, "how many values the select receives, and so how many cases it has")
		gain = f.gain(now, after(p.Buffered+2*p.Case, p.Buffered+2*p.Case, 0))
		gain.Low, gain.Mid = min(1, gain.Low), f.gain(now, after(p.Buffered+64*p.Case, p.Contended, p.Buffered)).Mid
		from = "stacks do not show the number of cases"
	}
	found.Remedies = []Remedy{{MergeChannels, "if there are many cases, let the senders share one channel of values that name their sender",
		gain, byLoad + "; " + from}}
	found.RuledOut = []RuledOut{
		{Buffer, "a select polls and locks all its channels for each value, whatever their capacity."},
		{Shard, "more channels mean more cases."},
	}
	return found
}

// otherEndsOf returns the part of the channels' cost in operations of other
// functions: each value costs there once as well.
func (f *facts) otherEndsOf(o *Operation) float64 {
	return f.weight(func(x *Operation) bool { return x.site.At.Function != o.site.At.Function })
}

// cases returns an upper bound of the number of cases, from the cost per value
// and from the goroutines at the other ends, and its source; 0 if unknown.
func (f *facts) cases(o *Operation) (n float64, from string) {
	if values := f.values(o); values > 0 {
		each := 1e9 * f.load(0).channels * o.Weight / values
		n = max(1, (each-f.prices.Buffered-f.prices.Wakeup)/f.prices.Case)
		from = fmt.Sprintf("a value costs it at most %s", format.Seconds(each*1e-9))
	}
	others := 0
	for i := range f.operations {
		other := &f.operations[i]
		if in, ok := other.count(); ok && other.site.At.Function != o.site.At.Function && (sends(other) || receives(other) || other.Op == profile.Select) && !ofRuntime(other.root) {
			others += in
		}
	}
	if others > 0 && (n == 0 || float64(others) < n) {
		n, from = float64(others), format.Plural(others, "goroutine")+" at its other ends"
	}
	return n, from
}

// values returns a lower bound of the values per second through the operation,
// those that woke a goroutine; 0 if unknown.
func (f *facts) values(o *Operation) float64 {
	if o.Items != nil {
		return *o.Items
	}
	return value(f.wakeups)
}

// merged returns the part of a select's cost that remains with one merged
// channel: at best one without contention, at worst a contended and full one
// where each sender parks.
func (f *facts) merged(now load, cases float64) stay {
	p := f.prices
	each := p.Buffered + cases*p.Case*parkedCase
	if f.wakeups != nil && *f.wakeups > 0 && f.window > 0 { // the measured cost, if that is higher
		each = max(each, 1e9*now.channels/(*f.wakeups))
	}
	return after(each, p.Contended+p.Wakeup, p.Buffered)
}

// pump detects a goroutine whose select sits between senders and receivers. A
// dispatcher has no receivers behind it.
func pump(f *facts) *Finding {
	o, few := f.selecting()
	if o == nil {
		o, few = f.forwardingSelect(), true
	}
	if o == nil || !few && !f.forwards(o) || f.oneWayOnly(o) {
		return nil
	}
	// A forwarding goroutine may also receive outside its select, when its
	// buffer is empty.
	end := func(d direction) *Operation {
		return f.costliest(func(x *Operation) bool {
			return x.site.At.Function != o.site.At.Function && x.Weight >= pumpEnds && f.direction(x) == d
		})
	}
	from, to := end(sending), end(receiving)
	if from == nil || to == nil || from.Function == to.Function { // a function that sends and receives is a caller of requestResponse
		return nil
	}
	found := &Finding{Channels: true, At: &o.Place, Share: known(f.channelCores()), Confidence: Medium}
	found.Text = fmt.Sprintf("A goroutine forwards values from one channel to another, two transfers per value: %s, from %s to %s.", o, from, to)
	found.addEvidence(profile.KindCPU, fmt.Sprintf("%s of CPU time is in its select, and %s in all channel operations",
		format.Percent(value(o.CPU)/f.cpu), format.Percent(f.channelCPU())))
	for _, p := range f.pairs() {
		if p.Waker == from.site && p.Sleeper == o.site || p.Waker == o.site && p.Sleeper == to.site {
			found.Confidence = High
			found.addEvidence(profile.KindTrace, fmt.Sprintf("%s woke %s %d times", p.Waker, p.Sleeper, p.Count))
		}
	}
	p, now := f.prices, f.load(coldWork)
	price := 2 * p.Unbuffered
	if f.parking() < parks {
		price = 2*p.Buffered + 4*p.Case
	}
	found.Remedies = []Remedy{
		// Several values under one lock cost less each.
		{Elastic, "replace the goroutine by a slice under a mutex, or by sluice.NewElastic, a channel that grows " +
			"up to a limit",
			f.gain(now, after(price, p.Mutex+p.Buffered, p.Buffered*queueAtBest), o.root), byLoad},
		// With slots, there are still two channels and a select on both.
		{Buffer, "give both channels a buffer", f.gain(now, after(price, 2*p.Buffered+4*p.Case, 2*p.Buffered)), byLoad},
	}
	found.RuledOut = []RuledOut{{Shard, "each additional channel needs its own forwarding goroutine."}}
	return found
}

// forwardingSelect returns the select of one goroutine with a large part of the
// channels' cost, although they cost less than selectShare: the ends of the
// channels work more. Its function has no other send: a stage of a pipeline
// receives in its select, and sends elsewhere.
func (f *facts) forwardingSelect() *Operation {
	o := f.costliest(isOp(profile.Select))
	if o == nil || o.Weight < pumpSelect || f.channelCPU() < f.limit(transferShare) || f.crowd(o) != 1 {
		return nil
	}
	if f.costliest(func(x *Operation) bool { return sends(x) && x.Function == o.Function }) != nil {
		return nil
	}
	return o
}

// pairs returns who wakes whom, in the trace or else in a glimpse.
func (f *facts) pairs() []profile.Pair {
	if t := f.wakeTrace(); t != nil {
		return t.Pairs
	}
	return nil
}

func polls(o *Operation) bool {
	return o.Op == profile.PollSend || o.Op == profile.PollReceive
}

// pollCost returns the most expensive select with default of one kind, or nil,
// and the share of CPU time in all of them.
func (f *facts) pollCost(op profile.Op) (*Operation, float64) {
	spent := 0.0
	for i := range f.operations {
		if o := &f.operations[i]; o.Op == op {
			spent += value(o.CPU)
		}
	}
	return f.costliest(isOp(op)), spent / max(f.cpu, 1e-9)
}

func polling(f *facts) *Finding {
	o, share := f.pollCost(profile.PollReceive)
	if o == nil || share < f.limit(pollShare) || value(o.Lock) > emptyLock*value(o.CPU) {
		return nil
	}
	// A polling loop may yield: that is scheduling, not a park.
	yields := f.share(profile.Scheduling)
	found := &Finding{Channels: true, At: &o.Place, Share: known(min(1, (share+yields)*f.used())), Confidence: High}
	found.Text = fmt.Sprintf("Busy polling: a loop checks a channel that is rarely ready, at %s.", o)
	found.addEvidence(profile.KindCPU, fmt.Sprintf("%s of CPU time is in selects with default, and %s in yielding between them",
		format.Percent(share), format.Percent(yields)))
	// The loop around the polls costs as much again, up to its one core.
	freed := (share + yields) * f.cores
	freed = max(freed, min(1, 2*freed))
	mid := 1 / max(1-freed/max(1, f.avail), 1.0/mostGain)
	found.Remedies = []Remedy{{Block, "remove the default case: a blocked goroutine costs nothing, and wakes within a microsecond",
		between(1, mid, mid*gainAbove), fmt.Sprintf("it frees %s cores; throughput grows only if other goroutines need them",
			format.Number(freed))}}
	found.RuledOut = []RuledOut{{Buffer, "the loop polls as often, whatever the capacity."}}
	return found
}
