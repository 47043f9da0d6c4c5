package doctor

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// What makes a capture too small to take shares of.
const (
	floorCores = 0.1 // mean cores in use. An idle pool uses 0.01, a service that waits for its downstream 0.03
	// loadCores in use: goroutines that only wait for each other keep one core at work in
	// turns. A service that uses less waits for something else, or has little to do.
	loadCores = 0.5
	// longRunnable: a goroutine that is able to run waits for microseconds, where there is a
	// P for it and a core for that: the thread wakes. Where somebody else has the core it
	// waits for a slice of the system's scheduler. Of the services tried that use
	// less than loadCores none has such waits worth telling on a machine of its own, and
	// beside four busy neighbours on two cores 0.5 to 1.3 of their goroutines are in one.
	// Goroutines that become able to run all at once, and then rest, wait as long for each
	// other: thirty of half a millisecond, six times a second, are 1 to 2 in such a wait on
	// 0.07 cores. Nothing in the metrics tells these from those.
	longRunnable = time.Millisecond
	// deniedWaits: mean goroutines in such a wait. On a machine of its own no service tried
	// had more than 0.03, but for bursts.
	deniedWaits = 0.1
	// floorSamples of CPU time. A share of 30 samples is known to ± 9 % at best.
	floorSamples = 30
)

// What the figures are believed to.
const (
	// afterParkPerOperation bounds the CPU time after parks that is put down to
	// channels, by their own: in hand-off programs it was 0.4 to 1.0 of it.
	// What is above parked on something else.
	afterParkPerOperation = 1.5
	// overbooked: Ps at work and asleep together, over GOMAXPROCS, above which
	// the time asleep is inflated: a thread that has lost its core waits longer.
	overbooked = 1.15
	// quietLocks is how much waiting, in Ps, is no evidence of anything.
	quietLocks = 0.02
)

// facts is a capture in the units of rules: shares and means. A pointer that is
// nil, and a number said to be 0 if not known, are not known.
type facts struct {
	capture *profile.Capture
	prices  Prices
	window  float64 // seconds, 0 if not known

	procs, cpus int     // 0 if not known
	avail       float64 // cores that Ps can use at once, 0 if not known

	cores  float64 // mean cores in use, 0 if not known
	cpu    float64 // CPU seconds, less those that profiles cost
	busy   bool    // above the floor: shares mean something
	sparse string  // why not
	loaded bool    // enough is in use for what CPU time is spent on to hold anything back
	denied float64 // mean goroutines that waited for a core, of a service that uses little; 0 if not known

	channel   float64 // CPU seconds in channel operations, their locks included
	lock      float64 // of it in locks
	parked    float64 // CPU seconds of the scheduler after parks on channels
	parkBasis string  // how these were told from other parks

	asleep      *float64 // mean Ps asleep in channel locks
	asleepFrom  string   // how these were told from sync's
	asleepDoubt string   // why they may be fewer, "" if nothing says so
	syncWait    *float64 // mean goroutines blocked on package sync
	wakeups     *float64 // per second

	slack float64 // 1, or lower where rules look for what is minor

	operations []Operation
	stages     []stage // the busiest first
}

func gather(c *profile.Capture, prices Prices) *facts {
	f := &facts{slack: 1, capture: c, prices: prices, procs: c.GOMAXPROCS, cpus: c.CPUs, window: c.Window.Seconds()}
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
	f.readDenied()
	f.readCPU()
	if f.isDenied() {
		f.avail = 0 // those that it does not use may be somebody else's
	}
	f.readStages()
	f.readLocks()
	if m := c.Metrics; m != nil {
		if window := f.metricsWindow(); window > 0 {
			if n, ok := m.Wakeups(); ok {
				f.wakeups = known(n / window)
			}
		}
	}
	f.operations = f.perSite()
	return f
}

func known(v float64) *float64 { return &v }

