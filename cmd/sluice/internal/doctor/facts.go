package doctor

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// Limits below which a capture is too small for shares.
const (
	floorCores = 0.1 // mean cores in use: an idle pool uses 0.01, a service that waits for I/O 0.03
	// loadCores is the number of cores in use below which a service waits for
	// something else or has little to do: goroutines that only wait for each
	// other keep one core busy.
	loadCores = 0.5
	// longRunnable is the wait of a runnable goroutine that indicates that
	// other processes have the cores. With a free P and core it waits
	// microseconds. A burst of goroutines that become runnable together can
	// look the same; see ADR 12.
	longRunnable = time.Millisecond
	// starvedWaits is the mean number of goroutines in such a wait that counts
	// as starved: without competition, and except for bursts, no service had
	// more than 0.03.
	starvedWaits = 0.1
	// floorSamples is the smallest number of CPU samples: a share of 30 samples
	// is accurate to 9% at best.
	floorSamples = 30
)

// How far the measurements are trusted.
const (
	// afterParkPerOperation bounds the CPU time after parks that is attributed
	// to channels, as a multiple of the time in their operations: it was 0.4 to
	// 1.0 of it in programs bound by transfers. Anything above belongs to other
	// parks.
	afterParkPerOperation = 1.5
	// overbooked is the ratio of Ps, working and asleep, to available cores
	// above which the time asleep is inflated: a thread that lost its core
	// waits longer.
	overbooked = 1.15
	// quietLocks is the waiting, in Ps, that is no evidence of contention.
	quietLocks = 0.02
)

// facts is a capture in the units of the rules: shares and means. A nil pointer
// is an unknown value, and so is a 0 in the fields that are marked.
type facts struct {
	capture *profile.Capture
	prices  Prices
	window  float64 // seconds, 0 if unknown

	procs, cpus int     // 0 if unknown
	avail       float64 // cores that Ps can use at once, 0 if unknown or light
	had         float64 // the same, also if light

	cores   float64 // mean cores in use, 0 if unknown
	cpu     float64 // CPU seconds, without profiling
	busy    bool    // above the minimum: shares are meaningful
	sparse  string  // why not busy
	loaded  bool    // enough cores are in use for CPU costs to limit the service, or light
	light   bool    // too few for that, but channels take a notable part of the CPU time: see readLight
	starved float64 // mean goroutines that waited for a core in a service that uses few; 0 if unknown

	channel   float64 // CPU seconds in channel operations, including their locks
	lock      float64 // part of channel in locks
	parked    float64 // CPU seconds of the scheduler after parks on channels
	parkBasis string  // how they were separated from other parks

	asleep      *float64 // mean Ps asleep in channel locks
	asleepFrom  string   // how they were separated from package sync
	asleepDoubt string   // why they may be fewer, or ""
	syncWait    *float64 // mean goroutines blocked on package sync
	wakeups     *float64 // per second
	wakeupsFrom profile.Kind

	squeezed        bool    // it gets fewer cores than its goroutines need; avail is what it gets
	running, queued float64 // mean goroutines that run, or are ready to, if squeezed was decided

	limitFactor float64 // 1, or lower in the pass for minor findings

	operations []Operation
	stages     []stage // by CPU time
	queues     []queue // the named channels of sluice
}

func gather(c *profile.Capture, prices Prices) *facts {
	f := &facts{limitFactor: 1, capture: c, prices: prices, procs: c.GOMAXPROCS, cpus: c.CPUs, window: c.Window.Seconds()}
	if m := c.Metrics; m != nil {
		if n, ok := m.GOMAXPROCS(); ok && f.procs == 0 {
			f.procs = n
		}
		if f.window == 0 {
			f.window = m.Window().Seconds()
		}
	}
	if c.CPU != nil && c.CPU.Window > 0 {
		f.window = c.CPU.Window.Seconds()
	}
	f.avail = float64(f.procs)
	if f.cpus > 0 && (f.procs == 0 || f.cpus < f.procs) {
		f.avail = float64(f.cpus)
	}
	f.readStarvation()
	f.readSqueeze()
	f.readCPU()
	f.readTraceAlone()
	if f.isStarved() && !f.squeezed {
		f.avail = 0 // other processes may have the rest
	}
	f.readLight()
	f.readStages()
	f.readLocks()
	if m := c.Metrics; m != nil {
		if window := f.metricsWindow(); window > 0 {
			if n, ok := m.Wakeups(); ok {
				f.wakeups, f.wakeupsFrom = known(n/window), profile.KindMetrics
			}
		}
	}
	f.readGlimpse()
	f.waitForLocks()
	f.operations = f.perSite()
	f.nameUsers()
	f.queues = f.readQueues()
	return f
}

