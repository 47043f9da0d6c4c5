package sluice

import (
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/waitq"
)

var _ = inlined

// inlined is never called. The engines are generic, so they are compiled in the package
// that instantiates a channel. That package finds the bodies of atomic operations, to inline
// them, only if it imports sync/atomic itself or imports a package that has inlined them
// (exportBody in cmd/compile/internal/noder, Go 1.26). Without this function each step of a
// Send would be a call in most programs: see TestInlined.
func inlined(long *atomic.Uint64, short *atomic.Uint32, sign *atomic.Int32, line *waitq.Queue) bool {
	return long.CompareAndSwap(long.Load(), long.Swap(1)) || short.Load() == 1 || sign.Load() == 1 || line.Waiting()
}
