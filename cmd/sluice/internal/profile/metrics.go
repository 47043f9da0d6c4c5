package profile

import "time"

// Metrics are one or two readings of runtime/metrics: at the end of the window,
// and at its start. A method for a value that the service does not provide
// returns false.
type Metrics struct {
	Before *Reading // nil with one reading: differences then start with the process
	After  *Reading
}

// A Reading is the values of runtime/metrics at one time, by the names of this
// package.
type Reading struct {
	At         time.Time // zero if unknown
	GoVersion  string    // "" if unknown
	CPUs       int       // 0 if unknown
	Values     map[string]float64
	Histograms map[string]Histogram
}

// A Histogram counts values between bounds.
type Histogram struct {
	Counts []uint64
	Bounds []float64 // one more than Counts; the first may be -Inf, the last +Inf
}

// Total returns the number of values.
func (h Histogram) Total() uint64 {
	var total uint64
	for _, n := range h.Counts {
		total += n
	}
	return total
}

// Names of runtime/metrics that the methods below use.
const (
	metricMutexWait  = "/sync/mutex/wait/total:seconds"
	metricLatencies  = "/sched/latencies:seconds"
	metricGOMAXPROCS = "/sched/gomaxprocs:threads"
	metricGoroutines = "/sched/goroutines:goroutines"
	metricCycles     = "/gc/cycles/total:gc-cycles"
	metricAllocBytes = "/gc/heap/allocs:bytes"
	metricCgoCalls   = "/cgo/go-to-c-calls:calls"
	metricAllPs      = "/cpu/classes/total:cpu-seconds"
	metricIdlePs     = "/cpu/classes/idle:cpu-seconds"
)

// maxSeconds is an upper bound of plausible times that fits a time.Duration.
const maxSeconds = 1e9

// wakeupsPerSample is the runtime's sampling rate of transitions from runnable
// to running (gTrackingPeriod).
const wakeupsPerSample = 8

// Window returns the time between the readings, 0 if unknown.
func (m *Metrics) Window() time.Duration {
	if m.Before == nil || m.Before.At.IsZero() || m.After.At.IsZero() {
		return 0
	}
	return max(0, m.After.At.Sub(m.Before.At))
}

// Delta returns the increase of a metric in the window, or since the process
// started if there is one reading.
func (m *Metrics) Delta(name string) (float64, bool) {
	after, ok := m.After.Values[name]
	if !ok || m.Before == nil {
		return after, ok
	}
	before, ok := m.Before.Values[name]
	return after - before, ok
}

// Last returns the value of a metric at the end of the window.
func (m *Metrics) Last(name string) (float64, bool) {
	v, ok := m.After.Values[name]
	return v, ok
}

// MutexWait returns the time that goroutines were blocked on sync.Mutex,
// sync.RWMutex and locks of the runtime, including the locks of channels. A
// thread asleep on a runtime lock holds its P, so these locks contribute at
// most GOMAXPROCS times the window.
func (m *Metrics) MutexWait() (time.Duration, bool) {
	s, ok := m.Delta(metricMutexWait)
	if !ok || s > maxSeconds {
		return 0, false
	}
	return time.Duration(max(0, s) * float64(time.Second)), true
}

// Wakeups estimates the number of transitions from runnable to running.
func (m *Metrics) Wakeups() (float64, bool) {
	after, ok := m.After.Histograms[metricLatencies]
	if !ok {
		return 0, false
	}
	n := float64(after.Total())
	if m.Before != nil {
		before, ok := m.Before.Histograms[metricLatencies]
		if !ok {
			return 0, false
		}
		n -= float64(before.Total())
	}
	return max(0, n) * wakeupsPerSample, true
}

// Runnable estimates the time that runnable goroutines waited to run, in waits
// of at least the given length. It is a lower bound, because the metric is a
// histogram.
func (m *Metrics) Runnable(least time.Duration) (time.Duration, bool) {
	after, ok := m.After.Histograms[metricLatencies]
	if !ok || len(after.Bounds) <= len(after.Counts) {
		return 0, false
	}
	var before Histogram
	if m.Before != nil {
		if before, ok = m.Before.Histograms[metricLatencies]; !ok || len(before.Counts) != len(after.Counts) {
			return 0, false
		}
	}
	seconds := 0.0
	for i, n := range after.Counts {
		if before.Counts != nil {
			n -= min(n, before.Counts[i])
		}
		if from := after.Bounds[i]; n > 0 && from >= least.Seconds() {
			seconds += float64(n) * wakeupsPerSample * from
		}
	}
	return time.Duration(min(seconds, maxSeconds) * float64(time.Second)), true
}

// GOMAXPROCS returns the value at the end of the window.
func (m *Metrics) GOMAXPROCS() (int, bool) {
	n, ok := m.count(metricGOMAXPROCS)
	return n, ok && n <= maxCores
}

// Goroutines returns the number at the end of the window.
func (m *Metrics) Goroutines() (int, bool) { return m.count(metricGoroutines) }

// Cycles returns the number of completed garbage collections.
func (m *Metrics) Cycles() (float64, bool) { return m.Delta(metricCycles) }

// AllocatedBytes returns the number of allocated bytes.
func (m *Metrics) AllocatedBytes() (float64, bool) { return m.Delta(metricAllocBytes) }

// CgoCalls returns the number of calls from Go to C.
func (m *Metrics) CgoCalls() (float64, bool) { return m.Delta(metricCgoCalls) }

// count returns a metric that is a current number. Implausible values are not
// ok.
func (m *Metrics) count(name string) (int, bool) {
	v, ok := m.Last(name)
	if !ok || !(v >= 1 && v <= maxGoroutines) {
		return 0, false
	}
	return int(v), true
}

// restarted reports whether the process restarted between the readings:
// counters grow while it runs. Some are sums read while they change, and may
// shrink slightly.
func (m *Metrics) restarted() bool {
	if m.Before == nil {
		return false
	}
	const rounding = 2
	for _, name := range []string{metricMutexWait, metricCycles, metricAllocBytes, metricCgoCalls} {
		after, ok := m.After.Values[name]
		if ok && after < m.Before.Values[name]/rounding {
			return true
		}
	}
	after, ok := m.After.Histograms[metricLatencies]
	return ok && after.Total() < m.Before.Histograms[metricLatencies].Total()/rounding
}

// IdlePs returns the part of the time of all Ps in which they had nothing to run.
// The runtime updates it at each garbage collection.
func (m *Metrics) IdlePs() (float64, bool) {
	total, ok := m.Delta(metricAllPs)
	idle, known := m.Delta(metricIdlePs)
	if !ok || !known || !(total > 0) || !(idle >= 0 && idle <= total) {
		return 0, false
	}
	return idle / total, true
}
