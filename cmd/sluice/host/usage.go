package host

import (
	"fmt"
	"io/fs"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// Usage counts who used the machine, in seconds: since some moment in the past, or
// between two moments as their difference. What is nil is not known here.
type Usage struct {
	Wall float64 `json:"wall_seconds"`
	// Steal is CPU time that other guests of the host took, summed over the CPUs.
	Steal *float64 `json:"steal_cpu_seconds"`
	// Throttled is how long the cgroup was stopped because its quota was used up.
	Throttled *float64 `json:"throttled_seconds"`
	// Pressure is how long some thread of the machine, ours or not, waited for a CPU.
	Pressure *float64 `json:"cpu_pressure_seconds"`
	// Switches counts how often the system took a CPU from a thread of ours.
	Switches *float64 `json:"involuntary_switches"`
	// Collector is the CPU time of Go's garbage collector in this process without
	// what it did for want of anything better; Cycles is how often it ran.
	Collector *float64 `json:"gc_cpu_seconds"`
	Cycles    *float64 `json:"gc_cycles"`
}

// A Watch reads the counters. It is made once, as finding the files takes longer
// than reading them.
type Watch struct {
	root   fs.FS
	groups []cgroup
	began  time.Time
}

// NewWatch returns a Watch of the system that the process runs on.
func NewWatch() *Watch {
	return &Watch{system, cgroups(system), time.Now()}
}

// Read returns what was used until now. It takes some 50 µs.
func (w *Watch) Read() Usage {
	collector, cycles := collected()
	return Usage{
		Wall:      time.Since(w.began).Seconds(),
		Steal:     steal(read(w.root, "proc/stat")),
		Throttled: throttled(w.root, w.groups),
		Pressure:  pressure(read(w.root, "proc/pressure/cpu")),
		Switches:  switches(),
		Collector: collector,
		Cycles:    cycles,
	}
}

// Since returns what was used since an earlier reading.
func (u Usage) Since(earlier Usage) Usage {
	return u.each(earlier, func(a, b float64) float64 { return a - b })
}

// Plus returns what was used in two stretches of time together.
func (u Usage) Plus(other Usage) Usage {
	return u.each(other, func(a, b float64) float64 { return a + b })
}

// each joins two usages figure by figure: of what one of them does not know
// nothing is known.
func (u Usage) each(other Usage, f func(a, b float64) float64) Usage {
	join := func(a, b *float64) *float64 {
		if a == nil || b == nil {
			return nil
		}
		c := f(*a, *b)
		return &c
	}
	return Usage{
		Wall:      f(u.Wall, other.Wall),
		Steal:     join(u.Steal, other.Steal),
		Throttled: join(u.Throttled, other.Throttled),
		Pressure:  join(u.Pressure, other.Pressure),
		Switches:  join(u.Switches, other.Switches),
		Collector: join(u.Collector, other.Collector),
		Cycles:    join(u.Cycles, other.Cycles),
	}
}

// Levels from which on a measurement counts as disturbed, as a share of its time.
// Steal is counted in hundredths of a second, so less than stealTicks of them may
// be rounding.
const (
	stealLevel     = 0.01
	throttledLevel = 0.01
	pressureLevel  = 0.10
	stealTicks     = 0.03 // s
)

// Disturbances says what disturbed a measurement with procs as GOMAXPROCS on a
// machine of so many CPUs. Where GOMAXPROCS exceeds them our own threads wait for
// a CPU, so that says nothing about others.
func (u Usage) Disturbances(cpus, procs int) []string {
	if u.Wall <= 0 {
		return nil
	}
	var reasons []string
	say := func(used *float64, of, level float64, format string) {
		if used != nil && *used > level*of {
			reasons = append(reasons, fmt.Sprintf(format, 100**used/of))
		}
	}
	if u.Steal != nil && *u.Steal >= stealTicks {
		say(u.Steal, u.Wall*float64(cpus), stealLevel, "other guests of the host took %.1f %% of the CPU time")
	}
	say(u.Throttled, u.Wall, throttledLevel, "the cgroup was stopped at its quota for %.1f %% of the time")
	if procs <= cpus {
		say(u.Pressure, u.Wall, pressureLevel, "threads waited for a CPU for %.0f %% of the time")
	}
	return reasons
}

// collectorLevel is the share of the CPU time of a point above which the garbage
// collector is worth a word. It is no disturbance: who makes garbage pays for it.
const collectorLevel = 0.05

// Collecting says how much of the CPU time of procs processors the garbage
// collector took, if that is worth a word.
func (u Usage) Collecting(procs int) string {
	if u.Collector == nil || u.Cycles == nil || u.Wall <= 0 {
		return ""
	}
	share := *u.Collector / (u.Wall * float64(procs))
	if share <= collectorLevel {
		return ""
	}
	return fmt.Sprintf("garbage collection took %.0f %% of the CPU time, in %.0f cycles", 100*share, *u.Cycles)
}

// steal returns the CPU time taken by other guests in the text of /proc/stat, which
// counts in hundredths of a second.
func steal(text string) *float64 {
	const column = 8 // after the word "cpu"
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) <= column || fields[0] != "cpu" {
			continue
		}
		if ticks, err := strconv.ParseFloat(fields[column], 64); err == nil {
			seconds := ticks / 100
			return &seconds
		}
	}
	return nil
}

// pressure returns the total of the line "some" in the text of /proc/pressure/cpu,
// which counts in microseconds.
func pressure(text string) *float64 {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "some ") {
			continue
		}
		_, total, _ := strings.Cut(line, "total=")
		if us, err := strconv.ParseFloat(strings.TrimSpace(total), 64); err == nil {
			seconds := us / 1e6
			return &seconds
		}
	}
	return nil
}

// collected returns the CPU time and the number of cycles of the collector. The
// runtime adds up the time at the end of each cycle.
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
