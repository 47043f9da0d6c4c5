package doctor

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestMutexWaitAboveGOMAXPROCS: 25 to 29 s/s on two Ps cannot be channels,
// whatever the CPU profile has in their locks, even without a mutex profile.
func TestMutexWaitAboveGOMAXPROCS(t *testing.T) {
	d := diagnose(metrics(27, 1000), cpu(1.8, shares{profile.UserCode: 0.6, profile.Locking: 0.2, profile.ChannelLock: 0.1, profile.ChannelWork: 0.1},
		on{send, 0.2, 0.1, 0}))
	if d.Verdict != No || d.Findings[0].Kind != SyncMutex {
		t.Errorf("verdict %s: %s", d.Verdict, d.Answer)
	}
	if d.Shares.Asleep != nil {
		t.Errorf("%v Ps asleep in channel locks", *d.Shares.Asleep)
	}
	near(t, "waiting on sync", d.Shares.SyncWait, 27)
}

// TestLockTimeIsSplit: the metric has the amount, and the mutex profile the
// sites, with all of package sync and little of the runtime.
func TestLockTimeIsSplit(t *testing.T) {
	other := at(profile.Receive, "other")
	for _, test := range []struct {
		name         string
		parts        []part
		asleep, sync float64
	}{
		{"no sync at all", []part{metrics(0.5, 0), mutex(map[profile.Site]float64{send: 0.3})}, 0.5, 0},
		{"sync is seen whole", []part{metrics(0.5, 0), mutex(map[profile.Site]float64{send: 0.3, unlock: 4})}, 0.1, 0.4},
		{"sync alone", []part{metrics(0.5, 0), mutex(map[profile.Site]float64{unlock: 6})}, 0, 0.5},
		{"nothing to speak of", []part{metrics(0.01, 0)}, 0.01, 0.01},
		{"no mutex profile: by CPU time in locks", []part{metrics(0.5, 0),
			cpu(1, shares{profile.ChannelLock: 0.3, profile.Locking: 0.1, profile.UserCode: 0.6}, on{other, 0.3, 0.3, 0})}, 0.375, 0.125},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := diagnose(test.parts...)
			near(t, "asleep", d.Shares.Asleep, test.asleep)
			near(t, "on sync", d.Shares.SyncWait, test.sync)
		})
	}
}

// TestOtherRuntimeLocks: runtime locks other than channels get their part.
func TestOtherRuntimeLocks(t *testing.T) {
	d := diagnose(metrics(0.8, 0), mutex(map[profile.Site]float64{send: 1}), func(c *profile.Capture) {
		c.Mutex.Runtime.Delay = secs(3)
	})
	near(t, "asleep", d.Shares.Asleep, 0.2)
}

// TestSleepIsPlacedByMutexProfile: the P-seconds come from the metric, the
// sites from the mutex profile rather than the CPU profile.
func TestSleepIsPlacedByMutexProfile(t *testing.T) {
	d := diagnose(hotService...)
	asleep := make(map[profile.Op]float64)
	for _, o := range d.Operations {
		asleep[o.Op] = value(o.Asleep)
		if o.AsleepFrom != "by the mutex profile" {
			t.Errorf("%s: asleep %q", o.Place, o.AsleepFrom)
		}
	}
	sent, received := asleep[profile.Send], asleep[profile.Range]
	near(t, "asleep at the send", &sent, 0.4*10*5/6)
	near(t, "asleep at the range", &received, 0.4*10/6)
}

// TestInflatedSleep: with more Ps than cores, or other processes on the cores,
// threads wait longer than for the lock. That is reported, and not counted
// twice.
func TestInflatedSleep(t *testing.T) {
	many := func(c *profile.Capture) { c.GOMAXPROCS = 8 }
	d := diagnose(append([]part{many}, hotService...)...)
	if text := evidence(d.found(LockContention)); !strings.Contains(text, "probably fewer: GOMAXPROCS is 8 on 2 cores") {
		t.Errorf("evidence: %s", text)
	}
	d = diagnose(append(hotService, metrics(1.5, 1000))...)
	if text := evidence(d.found(LockContention)); !strings.Contains(text, "other processes used some of them") {
		t.Errorf("evidence: %s", text)
	}
	near(t, "asleep, of the P that is not at work", d.Shares.Asleep, 0.5)
	if d.found(LockContention).Confidence != Medium {
		t.Errorf("confidence %s with inflated times", d.found(LockContention).Confidence)
	}
	if d = diagnose(hotService...); strings.Contains(evidence(d.found(LockContention)), "probably fewer") {
		t.Error("reliable times were doubted")
	}
}

