package doctor

import (
	"slices"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestElsewhereToo: contention outside selects counts from a tenth of the
// channels' cost.
func TestElsewhereToo(t *testing.T) {
	offer := at(profile.Select, "offer")
	for _, test := range []struct {
		outside float64
		want    Kind
	}{{0.08, SharedDone}, {0.12, LockContention}} {
		d := diagnose(cpu(1.8, shares{profile.ChannelWork: 0.4, profile.ChannelLock: 0.5, profile.UserCode: 0.1},
			on{offer, 0.9 * (1 - test.outside), 0.45, 0}, on{receive, 0.9 * test.outside, 0.9 * test.outside * 0.6, 0}), goroutinesAt(in(offer, 48, 2), in(receive, 2, 0)))
		if d.found(test.want) == nil {
			t.Errorf("with %v outside: %s", test.outside, d.Answer)
		}
	}
}

// TestTheSendIsNamed: the finding names the send, even if the receive costs
// more, because a remedy changes the many senders.
func TestTheSendIsNamed(t *testing.T) {
	for cost, want := range map[float64]profile.Op{0.40: profile.Send, 0.04: profile.Send} {
		d := diagnose(cpu(1.8, shares{profile.ChannelWork: 0.3, profile.ChannelLock: 0.7}, on{receive, 1 - cost, 0.7, 0}, on{send, cost, 0, 0}),
			goroutinesAt(in(send, 64, 0), in(receive, 1, 0)))
		if f := d.found(LockContention); f == nil || f.At.Op != want {
			t.Errorf("with a send of %v: %+v", cost, f)
		}
	}
}

// TestSeparateDoneRange: separate done channels save less waiting if their
// other ends are busy, which is unknown.
func TestSeparateDoneRange(t *testing.T) {
	offer := at(profile.Select, "offer")
	parts := []part{cpu(1.8, shares{profile.ChannelWork: 0.2, profile.ChannelLock: 0.7, profile.UserCode: 0.1}, on{offer, 0.9, 0.7, 0}), goroutinesAt(in(offer, 48, 2))}
	gain := diagnose(parts...).found(SharedDone).Best().Gain
	if gain.High/gain.Low < 2 {
		t.Errorf("range %s", gain)
	}
}

// TestLoneSelect: a select locks all its cases; without other goroutines or
// waits there is no contention.
func TestLoneSelect(t *testing.T) {
	alone := cpu(1.8, shares{profile.ChannelWork: 0.2, profile.ChannelLock: 0.7, profile.UserCode: 0.1}, on{choose, 0.9, 0.7, 0})
	for wait, want := range map[float64]bool{0.01: false, 0.05: true} {
		if d := diagnose(alone, metrics(wait, 1000)); (d.found(SharedDone) != nil) != want {
			t.Errorf("with %v Ps asleep: %s", wait, d.Answer)
		}
	}
}

// TestBothSidesWait: the release of a lock waits only by chance, in one of ten
// samples.
func TestBothSidesWait(t *testing.T) {
	acquire, release := at(profile.Send, "book"), at(profile.Receive, "book")
	spent := cpu(2, shares{profile.ChannelWork: 1}, on{acquire, 0.5, 0, 0}, on{release, 0.5, 0, 0})
	for giving, want := range map[int]bool{4: true, 5: false} {
		if d := diagnose(spent, goroutinesAt(in(acquire, 40, 40), in(release, giving, giving))); (d.found(UsedAsLock) != nil) != want {
			t.Errorf("%d wait to release it: %s", giving, d.Answer)
		}
	}
}

// TestMissedChannel: a mutex profile without channels covers too few runtime
// locks to rule them out; one with other runtime locks rules them out.
func TestMissedChannel(t *testing.T) {
	spent := cpu(1.5, shares{profile.ChannelLock: 0.6, profile.UserCode: 0.4}, on{send, 0.6, 0.6, 0})
	d := diagnose(spent, metrics(0.5, 0), mutex(map[profile.Site]float64{unlock: 2}))
	near(t, "asleep, where no channel was seen", d.Shares.Asleep, 0.3)
	d = diagnose(spent, metrics(0.5, 0), mutex(map[profile.Site]float64{unlock: 2}), func(c *profile.Capture) { c.Mutex.Runtime.Delay = secs(1) })
	near(t, "asleep, where other locks were seen", d.Shares.Asleep, 0)
}

// TestParksOnTheNetwork: the poller has no stack, so system calls count as half
// of the wake-ups.
func TestParksOnTheNetwork(t *testing.T) {
	d := diagnose(cpu(1, shares{profile.ChannelWork: 0.4, profile.AfterPark: 0.2, profile.SystemCalls: 0.2, profile.UserCode: 0.2}, on{send, 0.4, 0, 0.1}))
	near(t, "channels, of CPU time", d.Shares.ChannelCPU, 0.5)
}

// TestMoved: goroutines that move between two places are a leak only as far as
// the total grows.
func TestMoved(t *testing.T) {
	moved, grown := at(profile.Receive, "moved"), at(profile.Select, "grown")
	parts := []part{cpu(0.2, shares{profile.UserCode: 1}), func(c *profile.Capture) {
		c.Goroutines = &profile.Goroutines{StatesKnown: true, InKnown: true, GrowthKnown: true, Total: 115, Earlier: 100, Sites: []profile.GoroutineSite{
			{Site: grown, In: 30, Waiting: 30, Earlier: 15}, {Site: moved, In: 85, Waiting: 85, Earlier: 20}}}
	}}
	f := diagnose(parts...).found(Leak)
	if f == nil || f.At.Function != grown.At.Function {
		t.Errorf("leak %+v", f)
	}
	if slices.ContainsFunc(f.Remedies, func(r Remedy) bool { return r.Name == Buffer }) {
		t.Errorf("a buffer for receivers: %+v", f.Remedies)
	}
}

// TestOneSelectReceives: several goroutines that select at one end, and a single
// one at the other, meet at the channel of values, beside the done channel.
func TestOneSelectReceives(t *testing.T) {
	put, take := at(profile.Select, "(*queue).Put"), at(profile.Select, "(*queue).Take")
	const parse, sum = "example.com/q.parse", "example.com/q.sum"
	rooted := func(site profile.GoroutineSite, root string) profile.GoroutineSite {
		site.Root = root
		return site
	}
	idle := take
	idle.Caller = profile.Frame{Function: "example.com/q.audit", File: "q.go", Line: 90} // another user of the queue type
	for name, test := range map[string]struct {
		receivers []profile.GoroutineSite
		want      Kind
		best      RemedyName
	}{
		"one receives": {[]profile.GoroutineSite{rooted(in(take, 1, 0), sum)}, LockContention, Batch},
		"one receives, at two lines in two snapshots": {[]profile.GoroutineSite{
			rooted(profile.GoroutineSite{Site: at(profile.Other, "sum"), In: 1}, sum), rooted(profile.GoroutineSite{Site: take, Runnable: 1}, sum),
		}, LockContention, Batch},
		"several receive": {[]profile.GoroutineSite{rooted(in(take, 4, 0), sum)}, SharedDone, SeparateDone},
		"unknown":         {nil, SharedDone, SeparateDone},
	} {
		sites := append(test.receivers, rooted(in(put, 4, 2), parse), rooted(in(idle, 1, 1), "example.com/q.audit"))
		d := diagnose(cpu(1.1, shares{profile.ChannelWork: 0.45, profile.ChannelLock: 0.4, profile.UserCode: 0.15}, on{take, 0.45, 0.2, 0}, on{put, 0.4, 0.2, 0}),
			func(c *profile.Capture) {
				c.CPU.Sites[0].Roots, c.CPU.Sites[1].Roots = []string{sum}, []string{parse}
			}, goroutinesAt(sites...))
		f := d.found(test.want)
		if f == nil || f.Best() == nil || f.Best().Name != test.best || test.want == LockContention && f.At.Function != put.At.Function {
			t.Errorf("%s: %s, %+v", name, d.Answer, f)
		}
	}
}

// TestSoloSelects: with one goroutine at each end, both contend for the lock of
// the channel of values as much as for that of a done channel.
func TestSoloSelects(t *testing.T) {
	write, read := at(profile.Select, "write"), at(profile.Select, "read")
	for n, want := range map[int]Kind{1: TransferCost, 4: SharedDone} {
		d := diagnose(cpu(1.8, shares{profile.ChannelWork: 0.27, profile.ChannelLock: 0.39, profile.UserCode: 0.34}, on{write, 0.26, 0.16, 0}, on{read, 0.4, 0.23, 0.03}),
			goroutinesAt(in(write, n, 0), in(read, n, 0)))
		if len(d.Findings) == 0 || d.Findings[0].Kind != want {
			t.Errorf("%d goroutines at each end: %s", n, d.Answer)
		}
	}
}
