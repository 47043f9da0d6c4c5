package sluicetest

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"
)

// defaultTimeout is far above the duration of any test of the suite: less than
// a second, perhaps ten with the race detector on a busy machine.
const defaultTimeout = 2 * time.Minute

// watch starts a watchdog for t and returns a function that stops it. A hanging
// test cannot be failed from outside, so the watchdog ends the process, as the
// timeout of go test does, but names the test.
func watch(t *testing.T, timeout time.Duration) (stop func() bool) {
	name := t.Name()
	if timeout == 0 {
		timeout = defaultTimeout
	}
	return time.AfterFunc(timeout, func() {
		stacks := make([]byte, 16<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		fmt.Fprintf(os.Stderr, "%s\n", stacks)
		panic(fmt.Sprintf("sluicetest: %s hangs: the stacks of all goroutines are above", name))
	}).Stop
}
