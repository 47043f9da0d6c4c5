package doctor

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// spawning adds the CPU time of go statements and of ends, as parts of the total.
func spawning(starts, ends float64) part {
	return func(c *profile.Capture) {
		of := func(share float64) time.Duration { return time.Duration(share * float64(c.CPU.Total)) }
		c.CPU.Spawns = []profile.CPUSpawn{{At: profile.Frame{Function: "example.com/q.all", File: "q.go", Line: 7}, Time: of(starts)}}
		c.CPU.Ends = of(ends)
	}
}

// TestGoroutinePerValue: with channels for the results, and without.
func TestGoroutinePerValue(t *testing.T) {
	base := cpu(1.7, shares{profile.ChannelWork: 0.25, profile.AfterPark: 0.12, profile.Scheduling: 0.32, profile.UserCode: 0.31},
		on{send, 0.2, 0.02, 0.1}, on{receive, 0.05, 0.01, 0})
	plain := cpu(1.8, shares{profile.Scheduling: 0.45, profile.UserCode: 0.55})
	callers := goroutinesAt(in(at(profile.Wait, "all"), 4, 4))
	for name, test := range map[string]struct {
		parts    []part
		found    bool
		channels bool
		measured float64
	}{
		"with results":    {[]part{base, spawning(0.22, 0.1), callers, metrics(0, 1_000_000)}, true, true, 4.6},
		"with wait group": {[]part{plain, spawning(0.3, 0.15), callers}, true, false, 1.9},
		"seldom":          {[]part{base, spawning(0.05, 0.01), callers, metrics(0, 1_000_000)}, false, false, 0},
		"a few":           {[]part{plain, spawning(0.02, 0.0), callers}, false, false, 0},
	} {
		d := diagnose(test.parts...)
		f := d.found(GoroutinePerValue)
		if (f != nil) != test.found {
			t.Errorf("%s: %s", name, d.Answer)
			continue
		}
		if f == nil {
			continue
		}
		if d.Findings[0].Kind != GoroutinePerValue || f.Channels != test.channels || f.Best().Name != Fuse ||
			f.Best().Gain.Low > test.measured || f.Best().Gain.High < test.measured {
			t.Errorf("%s: %+v", name, f)
		}
		if n := len(f.Remedies); n != 3 { // in place, too: there is a caller per core
			t.Errorf("%s: %d remedies", name, n)
		}
	}
	alone := diagnose(plain, spawning(0.3, 0.15), goroutinesAt(in(at(profile.Wait, "all"), 1, 1))).found(GoroutinePerValue)
	if alone == nil || len(alone.Remedies) != 2 || alone.Best().Name != Batch {
		t.Errorf("one caller: %+v", alone)
	}
}
