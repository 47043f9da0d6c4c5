package doctor

import (
	"fmt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// readLocks splits the time waited for locks into Ps asleep in channel locks
// and goroutines blocked on package sync. The metric gives the amount; the
// mutex profile, which sees all locks of sync and some of the runtime, gives
// the sites.
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
		f.asleepFrom = "the metric minus package sync in the mutex profile"
		f.syncWait = known(min(all, sync))
		f.split(all-*f.syncWait, channels, runtime)
	case channels+sync+runtime > 0:
		f.asleepFrom = "the metric, divided by the mutex profile since the process started"
		f.syncWait = known(all * sync / (channels + sync + runtime))
		f.split(all-*f.syncWait, channels, runtime)
	case f.procs > 0 && all > float64(f.procs):
		f.asleepFrom = "the metric: more waiters than GOMAXPROCS allows threads, so they are goroutines"
		f.syncWait = known(all)
	case c.CPU != nil:
		sync := c.CPU.By[profile.Locking].Seconds()
		if f.lock+sync == 0 {
			return
		}
		f.asleepFrom = "the metric, divided by CPU time in both kinds of locks, because the mutex profile has no waits"
		f.asleep, f.syncWait = known(all*f.lock/(f.lock+sync)), known(all*sync/(f.lock+sync))
	}
	f.doubtLocks()
}

// split attributes the wait for runtime locks to channels, by the mutex
// profile.
func (f *facts) split(waited, channels, runtime float64) {
	switch {
	case channels > 0:
		f.asleep = known(max(0, waited) * channels / (channels + runtime))
	case f.lock > 0 && runtime == 0: // it samples few runtime locks, and may have missed all
		f.asleep = known(max(0, waited))
		f.asleepFrom += "; no channel in that profile"
	default:
		f.asleep = known(0)
	}
}

// doubtLocks bounds the time asleep, and notes when it is inflated.
func (f *facts) doubtLocks() {
	if f.asleep == nil || f.procs == 0 {
		return
	}
	if f.cpus > 0 && f.procs > f.cpus {
		f.asleepDoubt = fmt.Sprintf("GOMAXPROCS is %d on %d cores, which lengthens waits", f.procs, f.cpus)
	}
	if *f.asleep > quietLocks && f.cores+*f.asleep > overbooked*f.avail {
		f.asleepDoubt = fmt.Sprintf("%s threads run or are blocked, on %s cores: other processes used some of them",
			format.Number(f.cores+*f.asleep), format.Number(f.avail))
	}
	f.asleep = known(min(*f.asleep, max(0, float64(f.procs)-f.cores)))
}

// mutexProfile adds up delays in seconds.
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
