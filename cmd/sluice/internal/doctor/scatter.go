package doctor

import (
	"fmt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// Scattered is the finding that the scheduler costs much, for many wake-ups that
// no single channel explains.
const Scattered Kind = "scattered wake-ups"

const (
	// scatterShare is the share of CPU time in the scheduler and its wake-ups,
	// and scatterMost the largest part of it that the channel operations of the
	// most expensive line may explain.
	scatterShare, scatterMost = 0.35, 0.30
	// scatterWorst and scatterBest are the parts of that cost that remain with
	// fewer wake-ups: half of the wake-ups, or one per many values.
	scatterWorst, scatterBest = 0.6, 0.05
)

var scatterRules = []rule{{
	kind: Scattered, shares: true, look: scattered, instead: []Kind{SystemCallBound, CPUBound},
	reason: "96 meters with a ticker, two goroutines and a channel each: the scheduler and timers 60% of CPU time, no line " +
		"more than a tenth of it",
}}

// scattered detects a scheduler that costs much although channels cost little:
// otherwise a finding about channels explains it.
func scattered(f *facts) *Finding {
	wakes := 0.0
	for i := range f.operations {
		wakes += f.operations[i].wake
	}
	share := f.share(profile.AfterPark, profile.Scheduling) + wakes/f.cpu
	if share < f.limit(scatterShare) || f.channelCPU() >= transferShare || f.isStarved() || f.weight(polls) >= mostly {
		return nil
	}
	o := f.costliest(anyOp)
	if o == nil || value(o.CPU)/f.cpu > scatterMost*share {
		return nil
	}
	found := &Finding{Channels: true, Share: known(min(1, share*f.used())), Confidence: Medium}
	found.Text = fmt.Sprintf("Scattered wake-ups: the scheduler takes %s of CPU time, for many goroutines that each do little before they wait again.", format.Percent(share))
	found.addEvidence(profile.KindCPU, fmt.Sprintf("%s of CPU time is in the scheduler and in wake-ups, %s in the program's own code", format.Percent(share),
		format.Percent(f.share(profile.UserCode))))
	found.At = &o.Place
	found.addEvidence(profile.KindCPU, fmt.Sprintf("no operation explains it: the most expensive one is the %s, with %s of CPU time", o, format.Percent(value(o.CPU)/f.cpu)))
	f.addWakeups(found)
	now := f.load(0)
	all := now.own + now.channels
	l := load{channels: min(all, max(now.channels, share*f.loadUnit()))}
	l.own = all - l.channels
	found.Remedies = []Remedy{
		{Batch, "wake goroutines less often: collect values, and tick less often", f.gain(l, stay{scatterWorst, scatterBest}), byLoad},
		{WorkerPool, "let a few goroutines serve many of these channels, connections or timers", Range{}, ""},
	}
	if f.spinning() {
		found.Remedies = append(found.Remedies, Remedy{LowerGOMAXPROCS, "the scheduler mostly looks for work: with a lower GOMAXPROCS it looks less", Range{}, ""})
	}
	found.RuledOut = []RuledOut{{Shard, "no channel is contended."}, {Buffer, "no channel is often full."}}
	return found
}

// spinning reports whether idle Ps that look for work cost more than the rest of
// the scheduler, on a service that uses few cores.
func (f *facts) spinning() bool {
	return f.avail > 1 && f.used() < busyCores && f.share(profile.Scheduling) > f.share(profile.AfterPark)
}
