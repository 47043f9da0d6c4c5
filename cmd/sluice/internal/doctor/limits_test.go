package doctor

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestLimits tests each threshold from both sides, with a service 10% below and
// one 10% above that differ in this value only. The thresholds are decisions, so
// a change of one must be repeated here.
func TestLimits(t *testing.T) {
	poll := at(profile.PollReceive, "poll")
	other := at(profile.Close, "end")
	acquire, release := at(profile.Send, "book"), at(profile.Receive, "book")
	many := func(n float64) int { return int(n + 0.5) }
	user := func(cores, share float64, rest profile.Category) part {
		return cpu(cores, shares{profile.UserCode: share, rest: 1 - share})
	}
	// contended is a channel that takes this share of two cores, with this part
	// of it in its lock.
	contended := func(share, locked float64) []part {
		return []part{cpu(2, shares{profile.ChannelLock: share * locked, profile.ChannelWork: share * (1 - locked), profile.UserCode: 1 - share},
			on{send, share, share * locked, 0})}
	}
	turns := func(cores, channel, wakeups float64) []part {
		return []part{cpu(cores, shares{profile.ChannelWork: channel, profile.UserCode: 1 - channel}, on{send, channel / 2, 0, 0.01}, on{receive, channel / 2, 0, 0.01}),
			metrics(0, wakeups), goroutinesAt(in(send, 1, 1), in(receive, 1, 1))}
	}
	pool := func(share float64, workers int) []part {
		return []part{cpu(2, shares{profile.ChannelWork: share, profile.UserCode: 1 - share}, on{send, share / 2, 0, 0}, on{receive, share / 2, 0, 0}),
			goroutinesAt(in(send, 1, 1), in(receive, workers, 1))}
	}
	selects := func(share float64, goroutines int, ends float64) []part {
		return []part{cpu(1.2, shares{profile.ChannelWork: share, profile.UserCode: 1 - share},
			on{choose, share * (1 - 2*ends), 0, 0}, on{send, share * ends, 0, 0}, on{receive, share * ends, 0, 0}),
			goroutinesAt(in(choose, goroutines, 1))}
	}
	// backlog has one goroutine at the other end, which uses part of a core,
	// and part of that for its work.
	backlog := func(slow, work float64, n int) []part {
		return []part{cpu(1, shares{profile.UserCode: 0.99, profile.ChannelWork: 0.01}, on{other, 0.001, 0, 0}), goroutinesAt(in(send, n, 0)),
			staged(stagePart{"(*Bus).Put", n, 0, 0.01}, stagePart{"consume", 1, slow * work, slow * (1 - work)})}
	}
	outside := func(cores float64, n int) []part {
		return []part{user(cores, 1, profile.OtherRuntime), goroutinesAt(in(send, n, n), in(sink, 1, 1))}
	}
	leaking := func(now, earlier int, longest time.Duration) []part {
		site := profile.GoroutineSite{Site: receive, In: now, Waiting: now, Earlier: earlier, Longest: longest}
		return []part{func(c *profile.Capture) {
			c.Goroutines = &profile.Goroutines{
				StatesKnown: true, InKnown: true, GrowthKnown: earlier > 0, Total: now, Earlier: earlier,
				Sites: []profile.GoroutineSite{site},
			}
		}}
	}
	for _, test := range []struct {
		name  string
		kind  Kind
		limit float64
		below bool // it is found below the limit, and not above
		with  func(v float64) []part
	}{
		{"collector, of CPU time", GarbageCollection, 0.50, false, func(v float64) []part { return []part{user(1, 1-v, profile.Collecting)} }},
		{"package sync, of CPU time", SyncMutex, 0.25, false, func(v float64) []part { return []part{user(1, 1-v, profile.Locking)} }},
		{"waiting on sync, for each of two Ps", SyncMutex, 1, false, func(v float64) []part {
			return []part{metrics(v, 0), mutex(map[profile.Site]float64{unlock: 100})}
		}},
		{"system calls, of CPU time", SystemCallBound, 0.35, false, func(v float64) []part { return []part{user(1, 1-v, profile.SystemCalls)} }},
		{"user code, of CPU time", CPUBound, 0.60, false, func(v float64) []part { return []part{user(2, v, profile.OtherRuntime)} }},
		{"cores of two in use", CPUBound, 1.4, false, func(v float64) []part { return []part{user(v, 1, profile.OtherRuntime)} }},
		{"samples", CPUBound, 30, false, func(v float64) []part {
			return []part{user(2, 1, profile.OtherRuntime), func(c *profile.Capture) {
				c.CPU.Total = time.Duration(many(v)) * c.CPU.Period
				c.CPU.By[profile.UserCode], c.CPU.Window = c.CPU.Total, c.CPU.Total/2
			}}
		}},
		{"a contended channel, share of the cores", LockContention, 0.20, false, func(v float64) []part { return contended(v, 0.9) }},
		{"its lock, of its cost", LockContention, 0.30, false, func(v float64) []part { return contended(0.9, v) }},
		{"a channel's lock, where parking counts", TransferCost, 0.30, true, func(v float64) []part { return contended(0.9, v) }},
		{"transfer cost, share of CPU time", TransferCost, 0.15, false, func(v float64) []part { return contended(v, 0) }},
		{"both sides of a lock, of the channels' cost", UsedAsLock, 0.40, false, func(v float64) []part {
			return []part{cpu(2, shares{profile.ChannelWork: 1}, on{acquire, v / 2, 0, 0}, on{release, v / 2, 0, 0},
				on{at(profile.Close, "end"), 1 - v, 0, 0}), goroutinesAt(in(acquire, 15, 14))}
		}},
		{"cores in use of 1.7, by a twentieth", Lockstep, 1, true, func(v float64) []part { return turns(1.7+(v-1)/2, 0.1, 60_000) }},
		{"channels of stages in lockstep", Lockstep, 0.03, false, func(v float64) []part { return turns(1.2, v, 60_000) }},
		{"wake-ups per second on two cores", Lockstep, 4000, false, func(v float64) []part { return turns(1.2, 0.1, v) }},
		{"a pool, of CPU time", TinyJobs, 0.15, false, func(v float64) []part { return pool(v, 8) }},
		{"goroutines of a pool", TinyJobs, 2.5, false, func(v float64) []part { return pool(0.5, many(v)) }},
		{"a large select, of CPU time", LargeSelect, 0.25, false, func(v float64) []part { return selects(v, 1, 0.01) }},
		{"a forwarding select, with its ends", Pump, 0.15, false, func(v float64) []part { return selects(v, 1, 0.1) }},
		{"either end of a pump", Pump, 0.03, false, func(v float64) []part { return selects(0.7, 1, v) }},
		{"goroutines of a pump", Pump, 2.5, true, func(v float64) []part { return selects(0.7, many(v), 0.1) }},
		{"polls, share of CPU time", Polling, 0.15, false, func(v float64) []part {
			return []part{cpu(1.9, shares{profile.ChannelWork: v, profile.UserCode: 1 - v}, on{poll, v, 0, 0})}
		}},
		{"goroutines in a queue", SlowStage, 1.5, false, func(v float64) []part { return backlog(1, 1, many(v)) }},
		{"a core that a slow stage uses", SlowStage, 0.75, false, func(v float64) []part { return backlog(v, 1, 8) }},
		{"work of a slow stage", SlowStage, 0.70, false, func(v float64) []part { return backlog(1, v, 8) }},
		{"cores, waiting for I/O", Downstream, 0.5, true, func(v float64) []part { return outside(v, 8) }},
		{"goroutines in a queue for I/O", Downstream, 1.5, false, func(v float64) []part { return outside(0.03, many(v)) }},
		{"more goroutines", Leak, 10, false, func(v float64) []part { return leaking(10+many(v), 10, 0) }},
		{"more goroutines, of many", Leak, 1200, false, func(v float64) []part { return leaking(many(v), 1000, 0) }},
		{"goroutines that wait long", Leak, 100, false, func(v float64) []part { return leaking(many(v), 0, time.Hour) }},
		{"how long", Leak, 300, false, func(v float64) []part { return leaking(200, 0, secs(v)) }},
	} {
		t.Run(fmt.Sprintf("%s: %v", test.name, test.limit), func(t *testing.T) {
			for _, side := range []struct {
				v    float64
				want bool
			}{{0.9 * test.limit, test.below}, {1.1 * test.limit, !test.below}} {
				parts := test.with(side.v)
				if !slices.ContainsFunc(parts, func(p part) bool { c := service(p); return c.CPU != nil }) {
					parts = append(parts, user(0.2, 0.3, profile.OtherRuntime))
				}
				if d := diagnose(parts...); (d.found(test.kind) != nil) != side.want {
					t.Errorf("at %v found: %v; %s", side.v, !side.want, d.Answer)
				}
			}
		})
	}
}

