package sluice

import (
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/handoff"
	"github.com/sluice-go/sluice/internal/registry"
	"github.com/sluice-go/sluice/internal/segqueue"
)

// An Elastic is a FIFO that grows as needed, up to a limit, and gives memory back when
// the backlog is gone. It has the methods of [Channel], documented at [Bounded].
type Elastic[T any] struct{ channel[T] }

// NewElastic returns an empty Elastic that queues at most limit values; write
// [Unlimited] if memory is the only limit. [ElasticOptions.LimitBytes] limits its size in
// bytes as well. A limit below 1, and options that make no sense, panic.
func NewElastic[T any](limit int, o *ElasticOptions[T]) *Elastic[T] {
	requireLimit("NewElastic", "limit", limit, 1)
	return &Elastic[T]{newChannel(o.config(limit), func(c engine.Config[T]) engine.Engine[T] {
		switch {
		case c.Size == nil:
			return registry.Engine("Elastic", c, segqueue.New(c))
		case c.Overflow == engine.Reject: // no sender waits for room
			m := segqueue.NewMetered(c)
			e := registry.Engine("Elastic", c, m)
			if c.SizeIsKnown {
				e = segqueue.Known(m)
			}
			return e
		default:
			// Sizes are added up under one lock, and a large value is not
			// overtaken by smaller ones: handoff does both.
			return registry.Engine("Elastic", c, handoff.New(c))
		}
	})}
}