func evidence(f *Finding) string {
	var all []string
	for _, e := range f.Evidence {
		all = append(all, e.Text)
	}
	return strings.Join(all, "\n")
}

// TestAfterParkIsSharedByParks: the scheduler's time has no frame of the
// program, and is attributed to operations by their parks, including other
// operations.
func TestAfterParkIsSharedByParks(t *testing.T) {
	spent := cpu(1, shares{profile.ChannelWork: 0.4, profile.AfterPark: 0.2, profile.UserCode: 0.4},
		on{send, 0.3, 0, 0.05}, on{receive, 0.1, 0, 0.1})
	for _, test := range []struct {
		name                 string
		parts                []part
		from                 string
		atSend, atRange, all float64
	}{
		{"trace", []part{woke(profile.Pair{Waker: receive, Sleeper: send, Count: 300}, profile.Pair{Waker: send, Sleeper: receive, Count: 100},
			profile.Pair{Waker: unlock, Sleeper: unlock, Count: 400})}, "by the waits in the trace", 0.75, 0.25, 1},
		{"block profile", []part{block(map[profile.Site]float64{send: 9, receive: 1, unlock: 1, sink: 1})}, "by the waits in the block profile", 0.5, 0.5, 1},
		{"wake-ups", nil, "by the CPU time spent waking others", 1. / 3, 2. / 3, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, o := range diagnose(append(test.parts, spent)...).Operations {
				want := test.atSend
				if o.Op == profile.Range {
					want = test.atRange
				}
				near(t, string(o.Op), o.AfterPark, want*test.all)
				if o.ParksFrom != test.from {
					t.Errorf("%s: %q", o.Op, o.ParksFrom)
				}
			}
		})
	}
}

// TestAfterParkOfOthers: a server parks on its connections, and a little
// channel work does not attribute all of that to channels.
func TestAfterParkOfOthers(t *testing.T) {
	d := diagnose(cpu(1.5, shares{profile.ChannelWork: 0.01, profile.AfterPark: 0.3, profile.SystemCalls: 0.3, profile.UserCode: 0.39},
		on{send, 0.01, 0, 0.005}))
	if got := *d.Shares.ChannelCPU; got > 0.025+1e-9 {
		t.Errorf("channels take %.3f of CPU time", got)
	}
	if d.Verdict != No {
		t.Errorf("verdict %s: %s", d.Verdict, d.Answer)
	}
}

// TestWakeups: one in eight is counted, and their price predicts the cores that
// channels use.
func TestWakeups(t *testing.T) {
	d := diagnose(metrics(0, 4_000_000))
	near(t, "wake-ups a second", d.Shares.Wakeups, 4_000_000)
	near(t, "their cores", d.Shares.WakeupCores, 4e6*152e-9)
}

// TestCumulativeMetrics: totals since the process started are not about now.
func TestCumulativeMetrics(t *testing.T) {
	d := diagnose(metrics(20, 1000), func(c *profile.Capture) { c.Metrics.Before = nil })
	if d.Shares.SyncWait != nil || d.Shares.Wakeups != nil || len(d.Findings) > 0 {
		t.Errorf("shares %+v, findings %v from one reading", d.Shares, d.Findings)
	}
}

// TestProfilingCost is not part of the service's work.
func TestProfilingCost(t *testing.T) {
	d := diagnose(cpu(2, shares{profile.Profiling: 0.5, profile.ChannelWork: 0.25, profile.UserCode: 0.25}, on{send, 0.25, 0, 0}))
	near(t, "channels of the rest", d.Shares.ChannelCPU, 0.5)
	near(t, "user code of the rest", d.Shares.User, 0.5)
}

