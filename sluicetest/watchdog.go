package sluicetest

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"
)

// defaultPatience is far above what a test of the suite takes: less than a second
// each, and under the race detector on a busy machine perhaps ten.
const defaultPatience = 2 * time.Minute

// watch starts a watchdog for t and returns what stops it. A test that hangs
// cannot be failed from outside, so the watchdog ends the process, as the
// timeout of go test does, but says which test it was.
func watch(t *testing.T, patience time.Duration) (stop func() bool) {
	name := t.Name()
	if patience == 0 {
		patience = defaultPatience
	}
	return time.AfterFunc(patience, func() {
		stacks := make([]byte, 16<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		fmt.Fprintf(os.Stderr, "%s\n", stacks)
		panic(fmt.Sprintf("sluicetest: %s hangs: the stacks of all goroutines are above", name))
	}).Stop
}
