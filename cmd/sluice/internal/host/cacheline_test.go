package host

import (
	"math"
	"runtime"
	"testing"
)

// A transfer takes time if two goroutines run at once, and is undefined
// otherwise.
func TestLineTransfer(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if ns := lineTransfer(); !math.IsNaN(ns) {
		t.Errorf("%v ns with one P", ns)
	}
	runtime.GOMAXPROCS(2)
	if ns := lineTransfer(); runtime.NumCPU() > 1 && !(ns > 0) {
		t.Errorf("%v ns with two", ns)
	}
}