// metricsWindow is the seconds that differences of metrics are over, 0 if that is
// not known: those of one reading are over the life of the process.
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
	// What profiles cost is no work of the service: in a pipeline with the block
	// profile on it was a quarter.
	f.cpu = (cpu.Total - cpu.By[profile.Profiling]).Seconds()
	period := cpu.Period.Seconds()
	if period <= 0 {
		period = 0.01
	}
	switch {
	case f.window > 0 && f.cores < floorCores && !f.isDenied():
		f.sparse = fmt.Sprintf("it used %s cores: below %s no share is taken", number(f.cores), number(floorCores))
	case f.cpu/period < floorSamples:
		f.sparse = fmt.Sprintf("the CPU profile has %.0f samples: below %d no share is taken", f.cpu/period, floorSamples)
	default:
		f.busy = true
	}
	f.loaded = f.busy && (f.window == 0 || f.cores >= loadCores || f.isDenied())
	f.lock = cpu.By[profile.ChannelLock].Seconds()
	f.channel = cpu.By[profile.ChannelWork].Seconds() + f.lock
	f.readParks()
}

// readDenied finds out whether a service that uses little would use more. Of one that uses
// much, what waits to run is in line behind the service itself.
func (f *facts) readDenied() {
	cpu := f.capture.CPU
	if cpu == nil || cpu.Window <= 0 || cpu.Cores() >= loadCores || f.metricsWindow() == 0 {
		return
	}
	if d, ok := f.capture.Metrics.Runnable(longRunnable); ok {
		f.denied = d.Seconds() / f.metricsWindow()
	}
}

// isDenied is whether it uses little, and yet not because there is little to do: it is not
// given more, or not at the moments when it wants it. Shares of CPU time are what they would
// be then: neighbours take from all that it does.
func (f *facts) isDenied() bool { return f.denied >= deniedWaits }

// readParks tells the scheduler's work after parks on channels from that after
// others: it has no frame of the program. Counts of parks are best, then who
// woke whom.
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
	switch {
	case f.capture.Trace != nil && len(f.capture.Trace.Sites) > 0:
		f.parkBasis = "by the parks in the trace"
		for _, s := range f.capture.Trace.Sites {
			count(s.Op, float64(s.Parks))
		}
	case f.capture.Block != nil && len(f.capture.Block.Sites) > 0:
		f.parkBasis = "by the waits in the block profile"
		if f.capture.Block.Window == 0 {
			f.parkBasis += " since the process began"
		}
		for _, s := range f.capture.Block.Sites {
			count(s.Op, float64(s.Count))
		}
	default:
		f.parkBasis = "by the CPU time spent waking others"
		for _, s := range cpu.Sites {
			count(s.Op, s.Wake.Seconds())
		}
		// Parks on the network are woken by the poller, on nobody's stack.
		others += cpu.By[profile.SystemCalls].Seconds() / 2
	}
	if channels == 0 {
		return
	}
	f.parked = min(all*channels/(channels+others), afterParkPerOperation*f.channel)
}

// readLocks splits the time waited for locks into Ps asleep in those of channels
// and goroutines blocked on package sync: HOW MUCH from the metric, WHERE from
// the mutex profile, which sees all of sync's and some of the runtime's.
func (f *facts) readLocks() {
	c := f.capture
	window := f.metricsWindow()
	if window == 0 {
		return
	}
	total, ok := c.Metrics.MutexWait()
	if !ok {
		return
	}
	all := max(0, total.Seconds()/window)
	if all < quietLocks {
		f.asleep, f.syncWait, f.asleepFrom = known(all), known(all), "all waits together"
		return
	}
	channels, sync, runtime := f.mutexProfile()
	switch {
	case channels+sync+runtime > 0 && c.Mutex.Window > 0:
		sync /= c.Mutex.Window.Seconds()
		f.asleepFrom = "the metric, less what the mutex profile has of package sync"
		f.syncWait = known(min(all, sync))
		f.split(all-*f.syncWait, channels, runtime)
	case channels+sync+runtime > 0:
		f.asleepFrom = "the metric, shared out by the mutex profile since the process began"
		f.syncWait = known(all * sync / (channels + sync + runtime))
		f.split(all-*f.syncWait, channels, runtime)
	case f.procs > 0 && all > float64(f.procs):
		f.asleepFrom = "the metric: more waited than there are Ps, and only goroutines can"
		f.syncWait = known(all)
	case c.CPU != nil:
		sync := c.CPU.By[profile.Locking].Seconds()
		if f.lock+sync == 0 {
			return
		}
		f.asleepFrom = "the metric, shared out by CPU time in both kinds of locks: no mutex profile tells"
		f.asleep, f.syncWait = known(all*f.lock/(f.lock+sync)), known(all*sync/(f.lock+sync))
	}
	f.doubtLocks()
}

