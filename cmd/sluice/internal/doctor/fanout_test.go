package doctor

import (
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestOneToMany: a few senders and many receivers, contended or not.
func TestOneToMany(t *testing.T) {
	busy := cpu(1.6, shares{profile.ChannelWork: 0.4, profile.ChannelLock: 0.1, profile.AfterPark: 0.2, profile.UserCode: 0.3},
		on{send, 0.3, 0.05, 0.1}, on{receive, 0.2, 0.05, 0})
	contended := cpu(1.7, shares{profile.ChannelWork: 0.33, profile.ChannelLock: 0.31, profile.AfterPark: 0.1, profile.UserCode: 0.26},
		on{send, 0.4, 0.2, 0.1}, on{receive, 0.24, 0.11, 0})
	between := func(senders, receivers int) part {
		return goroutinesAt(rooted(send, senders, 1, "publish"), rooted(receive, receivers, receivers/2, "read"))
	}
	for name, test := range map[string]struct {
		parts []part
		found bool
	}{
		"one to 40":   {[]part{busy, between(1, 40)}, true},
		"locks":       {[]part{contended, between(2, 40)}, true},
		"one to four": {[]part{busy, between(1, 4)}, false},
		"20 to 40":    {[]part{busy, between(20, 40)}, false},
		"a large select": {[]part{cpu(1.3, shares{profile.ChannelWork: 0.75, profile.UserCode: 0.25}, on{choose, 0.7, 0.1, 0.02}, on{at(profile.Select, "stream"), 0.05, 0, 0}),
			goroutinesAt(rooted(choose, 1, 0, "run"), rooted(at(profile.Select, "stream"), 56, 9, "stream"))}, false},
		"little of that": {[]part{cpu(1.6, shares{profile.ChannelWork: 0.05, profile.UserCode: 0.95}, on{send, 0.03, 0, 0}, on{receive, 0.02, 0, 0}), between(1, 40)}, false},
	} {
		d := diagnose(append(test.parts, metrics(0.001, 1_000_000))...)
		f := d.found(OneToMany)
		if (f != nil) != test.found {
			t.Errorf("%s: %s", name, d.Answer)
		}
		if f != nil && (len(d.Findings) != 1 || f.Best().Name != Batch || d.Verdict != Yes) {
			t.Errorf("%s: %+v", name, d.Findings)
		}
	}
}

// TestForwarders: goroutines that only forward, and others that work.
func TestForwarders(t *testing.T) {
	in1, out1 := at(profile.Range, "merge.func1"), at(profile.Send, "merge.func1")
	out1.At.Line++
	spent := cpu(1.6, shares{profile.ChannelWork: 0.4, profile.ChannelLock: 0.12, profile.AfterPark: 0.33, profile.UserCode: 0.15},
		on{out1, 0.2, 0.05, 0.1}, on{in1, 0.15, 0.05, 0.05}, on{send, 0.1, 0.01, 0.05}, on{receive, 0.07, 0.01, 0})
	all := func(n int) part {
		return goroutinesAt(rooted(in1, n/2, n/2, "merge.func1"), rooted(out1, n-n/2, n-n/2, "merge.func1"),
			rooted(send, n, n, "tail"), rooted(receive, 1, 0, "count"))
	}
	working := func(work float64) part {
		return func(c *profile.Capture) {
			c.CPU.Stages = []profile.CPUStage{{Root: "example.com/q.merge.func1", Work: secs(work), Channel: secs(4)}}
		}
	}
	for name, test := range map[string]struct {
		parts []part
		found bool
	}{
		"48 sources":  {[]part{spent, all(48), working(0.2)}, true},
		"two sources": {[]part{spent, all(2), working(0.2)}, false},
		"with work":   {[]part{spent, all(48), working(4)}, false},
	} {
		d := diagnose(append(test.parts, metrics(0.001, 1_000_000))...)
		f := d.found(Forwarders)
		if (f != nil) != test.found {
			t.Errorf("%s: %s", name, d.Answer)
		}
		if f == nil {
			continue
		}
		merged := false
		for _, r := range f.Remedies {
			merged = merged || r.Name == MergeChannels && r.Gain.Low <= 5.5 && r.Gain.High >= 5.5
		}
		if !merged || len(d.Findings) != 1 {
			t.Errorf("%s: %+v", name, d.Findings)
		}
	}
}

// TestHubIsNoHop: a goroutine that sends each value to many does what its senders
// would have to do otherwise.
func TestHubIsNoHop(t *testing.T) {
	take, pass := at(profile.Select, "(*hub).run"), at(profile.Send, "(*hub).run")
	pass.At.Line += 2
	const root = "example.com/q.(*hub).run"
	for receivers, want := range map[int]Kind{1: Hop, 30: OneToMany} {
		d := diagnose(
			cpu(1.4, shares{profile.ChannelWork: 0.4, profile.ChannelLock: 0.06, profile.AfterPark: 0.14, profile.UserCode: 0.4},
				on{pass, 0.2, 0.01, 0.04}, on{receive, 0.12, 0.01, 0.01}, on{send, 0.07, 0.02, 0.04}, on{take, 0.07, 0.02, 0.01}),
			metrics(0.01, 900_000),
			func(c *profile.Capture) { c.CPU.Sites[0].Roots, c.CPU.Sites[3].Roots = []string{root}, []string{root} },
			goroutinesAt(rooted(send, 1, 1, "feed"), rooted(pass, 1, 0, "(*hub).run"), rooted(receive, receivers, receivers/2, "read")),
			staged(stagePart{"(*hub).run", 1, 0.02, 0.27}))
		if d.found(want) == nil || d.found(Hop) != nil && want != Hop {
			t.Errorf("%d receivers: %s", receivers, d.Answer)
		}
	}
}
