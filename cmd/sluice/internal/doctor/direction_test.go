package doctor

import (
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// passing adds the directions of selects, as parts of the CPU time in them.
func passing(site profile.Site, gave, took float64) part {
	return func(c *profile.Capture) {
		for i := range c.CPU.Sites {
			if s := &c.CPU.Sites[i]; s.Site == site {
				s.Gave, s.Took = secs(gave*s.Time.Seconds()), secs(took*s.Time.Seconds())
			}
		}
	}
}

// TestDirectionOfSelects: a select that takes values and passes them on, between
// selects that do one of the two, forwards them, also in several goroutines. One
// that only sends is a stage.
func TestDirectionOfSelects(t *testing.T) {
	loop, post, work := at(profile.Select, "(*mailbox).loop"), at(profile.Select, "(*mailbox).post"), at(profile.Select, "(*actor).work")
	base := []part{
		cpu(1.9, shares{profile.ChannelWork: 0.5, profile.ChannelLock: 0.2, profile.AfterPark: 0.2, profile.UserCode: 0.1},
			on{loop, 0.35, 0.1, 0.05}, on{work, 0.18, 0.05, 0.04}, on{post, 0.17, 0.05, 0.04}),
		goroutinesAt(in(loop, 4, 2), in(work, 4, 2), in(post, 4, 2)), passing(post, 0.3, 0), passing(work, 0, 0.3),
	}
	for name, test := range map[string]struct {
		way  part
		want bool
	}{
		"both ways":      {passing(loop, 0.15, 0.15), true},
		"sends":          {passing(loop, 0.3, 0), false},
		"receives":       {passing(loop, 0, 0.3), false},
		"one of samples": {passing(loop, 0.27, 0.03), false},
		"unknown":        {passing(loop, 0, 0), false},
	} {
		d := diagnose(append(base, test.way)...)
		f := d.found(Pump)
		if (f != nil) != test.want || f != nil && (f.Best() == nil || f.Best().Name != Elastic) {
			t.Errorf("%s: %s %+v", name, d.Answer, f)
		}
	}
}
