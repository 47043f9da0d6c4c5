package doctor

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestOwnedState: a method sends for callers elsewhere, another method of the
// type is the goroutine that receives, and does little for each update.
func TestOwnedState(t *testing.T) {
	update, loop := at(profile.Send, "(*Histogram).Update"), at(profile.Select, "(*Histogram).loop")
	stage, elsewhere := at(profile.Send, "(*Histogram).source"), at(profile.Select, "(*Sink).loop")
	of := func(send, receive profile.Site, channels float64) []part {
		return []part{cpu(1, shares{profile.ChannelWork: channels, profile.UserCode: 1 - channels}, on{send, channels / 2, 0, 0.05}, on{receive, channels / 2, 0, 0.05})}
	}
	from := func(send, receive profile.Site, sender string, more ...profile.GoroutineSite) part {
		root := strings.TrimPrefix(receive.At.Function, "example.com/q.")
		return goroutinesAt(append(more, rooted(send, 8, 8, sender), rooted(receive, 1, 1, root))...)
	}
	for name, test := range map[string]struct {
		parts []part
		want  bool
	}{
		"an owner":                    {append(of(update, loop, 0.6), from(update, loop, "handle")), true},
		"another method sends":        {append(of(stage, loop, 0.6), from(stage, loop, "(*Histogram).source")), false},
		"another type receives":       {append(of(update, elsewhere, 0.6), from(update, elsewhere, "handle")), false},
		"the owner waits for a file":  {append(of(update, loop, 0.6), from(update, loop, "handle", rooted(at(profile.IO, "write"), 1, 1, "(*Histogram).loop"))), false},
		"channels cost little":        {append(of(update, loop, 0.1), from(update, loop, "handle")), false},
		"an update of a third":        {append(of(update, loop, 0.6), from(update, loop, "handle"), works(loop, 0.2)), true},
		"calls of half the cost":      {append(of(update, loop, 0.6), from(update, loop, "handle"), works(loop, 0.3)), false},
		"an update is worth the cost": {append(of(update, loop, 0.3), from(update, loop, "handle"), works(loop, 0.6)), false},
	} {
		d := diagnose(test.parts...)
		f := d.found(OwnedState)
		if (f != nil) != test.want {
			t.Errorf("%s: %v; %s", name, f != nil, d.Answer)
			continue
		}
		if f == nil {
			continue
		}
		if best := f.Best(); best == nil || best.Name != Mutex || f.At.Function != loop.At.Function || d.Verdict != Yes || len(d.Findings) != 1 {
			t.Errorf("%s: %s: %s\n%+v", name, d.Verdict, d.Answer, d.Findings)
		}
	}
}

// works adds a share of the CPU time to the function of a site.
func works(s profile.Site, share float64) part {
	return func(c *profile.Capture) {
		all := secs(share * c.CPU.Total.Seconds())
		for _, site := range c.CPU.Sites {
			if site.At.Function == s.At.Function {
				all += site.Time
			}
		}
		c.CPU.Users = append(c.CPU.Users, profile.UserTime{Function: s.At.Function, Self: all, All: all})
	}
}
