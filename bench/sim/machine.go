package sim

// A Machine is what the model knows of a computer. Times are nanoseconds.
type Machine struct {
	Domain int     // cores that share a last-level cache; 0 if all do
	Near   float64 // moves a cache line between two cores of a domain
	Far    float64 // moves it from another domain
}

const (
	// atomicHit and loadHit are the costs of a locked instruction and of a load, of a
	// line that is in the core's cache (2026-11-22, AMD EPYC VM, Go 1.26.8).
	atomicHit = 5.0
	loadHit   = 0.3
	// queuedPart is the part of a transfer that remains for a request that waited at
	// the line: the way back.
	queuedPart = 0.5
)

// domain returns the domain of a core. Cores are numbered domain by domain.
func (m *Machine) domain(core int) int {
	if m.Domain <= 0 {
		return 0
	}
	return core / m.Domain
}

// distance returns the time to move a line between two cores.
func (m *Machine) distance(a, b int) float64 {
	if m.domain(a) == m.domain(b) {
		return m.Near
	}
	return m.Far
}

// Sleep is what it costs to put a goroutine to sleep and to wake it, in nanoseconds.
//
// The sum is the time of a hand-off between two goroutines that sleep: 1572 and 1804 ns
// in golang/go CL 620435 (MutexHandoff, SlowPingPong).
type Sleep struct {
	Fall float64 // time of the goroutine that goes to sleep
	Wake float64 // time of the goroutine that wakes it
	Rise float64 // until the woken goroutine runs
}

var (
	// thread is the sleep of a thread in the kernel, below locks of the runtime.
	thread = Sleep{Fall: 300, Wake: 500, Rise: 900}
	// goroutine is the sleep of a goroutine whose P finds no other one to run.
	goroutine = Sleep{Fall: 200, Wake: 300, Rise: 1100}
)