// split gives what waited for runtime locks to channels, by the mutex profile.
func (f *facts) split(waited, channels, runtime float64) {
	switch {
	case channels > 0:
		f.asleep = known(max(0, waited) * channels / (channels + runtime))
	case f.lock > 0 && runtime == 0: // it covers little of runtime locks, and may have missed all
		f.asleep = known(max(0, waited))
		f.asleepFrom += "; that profile has no channel in it"
	default:
		f.asleep = known(0)
	}
}

// doubtLocks finds out whether time asleep is inflated, and bounds it.
func (f *facts) doubtLocks() {
	if f.asleep == nil || f.procs == 0 {
		return
	}
	if f.cpus > 0 && f.procs > f.cpus {
		f.asleepDoubt = fmt.Sprintf("there are %d Ps on %d cores, which makes waits longer", f.procs, f.cpus)
	}
	if *f.asleep > quietLocks && f.cores+*f.asleep > overbooked*f.avail {
		f.asleepDoubt = fmt.Sprintf("Ps at work and asleep are %s together, of %s: somebody else used the cores",
			number(f.cores+*f.asleep), number(f.avail))
	}
	f.asleep = known(min(*f.asleep, max(0, float64(f.procs)-f.cores)))
}

// mutexProfile sums up delays in seconds.
func (f *facts) mutexProfile() (channels, sync, runtime float64) {
	m := f.capture.Mutex
	if m == nil {
		return 0, 0, 0
	}
	for _, s := range m.Sites {
		if s.Op.Channel() {
			channels += s.Delay.Seconds()
		} else {
			sync += s.Delay.Seconds()
		}
	}
	return channels, sync, m.Runtime.Delay.Seconds()
}

// share is of CPU time, by category.
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

// channelCPU is the share of CPU time that channels take, from 0 to 1.
func (f *facts) channelCPU() float64 {
	if f.cpu == 0 {
		return 0
	}
	return (f.channel + f.parked) / f.cpu
}

// channelCores is the share of the cores there are that channels take, at work
// or asleep, 0 if not known.
func (f *facts) channelCores() float64 {
	if f.avail == 0 || f.window == 0 {
		return 0
	}
	return min(1, ((f.channel+f.parked)/f.window+value(f.asleep))/f.avail)
}

// locked is the part of the channels' cost that is their locks'.
func (f *facts) locked() float64 {
	cost := f.channel + f.parked + value(f.asleep)*f.window
	if cost == 0 {
		return 0
	}
	return (f.lock + value(f.asleep)*f.window) / cost
}

// engaged is what is used of the cores there are, at work or asleep in channel
// locks, and how much of that channels take.
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

// value is 0 for what is not known.
func value(p *float64) float64 {
	if p == nil {
		return 0
	}
	return *p
}

// used is the part of the cores there are that were in use, 1 if not known.
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
	if f.isDenied() {
		s.Denied = known(f.denied)
	}
	if f.wakeups != nil {
		s.WakeupCores = known(*f.wakeups * f.prices.Wakeup * 1e-9)
	}
	if f.busy {
		s.ChannelCPU = known(f.channelCPU())
		s.Collector = known(f.share(profile.Collecting, profile.Allocating))
		s.User = known(f.share(profile.UserCode))
		if f.avail > 0 {
			s.ChannelCores = known(f.channelCores())
		}
	}
	return s
}
