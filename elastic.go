package sluice

import (
	"github.com/sluice-go/sluice/internal/chain"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/handoff"
)

// An Elastic is a FIFO that grows as needed, up to a limit, and gives memory
// back when the backlog is gone.
type Elastic[T any] struct{ channel[T] }

// NewElastic returns an empty Elastic that queues at most limit values; write
// [Unlimited] where that is what you want. Options.LimitBytes bounds its size
// in bytes as well. It panics if limit is below 1.
func NewElastic[T any](limit int, o *Options[T]) *Elastic[T] {
	requirePositive("NewElastic", "limit", limit)
	config := o.config("NewElastic", limit)
	config.Elastic = true
	return &Elastic[T]{newChannel(config, func(c engine.Config[T]) engine.Engine[T] {
		switch {
		case c.Size == nil:
			return named("Elastic", c, chain.New(c))
		case c.Overflow == engine.Reject: // nobody waits for room
			m := chain.NewMetered(c)
			e := named("Elastic", c, m)
			if c.SizeIsKnown {
				e = chain.Known(m)
			}
			return e
		default:
			// Sizes are added up under one lock, and a large value keeps its
			// place before smaller ones: that is what handoff does.
			return named("Elastic", c, handoff.New(c))
		}
	})}
}
