package profile

import "time"

// Metrics is two readings of runtime/metrics, before and after the window, or
// one. What a service does not offer is not ok.
type Metrics struct {
	Before *Reading // nil if there was one reading: differences are then since the process began
	After  *Reading
}

// A Reading is the values of runtime/metrics at one time, by the names that
// this package gives them, whatever names the service gave them.
type Reading struct {
	At         time.Time // zero if not known
	GoVersion  string    // "" if not known
	CPUs       int       // 0 if not known
	Values     map[string]float64
	Histograms map[string]Histogram
}

// A Histogram counts values between bounds.
type Histogram struct {
	Counts []uint64
	Bounds []float64 // one more than Counts; the first may be -Inf, the last +Inf
}

// Total is the number of values.
func (h Histogram) Total() uint64 {
	var total uint64
	for _, n := range h.Counts {
		total += n
	}
	return total
}

// Names of runtime/metrics that the methods below ask for.
const (
	metricMutexWait  = "/sync/mutex/wait/total:seconds"
	metricLatencies  = "/sched/latencies:seconds"
	metricGOMAXPROCS = "/sched/gomaxprocs:threads"
	metricGoroutines = "/sched/goroutines:goroutines"
	metricCycles     = "/gc/cycles/total:gc-cycles"
	metricAllocBytes = "/gc/heap/allocs:bytes"
	metricCgoCalls   = "/cgo/go-to-c-calls:calls"
)

// maxSeconds is a time that no process has waited, in the range of a time.Duration.
const maxSeconds = 1e9

// wakeupsPerSample: the runtime times one of eight transitions from runnable to
// running (gTrackingPeriod).
const wakeupsPerSample = 8

// Window is the time between the readings, 0 if not known.
func (m *Metrics) Window() time.Duration {
	if m.Before == nil || m.Before.At.IsZero() || m.After.At.IsZero() {
		return 0
	}
	return max(0, m.After.At.Sub(m.Before.At))
}

// Delta is by how much a metric grew in the window, or since the process began
// if there was one reading only.
func (m *Metrics) Delta(name string) (float64, bool) {
	after, ok := m.After.Values[name]
	if !ok || m.Before == nil {
		return after, ok
	}
	before, ok := m.Before.Values[name]
	return after - before, ok
}

// Last is the value of a metric at the end of the window.
func (m *Metrics) Last(name string) (float64, bool) {
	v, ok := m.After.Values[name]
	return v, ok
}

// MutexWait is the time that goroutines spent blocked on sync.Mutex,
// sync.RWMutex, and locks of the runtime, those of channels among them. Threads
// asleep on a runtime lock hold their P: of these locks it cannot be more than
// GOMAXPROCS times the window.
func (m *Metrics) MutexWait() (time.Duration, bool) {
	s, ok := m.Delta(metricMutexWait)
	if !ok || s > maxSeconds {
		return 0, false
	}
	return time.Duration(max(0, s) * float64(time.Second)), true
}

// Wakeups is an estimate of how often goroutines went from runnable to running.
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

// Runnable is an estimate of the time that goroutines were able to run and did not, in
// waits of at least the given length: a lower bound of it, as a histogram has them.
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

// GOMAXPROCS at the end of the window.
func (m *Metrics) GOMAXPROCS() (int, bool) {
	n, ok := m.count(metricGOMAXPROCS)
	return n, ok && n <= maxCores
}

// Goroutines at the end of the window.
func (m *Metrics) Goroutines() (int, bool) { return m.count(metricGoroutines) }

// Cycles is how many collections ended.
func (m *Metrics) Cycles() (float64, bool) { return m.Delta(metricCycles) }

// AllocatedBytes is how much was allocated.
func (m *Metrics) AllocatedBytes() (float64, bool) { return m.Delta(metricAllocBytes) }

// CgoCalls is how often Go called C.
func (m *Metrics) CgoCalls() (float64, bool) { return m.Delta(metricCgoCalls) }

// count is a metric that counts what there is now. What no process has is not ok.
func (m *Metrics) count(name string) (int, bool) {
	v, ok := m.Last(name)
	if !ok || !(v >= 1 && v <= maxGoroutines) {
		return 0, false
	}
	return int(v), true
}

// began reports whether the process began anew between the readings: counters are
// since it began, and grow. Some are sums that the runtime reads while they change,
// and may be a little less than before.
func (m *Metrics) began() bool {
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
