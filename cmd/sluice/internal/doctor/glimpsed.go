package doctor

import (
	"math"
	"slices"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// What a service shows without metrics: a glimpse, which is a trace of a few
// milliseconds, and the states of its goroutines at several moments. Neither
// proves that something does not happen.

const (
	// manyWakeups is the smallest number of wake-ups or parks in a glimpse that
	// gives a rate or a proportion: its error is a tenth.
	manyWakeups = 100
	// squeezed is the part of the time of running goroutines that is CPU time
	// below which the service does not get the cores that it needs. It was 0.2
	// to 0.4 on a quota of 0.3 cores, and 0.8 to 1.1 without one.
	squeezed = 0.6
	// squeezedTraced is the same for a trace that was taken in addition. It slows
	// the service while it runs, and the CPU profile covers more than it: with the
	// machine for itself it was 0.5 and more, on cores that other processes had
	// 0.04 to 0.47. Other processes leave many goroutines ready to run, too; where the
	// goroutine dump has as many, the trace is not the cause, and squeezed is the limit.
	squeezedTraced = 0.45
	// awakePs is the mean number of running goroutines in a glimpse below which
	// the service may simply have nothing to do.
	awakePs = 0.5
)

// A CPULimit is a service that does not get the cores that its goroutines need.
const CPULimit Kind = "CPU limit"

var limitRules = []rule{
	{
		kind: CPULimit, look: cpuLimit, instead: []Kind{CPUBound, SlowStage, Lockstep},
		reason: "on a quota of 0.3 cores 0.7 to 1.9 goroutines ran at any moment, with up to 7 runnable ones behind them; " +
			"the same services used 1 to 2 cores without it; beside 25 to 50 busy processes on 2 cores, 0.03 to 0.4 cores, and 9 to 46 runnable goroutines",
	},
}

// readGlimpse takes from a glimpse what metrics would have given.
func (f *facts) readGlimpse() {
	g := f.capture.Glimpse
	if g == nil || g.Window <= 0 || f.wakeups != nil {
		return
	}
	if g.Wakeups >= manyWakeups {
		f.wakeups, f.wakeupsFrom = known(float64(g.Wakeups)/g.Window.Seconds()), profile.KindGlimpse
	}
}

// readSqueeze compares the goroutines that run, at each moment that was looked
// at, with the CPU time that they got. A core that other processes have, or
// that a CPU limit takes away, counts as running for the Go scheduler.
func (f *facts) readSqueeze() {
	cpu, g := f.capture.CPU, f.capture.Goroutines
	if cpu == nil || cpu.Window <= 0 || g == nil || !g.InKnown || !g.StatesKnown || !g.GrowthKnown {
		return
	}
	// A service with a little work in bursts is seen at rest at some moment.
	// Where goroutines wake each other all the time, all may look parked.
	t, limit, queue := f.capture.Glimpse, squeezed, 0.0
	if t == nil && f.capture.Trace != nil {
		t, limit, queue = f.capture.Trace, squeezedTraced, starvedQueue*float64(max(1, f.procs))
		if float64(g.States["runnable"]) >= queue {
			limit = squeezed
		}
	}
	hot := t != nil && t.Window > 0 && float64(t.Wakeups) >= busyWakeups*assumedCores*t.Window.Seconds() && t.Wakeups >= manyWakeups
	if g.Awake == 0 && g.States["runnable"] == 0 || g.AwakeBefore == 0 && !hot {
		return
	}
	cores := cpu.Cores()
	switch {
	case t != nil && t.Window > 0:
		f.running, f.queued = t.Running.Seconds()/t.Window.Seconds(), t.Runnable.Seconds()/t.Window.Seconds()
		f.squeezed = f.running >= awakePs && cores < limit*f.running && f.queued >= queue
	case f.isStarved():
		f.running, f.queued = cores+f.starved, f.starved
		f.squeezed = f.starved >= awakePs
	}
	if f.squeezed { // these are all the cores that it gets
		f.avail = cores
	}
}

// wakeTrace returns the trace, or else a glimpse with enough wake-ups to show who
// wakes whom; or nil.
func (f *facts) wakeTrace() *profile.Trace {
	if f.capture.Trace != nil {
		return f.capture.Trace
	}
	if g := f.capture.Glimpse; g != nil && g.Window > 0 && g.Wakeups >= manyWakeups {
		return g
	}
	return nil
}

// readyToRun returns the mean number of goroutines that are ready to run in a trace, 0 if unknown.
func (f *facts) readyToRun() float64 {
	t := f.wakeTrace()
	if t == nil || t.Window <= 0 {
		return 0
	}
	return t.Runnable.Seconds() / t.Window.Seconds()
}

// addWakeups adds the rate of wake-ups to the evidence, if it is known.
func (f *facts) addWakeups(found *Finding) {
	if f.wakeups != nil {
		found.addEvidence(f.wakeupsFrom, format.Count(*f.wakeups)+" wake-ups per second")
	}
}

// ownError returns the relative error of the program's own work, which bounds a
// gain from above: a CPU limit leaves few samples of it.
func (f *facts) ownError() float64 {
	if !f.squeezed || f.capture.CPU.Period <= 0 {
		return 0
	}
	samples := f.cpu * (1 - f.channelCPU()) / f.capture.CPU.Period.Seconds()
	return 1 / math.Sqrt(max(1, samples))
}

// parksOf returns the sites of a trace or a glimpse with enough parks for a
// proportion, and what it is called.
func (f *facts) parksOf() (sites []profile.TraceSite, basis string) {
	if t := f.capture.Trace; t != nil && len(t.Sites) > 0 {
		return t.Sites, "by the waits in the trace"
	}
	if t := f.capture.Glimpse; t != nil {
		parks := int64(0)
		for _, s := range t.Sites {
			parks += s.Parks
		}
		if parks >= manyWakeups {
			return t.Sites, "by the waits in a short trace"
		}
	}
	return nil, ""
}

// waitForLocks counts the goroutines in locks of package sync, for want of
// metrics. A queue that was there at the start and at the end of the window is
// no accident. Stacks count: whoever releases a lock makes a waiter runnable,
// and on busy cores all of a queue may be runnable at one moment.
func (f *facts) waitForLocks() {
	g := f.capture.Goroutines
	if f.syncWait != nil || f.metricsWindow() > 0 || g == nil || !g.GrowthKnown {
		return
	}
	now, earlier := 0, 0
	for _, s := range g.Sites {
		if s.Op == profile.Lock {
			now, earlier = now+s.Count(), earlier+s.Earlier
		}
	}
	if waiting := min(now, earlier); waiting > 1 {
		f.syncWait, f.asleepFrom = known(float64(waiting)), "in two snapshots"
	}
	if waiting := f.glimpsedLocks(); waiting > value(f.syncWait) {
		f.syncWait, f.asleepFrom = known(waiting), "in a short trace"
	}
}

// glimpsedLocks returns the mean number of goroutines that wait for package sync
// in a glimpse, 0 if few wait. At the end of an observation all workers may have
// been woken at once: then no state shows what they wait for.
func (f *facts) glimpsedLocks() float64 {
	t := f.capture.Glimpse
	if t == nil || t.Window <= 0 {
		return 0
	}
	var waited time.Duration
	parks := int64(0)
	for _, s := range t.Sites {
		if s.Op == profile.Lock {
			waited, parks = waited+s.Waited, parks+s.Parks
		}
	}
	if parks < manyWakeups {
		return 0
	}
	return waited.Seconds() / t.Window.Seconds()
}

// lockQueue returns the place where most goroutines wait for a lock of package
// sync, or nil.
func (f *facts) lockQueue() *profile.GoroutineSite {
	g := f.capture.Goroutines
	if g == nil {
		return nil
	}
	i := slices.IndexFunc(g.Sites, func(s profile.GoroutineSite) bool { return s.Op == profile.Lock && s.Count() > 1 }) // by count
	if i < 0 {
		return nil
	}
	return &g.Sites[i]
}
