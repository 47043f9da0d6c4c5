//go:build unix

package jetstream

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/suite"
)

// A power cut of all nodes, except that the operating system survives: all servers are
// killed at once under load, and restarted. They sync every write. In the long form, the
// channel is closed in some rounds just before.
//
// TestPowerFailure, by hand, also loses what the operating system had not written.
func TestPowerCut(t *testing.T) {
	suite.Needs(t, "three NATS servers")
	t.Parallel()
	for _, busy := range []bool{true, false} {
		if !busy && !*allFaults {
			continue
		}
		t.Run(named("all killed", busy), func(t *testing.T) {
			c := newCluster(t)
			for i := range c.roles {
				c.roles[i].Server.Always = true
			}
			rehearse(t, c, busy, func(r *rehearsal) {
				times := 1
				if *allFaults {
					times = 5
				}
				wait := func() {}
				for n := range times {
					if n == times-1 {
						wait = r.closingIfBusy()
						time.Sleep(rand.N(5 * time.Millisecond)) // before the servers have it, or after
					}
					r.killAll()
					r.start()
					r.progress()
				}
				wait()
			})
		})
	}
}