// TestGainLimits: predictions stay within these limits.
func TestGainLimits(t *testing.T) {
	if r := between(0, 1000, 1000); r != (Range{0.9, 60, 60}) {
		t.Errorf("the widest range is %+v", r)
	}
	if r := around(2); r != (Range{1.3, 2, 2.5}) {
		t.Errorf("around 2 is %+v", r)
	}
}

// TestQuietLocks: waits of 0.02 Ps are not evidence.
func TestQuietLocks(t *testing.T) {
	for _, test := range []struct {
		wait float64
		want bool
	}{{0.018, false}, {0.022, true}} {
		d := diagnose(append(slices.Clone(hotService), metrics(test.wait, 0))...)
		said := false
		for _, e := range d.found(LockContention).Evidence {
			said = said || e.From == profile.KindMetrics
		}
		if said != test.want {
			t.Errorf("%v Ps asleep are evidence: %v", test.wait, said)
		}
	}
}

// TestParksBound: channels get at most one and a half times their own time of
// the time after parks.
func TestParksBound(t *testing.T) {
	d := diagnose(cpu(1, shares{profile.ChannelWork: 0.1, profile.AfterPark: 0.5, profile.UserCode: 0.4}, on{send, 0.1, 0, 0.05}))
	near(t, "channels of CPU time", d.Shares.ChannelCPU, 0.25)
}

// TestCrowd: a single goroutine has no contention.
func TestCrowd(t *testing.T) {
	for n, want := range map[int]Kind{1: TransferCost, 2: LockContention} {
		d := diagnose(append(slices.Clone(hotService), goroutinesAt(in(send, n, 0), in(receive, 1, 0)))...)
		if d.found(want) == nil {
			t.Errorf("%d goroutines: %s", n, d.Answer)
		}
	}
	// Goroutines that compute at the moment count too.
	d := diagnose(append(slices.Clone(hotService), goroutinesAt(in(send, 1, 0), in(receive, 1, 0)), staged(stagePart{"(*Bus).Put", 64, 0.1, 0.5}))...)
	if d.found(LockContention) == nil {
		t.Errorf("63 elsewhere: %s", d.Answer)
	}
}
