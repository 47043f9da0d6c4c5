package doctor

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestReuseSlices: garbage of slices that goroutines send can be avoided; other
// garbage has no remedy here.
func TestReuseSlices(t *testing.T) {
	allocates := func(root string, share float64) part {
		return func(c *profile.Capture) {
			c.CPU.Slices = []profile.CPUSlices{{At: profile.Frame{Function: "example.com/q.next", File: "q.go", Line: 5}, Root: "example.com/q." + root,
				Time: secs(share * c.CPU.Total.Seconds())}}
		}
	}
	elsewhere := func(c *profile.Capture) { c.CPU.Slices[0].At.Function = "example.com/store.(*Tx).write" }
	few := func(c *profile.Capture) {
		c.CPU.Slices = append(c.CPU.Slices, profile.CPUSlices{At: profile.Frame{Function: "example.com/q.next"}, Root: c.CPU.Slices[0].Root, Time: time.Millisecond})
	}
	base := cpu(1.7, shares{profile.Collecting: 0.5, profile.Allocating: 0.3, profile.ChannelWork: 0.01, profile.UserCode: 0.19}, on{send, 0.01, 0, 0})
	sender := goroutinesAt(rooted(send, 1, 0, "read"))
	for name, test := range map[string]struct {
		parts []part
		found bool
	}{
		"slices that are sent": {[]part{base, sender, allocates("read", 0.28)}, true},
		"a few of them":        {[]part{base, sender, allocates("read", 0.1)}, false},
		"others":               {[]part{base, sender, allocates("index", 0.28)}, false},
		"those of a database":  {[]part{base, sender, allocates("read", 0.28), elsewhere}, false},
		"both":                 {[]part{base, sender, allocates("read", 0.28), elsewhere, few}, false},
	} {
		d := diagnose(test.parts...)
		f := d.found(GarbageCollection)
		if f == nil || d.Verdict != No {
			t.Fatalf("%s: %s", name, d.Answer)
		}
		best := f.Best()
		if (best != nil && best.Name == ReuseSlices) != test.found || test.found && (best.Gain.Low > 3.6 || best.Gain.High < 3.6) {
			t.Errorf("%s: %+v", name, f.Remedies)
		}
	}
}
