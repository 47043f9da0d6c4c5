package spill

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluice-go/sluice/internal/loopdisk"
)

var powerCuts = flag.Int("spill.powercuts", 0, "how often TestPowerFailure cuts the power under load; as root, with mkfs.ext4 and a loop device")

// TestPowerFailure runs a load on a file system of its own, shuts that down under the load, so that
// neither dirty pages nor the journal reach its disk, mounts it again, and accounts for every record.
func TestPowerFailure(t *testing.T) {
	if *powerCuts == 0 {
		t.Skip("by hand: -args -spill.powercuts 100, as root")
	}
	top := t.TempDir()
	disk := loopdisk.Disk{Image: filepath.Join(top, "image"), At: filepath.Join(top, "mounted")}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(disk.At, 0o700))
	must(disk.Format())
	dir, l := filepath.Join(disk.At, "queue"), newLedger()
	for n := range *powerCuts {
		must(disk.Mount())
		err := interrupted(dir, l, uint64(n), rand.IntN(1500), disk.Cut, childPower+"=1")
		must(disk.Unmount())
		if err != nil {
			t.Fatalf("cut %d: %v", n, err)
		}
	}
	must(disk.Mount())
	err := l.close(dir)
	must(disk.Unmount())
	must(err)
	t.Logf("%d power cuts: %v", *powerCuts, l)
}
