package hubchannel

import (
	"context"
	"sync"
)

// A messageContext is context.WithCancel of the embedded Context, made at its first use: most
// handlers never use it, and it takes a third of the CPU of a delivery.
type messageContext struct {
	context.Context // of the subscriber

	mu     sync.Mutex
	made   context.Context
	cancel context.CancelFunc
	over   bool
}

// derived returns the context with the cancellation. It answers for all that this changes: also
// for Value, which is how package context finds out that it need not watch it with a goroutine.
func (c *messageContext) derived() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made == nil {
		c.made, c.cancel = context.WithCancel(c.Context)
		if c.over {
			c.cancel()
		}
	}
	return c.made
}

// end cancels the context.
func (c *messageContext) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	if c.cancel != nil {
		c.cancel()
	}
}

func (c *messageContext) Done() <-chan struct{} { return c.derived().Done() }
func (c *messageContext) Err() error            { return c.derived().Err() }
func (c *messageContext) Value(key any) any     { return c.derived().Value(key) }
