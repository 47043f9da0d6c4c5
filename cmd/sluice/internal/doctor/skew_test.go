package doctor

import (
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestSkew: senders and receivers that wait at the same time use different
// channels.
func TestSkew(t *testing.T) {
	shard := at(profile.Range, "(*shard).run")
	senders, idle := rooted(send, 9, 9, "feed"), rooted(shard, 7, 7, "(*shard).run")
	busy := rooted(at(profile.IO, "store"), 1, 1, "(*shard).run")
	next := rooted(at(profile.IO, "other"), 1, 1, "next")
	takes := rooted(at(profile.Range, "next"), 1, 1, "next")
	pair := woke(profile.Pair{Waker: shard, Sleeper: send, Count: 9})
	for name, test := range map[string]struct {
		parts []part
		sure  Confidence // "" for no finding
	}{
		"one of eight":     {[]part{quiet, goroutinesAt(senders, idle, busy)}, Medium},
		"in a trace":       {[]part{quiet, goroutinesAt(senders, idle, busy), pair}, High},
		"for another":      {[]part{quiet, goroutinesAt(senders, idle, busy), woke(profile.Pair{Waker: receive, Sleeper: send, Count: 9})}, ""},
		"all idle":         {[]part{quiet, goroutinesAt(senders, idle)}, ""},
		"nobody waits":     {[]part{quiet, goroutinesAt(rooted(send, 1, 1, "feed"), idle, busy)}, ""},
		"half are busy":    {[]part{quiet, goroutinesAt(senders, rooted(shard, 3, 3, "(*shard).run"), rooted(at(profile.IO, "store"), 4, 4, "(*shard).run"))}, ""},
		"a stage between":  {[]part{quiet, goroutinesAt(senders, idle, busy, next, takes)}, ""},
		"all cores in use": {[]part{cpu(1.9, shares{profile.UserCode: 1}), goroutinesAt(senders, idle, busy)}, ""},
	} {
		f := diagnose(test.parts...).found(Skew)
		switch {
		case f == nil && test.sure != "", f != nil && f.Confidence != test.sure:
			t.Errorf("%s: found %+v", name, f)
		case f != nil && (f.Best().Name != BalanceKeys || f.Best().Gain.Low > 7.2 || f.Best().Gain.High < 7.2):
			t.Errorf("%s: %+v, measured ×7.2", name, f.Remedies)
		}
	}
	// A shard that computes uses one core of two.
	f := diagnose(cpu(1.02, shares{profile.UserCode: 1}), staged(stagePart{"feed", 9, 0.02, 0}, stagePart{"(*shard).run", 8, 0.98, 0}), func(c *profile.Capture) {
		c.Goroutines.Sites = []profile.GoroutineSite{senders, idle, {Site: at(profile.Other, "(*shard).run"), In: 1, Runnable: 1, Root: busy.Root}}
	}).found(Skew)
	if f == nil || f.Best().Gain.Low > 1.9 || f.Best().Gain.High < 1.9 || f.Best().Gain.High > 2.5 {
		t.Errorf("a shard that computes: %+v", f)
	}
}
