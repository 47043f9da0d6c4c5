package spill

import (
	"sync/atomic"

	"github.com/sluice-go/sluice"
)

var _ = inlined

// inlined is never called: it is to a program that imports this package, but not the
// library, what the function of that name in package sluice is to others. The engine of
// the Elastic is compiled here, so what it has inlined is found by who imports this.
func inlined(state *atomic.Uint64, low *atomic.Int64) sluice.Chan[[]byte] {
	state.Store(state.Load() + uint64(low.Load()))
	return sluice.NewElastic[[]byte](1, nil)
}
