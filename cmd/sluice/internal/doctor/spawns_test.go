package doctor

import (
	"strings"
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

// startedIn are goroutines of a function literal in the function that spawning
// names.
func startedIn(site profile.Site, n int) profile.GoroutineSite {
	return profile.GoroutineSite{Site: site, In: n, Waiting: n, Root: site.At.Function, CreatedBy: profile.Frame{Function: "example.com/q.all"}}
}

// TestSpawnedToWait: goroutines that are started to wait for a channel each have
// no work that others could do: one can wait for several channels.
func TestSpawnedToWait(t *testing.T) {
	watch := at(profile.Select, "all.func1")
	base := cpu(0.6, shares{profile.ChannelWork: 0.25, profile.AfterPark: 0.12, profile.Scheduling: 0.32, profile.UserCode: 0.31}, on{watch, 0.2, 0.02, 0.1})
	f := diagnose(base, spawning(0.12, 0.1), goroutinesAt(startedIn(watch, 64))).found(GoroutinePerValue)
	if f == nil || len(f.Remedies) != 1 || f.Best().Name != MergeChannels || f.At == nil || f.At.Op != profile.Select || f.Best().Gain.High > 4 {
		t.Errorf("64 goroutines that wait: %+v", f)
	}
	f = diagnose(base, spawning(0.12, 0.1), goroutinesAt(startedIn(watch, 10), startedIn(at(profile.Other, "all.func1"), 20))).found(GoroutinePerValue)
	if f == nil || f.Best() == nil || f.Best().Name == MergeChannels {
		t.Errorf("two of three work: %+v", f)
	}
}

// TestSpawnedSendsElsewhere: the starter receives what a function sends that the
// goroutines call. In place, it would wait for itself.
func TestSpawnedSendsElsewhere(t *testing.T) {
	collect, gather := at(profile.Send, "(*metrics).Collect"), at(profile.Range, "all")
	for root, want := range map[string]RemedyName{"example.com/q.all.func1": WorkerPool, "example.com/q.(*metrics).Collect": Fuse} {
		f := diagnose(cpu(1.9, shares{profile.ChannelWork: 0.1, profile.Scheduling: 0.35, profile.UserCode: 0.55}, on{collect, 0.06, 0, 0}, on{gather, 0.04, 0, 0}),
			spawning(0.12, 0.1), goroutinesAt(in(gather, 4, 4)), func(c *profile.Capture) { c.CPU.Sites[0].Roots = []string{root} }).found(GoroutinePerValue)
		if f == nil || f.Best() == nil || f.Best().Name != want {
			t.Errorf("%s: %+v", root, f)
		}
	}
}

// TestSpawnedToSend: a goroutine that is started to send one value to others, with a
// timer of its own, is the cause; the channels to the others remain without it.
func TestSpawnedToSend(t *testing.T) {
	give, take := at(profile.Select, "all.send"), at(profile.Range, "watch")
	for receiver, channels := range map[string]bool{"example.com/q.watch": false, "example.com/q.all.func1": true} {
		d := diagnose(cpu(1.8, shares{profile.ChannelWork: 0.24, profile.AfterPark: 0.1, profile.Scheduling: 0.2, profile.Allocating: 0.25, profile.UserCode: 0.21}, on{give, 0.2, 0.02, 0.05}, on{take, 0.04, 0, 0}),
			spawning(0.11, 0.09), goroutinesAt(in(at(profile.Wait, "all"), 4, 4), rooted(take, 16, 14, strings.TrimPrefix(receiver, "example.com/q."))), func(c *profile.Capture) {
				c.CPU.Sites[0].Roots, c.CPU.Sites[1].Roots = []string{give.At.Function}, []string{receiver}
				c.CPU.Timers = []profile.CPUTimers{{At: profile.Frame{Function: give.At.Function, File: "q.go", Line: 3}, Root: give.At.Function, Time: secs(3.5), New: secs(3)}}
			})
		if f := d.found(GoroutinePerValue); f == nil || f.Channels != channels || f.Best().Name != Fuse && !channels || d.found(TimerPerIteration) != nil || (d.Verdict == No) == channels {
			t.Errorf("%s receives: %s: %s: %+v", receiver, d.Verdict, d.Answer, f)
		}
	}
}
