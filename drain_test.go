package sluice_test

import (
	"testing"
	"testing/synctest"
	"time"
)

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