// TestFloor: with little CPU use, or few samples, shares decide nothing.
func TestFloor(t *testing.T) {
	hot := shares{profile.ChannelWork: 0.2, profile.ChannelLock: 0.8}
	if d := diagnose(cpu(0.09, hot, on{send, 0.9, 0.8, 0}, on{receive, 0.1, 0, 0})); d.Verdict != Idle || len(d.Findings) > 0 || d.Shares.ChannelCPU != nil {
		t.Errorf("0.09 cores: %s: %s", d.Verdict, d.Answer)
	}
	if d := diagnose(cpu(0.0996, hot)); !strings.Contains(d.Answer, "almost 0.10 cores in use, below the minimum of 0.10") {
		t.Errorf("0.0996 cores: %s", d.Answer)
	}
	// Above it there are shares; they limit throughput from half a core.
	mild := shares{profile.ChannelWork: 0.14, profile.UserCode: 0.86}
	if d := diagnose(cpu(0.45, mild, on{send, 0.14, 0, 0})); d.Verdict != Idle || d.Shares.ChannelCPU == nil || !strings.Contains(d.Answer, "0.45 cores are in use") {
		t.Errorf("0.45 cores: %s: %s", d.Verdict, d.Answer)
	}
	if d := diagnose(cpu(0.55, hot, on{send, 0.9, 0.8, 0}, on{receive, 0.1, 0, 0})); d.Verdict != Yes {
		t.Errorf("0.55 cores: %s: %s", d.Verdict, d.Answer)
	}
	short := func(c *profile.Capture) { c.CPU.Window /= 100; c.CPU.Total /= 100; c.Window /= 100 }
	if d := diagnose(cpu(2, hot, on{send, 0.9, 0.8, 0}, on{receive, 0.1, 0, 0}), short); d.Verdict != Idle || !strings.Contains(d.Answer, "20 samples") {
		t.Errorf("20 samples: %s: %s", d.Verdict, d.Answer)
	}
}

// TestLight: at little load channels limit nothing, but if they take a notable
// part of the CPU time, a remedy saves it. Then idle cores do not count.
func TestLight(t *testing.T) {
	of := func(channels float64) *Diagnosis {
		return diagnose(cpu(0.45, shares{profile.ChannelWork: channels, profile.UserCode: 1 - channels}, on{send, channels / 2, 0, 0.05}, on{receive, channels / 2, 0, 0.05}))
	}
	d := of(0.4)
	found := d.found(TransferCost)
	if d.Verdict != Yes || !strings.HasPrefix(d.Answer, "The service uses few cores (0.45), but channels take 40% of its CPU time. ") || found == nil {
		t.Fatalf("%s: %s", d.Verdict, d.Answer)
	}
	for _, r := range found.Remedies {
		if most := 1 / (1 - 0.4) * (1 + uncertain) * 1.15; r.Gain.High > most {
			t.Errorf("%s gains up to ×%.2f; channels take 40%%", r.Name, r.Gain.High)
		}
	}
	if text := evidence(found); !strings.Contains(text, "gains are of CPU time per value") {
		t.Error(text)
	}
	if d := of(0.14); d.Verdict != Idle {
		t.Errorf("14%%: %s: %s", d.Verdict, d.Answer)
	}
}

// TestIdlePool: 61 s/s of waits in the block profile are not a problem.
func TestIdlePool(t *testing.T) {
	d := diagnose(idlePool...)
	if d.Verdict != Idle || len(d.Findings) > 0 {
		t.Errorf("verdict %s with %d findings: %s", d.Verdict, len(d.Findings), d.Answer)
	}
	if o := d.Operations[0]; value(o.Waited) != 610 || deref(o.Waiting) != 64 {
		t.Errorf("figures %v", o.figures(false))
	}
}

// TestOwnHandlers: selects of pprof's own handlers do not count.
func TestOwnHandlers(t *testing.T) {
	d := diagnose(append(idlePool, func(c *profile.Capture) {
		c.Block.Own = profile.Contention{Count: 1, Delay: watched}
	})...)
	for _, o := range d.Operations {
		if o.Op == profile.Select {
			t.Errorf("%s is listed", o.Place)
		}
	}
}

// TestInIsNotWaiting: 65 goroutines in chansend may all be runnable, which is
// no backlog in front of I/O.
func TestInIsNotWaiting(t *testing.T) {
	quiet := cpu(0.03, shares{profile.UserCode: 1})
	if d := diagnose(quiet, goroutinesAt(in(send, 65, 0), in(sink, 1, 1))); d.found(Downstream) != nil {
		t.Error("runnable goroutines were taken for a backlog")
	}
	if d := diagnose(quiet, goroutinesAt(in(send, 65, 64), in(sink, 1, 1))); d.found(Downstream) == nil {
		t.Error("waiting goroutines were not taken for a backlog")
	}
}

// TestRangeIsReceive: the state of a range loop is a receive, but it is one
// place.
func TestRangeIsReceive(t *testing.T) {
	same := receive
	same.Op = profile.Receive
	d := diagnose(cpu(1, shares{profile.ChannelWork: 1}, on{receive, 1, 0, 0}), goroutinesAt(in(same, 7, 3)))
	if len(d.Operations) != 1 || deref(d.Operations[0].In) != 7 {
		t.Errorf("operations: %v", d.Operations)
	}
}
