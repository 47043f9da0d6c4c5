package contender

import (
	"context"

	"github.com/sluice-go/sluice"
)

// closing is a built-in channel whose receivers also select on a second channel
// that is closed at the end. Programs do this when no sender may close the
// first.
type closing struct {
	ends
	done chan struct{}
}

// Recv receives the values that were sent before the end, too.
func (k closing) Recv(most uint64) Tally {
	return RecvEach(most, func() (uint64, bool) {
		select {
		case v := <-k.r:
			return v, true
		case <-k.done:
		}
		select {
		case v := <-k.r:
			return v, true
		default:
			return 0, false
		}
	})
}

func (k closing) Close() { close(k.done) }

// NativeClosing is the built-in chan with a select in its receivers, over the
// values and a channel that is closed at the end.
func NativeClosing() Contender {
	return Contender{
		Name: "native select, close channel",
		Make: func(capacity int) Channel {
			c := make(chan uint64, capacity)
			return closing{ends{c, c}, make(chan struct{})}
		},
	}
}

// oursClosing is the same with a sluice.Bounded, a sluice.Rendezvous and
// sluice.Select. It offers no batches, because a receiver of batches would miss
// the end.
type oursClosing struct {
	values ours
	done   *sluice.Rendezvous[uint64]
}

func (k oursClosing) Send(lo, hi uint64) bool { return k.values.Send(lo, hi) }

func (k oursClosing) Recv(most uint64) Tally {
	values, end := sluice.OnRecv[uint64](k.values.c), sluice.OnRecv[uint64](k.done)
	return RecvEach(most, func() (uint64, bool) {
		if _, err := sluice.Select(k.values.ctx, values, end); err == nil {
			return values.Value, true
		}
		v, err := k.values.c.TryRecv() // only Close ends a wait on done
		return v, err == nil
	})
}

func (k oursClosing) Close() { k.done.Close() }

// SelectClosing is sluice.Bounded with a sluice.Select in its receivers, over
// the values and a channel that is closed at the end.
func SelectClosing() Contender {
	return Contender{
		Name:  "sluice.Select, close channel",
		Bound: Buffered,
		Make: func(capacity int) Channel {
			return oursClosing{ours{ctx: context.Background(), c: newBounded(capacity, Options{})}, sluice.NewRendezvous[uint64](nil)}
		},
	}
}
