package doctor

import (
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestLocksOfBusyCores: where the program's own code fills the cores, goroutines
// queue for a mutex because they have no core. The same queue beside idle cores
// is the bottleneck.
func TestLocksOfBusyCores(t *testing.T) {
	queued := goroutinesAt(in(unlock, 20, 20))
	work := shares{profile.UserCode: 0.94, profile.Locking: 0.06}
	for cores, want := range map[float64]Kind{1.8: CPUBound, 1.0: SyncMutex} {
		d := diagnose(cpu(cores, work), metrics(4, 10_000), mutex(map[profile.Site]float64{unlock: 30}), queued)
		if len(d.Findings) == 0 || d.Findings[0].Kind != want {
			t.Errorf("%.1f of 2 cores: %s, want %s", cores, d.Answer, want)
		}
	}
	// Cores that spin for the mutex are busy, too.
	d := diagnose(cpu(1.9, shares{profile.UserCode: 0.58, profile.Locking: 0.42}), metrics(4, 10_000), mutex(map[profile.Site]float64{unlock: 30}), queued)
	if d.found(SyncMutex) == nil {
		t.Errorf("42%% of CPU time in package sync: %s", d.Answer)
	}
}
