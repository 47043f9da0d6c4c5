package doctor

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TimerPerIteration is the finding that a select creates a timer per iteration.
const TimerPerIteration Kind = "timer per iteration"

const (
	// timersShare is a share of CPU time, including collection of the timers. A
	// listener that created one per report had 0.40, and gained ×1.5 without; a
	// tenth gains less than ×1.15.
	timersShare = 0.15
	// resetWorst and resetBest are the cost of Reset as parts of the cost of a
	// new timer: 0.3 was measured while all old timers were garbage.
	resetWorst, resetBest = 0.50, 0.20
)

var timerRules = []rule{{
	kind: TimerPerIteration, shares: true, look: timerPerIteration, instead: []Kind{CPUBound},
	reason: "time.After in the select of a loop: 34% of CPU time creates timers and 6% collects them; one " +
		"timer with Reset ×1.5",
}}

// timers are the timers that one function creates for its own select.
type timers struct {
	at    profile.Frame // the line that creates most of them
	spent float64       // CPU seconds, without garbage collection
	made  float64       // part of spent in allocation
	roots map[string]float64
}

// timersOf adds up timers by cost, for functions that select: a function that
// only waits for its timer, or passes it on, is not affected.
func (f *facts) timersOf() (all []timers) {
	if f.capture.CPU == nil {
		return nil
	}
	for _, t := range f.capture.CPU.Timers {
		if f.selectsIn(t.At.Function) == nil {
			continue
		}
		i := slices.IndexFunc(all, func(known timers) bool { return known.at.Function == t.At.Function })
		if i < 0 {
			i = len(all)
			all = append(all, timers{at: t.At, roots: make(map[string]float64)})
		}
		all[i].spent += t.Time.Seconds()
		all[i].made += t.New.Seconds()
		all[i].roots[t.Root] += t.Time.Seconds()
	}
	slices.SortStableFunc(all, func(a, b timers) int { return cmp.Compare(b.spent, a.spent) })
	return all
}

// selectsIn returns the most expensive select in a function, or nil.
func (f *facts) selectsIn(function string) *Operation {
	return f.costliest(func(o *Operation) bool { return o.Op == profile.Select && o.Function == function })
}

// collectedFor returns the share of CPU time in garbage collection of timers,
// in proportion to allocation.
func (f *facts) collectedFor(t timers) float64 {
	all := f.capture.CPU.By[profile.Allocating].Seconds()
	for _, s := range f.capture.CPU.Sites {
		if s.Op.Channel() {
			all += s.New.Seconds()
		}
	}
	if all == 0 {
		return 0
	}
	return f.share(profile.Collecting) * min(1, t.made/all)
}

// collectorForTimers returns the share of CPU time that allocates and collects
// such timers.
func (f *facts) collectorForTimers() (share float64) {
	for _, t := range f.timersOf() {
		share += t.made/f.cpu + f.collectedFor(t)
	}
	return share
}

func timerPerIteration(f *facts) *Finding {
	all := f.timersOf()
	if len(all) == 0 {
		return nil
	}
	t := all[0]
	collected := f.collectedFor(t)
	share := t.spent/f.cpu + collected
	if share < f.limit(timersShare) {
		return nil
	}
	o := f.selectsIn(t.at.Function)
	if f.startedForOne(o) {
		return nil // its goroutine waits once: the goroutine is what each value costs
	}
	found := &Finding{Channels: true, At: &o.Place, Share: known(share * f.used()), Confidence: High}
	found.Text = fmt.Sprintf("A new timer for each iteration of a select: at %s, for the %s.", t.at, o)
	found.addEvidence(profile.KindCPU, fmt.Sprintf("%s of CPU time creates timers there, and about %s collects them; channels take %s",
		format.Percent(t.spent/f.cpu), format.Percent(collected), format.Percent(f.channelCPU())))
	found.Remedies = []Remedy{{ReuseTimer,
		"create one time.NewTimer before the loop and Reset it in each iteration, or use a context with " +
			"a deadline, if one deadline serves all iterations",
		f.timerGain(t, share), "the service's other work, and Reset at a third of the cost of a new timer"}}
	found.RuledOut = []RuledOut{
		{Buffer, "a timer is created for each iteration, whatever the capacity."},
		{NoChange, "since Go 1.23, unreferenced timers are collected before they fire: that bounds memory, but " +
			"each timer still costs CPU time."},
	}
	return found
}

// timersIn returns the cores that such timers cost in a stage.
func (f *facts) timersIn(root string) (cores float64) {
	for _, t := range f.timersOf() {
		cores += t.roots[root] / f.window
	}
	return cores
}

// timerGain returns the throughput when one timer serves all iterations. It
// treats timers as the removable cost and keeps the cost of channels.
func (f *facts) timerGain(t timers, share float64) Range {
	now := f.load(0)
	engaged := now.own + now.channels
	l := load{channels: min(engaged, share*f.loadUnit())}
	l.own = engaged - l.channels
	then := *f
	then.stages = slices.Clone(f.stages)
	for i := range then.stages {
		s := &then.stages[i]
		taken := min(s.work, t.roots[s.root]/f.window) // there are no stages without a window
		s.work, s.channel = s.work+s.channel-taken, taken
	}
	return then.gain(l, stay{resetWorst, resetBest})
}

// loadUnit converts shares of CPU time to a load: cores, or 1 if the window is
// unknown.
func (f *facts) loadUnit() float64 {
	if f.window == 0 {
		return 1
	}
	return f.cpu / f.window
}
