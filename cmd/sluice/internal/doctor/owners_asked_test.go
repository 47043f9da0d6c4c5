package doctor

import (
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestAskedOwner: a goroutine is asked in selects, and closes a channel as the
// answer. Where values are queued, where nothing answers, and where the function
// that sends takes the value back, no state is behind the channel.
func TestAskedOwner(t *testing.T) {
	ask, answer := at(profile.Select, "(*Agent).run"), at(profile.Receive, "(*Agent).run")
	loop, reply := at(profile.Select, "(*Agent).loop"), at(profile.Close, "(*Agent).loop")
	book, unbook := at(profile.Send, "(*Agent).run"), at(profile.Receive, "(*Agent).run")
	const root, reader = "example.com/q.(*Agent).loop", "example.com/q.read"
	of := func(channels, parked float64, sites ...on) []part {
		return []part{
			cpu(1.4, shares{profile.ChannelWork: channels, profile.SystemCalls: 0.6, profile.UserCode: 0.4 - channels}, sites...),
			func(c *profile.Capture) {
				for i := range c.CPU.Sites {
					s := &c.CPU.Sites[i]
					s.Wake = secs(parked * s.Time.Seconds())
					s.Roots = []string{reader}
					if s.At.Function == root {
						s.Roots = []string{root}
					}
				}
				c.CPU.Stages = []profile.CPUStage{{Root: root, Work: secs(0.5), Channel: secs(0.7)}, {Root: reader, Work: secs(8), Channel: secs(1)}}
				goroutinesAt(rooted(loop, 4, 4, "(*Agent).loop"), rooted(sink, 4, 4, "read"))(c)
			},
		}
	}
	asked := func(channels, parked float64) []part {
		return of(channels, parked, on{ask, channels * 0.4, 0, 0}, on{answer, channels * 0.1, 0, 0}, on{loop, channels * 0.25, 0, 0}, on{reply, channels * 0.25, 0, 0})
	}
	for name, test := range map[string]struct {
		parts []part
		want  bool
	}{
		"asked":                 {asked(0.14, 0.4), true},
		"asked at little cost":  {asked(0.10, 0.4), false},
		"values are queued":     {asked(0.20, 0.02), false},
		"nothing answers":       {of(0.14, 0.4, on{ask, 0.07, 0, 0}, on{loop, 0.07, 0, 0}), false},
		"nothing needs to":      {of(0.2, 0.4, on{ask, 0.1, 0, 0}, on{loop, 0.1, 0, 0}), true},
		"nothing is received":   {of(0.2, 0.4, on{ask, 0.2, 0, 0}, on{loop, 0, 0, 0}), false},
		"the owner writes":      {append(asked(0.14, 0.4), func(c *profile.Capture) { c.CPU.Stages[0].System = secs(0.3) }), false},
		"a lock beside a queue": {of(0.2, 0.4, on{book, 0.1, 0, 0}, on{unbook, 0.02, 0, 0}, on{loop, 0.08, 0, 0}), false},
	} {
		d := diagnose(test.parts...)
		f := d.found(OwnedState)
		if f != nil && f.Minor {
			f = nil
		}
		if (f != nil) != test.want || f != nil && (f.Best() == nil || f.Best().Name != Mutex || d.Verdict != Yes && d.Verdict != Partly) {
			t.Errorf("%s: %v; %s: %s", name, f, d.Verdict, d.Answer)
		}
	}
}

// TestOwnerBesideOthers: a lock instead of the owner leaves the cost of other
// channels.
func TestOwnerBesideOthers(t *testing.T) {
	update, loop := at(profile.Send, "(*Histogram).Update"), at(profile.Select, "(*Histogram).loop")
	gain := func(others float64) float64 {
		d := diagnose(
			cpu(1.8, shares{profile.ChannelWork: 0.6, profile.UserCode: 0.4}, on{update, 0.3 - others/2, 0, 0.05}, on{loop, 0.3 - others/2, 0, 0.05}, on{receive, others, 0, 0}),
			goroutinesAt(rooted(update, 8, 8, "handle"), rooted(loop, 1, 1, "(*Histogram).loop"), rooted(receive, 4, 1, "drain")))
		if f := d.found(OwnedState); f != nil && f.Best() != nil {
			return f.Best().Gain.Mid
		}
		t.Fatalf("no owner: %s", d.Answer)
		return 0
	}
	if alone, beside := gain(0), gain(0.2); !(beside < 0.9*alone) {
		t.Errorf("×%.2f alone, ×%.2f beside others", alone, beside)
	}
}
