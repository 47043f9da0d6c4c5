package finding

import (
	"fmt"

	"github.com/sluice-go/sluice/cmd/sluice/profile"
)

// Findings about selects, and polling.
const (
	ManyCases Kind = "select of many cases"
	Pump      Kind = "pump"
	Polling   Kind = "polling"
)

const (
	// selectShare of CPU time: a pump took 0.3 and more, a select of 64 cases 0.9.
	selectShare = 0.25
	// pollShare of CPU time. A try that fails costs 3 ns: this share is millions.
	pollShare = 0.15
	// pumpEnds is the least share of the channels' cost at either end of a pump.
	pumpEnds = 0.03
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
}

// selecting returns the dearest select if selects are the channels' cost and few
// goroutines run it.
func (f *facts) selecting() (*Operation, bool) {
	isSelect := isOp(profile.Select)
	o := f.dearest(isSelect)
	if o == nil || f.channelCPU()*f.weight(isSelect) < selectShare {
		return nil, false
	}
	n, counted := o.count()
	return o, !counted || n <= lone
}

func manyCases(f *facts) *Finding {
	o, few := f.selecting()
	if o == nil || !few || f.weight(isOp(profile.Select)) < mostly {
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
	// A case more costs Case, and a value of one merged channel Buffered. Stacks
	// do not say how many cases there are: the middle is for 64. Of two, one of them
	// done, there is nothing to merge.
	price := f.prices.Buffered + 64*f.prices.Case
	mid := f.saving(price, f.prices.Buffered)
	found.Remedies = []Remedy{{MergeSelects, "if the cases are many, let the senders send on one channel, with their name in the value, and receive from that",
		between(1, mid, mid*1.5), fmt.Sprintf("%s a case, for 64 cases; stacks do not say how many there are", duration(f.prices.Case*1e-9))}}
	found.Not = []Not{
		{Buffer, "a select looks at and locks all its channels for each value, however many values they hold."},
		{Shard, "more channels are more cases."},
	}
	return found
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
	if from == nil || to == nil {
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
	mid := bounded(f.used(), f.channelCPU(), removable(2*f.prices.HandOver, f.prices.Mutex+f.prices.Buffered))
	// With slots at both ends there are still two channels, and a select on both.
	half := bounded(f.used(), f.channelCPU(), removable(2*f.prices.HandOver, 2*f.prices.Buffered+4*f.prices.Case))
	found.Remedies = []Remedy{
		{Elastic, "take the goroutine out: a slice under a mutex, or sluice.NewElastic, which is both ends and has a limit",
			between(mid*0.6, mid, mid*1.6), byBound},
		{Buffer, "give both channels slots", between(half*0.6, half, half*gainAbove), byBound},
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

func polling(f *facts) *Finding {
	o := f.dearest(polls)
	if o == nil {
		return nil
	}
	spent := 0.0
	for i := range f.operations {
		if polls(&f.operations[i]) {
			spent += value(f.operations[i].CPU)
		}
	}
	// Who polls politely yields between: that is the scheduler's time, and no park.
	yields := f.share(profile.Scheduling)
	share := spent / f.cpu
	if share < pollShare {
		return nil
	}
	found := &Finding{Channels: true, At: &o.Place, Share: known(min(1, (share+yields)*f.used())), Confidence: High}
	found.Text = fmt.Sprintf("A loop asks a channel again and again whether it is ready: %s.", o)
	found.says(profile.KindCPU, fmt.Sprintf("%s of CPU time is in selects with default, %s in yielding between them",
		percent(share), percent(yields)))
	if o.Op == profile.PollSend {
		return dropping(found, o)
	}
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
func dropping(found *Finding, o *Operation) *Finding {
	found.Confidence = Low
	found.Text = fmt.Sprintf("A loop offers values to a channel, and drops those that do not fit or tries again: %s.", o)
	found.Not = []Not{
		{Block, "without its default case the loop waits for who receives, and goes at their pace: right only if no value may be dropped."},
		{Buffer, "a channel that is full stays full, however many slots it has, if who receives is slower."},
	}
	return found
}
