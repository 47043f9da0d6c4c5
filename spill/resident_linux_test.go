//go:build !race

package spill

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/internal/suite"
)

// TestResident uses a collector that stops the world. With a concurrent one the heap
// also grows by the sender's garbage during a collection, which the channel does not
// control.
func TestResident(t *testing.T) {
	suite.Needs(t, "processes with 64 MiB each")
	const limit, beside = 64 << 20, 32 << 20
	for _, gogc := range []string{"GOGC=50", "GOGC=100", "GOGC=200"} {
		child := exec.Command(os.Args[0], "-test.v", "-test.run=^TestThroughLimit$", "-spill.through=268435456",
			fmt.Sprint("-spill.limit=", limit), fmt.Sprint("-spill.resident=", limit+beside))
		child.Env = append(os.Environ(), gogc, "GOMEMLIMIT=off", "GODEBUG=gcstoptheworld=1")
		out, err := child.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: TestThroughLimit") {
			t.Errorf("%s: %v\n%s", gogc, err, out)
		}
		t.Logf("%s: %s", gogc, out)
	}
}
