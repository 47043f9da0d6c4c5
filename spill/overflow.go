package spill

import (
	"time"

	"github.com/sluice-go/sluice"
)

// A policy selects what a channel does without room, which values are too old, and which
// hook gets the values that it drops.
type policy[T any] struct {
	overflow sluice.Overflow
	maxAge   time.Duration                // 0: no limit
	onDrop   func(v T, why sluice.Reason) // nil: values are dropped without being decoded
}

// setPolicy checks the options of a policy. OnDrop and OnUndelivered become one hook.
func (c *config[T]) setPolicy(o sluice.Overflow, maxAge time.Duration, onDrop func(T), onUndelivered func(T, sluice.Reason)) error {
	switch {
	case o > sluice.DropOldest:
		return c.invalid("Overflow is %v, want Block, Reject, DropNewest or DropOldest", o)
	case maxAge < 0:
		return c.invalid("MaxAge is %v, want at least 0", maxAge)
	case onDrop != nil && onUndelivered != nil:
		return c.invalid("set OnDrop or OnUndelivered, not both: OnUndelivered gets what OnDrop would get")
	case onDrop != nil && (o == sluice.Block || o == sluice.Reject) && maxAge == 0:
		return c.invalid("OnDrop requires DropNewest, DropOldest or MaxAge (with %v nothing is dropped)", o)
	}
	c.policy = policy[T]{overflow: o, maxAge: maxAge, onDrop: onUndelivered}
	if onDrop != nil {
		c.onDrop = func(v T, _ sluice.Reason) { onDrop(v) }
	}
	return nil
}

// inTurn calls f with 0 to n-1. If a call panics or ends the goroutine, the others are
// made all the same, before that continues.
func inTurn(n int, f func(i int)) {
	for i := 0; i < n; i++ {
		func() {
			returned := false
			defer func() {
				if !returned {
					inTurn(n-i-1, func(rest int) { f(i + 1 + rest) })
				}
			}()
			f(i)
			returned = true
		}()
	}
}
