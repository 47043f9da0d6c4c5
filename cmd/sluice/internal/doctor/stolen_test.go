package doctor

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestOthers: cores that other processes used are not idle, and the answer says so.
func TestOthers(t *testing.T) {
	for _, test := range []struct {
		cpus   int
		busy   float64
		others bool
		want   Kind
	}{
		{0, 0, false, Bursts}, // unknown
		{2, 1.25, false, Bursts},
		{2, 1.95, true, ""},
		{8, 1.95, false, Bursts}, // others have cores of their own
		{2, 1.4, false, Bursts},  // hardly any
	} {
		d := diagnose(
			cpu(1.2, shares{profile.ChannelWork: 0.05, profile.AfterPark: 0.03, profile.UserCode: 0.92}, on{send, 0.03, 0, 0.01}, on{receive, 0.02, 0, 0.01}),
			goroutinesAt(in(send, 1, 1), in(receive, 1, 1)),
			func(c *profile.Capture) {
				c.Glimpse = &profile.Trace{Window: secs(1), Running: secs(1.2), Runnable: secs(20), Wakeups: 500_000}
				if test.cpus > 0 {
					c.Machine = &profile.Machine{CPUs: test.cpus, Busy: test.busy}
				}
			})
		if others := strings.Contains(d.Answer, " Other processes used 0.75 of the machine's 2 CPUs, and hardly any was idle: "); others != test.others {
			t.Errorf("%+v: %s", test, d.Answer)
		}
		if found := d.found(Bursts); (found != nil) != (test.want == Bursts) {
			t.Errorf("%+v: bursts: %+v", test, found)
		}
	}
}