func known(v float64) *float64 { return &v }

// metricsWindow returns the seconds between two readings of metrics, 0 if
// unknown: a single reading covers the life of the process.
func (f *facts) metricsWindow() float64 {
	m := f.capture.Metrics
	if m == nil || m.Before == nil {
		return 0
	}
	if w := m.Window().Seconds(); w > 0 {
		return w
	}
	return f.window
}

func (f *facts) readCPU() {
	cpu := f.capture.CPU
	if cpu == nil {
		f.sparse = "there is no CPU profile"
		for _, m := range f.capture.Missing {
			if m.Kind == profile.KindCPU {
				f.sparse += " (" + m.Reason + ")"
			}
		}
		return
	}
	f.cores = cpu.Cores()
	// Profiling is not the service's own work: it was a quarter of a pipeline's
	// CPU time with the block profile on.
	f.cpu = (cpu.Total - cpu.By[profile.Profiling]).Seconds()
	samples := f.cpu / f.period()
	switch {
	case f.window > 0 && f.cores < floorCores && !f.isStarved() && !f.squeezed:
		f.sparse = tooFew(f.cores)
	case samples < floorSamples:
		f.sparse = fmt.Sprintf("%.0f samples in the CPU profile, below the minimum of %d", samples, floorSamples)
	default:
		f.busy = true
	}
	f.loaded = f.busy && (f.window == 0 || f.cores >= loadCores || f.isStarved() || f.squeezed)
	f.lock = cpu.By[profile.ChannelLock].Seconds()
	f.channel = cpu.By[profile.ChannelWork].Seconds() + f.lock
	f.readParks()
}

// tooFew says that the service uses fewer cores than a verdict needs.
func tooFew(cores float64) string {
	used, least := format.Number(cores), format.Number(floorCores)
	if used == least {
		used = "almost " + least
	}
	return fmt.Sprintf("%s cores in use, below the minimum of %s", used, least)
}

// period returns the seconds between two samples of the CPU profile.
func (f *facts) period() float64 {
	if period := f.capture.CPU.Period.Seconds(); period > 0 {
		return period
	}
	return 0.01 // the runtime's
}

// readLight recognizes a service with too little load for CPU costs to limit its
// throughput, whose channels nevertheless take a notable part of its CPU time: a
// relay of 0.4 cores spent 28% of them on channels, and batches took ×1.8 less
// CPU time per record. Only the cores in use matter then, so a gain is the
// factor by which CPU time per value falls.
func (f *facts) readLight() {
	f.had = f.avail
	if f.light = f.busy && !f.loaded && f.channelCPU() >= transferShare; f.light {
		f.loaded, f.avail = true, 0
	}
}

// readStarvation measures how long the goroutines of a lightly loaded service
// wait for cores. In a busy service they wait for each other.
func (f *facts) readStarvation() {
	cpu := f.capture.CPU
	if cpu == nil || cpu.Window <= 0 || cpu.Cores() >= loadCores || f.metricsWindow() == 0 {
		return
	}
	if d, ok := f.capture.Metrics.Runnable(longRunnable); ok {
		f.starved = d.Seconds() / f.metricsWindow()
	}
}

// isStarved reports whether the service uses few cores because it does not get
// more, or not when it needs them. CPU shares remain valid: competition slows
// all of its work alike.
func (f *facts) isStarved() bool { return f.starved >= starvedWaits }

