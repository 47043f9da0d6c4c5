package doctor

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// pooled are goroutines of one start function that wait in acquire, or hold
// what they acquired and wait outside.
func pooled(acquire profile.Site, waiting, holding int) part {
	acquire.Caller = profile.Frame{Function: "example.com/q.handle"}
	return goroutinesAt(rooted(acquire, waiting, waiting, "handle"), rooted(at(profile.IO, "query"), holding, holding, "handle"))
}

// TestExhaustedPool: goroutines that wait where others like them hold something
// and wait outside. A pool of workers without jobs looks similar.
func TestExhaustedPool(t *testing.T) {
	acquire, next := at(profile.Select, "(*pool).Acquire"), at(profile.Select, "(*crew).next")
	release := at(profile.Send, "(*pool).Release")
	release.Caller = profile.Frame{Function: "example.com/q.handle"}
	called := acquire
	called.Caller = release.Caller
	for name, test := range map[string]struct {
		parts  []part
		sure   Confidence // "" for no finding
		remedy RemedyName
	}{
		"in a select":         {[]part{quiet, pooled(acquire, 44, 4)}, Medium, LargerPool},
		"without a profile":   {[]part{pooled(acquire, 44, 4)}, Medium, LargerPool},
		"released":            {[]part{quiet, pooled(acquire, 44, 4), woke(profile.Pair{Waker: release, Sleeper: called, Count: 9})}, Medium, LargerPool},
		"of one":              {[]part{quiet, pooled(acquire, 44, 1)}, Medium, HoldShorter},
		"two in line":         {[]part{quiet, pooled(acquire, 2, 4)}, "", ""},
		"workers":             {[]part{quiet, pooled(at(profile.Select, "handle"), 44, 4)}, "", ""},
		"workers with a name": {[]part{quiet, pooled(next, 44, 4), woke(profile.Pair{Waker: send, Sleeper: next, Count: 9})}, "", ""},
		"half of them lent":   {[]part{cpu(0.9, shares{profile.SystemCalls: 1}), glimpsed(1.8, 0, 1000), pooled(acquire, 44, 10), woke(profile.Pair{Waker: release, Sleeper: called, Count: 9})}, Medium, LargerPool},
		"most of them in use": {[]part{cpu(1.2, shares{profile.SystemCalls: 1}), glimpsed(1.6, 0, 1000), pooled(acquire, 44, 10), woke(profile.Pair{Waker: release, Sleeper: called, Count: 9})}, "", ""},
		"two hold, half lent": {[]part{cpu(0.9, shares{profile.SystemCalls: 1}), glimpsed(1.8, 0, 1000), pooled(acquire, 44, 2), woke(profile.Pair{Waker: release, Sleeper: called, Count: 9})}, "", ""},
		"all cores busy":      {[]part{cpu(1.9, shares{profile.UserCode: 1}), pooled(acquire, 44, 4)}, "", ""},
	} {
		f := diagnose(test.parts...).found(ExhaustedPool)
		switch {
		case f == nil && test.sure != "", f != nil && f.Confidence != test.sure:
			t.Errorf("%s: found %+v", name, f)
		case f != nil && (f.Best().Name != test.remedy || f.Channels):
			t.Errorf("%s: %+v", name, f.Remedies)
		case f != nil && test.remedy == LargerPool && !strings.Contains(name, "lent") && (f.Best().Gain.Low > 6.4 || f.Best().Gain.High < 6.4):
			t.Errorf("%s: predicted %s, measured ×6.4", name, f.Best().Gain)
		}
	}
}

// TestLockedPool: goroutines that lock a mutex to get a worker, while the workers
// of that package wait outside, want more workers.
func TestLockedPool(t *testing.T) {
	for name, want := range map[string]bool{"(*pool).getWorker": true, "(*pool).update": false} {
		for outside, waiting := range map[profile.Op]bool{profile.Sleep: true, profile.Other: false} {
			d := diagnose(cpu(1.9, shares{profile.Locking: 0.9, profile.UserCode: 0.1}),
				goroutinesAt(rooted(at(profile.Lock, name), 31, 0, "feed"), rooted(at(outside, "job"), 14, 14, "(*worker).run")))
			f := d.found(SyncMutex)
			if f == nil || (f.Best() != nil) != (want && waiting) || f.Best() != nil && f.Best().Name != LargerPool {
				t.Errorf("%s, workers %s: %s: %+v", name, outside, d.Answer, f)
			}
		}
	}
}

// TestAcquires: names of functions that take something.
func TestAcquires(t *testing.T) {
	for function, want := range map[string]bool{
		"example.com/q.(*Pool).Acquire": true, "q.tryAcquire": true, "q.(*sem).enter": true, "q.borrow": true, "q.GetConn": true,
		"database/sql.(*DB).conn": true, "q.(*Pool).Release": false, "q.gettysburg": false, "q.run": false,
	} {
		if acquires(function) != want {
			t.Errorf("%s: %v", function, !want)
		}
	}
}
