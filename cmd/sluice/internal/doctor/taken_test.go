package doctor

import (
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestStageTakes: a goroutine that computes all the time, and uses channels only
// in a pool of buffers, is not the receiver that others wait for.
func TestStageTakes(t *testing.T) {
	lock, get, next := at(profile.Select, "(*DB).Write"), at(profile.PollReceive, "(*Buffers).Get"), at(profile.Range, "compact")
	with := func(own profile.Site) *Finding {
		return diagnose(
			cpu(1.1, shares{profile.UserCode: 0.95, profile.ChannelWork: 0.05}, on{lock, 0.02, 0, 0}, on{own, 0.03, 0, 0}),
			goroutinesAt(rooted(lock, 32, 31, "write")),
			staged(stagePart{"compact", 1, 0.85, 0.02}),
			func(c *profile.Capture) {
				c.CPU.Sites[0].Roots, c.CPU.Sites[1].Roots = []string{"example.com/q.write"}, []string{"example.com/q.compact"}
			}).found(SlowStage)
	}
	if f := with(get); f == nil || f.Best() != nil || f.Confidence != Low {
		t.Errorf("a compaction: %+v", f)
	}
	if f := with(next); f == nil || f.Best() == nil || f.Best().Name != MoreReceivers {
		t.Errorf("a receiver: %+v", f)
	}
}
