package doctor

import (
	"fmt"

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
	// placeWorst is the same for work in place.
	placeWorst = 0.2
)

var spawnRules = []rule{{
	kind: GoroutinePerValue, shares: true, look: goroutinePerValue,
	instead: []Kind{TransferCost, TinyJobs, LockContention, RequestResponse, Lockstep, Scattered},
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
		found.addEvidence(profile.KindCPU, fmt.Sprintf("%s of CPU time is in channel operations and the scheduler after them, most of it in the %s",
			format.Percent(f.channelCPU()), o))
	}
	gain := f.spawnGain(spent, stay{spawnWorst, spawnBest})
	found.Remedies = []Remedy{
		{Batch, "start one goroutine for several values: a slice of them, a few per core", gain, byLoad},
		{WorkerPool, "let long-lived goroutines take slices of values, one goroutine per core: workers.Run, or a channel of slices", lessSure(gain), byLoad},
		{Fuse, "do the work in place, if it is this short and others use the cores", f.spawnGain(spent, stay{placeWorst, 0}), byLoad},
	}
	found.RuledOut = []RuledOut{
		{Buffer, "the cost is in starting and ending goroutines (measured ×1.0)."},
		{MoreReceivers, "there are more goroutines than cores already."},
	}
	return found
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
