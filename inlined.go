package sluice

import (
	_ "sync/atomic"

	_ "github.com/sluice-go/sluice/internal/spin"
	_ "github.com/sluice-go/sluice/internal/waitq"
)

var _ = inlined

// inlined is never called. It makes the compiler instantiate the engines in this package, and
// inline there what they call.
//
// The engines are generic, so they are compiled in the package that instantiates a channel.
// That package finds the bodies of atomic operations, of locks and of wait queues, to inline
// them, only if it imports their packages itself or imports a package that has inlined them
// (exportBody in cmd/compile/internal/noder, Go 1.26). Without this file each step of a Send
// would be a call in most programs: see TestInlined.
func inlined() {
	_ = NewRendezvous[int](nil)
	_ = NewBounded[int](1, nil)
	_ = NewElastic[int](1, nil)
	_ = NewAged(1, &AgedOptions[int]{MaxAge: 1})
	_ = NewSharded[int](1, nil)
	_ = NewPriority[int](1, 1, nil)
	_ = NewDelay[int](1, nil)
}