// readParks separates the scheduler's work after parks on channels from that
// after other parks, which no frame of the program shows. The best evidence is
// the number of parks, then the time spent waking.
func (f *facts) readParks() {
	cpu := f.capture.CPU
	all := cpu.By[profile.AfterPark].Seconds()
	if all == 0 {
		return
	}
	channels, others := 0.0, 0.0
	count := func(op profile.Op, n float64) {
		if op.Channel() {
			channels += n
		} else {
			others += n
		}
	}
	sites, basis := f.parksOf()
	switch {
	case len(sites) > 0:
		f.parkBasis = basis
		for _, s := range sites {
			count(s.Op, float64(s.Parks))
		}
	case f.capture.Block != nil && len(f.capture.Block.Sites) > 0:
		f.parkBasis = "by the waits in the block profile"
		if f.capture.Block.Window == 0 {
			f.parkBasis += " since the process started"
		}
		for _, s := range f.capture.Block.Sites {
			count(s.Op, float64(s.Count))
		}
	default:
		f.parkBasis = "by the CPU time spent waking others"
		for _, s := range cpu.Sites {
			count(s.Op, s.Wake.Seconds())
		}
		// The network poller wakes goroutines that wait for I/O, without a
		// stack of the program.
		others += cpu.By[profile.SystemCalls].Seconds() / 2
	}
	if channels == 0 {
		return
	}
	f.parked = min(all*channels/(channels+others), afterParkPerOperation*f.channel)
}

// share returns the categories' share of CPU time.
func (f *facts) share(categories ...profile.Category) float64 {
	if f.cpu == 0 {
		return 0
	}
	sum := 0.0
	for _, category := range categories {
		sum += f.capture.CPU.By[category].Seconds()
	}
	return sum / f.cpu
}

// channelCPU returns the channels' share of CPU time, from 0 to 1.
func (f *facts) channelCPU() float64 {
	if f.cpu == 0 {
		return 0
	}
	return (f.channel + f.parked) / f.cpu
}

// channelCores returns the share of the available cores that channels use,
// working or asleep; 0 if unknown.
func (f *facts) channelCores() float64 {
	if f.had == 0 || f.window == 0 {
		return 0
	}
	return min(1, ((f.channel+f.parked)/f.window+value(f.asleep))/f.had)
}

// locked returns the part of the channels' cost in their locks.
func (f *facts) locked() float64 {
	cost := f.channel + f.parked + value(f.asleep)*f.window
	if cost == 0 {
		return 0
	}
	return (f.lock + value(f.asleep)*f.window) / cost
}

// engaged returns the part of the available cores that is in use, working or
// asleep in channel locks, and the channels' part of that.
func (f *facts) engaged() (used, channels float64) {
	if f.avail == 0 || f.window == 0 {
		return 1, f.channelCPU()
	}
	slept := value(f.asleep) * f.window
	if f.cpu+slept == 0 {
		return 1, 0
	}
	return min(1, (f.cores+value(f.asleep))/f.avail), (f.channel + f.parked + slept) / (f.cpu + slept)
}

// value returns *p, or 0 if p is nil.
func value(p *float64) float64 {
	if p == nil {
		return 0
	}
	return *p
}

// used returns the part of the available cores in use, 1 if unknown.
func (f *facts) used() float64 {
	if f.avail == 0 || f.cores == 0 {
		return 1
	}
	return min(1, f.cores/f.avail)
}

func (f *facts) shares() Shares {
	var s Shares
	if f.capture.CPU != nil && f.window > 0 {
		s.Cores = known(f.cores)
	}
	s.Asleep, s.SyncWait, s.Wakeups = f.asleep, f.syncWait, f.wakeups
	switch {
	case f.isStarved():
		s.Starved = known(f.starved)
	case f.squeezed:
		s.Starved = known(f.queued)
	}
	if f.wakeups != nil {
		s.WakeupCores = known(*f.wakeups * f.prices.Wakeup * 1e-9)
	}
	if f.busy {
		s.ChannelCPU = known(f.channelCPU())
		s.GarbageCollection = known(f.share(profile.Collecting, profile.Allocating))
		s.User = known(f.share(profile.UserCode))
		if f.avail > 0 {
			s.ChannelCores = known(f.channelCores())
		}
	}
	return s
}
