package sluicetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"
)

var errOwn = errors.New("an error of the context's own")

// ownContext is a context that package context knows nothing of.
type ownContext struct {
	done chan struct{}
	mu   sync.Mutex
	err  error
}

func (c *ownContext) Deadline() (time.Time, bool) { return time.Time{}, false }
func (c *ownContext) Value(any) any               { return nil }
func (c *ownContext) Done() <-chan struct{}       { return c.done }

func (c *ownContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *ownContext) end(err error) {
	c.mu.Lock()
	c.err = err
	c.mu.Unlock()
	close(c.done)
}

// chaos is a context whose methods yield the processor a few times. A channel
// asks them between finding that it cannot proceed and being parked: there the
// rest of the world gets its chance to interfere.
type chaos struct{ context.Context }

func (c chaos) Done() <-chan struct{} {
	yield()
	return c.Context.Done()
}

func (c chaos) Err() error {
	yield()
	return c.Context.Err()
}

func yield() {
	for range rand.IntN(4) {
		runtime.Gosched()
	}
}
