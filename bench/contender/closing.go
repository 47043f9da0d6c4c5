package contender

import (
	"context"

	"github.com/sluice-go/sluice"
)

// NativeClosing is a built-in channel whose receivers also select on a second
// channel that is closed at the end. Programs do this when no sender may close the
// first. The values that were sent before the end are received, too.
//
//go:noinline
func NativeClosing() Contender {
	return Contender{
		Name: "native select, close channel",
		Make: func(capacity int) Channel {
			c, done := make(chan uint64, capacity), make(chan struct{})
			k := OverEnds(c, c)
			k.Recv = func(most uint64) Tally {
				return RecvEach(most, func() (uint64, bool) {
					select {
					case v := <-c:
						return v, true
					case <-done:
					}
					select {
					case v := <-c:
						return v, true
					default:
						return 0, false
					}
				})
			}
			k.Close = func() { close(done) }
			return k
		},
	}
}

// SelectClosing is the same with a sluice.Bounded, a sluice.Rendezvous and
// sluice.Select. It offers no batches, because a receiver of batches would miss
// the end.
//
//go:noinline
func SelectClosing() Contender {
	return Contender{
		Name:  "sluice.Select, close channel",
		Bound: Buffered,
		Make: func(capacity int) Channel {
			ctx, c, done := context.Background(), newBounded(capacity, Options{}), sluice.NewRendezvous[uint64](nil)
			return Channel{
				Send: ours{ctx: ctx, c: c}.Send,
				Recv: func(most uint64) Tally {
					values, end := sluice.OnRecv[uint64](c), sluice.OnRecv[uint64](done)
					return RecvEach(most, func() (uint64, bool) {
						if _, err := sluice.Select(ctx, values, end); err == nil {
							return values.Value, true
						}
						v, err := c.TryRecv() // only Close ends a wait on done
						return v, err == nil
					})
				},
				Close: done.Close,
			}
		},
	}
}
