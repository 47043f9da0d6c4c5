package stress

import (
	"cmp"
	"context"
	"math/rand/v2"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
)

// A lending is a channel in which some values are sent and received by reference, as slices of
// one value, and the others one by one. Values are large, or slices would be copied.
type lending struct {
	sluice.Channel[byte] // nil: the methods that a recorder calls are below
	c                    *sluice.Bounded[[1024]byte]
}

func (l lending) Send(ctx context.Context, v byte) error {
	if rand.IntN(3) == 0 {
		return l.c.Send(ctx, [1024]byte{v})
	}
	b := batch.NewSender(l.c, 1, nil)
	vs, _ := b.SendSlice(ctx, nil)
	_, err := b.SendSlice(ctx, append(vs, [1024]byte{v}))
	return err
}

func (l lending) Recv(ctx context.Context) (byte, error) {
	if rand.IntN(3) == 0 {
		v, err := l.c.Recv(ctx)
		return v[0], err
	}
	batches := batch.Receive(ctx, sluice.LeaveOpen(l.c), 1, nil)
	for vs := range batches.All() {
		return vs[0][0], nil
	}
	return 0, cmp.Or(batches.Err(), sluice.ErrClosed)
}

func (l lending) TrySend(v byte) error { return l.c.TrySend([1024]byte{v}) }

func (l lending) TryRecv() (byte, error) {
	v, err := l.c.TryRecv()
	return v[0], err
}

func (l lending) Len() int { return l.c.Len() }

func (l lending) Close() { l.c.Close() }

// TestLinearizableLending: values that move by reference are in one order with the others.
func TestLinearizableLending(t *testing.T) {
	for _, overflow := range []sluice.Overflow{sluice.Block, sluice.Reject} {
		s := manySlots
		s.options.Overflow = overflow
		for range rounds(3000) {
			plan := Plan{Clients: 2 + rand.IntN(3), Calls: 2 + rand.IntN(5), Filled: (s.capacity - rand.IntN(4)) * rand.IntN(2)}
			plan.Open = func(func(byte)) sluice.Channel[byte] {
				return lending{c: sluice.NewBounded(s.capacity, &sluice.BoundedOptions[[1024]byte]{Overflow: overflow})}
			}
			seed := rand.Uint64()
			run := Record(t, plan, seed)
			if err := Explain(run, Model(s.capacity, overflow)); err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, Render(run.History))
			}
		}
	}
}
