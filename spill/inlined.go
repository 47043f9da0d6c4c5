package spill

import (
	"sync/atomic"

	"github.com/sluice-go/sluice"
)

var _ = inlined

// inlined is never called. It has the same purpose as the function inlined of package
// sluice: the compiler instantiates the engine of the Elastic in this package, so that
// programs that import spill, but not sluice, get its inlined methods.
func inlined(state *atomic.Uint64, low *atomic.Int64) sluice.Channel[[]byte] {
	state.Store(state.Load() + uint64(low.Load()))
	return sluice.NewElastic[[]byte](1, nil)
}
