package doctor

import (
	"fmt"
	"math"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// Findings about one channel for each of many goroutines.
const (
	OneToMany  Kind = "one to many"
	Forwarders Kind = "forwarding goroutines"
)

const (
	// manyReceivers is the smallest number of receivers, each with its own
	// channel, and fewSenders the largest number of goroutines that send to
	// them.
	manyReceivers, fewSenders = 8, 4
	// received is the smallest part of the channels' cost at the receivers: they
	// had 0.3 of it, and the sources of a select with many cases 0.05.
	received = 0.15
	// loopPart is the part of the sender's own work in its loop over the
	// receivers.
	loopPart = 0.6
	// forwarders is the smallest number of goroutines that each forward one
	// channel into a merged one.
	forwarders = 3
	// forwardedWork is the largest part of their CPU time in code of the program.
	forwardedWork = 0.35
)

var fanRules = []rule{
	{
		kind: OneToMany, shares: true, look: oneToMany, instead: []Kind{TransferCost, TinyJobs, LockContention, Lockstep, SharedDone, SlowStage, SyncMutex, Hop},
		reason: "a loop sends each article to the channels of 40 readers: slices of 32 ×11.5, more slots ×1.4",
	},
	{
		kind: Forwarders, shares: true, look: forwarding, instead: []Kind{TransferCost, TinyJobs, LockContention, Lockstep, SharedDone, UsedAsLock, LargeSelect, SlowStage},
		reason: "48 goroutines forward one channel each into a merged one: without them ×5.5, with slices ×13, more slots ×3.0",
	},
}

// oneToMany detects a few goroutines that send to many. Profiles do not name
// channels, so a pool of workers for tiny jobs looks the same, unless the sender
// waits while receivers do, which it cannot in one channel. The remedy is the
// same.
func oneToMany(f *facts) *Finding {
	if !f.hot() && !f.transfersCost() || f.outweighed() {
		return nil
	}
	to := f.subscribers()
	if to == nil {
		return nil
	}
	from := f.costliest(func(o *Operation) bool {
		return (sends(o) || o.Op == profile.Select) && o.root != to.root && o.site.At.Function != to.site.At.Function
	})
	if from == nil || from.Weight < smallSite || f.crowd(from) == 0 || f.crowd(from) > fewSenders {
		return nil
	}
	n := f.crowd(to)
	found := f.transferFinding(from)
	found.Text = fmt.Sprintf("One sender, many receivers: the %s sends to %d goroutines at %s.", from, n, to.site.At)
	found.addEvidence(profile.KindGoroutine, fmt.Sprintf("%d goroutines receive at this line, and %s there", n, format.Plural(f.crowd(from), "goroutine")+" send"))
	if deref(from.Waiting) > 0 && deref(to.Waiting) > 0 {
		found.addEvidence(profile.KindGoroutineText, "one waits to send while others wait to receive: each has its own channel")
	}
	f.transferRemedies(found)
	for i := range found.Remedies {
		if r := &found.Remedies[i]; r.Name == Batch {
			r.How = "collect values at the source and send slices; if all receivers get all values, the same slice, which they only read; " +
				"in a hub.Hub each receiver has a limit and a policy of its own, and holds up no other"
			r.Gain = f.loopGain(from.root)
		}
	}
	found.RuledOut = append(found.RuledOut, RuledOut{MoreReceivers, "there are many already, and the cost is in the transfers."},
		RuledOut{Shard, "more channels do not make a transfer cheaper; receivers that get all values need one each."})
	return found
}

// loopGain returns the throughput with slices instead of single values, where
// the loop over the receivers runs once per slice as well.
func (f *facts) loopGain(root string) Range {
	p, l := f.prices, f.load(hotWork)
	for _, s := range f.stages {
		if s.root == root && root != "" {
			loop := min(loopPart*s.work, l.own/2)
			l.own, l.channels, l.gone = l.own-loop, l.channels+loop, min(l.gone, (l.own-loop)*hotWork)
		}
	}
	return f.gain(l, after(p.Contended, math.Sqrt(p.OwnSlices*p.Batched), p.Contended/slice))
}

// subscribers returns the receive of the largest stage with many goroutines.
func (f *facts) subscribers() (most *Operation) {
	for i := range f.operations {
		o := &f.operations[i]
		if (receives(o) || o.Op == profile.Select) && f.crowd(o) >= manyReceivers && o.Weight >= received && (most == nil || o.Weight > most.Weight) {
			most = o
		}
	}
	return most
}

// forwarding detects goroutines that only receive from one channel and send to
// another, several at the same lines.
func forwarding(f *facts) *Finding {
	if !f.hot() {
		return nil
	}
	in, out := f.inOneFunctionOrSelect(receives, sends)
	if in == nil || f.crowd(in) < forwarders || in.root == "" || in.Weight+out.Weight < pumpEnds {
		return nil
	}
	for _, s := range f.stages {
		if s.root == in.root && s.work > forwardedWork*(s.work+s.channel) {
			return nil // they process the values
		}
	}
	before := f.costliest(func(o *Operation) bool {
		return (sends(o) || o.Op == profile.Select) && o.Function != in.Function && f.crowd(o) >= forwarders
	})
	if before == nil || f.answersBack(in, before) {
		return nil
	}
	n := f.crowd(in)
	found := f.transferFinding(out)
	found.Text = fmt.Sprintf("%d goroutines only forward values into a merged channel, two transfers for each value: %s receives, and line %d sends.", n, in, out.Line)
	found.addEvidence(profile.KindGoroutine, fmt.Sprintf("%d goroutines forward what %d others send in the %s", n, f.crowd(before), before))
	p, now := f.prices, f.load(coldWork)
	price := 2 * p.Unbuffered
	if f.parking() < parks {
		price = p.Buffered + p.Contended
	}
	found.Remedies = []Remedy{
		{MergeChannels, "let the sources send into the merged channel themselves, with a buffer; close it after the last of them ends",
			f.gain(now, after(price, p.Contended, p.Buffered/2)), byLoad},
		{Batch, "forward slices of values, and send those into one channel",
			f.gain(now, after(price, p.Batched, p.OwnSlices)), byLoad},
		{Buffer, "give the merged channel a buffer of about 128 slots, if it has fewer", f.gain(now, after(price, p.Buffered+p.Contended, p.Buffered+p.Contended)), byLoad},
	}
	found.RuledOut = []RuledOut{{MoreReceivers, "the cost is in forwarding, not in the receiver."}}
	return found
}

// answersBack reports whether the sources also receive: then they are callers
// that wait for a response.
func (f *facts) answersBack(in, before *Operation) bool {
	for i := range f.operations {
		if o := &f.operations[i]; o.Function == before.Function && receives(o) && o.Weight >= otherHalf {
			return true
		}
	}
	return f.related(in, before)
}
