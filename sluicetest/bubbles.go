package sluicetest

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
)

// testBubbles uses channels inside and outside of bubbles in turn, in parked
// and in canceled operations. Nothing that a goroutine waited on in one bubble
// may be reused outside of it or in another: the runtime would panic.
func testBubbles(t *testing.T, k Kind) {
	for range 5 {
		k.exercise(t)
		synctest.Test(t, k.exercise)
	}
}

func (k Kind) exercise(t *testing.T) {
	for _, shape := range k.shapes([][2]int{{1, 1}, {4, 4}}) {
		c := k.numbers(t)
		ctx, cancel := context.WithCancel(context.Background())
		var all sync.WaitGroup
		for range shape[1] {
			all.Go(func() {
				for range 3 {
					_, _ = c.Recv(ctx)
				}
			})
		}
		yield()
		cancel()
		all.Wait()
		c.Close()

		newFlow(k, shape[0], shape[1], 200).run(t)
		c = k.numbers(t)
		<-readable(c)
	}
}

// readable returns c's Ready after closing c.
func readable(c Channel[uint64]) <-chan struct{} {
	ready := c.Ready()
	c.Close()
	return ready
}
