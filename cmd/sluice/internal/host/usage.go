package host

import (
	"fmt"
	"io/fs"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// Usage counts the use of the machine in seconds: since some moment in the
// past, or, as a difference, between two moments. A nil figure is unknown on
// this system.
type Usage struct {
	Wall float64 `json:"wall_seconds"`
	// Steal is CPU time that other guests of the host took, summed over the CPUs.
	Steal *float64 `json:"steal_cpu_seconds"`
	// Throttled is the time in which CPUs of the cgroup were throttled, summed
	// over the CPUs: it may exceed Wall.
	Throttled *float64 `json:"throttled_seconds"`
	// Others is CPU time of other processes, summed over the CPUs: the
	// machine's minus this process's. The two are counted differently, so
	// Others is accurate only to a few hundredths of a second, and may be
	// negative.
	Others *float64 `json:"other_processes_cpu_seconds"`
	// Pressure is the time in which any thread of the machine waited for a CPU.
	Pressure *float64 `json:"cpu_pressure_seconds"`
	// Switches counts the preemptions of threads of this process.
	Switches *float64 `json:"involuntary_switches"`
	// Collector is the CPU time of Go's garbage collector in this process, without
	// idle marking; Cycles is the number of its cycles.
	Collector *float64 `json:"gc_cpu_seconds"`
	Cycles    *float64 `json:"gc_cycles"`
}

// A Watch reads the counters. Make it once: finding the files takes longer than
// reading them.
type Watch struct {
	root   fs.FS
	groups []cgroup
	began  time.Time
}

// NewWatch returns a Watch of the system that the process runs on.
func NewWatch() *Watch {
	return &Watch{system, cgroups(system), time.Now()}
}

// Read returns the use until now. It takes about 50 µs.
func (w *Watch) Read() Usage {
	collector, cycles := collected()
	own, switches := process()
	busy, steal := cpuTimes(read(w.root, "proc/stat"))
	return Usage{
		Wall:      time.Since(w.began).Seconds(),
		Steal:     steal,
		Others:    join(busy, own, difference),
		Throttled: throttled(w.root, w.groups),
		Pressure:  pressure(read(w.root, "proc/pressure/cpu")),
		Switches:  switches,
		Collector: collector,
		Cycles:    cycles,
	}
}

// Others returns the CPU seconds that other processes have used until now, nil if unknown,
// and the number of CPUs whose time that is. A process may be allowed to use fewer.
func (w *Watch) Others() (seconds *float64, cpus int) {
	for line := range strings.Lines(read(w.root, "proc/stat")) {
		if name, _, _ := strings.Cut(line, " "); len(name) > len("cpu") && strings.HasPrefix(name, "cpu") {
			cpus++
		}
	}
	return w.Read().Others, cpus
}

// Since returns the use since an earlier reading.
func (u Usage) Since(earlier Usage) Usage {
	return u.each(earlier, difference)
}

// Plus returns the sum of the use in two periods.
func (u Usage) Plus(other Usage) Usage {
	return u.each(other, sum)
}

// each combines two usages figure by figure.
func (u Usage) each(other Usage, f func(a, b float64) float64) Usage {
	return Usage{
		Wall:      f(u.Wall, other.Wall),
		Steal:     join(u.Steal, other.Steal, f),
		Throttled: join(u.Throttled, other.Throttled, f),
		Others:    join(u.Others, other.Others, f),
		Pressure:  join(u.Pressure, other.Pressure, f),
		Switches:  join(u.Switches, other.Switches, f),
		Collector: join(u.Collector, other.Collector, f),
		Cycles:    join(u.Cycles, other.Cycles, f),
	}
}

func sum(a, b float64) float64        { return a + b }
func difference(a, b float64) float64 { return a - b }

// join returns f of two figures, or nil if either is unknown.
func join(a, b *float64, f func(a, b float64) float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	c := f(*a, *b)
	return &c
}

// Levels above which a measurement counts as disturbed, as shares of its time.
// The system counts CPU time in hundredths of a second: a few of them may be
// rounding.
const (
	stealLevel     = 0.01
	throttledLevel = 0.01
	othersLevel    = 0.05
	pressureLevel  = 0.10
	rounding       = 0.03 // s
)

// Disturbances describes the disturbances of a measurement with procs as
// GOMAXPROCS on a machine with cpus CPUs. The pressure counts only if procs <
// cpus: threads of this process that can occupy all CPUs wait for each other,
// up to 60% of the time on a quiet machine with two goroutines on two CPUs.
func (u Usage) Disturbances(cpus, procs int) []string {
	if u.Wall <= 0 {
		return nil
	}
	var reasons []string
	report := func(used *float64, of, level, least float64, format string) {
		if used != nil && *used > level*of && *used >= least {
			reasons = append(reasons, fmt.Sprintf(format, 100**used/of))
		}
	}
	all := u.Wall * float64(cpus)
	report(u.Steal, all, stealLevel, rounding, "other guests of the host took %.1f%% of the CPU time")
	ours := u.Wall * float64(min(cpus, procs)) // the CPUs that our threads could be stopped on
	report(u.Throttled, ours, throttledLevel, 0, "the cgroup was throttled for %.1f%% of its CPUs' time")
	report(u.Others, all, othersLevel, rounding, "other processes took %.0f%% of the CPU time")
	if procs < cpus {
		report(u.Pressure, u.Wall, pressureLevel, 0, "threads waited for a CPU for %.0f%% of the time")
	}
	return reasons
}

// collectorLevel is the share of a point's CPU time above which the garbage
// collector is reported. It is not a disturbance: a contender that makes
// garbage pays for it.
const collectorLevel = 0.05

// Collecting describes the garbage collector's share of the CPU time of procs
// processors. It returns "" below collectorLevel.
func (u Usage) Collecting(procs int) string {
	if u.Collector == nil || u.Cycles == nil || u.Wall <= 0 {
		return ""
	}
	share := *u.Collector / (u.Wall * float64(procs))
	if share <= collectorLevel {
		return ""
	}
	return fmt.Sprintf("garbage collection took %.0f%% of the CPU time, in %.0f cycles", 100*share, *u.Cycles)
}

// after returns what follows a prefix at the beginning of a line, up to the end of the line.
func after(text, prefix string) string {
	_, rest, _ := strings.Cut("\n"+text, "\n"+prefix)
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}

// divided returns the number in a text in units of unit, or nil if there is none.
func divided(text string, unit float64) *float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil
	}
	n /= unit
	return &n
}

