package profile

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestTicks: a receive from a timer is no channel operation in any profile, and
// its CPU time is the scheduler's.
func TestTicks(t *testing.T) {
	const unit = 10 * time.Millisecond
	beat, plain := "main.(*meter).read m.go:7", "main.(*meter).average m.go:9"
	dir := t.TempDir()
	for name, data := range map[string][]byte{
		"cpu.pprof": cpuDrawing(
			spent(2*unit, "runtime.lock2", "runtime.blockTimerChan", "runtime.chanrecv", "runtime.chanrecv1", beat),
			spent(3*unit, "runtime.gopark", "runtime.chanrecv", "runtime.chanrecv1", beat),
			spent(1*unit, "runtime.lock2", "runtime.chanrecv", "runtime.chanrecv1", beat),
			spent(4*unit, "runtime.chanrecv", "runtime.chanrecv1", plain),
			spent(5*unit, "runtime.blockTimerChan", "runtime.selectgo", "main.(*hub).loop m.go:20"),
		).bytes(t),
		"goroutine.pprof": goroutineDrawing(there(96, "runtime.gopark", "runtime.chanrecv", "runtime.chanrecv1", beat), there(96, "runtime.gopark", "runtime.chanrecv", "runtime.chanrecv1", plain)).bytes(t),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Op{"main.(*meter).read": Tick, "main.(*meter).average": Receive, "main.(*hub).loop": Select}
	seen := 0
	c.eachSite(func(s *Site) {
		seen++
		if s.Op != want[s.At.Function] {
			t.Errorf("%s", s)
		}
	})
	if seen != 5 {
		t.Errorf("%d sites", seen)
	}
	if by := c.CPU.By; by[Scheduling] != 6*unit || by[ChannelWork]+by[ChannelLock] != 9*unit {
		t.Errorf("%v", by)
	}
}
