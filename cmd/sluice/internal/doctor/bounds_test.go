package doctor

import (
	"math"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// factsOf returns the facts of a service with these parts.
func factsOf(parts ...part) *facts { return gather(service(parts...), Reference()) }

func roughly(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 0.01*want {
		t.Errorf("%s is %.3f, want %.3f", what, got, want)
	}
}

// half is a service that uses one of two cores, half of it for channels.
var half = cpu(1, shares{profile.ChannelWork: 0.5, profile.UserCode: 0.5}, on{send, 0.25, 0, 0.1}, on{receive, 0.25, 0, 0.1})

// TestGain: the upper bound is all cores over the remaining work, the lower
// bound is the cores in use and a third of the others, and the middle lies
// between them.
func TestGain(t *testing.T) {
	f := factsOf(half)
	l := f.load(0)
	roughly(t, "own work", l.own, 0.5)
	roughly(t, "channels", l.channels, 0.5)
	// Nothing remains: the upper bound is 2/0.5, the lower 1.33/0.5.
	g := f.gain(l, stay{0, 0})
	floor, ceiling := 1.33/0.5, 2/0.5
	roughly(t, "the middle", g.Mid, math.Sqrt(floor*ceiling))
	roughly(t, "the lower end", g.Low, floor*0.8*0.9)
	roughly(t, "the upper end", g.High, ceiling*1.2)
	// Half of the channels' cost remains at worst, a tenth at best.
	g = f.gain(l, stay{0.5, 0.1})
	roughly(t, "the middle", g.Mid, math.Sqrt(1.33/0.75*2/0.55))
	// Work that may disappear raises the upper bound only.
	l.gone = 0.1
	more := f.gain(l, stay{0.5, 0.1})
	roughly(t, "the middle", more.Mid, math.Sqrt(1.33/0.75*2/0.45))
	// Serialized work limits it to one core, and uses no idle cores.
	l.oneCore = 0.3
	one := f.gain(l, stay{0.5, 0.1})
	roughly(t, "the middle under a lock", one.Mid, math.Sqrt(1/0.75*1/0.35))
	roughly(t, "the upper end under a lock", one.High, 1/0.35*1.2)
}

// TestGainIsBounded: no bound is more than a factor of two from the middle.
func TestGainIsBounded(t *testing.T) {
	f := factsOf(half)
	g := f.gain(f.load(0), stay{1, 0})
	roughly(t, "the middle", g.Mid, math.Sqrt(1.33*4))
	roughly(t, "the upper end", g.High, 2*g.Mid)
	if g.Low != max(neverWorse, g.Mid/2) {
		t.Errorf("the range is %s", g)
	}
}

// TestNarrowest: one goroutine has one core, whatever the others do.
func TestNarrowest(t *testing.T) {
	narrow := factsOf(half, staged(stagePart{"(*Bus).Put", 1, 0.4, 0.25}, stagePart{"consume", 1, 0.1, 0.25}))
	g := narrow.gain(narrow.load(0), stay{0, 0})
	roughly(t, "the upper end", g.High, 1/0.4*1.2)
	lifted := narrow.gain(narrow.load(0), stay{0, 0}, "example.com/q.(*Bus).Put")
	roughly(t, "without that stage", lifted.High, 2/0.5*1.2)
	wide := factsOf(half, staged(stagePart{"(*Bus).Put", 2, 0.4, 0.25}, stagePart{"consume", 1, 0.1, 0.25}))
	roughly(t, "with two goroutines", wide.gain(wide.load(0), stay{0, 0}).High, 2/0.5*1.2)
}

// TestColdWork: part of the work near operations may disappear with them, more
// of it with a contended channel, and never more than a twentieth of
// everything.
func TestColdWork(t *testing.T) {
	f := factsOf(cpu(2, shares{profile.ChannelWork: 0.94, profile.UserCode: 0.06}, on{send, 0.94, 0, 0}))
	roughly(t, "of a transfer", f.load(coldWork).gone, 0.15*0.12)
	roughly(t, "of a contended channel", f.load(hotWork).gone, 0.5*0.12)
	f = factsOf(cpu(2, shares{profile.ChannelWork: 0.8, profile.UserCode: 0.2}, on{send, 0.8, 0, 0}))
	roughly(t, "of one that does more", f.load(hotWork).gone, 0.05*2)
	f = factsOf(half)
	roughly(t, "of one that does much", f.load(hotWork).gone, 0.15*0.5)
}

// TestCollectedForChannels: garbage collection for allocations of operations is
// part of their cost.
func TestCollectedForChannels(t *testing.T) {
	f := factsOf(cpu(1, shares{profile.ChannelWork: 0.4, profile.Collecting: 0.2, profile.Allocating: 0.1, profile.UserCode: 0.3}, on{choose, 0.4, 0, 0}),
		func(c *profile.Capture) { c.CPU.Sites[0].New = c.CPU.By[profile.Allocating] })
	l := f.load(0)
	roughly(t, "channels", l.channels, 0.4+0.1)
	roughly(t, "own work", l.own, 0.6-0.1)
}

// TestMutexGain: a mutex that guards most of the work is contended, one with a
// single user is not.
func TestMutexGain(t *testing.T) {
	f := factsOf(half)
	gain := func(section float64, known bool, waiters int) Range {
		return f.mutex("", guard{section: section, sectionKnown: known, waiters: waiters, transfers: 2}).Gain
	}
	small, large, lone, unknown := gain(0.01, true, 8), gain(0.4, true, 8), gain(0.4, true, 1), gain(0, false, 0)
	if !(lone.Mid > unknown.Mid && small.Mid > unknown.Mid && unknown.Mid > large.Mid) {
		t.Errorf("alone %s, a small part %s, unknown %s, a large part %s", lone, small, unknown, large)
	}
	// With 0.24 of the work it is contended half of the time, and one core is
	// the limit.
	if under, above := gain(0.124, true, 8), gain(0.126, true, 8); under.Mid < 1.1*above.Mid {
		t.Errorf("free half of the time %s, contended %s", under, above)
	}
}

// TestStageGain: the limiting stage saturates its core, and removing the limit
// gains no more than the idle cores.
func TestStageGain(t *testing.T) {
	busy := cpu(1.25, shares{profile.UserCode: 0.95, profile.ChannelWork: 0.05}, on{send, 0.03, 0, 0}, on{receive, 0.02, 0, 0})
	d := diagnose(busy, goroutinesAt(in(send, 12, 0)), staged(stagePart{"(*Bus).Put", 12, 0.2, 0.03}, stagePart{"consume", 1, 0.75, 0.02}))
	found := d.found(SlowStage)
	if found == nil || found.At.Op != profile.Send || !strings.Contains(found.Text, "consume") {
		t.Fatalf("found %+v", d.Findings)
	}
	roughly(t, "the upper end", found.Best().Gain.High, 2/1.25*1.2)
	roughly(t, "the lower end", found.Best().Gain.Low, 2/1.25*1.2*stageLow)
	// A stage of two goroutines on two cores has all cores.
	busier := cpu(1.65, shares{profile.UserCode: 0.95, profile.ChannelWork: 0.05}, on{send, 0.03, 0, 0}, on{receive, 0.02, 0, 0})
	d = diagnose(busier, goroutinesAt(in(send, 12, 0)), staged(stagePart{"(*Bus).Put", 12, 0.02, 0.03}, stagePart{"consume", 2, 0.93, 0.02}))
	if d.found(SlowStage) != nil {
		t.Error("a stage with a goroutine per core was reported as slow")
	}
	// No goroutine sends to it: it only computes.
	d = diagnose(busy, goroutinesAt(), staged(stagePart{"consume", 1, 0.75, 0.02}))
	if d.found(SlowStage) != nil {
		t.Error("a goroutine without senders was reported as slow")
	}
}

// TestSameRepository covers different hosts.
func TestSameRepository(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"main.read", "main.(*pool).write", true},
		{"example.com/q.Put", "example.com/q.take", true},
		{"example.com/a/b/c.Put", "example.com/a/b/d.take", true},
		{"example.com/a/b.Put", "example.com/a/c.take", true}, // too short to tell
		{"example.com/a/b/c.Put", "example.com/a/x/c.take", false},
		{"main.read", "database/sql.open", false},
	} {
		if got := sameRepository(test.a, test.b); got != test.want {
			t.Errorf("%s and %s: %v", test.a, test.b, got)
		}
	}
}
