package doctor

import (
	"fmt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// Findings about selects, and polling.
const (
	ManyCases Kind = "select of many cases"
	Pump      Kind = "pump"
	Polling   Kind = "polling"
	Dropping  Kind = "dropping"
)

const (
	// selectShare of CPU time: a pump took 0.3 and more, a select of 64 cases 0.9.
	selectShare = 0.25
	// pollShare of CPU time. A try that fails costs 3 ns: this share is millions.
	pollShare = 0.15
	// pumpEnds is the least share of the channels' cost at either end of a pump.
	pumpEnds = 0.03
	// manyOf cases are many: merging fewer saves less than the rest of a select costs.
	manyOf = 5
	// parkedCase: a select that waits stands in line at each case, and leaves it again. In
	// a hub of 32 and in one of 40 a case cost 55 and 70 ns, where the price is 20.
	parkedCase = 2.5
	// lone is the most goroutines that a pump, or the one select of a dispatcher,
	// is run by.
	lone = 2
)

var selectRules = []rule{
	{
		kind: ManyCases, shares: true, look: manyCases, instead: []Kind{HotChannel, HandOver, TinyJobs},
		reason: "a select of 64 cases locks, sorts and queues at all of them: one merged channel ×30",
	},
	{
		kind: Pump, shares: true, look: pump, instead: []Kind{ManyCases, HotChannel, HandOver, TinyJobs, SharedDone},
		reason: "two channels and a goroutine between them: mutex and slice ×3.5",
	},
	{
		kind: Polling, shares: true, look: polling, instead: []Kind{HotChannel, HandOver, PlainCPU},
		reason: "a loop of selects with default that finds nothing burns a core",
	},
	{
		kind: Dropping, shares: true, look: dropping,
		reason: "dropping what does not fit is a purpose, which waiting would defeat: it is said, and no verdict hangs on it",
	},
}

// selecting returns the dearest select if selects are the channels' cost and few
// goroutines run it.
func (f *facts) selecting() (*Operation, bool) {
	isSelect := isOp(profile.Select)
	o := f.dearest(isSelect)
	if o == nil || f.channelCPU()*f.weight(isSelect) < f.limit(selectShare) {
		return nil, false
	}
	n, counted := o.count()
	return o, !counted || n <= lone
}

func manyCases(f *facts) *Finding {
	o, few := f.selecting()
	if o == nil || !few || o.Weight < mostly { // stages that look at a context each have one
		return nil
	}
	cases, from := f.cases(o)
	if cases > 0 && cases < manyOf {
		return nil
	}
	found := &Finding{Channels: true, At: &o.Place, Share: known(f.channelCores()), Confidence: Medium}
	found.Text = fmt.Sprintf("A select costs more than the values it takes, as one of many cases does: %s.", o)
	share := value(o.CPU) / f.cpu
	found.says(profile.KindCPU, fmt.Sprintf("%s of CPU time is in this select", percent(share)))
	if n, ok := o.count(); ok {
		found.says(profile.KindGoroutine, goroutines(n)+" in it: its locks are taken, not fought for")
	} else {
		found.Confidence = Low
	}
	gain, now := Range{}, f.load(coldWork)
	p := f.prices
	if cases > 0 {
		found.says(profile.KindMetrics, fmt.Sprintf("about %s cases at most: %s", number(cases), from))
		gain = f.gain(now, f.merged(now, cases))
	} else { // as of a hub of 64, if it is one, and nothing for one of two
		found.Confidence = Low
		found.decides(f, "how many values the select takes, and so how many cases it has")
		gain = f.gain(now, after(p.Buffered+2*p.Case, p.Buffered+2*p.Case, 0))
		gain.Low, gain.Mid = min(1, gain.Low), f.gain(now, after(p.Buffered+64*p.Case, p.Contended, p.Buffered)).Mid
		from = "stacks do not say how many cases there are"
	}
	found.Remedies = []Remedy{{MergeSelects, "if the cases are many, let the senders send on one channel, with their name in the value, and receive from that",
		gain, byLoad + "; " + from}}
	found.Not = []Not{
		{Buffer, "a select looks at and locks all its channels for each value, however many values they hold."},
		{Shard, "more channels are more cases."},
	}
	return found
}

// cases is how many cases the select has at most, going by what it costs for each
// value and by who is at the other ends, and how that is known; 0 if it is not.
func (f *facts) cases(o *Operation) (n float64, from string) {
	if values := f.values(o); values > 0 {
		each := 1e9 * f.load(0).channels * o.Weight / values
		n = max(1, (each-f.prices.Buffered-f.prices.Wakeup)/f.prices.Case)
		from = fmt.Sprintf("a value costs it %s at most", duration(each*1e-9))
	}
	others := 0
	for i := range f.operations {
		other := &f.operations[i]
		if in, ok := other.count(); ok && other.site.At.Function != o.site.At.Function && (sends(other) || receives(other)) {
			others += in
		}
	}
	if others > 0 && (n == 0 || float64(others) < n) {
		n, from = float64(others), goroutines(others)+" at its other ends"
	}
	return n, from
}

// values is how many values a second go through the operation at least, 0 if not
// known: those at which somebody was woken.
func (f *facts) values(o *Operation) float64 {
	if o.Items != nil {
		return *o.Items
	}
	return value(f.wakeups)
}

// merged is what stays of the cost of a select of so many cases, if all that it
// receives comes through one channel: at best one that nobody waits for, at worst one
// that is fought for, and full, so that each sender parks.
func (f *facts) merged(now load, cases float64) stay {
	p := f.prices
	each := p.Buffered + cases*p.Case*parkedCase
	if f.wakeups != nil && *f.wakeups > 0 && f.window > 0 { // as measured, if that is more
		each = max(each, 1e9*now.channels/(*f.wakeups))
	}
	return after(each, p.Contended+p.Wakeup, p.Buffered)
}

// pump looks for a goroutine that selects between those who send to it and those
// who receive from it. A dispatcher has no receivers behind it.
func pump(f *facts) *Finding {
	o, few := f.selecting()
	if o == nil || !few {
		return nil
	}
	// A pump may also receive outside of its select, when it holds nothing.
	apart := func(other *Operation) bool { return other.site.At.Function != o.site.At.Function }
	from := f.dearest(func(x *Operation) bool { return sends(x) && apart(x) && x.Weight >= pumpEnds })
	to := f.dearest(func(x *Operation) bool { return receives(x) && apart(x) && x.Weight >= pumpEnds })
	if from == nil || to == nil || from.Function == to.Function { // who sends and receives itself asks for answers
		return nil
	}
	found := &Finding{Channels: true, At: &o.Place, Share: known(f.channelCores()), Confidence: Medium}
	found.Text = fmt.Sprintf("A goroutine pumps values from one channel to another, twice the hand-over for each: %s, from %s to %s.", o, from, to)
	found.says(profile.KindCPU, fmt.Sprintf("%s of CPU time is in its select, and %s in channels altogether",
		percent(value(o.CPU)/f.cpu), percent(f.channelCPU())))
	for _, p := range f.pairs() {
		if p.Waker == from.site && p.Sleeper == o.site || p.Waker == o.site && p.Sleeper == to.site {
			found.Confidence = High
			found.says(profile.KindTrace, fmt.Sprintf("%s woke %s %d times", p.Waker, p.Sleeper, p.Count))
		}
	}
	p, now := f.prices, f.load(coldWork)
	price := 2 * p.HandOver
	if f.parking() < parks {
		price = 2*p.Buffered + 4*p.Case
	}
	found.Remedies = []Remedy{
		// A run of values under one lock costs each of them next to nothing.
		{Elastic, "take the goroutine out: a slice under a mutex, or sluice.NewElastic, which is both ends and has a limit",
			f.gain(now, after(price, p.Mutex+p.Buffered, p.OwnSlices), o.root), byLoad},
		// With slots at both ends there are still two channels, and a select on both.
		{Buffer, "give both channels slots", f.gain(now, after(price, 2*p.Buffered+4*p.Case, 2*p.Buffered)), byLoad},
	}
	found.Not = []Not{{Shard, "more channels need as many pumps."}}
	return found
}

func (f *facts) pairs() []profile.Pair {
	if f.capture.Trace == nil {
		return nil
	}
	return f.capture.Trace.Pairs
}

func polls(o *Operation) bool {
	return o.Op == profile.PollSend || o.Op == profile.PollReceive
}

// tries is the share of CPU time in selects with default of one kind, and the dearest
// of them, nil if there is none.
func (f *facts) tries(op profile.Op) (*Operation, float64) {
	spent := 0.0
	for i := range f.operations {
		if o := &f.operations[i]; o.Op == op {
			spent += value(o.CPU)
		}
	}
	return f.dearest(isOp(op)), spent / max(f.cpu, 1e-9)
}

func polling(f *facts) *Finding {
	o, share := f.tries(profile.PollReceive)
	if o == nil || share < f.limit(pollShare) {
		return nil
	}
	// Who polls politely yields between: that is the scheduler's time, and no park.
	yields := f.share(profile.Scheduling)
	found := &Finding{Channels: true, At: &o.Place, Share: known(min(1, (share+yields)*f.used())), Confidence: High}
	found.Text = fmt.Sprintf("A loop asks a channel again and again whether it is ready: %s.", o)
	found.says(profile.KindCPU, fmt.Sprintf("%s of CPU time is in selects with default, %s in yielding between them",
		percent(share), percent(yields)))
	// The loop around the tries costs as much as they do, up to its one core.
	freed := (share + yields) * f.cores
	freed = max(freed, min(1, 2*freed))
	mid := 1 / max(1-freed/max(1, f.avail), 1.0/mostGain)
	found.Remedies = []Remedy{{Block, "leave the default case out: who waits costs nothing, and is woken within a microsecond",
		between(1, mid, mid*gainAbove), fmt.Sprintf("it frees %s cores; throughput grows by them only where somebody needs them",
			number(freed))}}
	found.Not = []Not{{Buffer, "the loop asks as often whether the channel has one slot or a thousand."}}
	return found
}

// dropping is polling by a send. Dropping what does not fit is a purpose, which
// waiting would defeat: nothing is to be done to the channel before that is known.
func dropping(f *facts) *Finding {
	o, share := f.tries(profile.PollSend)
	if o == nil || share < f.limit(pollShare) {
		return nil
	}
	found := &Finding{Channels: true, At: &o.Place, Share: known(share * f.used()), Confidence: Low}
	found.Text = fmt.Sprintf("A loop offers values to a channel, and drops those that do not fit or tries again: %s.", o)
	found.says(profile.KindCPU, fmt.Sprintf("%s of CPU time is in sends with default", percent(share)))
	found.Not = []Not{
		{Block, "without its default case the loop waits for who receives, and goes at their pace: right only if no value may be dropped."},
		{Buffer, "a channel that is full stays full, however many slots it has, if who receives is slower."},
	}
	return found
}