// cpuTimes parses /proc/stat, which counts in hundredths of a second. It
// returns the busy CPU time, and the CPU time that other guests took.
func cpuTimes(text string) (busy, steal *float64) {
	// user nice system idle iowait irq softirq steal …
	fields := strings.Fields(after(text, "cpu "))
	if len(fields) < 8 {
		return nil, nil
	}
	busy = new(float64)
	for _, i := range []int{0, 1, 2, 5, 6} {
		busy = join(busy, divided(fields[i], 100), sum)
	}
	return busy, divided(fields[7], 100)
}

// pressure returns the total of the line "some" of /proc/pressure/cpu, which
// counts in microseconds.
func pressure(text string) *float64 {
	_, total, _ := strings.Cut(after(text, "some "), "total=")
	return divided(total, 1e6)
}

// collected returns the CPU time and the number of cycles of the collector. The
// runtime updates the time at the end of each cycle.
func collected() (seconds, cycles *float64) {
	samples := []metrics.Sample{
		{Name: "/gc/cycles/total:gc-cycles"},
		{Name: "/cpu/classes/gc/mark/assist:cpu-seconds"},
		{Name: "/cpu/classes/gc/mark/dedicated:cpu-seconds"},
		{Name: "/cpu/classes/gc/pause:cpu-seconds"},
	}
	metrics.Read(samples)
	total := 0.0
	for _, sample := range samples[1:] {
		if sample.Value.Kind() != metrics.KindFloat64 {
			return nil, nil
		}
		total += sample.Value.Float64()
	}
	if samples[0].Value.Kind() != metrics.KindUint64 {
		return nil, nil
	}
	n := float64(samples[0].Value.Uint64())
	return &total, &n
}
