package doctor

import (
	"fmt"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// GoroutinePerValue is the finding that goroutines are started for too little
// work.
const GoroutinePerValue Kind = "goroutine per value"

const (
	// spawnShare is the share of CPU time in starting and ending goroutines.
	// Two services that start one for 0.3 to 0.5 µs of work had 0.3 to 0.5;
	// one for 20 µs has 0.02.
	spawnShare = 0.12
	// spawnAround is the cost of starting and ending goroutines that its
	// profile shows elsewhere, as a factor: the scheduler that finds them, and
	// caches that they empty.
	spawnAround = 1.5
	// spawnWorst and spawnBest are the parts of the cost that remain with long
	// lived goroutines that take slices of values.
	spawnWorst, spawnBest = 0.5, 0.03
	// waitingPart is the part of started goroutines in a receive or a select from
	// which on they were started to wait.
	waitingPart = 0.8
	// placeWorst is the same for work in place.
	placeWorst = 0.2
)

var spawnRules = []rule{{
	kind: GoroutinePerValue, shares: true, look: goroutinePerValue,
	instead: []Kind{TransferCost, TinyJobs, LockContention, RequestResponse, Lockstep, Scattered, LargeSelect},
	reason: "a goroutine per record of 0.3 µs: none ×4.6, one per 8 records ×3.2, long-lived ones that take slices ×2.9, a " +
		"buffer for the results ×0.9",
}}

// goroutinePerValue detects go statements that cost much: a goroutine that ran
// for long would hide its start.
func goroutinePerValue(f *facts) *Finding {
	cpu := f.capture.CPU
	if len(cpu.Spawns) == 0 || channelPerValue(f) != nil {
		return nil
	}
	spent := cpu.Ends.Seconds()
	for _, s := range cpu.Spawns {
		spent += s.Time.Seconds()
	}
	top := cpu.Spawns[0]
	if spent < f.limit(spawnShare)*f.cpu || top.Time.Seconds()*3 < spent-cpu.Ends.Seconds() {
		return nil
	}
	found := &Finding{Channels: f.channelCPU() >= transferShare, Share: known(min(1, spent/f.cpu*f.used())), Confidence: High, maker: top.At.Function}
	found.Text = fmt.Sprintf("A goroutine is started for each value, at %s, and does less than it costs.", top.At)
	found.addEvidence(profile.KindCPU, fmt.Sprintf("%s of CPU time starts and ends goroutines: %s at this line, and %s at their ends",
		format.Percent(spent/f.cpu), format.Percent(top.Time.Seconds()/f.cpu), format.Percent(cpu.Ends.Seconds()/f.cpu)))
	if o := f.costliest(anyOp); o != nil && found.Channels {
		found.At = &o.Place
		found.Channels = !f.sendsPast(o, top.At.Function)
		found.addEvidence(profile.KindCPU, fmt.Sprintf("%s of CPU time is in channel operations and the scheduler after them, most of it in the %s",
			format.Percent(f.channelCPU()), o))
	}
	gain := f.spawnGain(spent, stay{spawnWorst, spawnBest})
	found.RuledOut = []RuledOut{
		{Buffer, "the cost is in starting and ending goroutines (measured ×1.0)."},
		{MoreReceivers, "there are more goroutines than cores already."},
	}
	if waiting := f.onlyWaits(top.At.Function); waiting != nil {
		f.mergeWaits(found, waiting, spent)
		return found
	}
	batch := Remedy{Batch, "start one goroutine for several values: a slice of them, a few per core", gain, byLoad}
	pool := Remedy{WorkerPool, "let long-lived goroutines take slices of values, one goroutine per core: workers.Run, or a channel of slices", lessSure(gain), byLoad}
	if send := f.sendsForOthers(top.At.Function); send != nil {
		batch.Gain, pool.Gain = pool.Gain, batch.Gain
		pool.How = "let a few goroutines take one value after the other from a second channel, so that a slow one holds up none behind it"
		found.Remedies = []Remedy{pool, batch}
		found.RuledOut = append(found.RuledOut, RuledOut{Fuse, fmt.Sprintf("the %s is in a function that these goroutines call, and their starter receives: "+
			"in place, it would wait for itself once the channel is full.", send)})
		return found
	}
	found.Remedies = []Remedy{batch, pool,
		{Fuse, "do the work in place, if it is this short and others use the cores", f.spawnGain(spent, stay{placeWorst, 0}), byLoad}}
	return found
}

// sendsPast reports whether the goroutines that a function starts send their
// values to others, not to that function: then these channels remain without
// the goroutines, which are the cause.
func (f *facts) sendsPast(o *Operation, maker string) bool {
	if !sends(o) && (o.Op != profile.Select || f.direction(o) == receiving) || !ofMaker(o, maker) {
		return false
	}
	_, other := f.otherEnds(o)
	for _, x := range other {
		if !receives(x) || x.Function == maker || x.root == "" || startedBy(maker)(profile.GoroutineSite{CreatedBy: x.created, Root: x.root}) {
			return false
		}
	}
	return len(other) > 0
}

// ofMaker reports whether an operation is in the start function of goroutines,
// which the package of maker starts for one value each.
func ofMaker(o *Operation, maker string) bool {
	return len(o.roots) == 1 && o.roots[0] == o.Function && o.site.At.Package() == profile.Frame{Function: maker}.Package()
}

// startedForOne reports whether an operation is in goroutines that are started
// for one value each: it is in no loop.
func (f *facts) startedForOne(o *Operation) bool {
	found := goroutinePerValue(f)
	return found != nil && ofMaker(o, found.maker)
}

// spawnGain returns the throughput if most of the cost of starting goroutines,
// and of their channel operations, is gone.
func (f *facts) spawnGain(spent float64, keep stay) Range {
	now := f.load(0)
	all := now.own + now.channels
	l := load{channels: min(all, now.channels+spent*spawnAround/f.cpu*f.loadUnit())}
	l.own = all - l.channels
	l.gone = coldWork * l.own
	return f.gain(l, keep)
}

// lessSure returns a range that begins at no gain: the remedy depends on what
// else uses the cores.
func lessSure(r Range) Range {
	low := max(1, r.Low*lessLow)
	return between(low, max(low, r.Mid*lessMid), r.High)
}

// lessLow and lessMid are the factors of a gain that depends on more than the
// removed cost: 0.7 and 0.8 of it were measured.
const lessLow, lessMid = 0.75, 0.85

// startedBy selects the goroutines that a function starts.
func startedBy(maker string) func(profile.GoroutineSite) bool {
	return func(s profile.GoroutineSite) bool {
		return s.CreatedBy.Function == maker || enclosing(s.Root) == maker && s.Root != maker
	}
}

// onlyWaits returns the receive or select in which nearly all goroutines wait
// that a function starts, or nil: each of them was started to wait for a channel.
func (f *facts) onlyWaits(maker string) (most *Operation) {
	g := f.capture.Goroutines
	if g == nil {
		return nil
	}
	all := 0
	for _, s := range g.Sites {
		if startedBy(maker)(s) {
			all += max(s.Count(), s.Runnable)
		}
	}
	for i := range f.operations {
		o := &f.operations[i]
		if (receives(o) || o.Op == profile.Select && f.direction(o) != sending) && startedBy(maker)(profile.GoroutineSite{CreatedBy: o.created, Root: o.root}) &&
			deref(o.Waiting) >= manyReceivers && float64(deref(o.Waiting)) >= waitingPart*float64(all) {
			return o
		}
	}
	return nil
}

// mergeWaits adds the remedy for goroutines that are started to wait for one
// channel each.
func (f *facts) mergeWaits(found *Finding, waiting *Operation, spent float64) {
	of, now := *f, f.load(0)
	of.avail = now.own + now.channels // they wait for events: idle cores do not bring more of them
	found.Text = fmt.Sprintf("A goroutine is started for each channel that %s waits for, and does nothing but wait: %s.", profile.Frame{Function: found.maker}, waiting)
	found.addEvidence(profile.KindGoroutineText, fmt.Sprintf("%d of these goroutines wait there", deref(waiting.Waiting)))
	if found.Channels {
		found.At = &waiting.Place
	}
	found.Remedies = []Remedy{{MergeChannels, "let one goroutine wait for several of these channels in one select, such as 32 cases; or let all sources report on one channel",
		lessSure(of.spawnGain(spent, stay{spawnWorst, spawnBest})), byLoad + ", as CPU time per value"}}
	const wait = "these goroutines wait for a channel each, and have no work that others could do."
	found.RuledOut = append(found.RuledOut, RuledOut{Fuse, "in place, the waits would follow each other, not run at the same time."}, RuledOut{WorkerPool, wait}, RuledOut{Batch, wait})
}

// sendsForOthers returns the send of the goroutines that a function starts and
// receives from, if it is in a function that they call; or nil.
func (f *facts) sendsForOthers(maker string) *Operation {
	collects := f.costliest(func(o *Operation) bool { return receives(o) && o.Function == maker })
	if collects == nil {
		return nil
	}
	return f.costliest(func(o *Operation) bool {
		return o.Op == profile.Send && len(o.roots) > 0 && enclosing(o.roots[0]) == maker && enclosing(o.Function) != maker && !slices.Contains(o.roots, o.Function)
	})
}
