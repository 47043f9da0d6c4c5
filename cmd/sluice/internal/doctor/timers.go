package doctor

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TimerEachRound is the finding that a select has a new timer each time.
const TimerEachRound Kind = "timer for each round"

const (
	// timersShare of CPU time, the collector's for timers included. A listener that asks
	// for one with each report had 0.40, and did ×1.5 without; a tenth gives no ×1.15.
	timersShare = 0.15
	// resetWorst and resetBest are the parts of what timers cost that setting one anew
	// costs: 0.3 was measured, where all the timers ever made were garbage at once.
	resetWorst, resetBest = 0.50, 0.20
)

var timerRules = []rule{{
	kind: TimerEachRound, shares: true, look: timerEachRound, instead: []Kind{PlainCPU},
	reason: "time.After in the select of a loop: 34 % of CPU time makes timers and 6 % collects them; one timer, reset, ×1.5",
}}

// timers are those that one function makes beside a select of its own.
type timers struct {
	at    profile.Frame // the line that makes most of them
	spent float64       // CPU seconds, the collector's not among them
	made  float64       // of it allocating
	roots map[string]float64
}

// timersOf adds up timers by function, the dearest first, of those functions that
// select: who makes a timer and waits for nothing else, or hands it on, is left alone.
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

// selectsIn is the dearest select in a function, nil if there is none.
func (f *facts) selectsIn(function string) *Operation {
	return f.dearest(func(o *Operation) bool { return o.Op == profile.Select && o.Function == function })
}

// collectedFor is the share of CPU time that the collector takes for timers, by what they
// are of all that is allocated.
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

// collectorForTimers is the share of CPU time that making the memory of such timers and
// collecting it takes: less of them needs no room for the collector.
func (f *facts) collectorForTimers() (share float64) {
	for _, t := range f.timersOf() {
		share += t.made/f.cpu + f.collectedFor(t)
	}
	return share
}

func timerEachRound(f *facts) *Finding {
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
	found := &Finding{Channels: true, At: &o.Place, Share: known(share * f.used()), Confidence: High}
	found.Text = fmt.Sprintf("A timer is made for each round of a select, and is garbage after it: at %s, for the %s.", t.at, o)
	found.says(profile.KindCPU, fmt.Sprintf("%s of CPU time makes timers there, and about %s collects them; channels take %s",
		percent(t.spent/f.cpu), percent(collected), percent(f.channelCPU())))
	found.Remedies = []Remedy{{OneTimer,
		"make one time.NewTimer before the loop and Reset it in each round, or give the loop a context with a deadline, if it may be one for all rounds",
		f.timerGain(t, share), "what the service does besides, and Reset, which takes a third of what making a timer takes"}}
	found.Not = []Not{
		{Buffer, "a timer is made for each round whether the channel has one slot or a thousand."},
		{NoChange, "a newer Go collects timers that nobody refers to, since 1.23 before they fire: that ends what piles up, not what each of them costs."},
	}
	return found
}

// timersIn is how many cores go into such timers in a stage.
func (f *facts) timersIn(root string) (cores float64) {
	for _, t := range f.timersOf() {
		cores += t.roots[root] / f.window
	}
	return cores
}

// timerGain is what throughput becomes where one timer serves all rounds. Timers stand
// in the place of the channels here, and what channels cost stays.
func (f *facts) timerGain(t timers, share float64) Range {
	now := f.load(0)
	engaged := now.own + now.channels
	l := load{channels: min(engaged, share*f.loadUnit())}
	l.own = engaged - l.channels
	then := *f
	then.stages = slices.Clone(f.stages)
	for i := range then.stages {
		s := &then.stages[i]
		taken := min(s.work, t.roots[s.root]/f.window) // without a window there are no stages
		s.work, s.channel = s.work+s.channel-taken, taken
	}
	return then.gain(l, stay{resetWorst, resetBest})
}

// loadUnit is what all CPU time is in a load: cores, or 1 if the window is not known.
func (f *facts) loadUnit() float64 {
	if f.window == 0 {
		return 1
	}
	return f.cpu / f.window
}
