package sluice

import (
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/waitq"
)

var _ = inlined

// inlined is never called. It has the compiler inline here what the engines, which are
// generic and so compiled in the package of whoever makes a channel, want inlined there:
// a package that does not import sync/atomic itself finds the bodies of such functions
// only if a package that it imports has inlined them (exportBody in
// cmd/compile/internal/noder, Go 1.26). Without it each step of a Send is a call in most
// programs: see TestInlined.
func inlined(long *atomic.Uint64, short *atomic.Uint32, sign *atomic.Int32, line *waitq.Queue) bool {
	return long.CompareAndSwap(long.Load(), long.Swap(1)) || short.Load() == 1 || sign.Load() == 1 || line.Waiting()
}
