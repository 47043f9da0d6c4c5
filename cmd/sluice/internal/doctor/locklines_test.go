package doctor

import (
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestLockOfManyCallers: a lock inside a counter has a stack for each caller,
// none of which costs most; and while goroutines wait for it, half of the cores
// idle.
func TestLockOfManyCallers(t *testing.T) {
	acquire, release := at(profile.Send, "(*counter).add"), at(profile.Receive, "(*counter).add")
	release.At.Line += 2
	var spent []on
	var waiting []profile.GoroutineSite
	for i := range 3 {
		a, r := acquire, release
		a.Caller = profile.Frame{Function: "example.com/q.handle", File: "handle.go", Line: 10 + i}
		r.Caller = a.Caller
		spent = append(spent, on{a, 0.04, 0.01, 0}, on{r, 0.06, 0.02, 0.02})
		waiting = append(waiting, in(a, 5, 5))
	}
	for share, want := range map[float64]bool{0.30: true, 0.18: false} {
		d := diagnose(cpu(1.04, shares{profile.ChannelWork: share, profile.UserCode: 1 - share}, spent...), goroutinesAt(waiting...))
		f := d.found(UsedAsLock)
		if (f != nil) != want || want && (d.Verdict != Yes || f.Best() == nil || f.Best().Name != Mutex) {
			t.Errorf("%.0f%% of CPU time: %s %+v", 100*share, d.Answer, f)
		}
	}
}
