package doctor

import (
	"fmt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// A goroutine that runs on a core which other processes have at that moment uses
// no CPU time, and leaves no core idle either: a change of channels fills idle
// cores only. The Go scheduler knows how many of its Ps run, and the CPU profile
// what they got.

// lentRate is the part of the running time that is CPU time above which the rest
// is noise: services with the machine for themselves had 0.9 to 1.
const lentRate = 0.90

// reachable returns the number of cores that the service can use if all of its
// goroutines had work, 0 if unknown.
func (f *facts) reachable() float64 {
	running := f.runningPs() - value(f.asleep)
	if f.avail == 0 || running < awakePs || f.cores >= lentRate*running {
		return f.avail
	}
	return max(f.cores, f.avail*f.cores/running)
}

// runningPs returns the mean number of Ps with a goroutine that runs, 0 if
// unknown.
func (f *facts) runningPs() float64 {
	if m := f.capture.Metrics; m != nil && f.metricsWindow() > 0 && f.procs > 0 {
		if part, ok := m.IdlePs(); ok {
			return min(float64(f.procs)*(1-part), max(1, f.had))
		}
	}
	for _, t := range []*profile.Trace{f.capture.Trace, f.capture.Glimpse} {
		if t != nil && t.Window > 0 && t.Wakeups >= manyWakeups {
			return t.Running.Seconds() / t.Window.Seconds()
		}
	}
	return 0
}

// queuedPs reports whether a trace shows that the Ps run, with more goroutines ready
// to run behind them: no core idles because goroutines wait for each other.
func (f *facts) queuedPs() bool {
	t := f.wakeTrace()
	if t == nil || t.Window <= 0 || f.procs == 0 {
		return false
	}
	procs := float64(f.procs)
	return t.Running.Seconds() >= (1-idleCores)*procs*t.Window.Seconds() && f.readyToRun() >= starvedQueue*procs
}

// othersCores is the number of cores that other processes use, and othersPart their part of
// all, from which on they take time from a service that uses the rest: one short command
// beside an observation of five seconds uses less.
const othersCores, othersPart = 0.30, 0.05

// others returns the mean number of cores that other processes of the machine used, 0 if
// unknown.
func (f *facts) others() float64 {
	if m := f.capture.Machine; m != nil && f.capture.CPU != nil && f.procs <= m.CPUs { // otherwise the address leads to another machine
		return max(0, m.Busy-f.capture.CPU.Cores())
	}
	return 0
}

// noneIdle reports whether the service and other processes used all CPUs of the machine:
// then cores that the service does not use are not idle.
func (f *facts) noneIdle() bool {
	m := f.capture.Machine
	return m != nil && f.others() >= max(othersCores, othersPart*float64(m.CPUs)) && m.Busy >= (1-idleCores)*float64(m.CPUs)
}

// othersAnswer ends the answer with the cores that other processes used, with a leading
// space, or is empty.
func (f *facts) othersAnswer() string {
	if !f.noneIdle() {
		return ""
	}
	return fmt.Sprintf(" Other processes used %s of the machine's %d CPUs, and hardly any was idle: observe it again without them, unless they are its clients.",
		format.Number(f.others()), f.capture.Machine.CPUs)
}
