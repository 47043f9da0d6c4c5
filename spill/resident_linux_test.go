//go:build !race

package spill

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestResident: a process that sends 256 MiB through a limit of 64 MiB has no more than
// 32 MiB beside the limit, under any GOGC. (Not with the race detector, whose notes on
// the heap take several times as much as the heap.)
//
// The collector stops the world here. Otherwise the heap also grows by what the sender
// makes and drops during a collection: more on a machine that is busy, and nothing that
// the channel could help.
func TestResident(t *testing.T) {
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
