package sluice_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
)

// TestTryRecvBatch: TryRecvBatch receives the queued values without blocking, or returns
// ErrEmpty or ErrClosed.
func TestTryRecvBatch(t *testing.T) {
	for kind, c := range eachKind() {
		if c.Cap() == 0 {
			continue
		}
		buf := make([]int, 3)
		if n, err := c.TryRecvBatch(buf); n != 0 || err != sluice.ErrEmpty {
			t.Errorf("%s: empty: %d, %v", kind, n, err)
		}
		if n, err := c.TryRecvBatch(nil); n != 0 || err != nil {
			t.Errorf("%s: empty buffer: %d, %v", kind, n, err)
		}
		_ = c.TrySend(5)
		if n, err := c.TryRecvBatch(buf); n != 1 || err != nil || buf[0] != 5 {
			t.Errorf("%s: %d, %v, %v", kind, n, err, buf)
		}
		c.Close()
		if n, err := c.TryRecvBatch(buf); n != 0 || err != sluice.ErrClosed {
			t.Errorf("%s: closed: %d, %v", kind, n, err)
		}
	}
}

// TestDrain: a select loop over Ready and Drain receives every value, even if the body
// breaks or continues, and notices Close.
func TestDrain(t *testing.T) {
	const n = 500
	for kind, c := range eachKind() {
		synctest.Test(t, func(t *testing.T) {
			ctx := t.Context()
			go func() {
				for i := range n {
					_ = c.Send(ctx, i)
				}
				c.Close()
			}()
			tick, received := time.NewTicker(time.Minute), 0
			defer tick.Stop()
			for open := true; open; {
				select {
				case <-tick.C:
					t.Fatalf("%s: Ready is silent after %d values", kind, received)
				case _, open = <-c.Ready():
					for v := range c.Drain() {
						if v != received {
							t.Fatalf("%s: received %d, want %d", kind, v, received)
						}
						received++
						if v%3 == 0 {
							break // the remaining values make Ready readable again
						}
						if v%5 == 0 {
							continue
						}
					}
					if !open { // the loop above may have left values, and Ready will not report them again
						for range c.Drain() {
							received++
						}
					}
				}
			}
			if received != n {
				t.Errorf("%s: received %d of %d", kind, received, n)
			}
		})
	}
}
