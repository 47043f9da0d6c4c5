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
// one value, and the others one by one. Cells are large enough for that: slices of smaller values
// would be copied.
type lending struct {
	sluice.Channel[byte] // nil: the methods that a recorder calls are below
	c                    *sluice.Bounded[cell]
}

func (l lending) Send(ctx context.Context, v byte) error {
	if rand.IntN(3) == 0 {
		return l.c.Send(ctx, cell{number: int(v)})
	}
	b := batch.NewSender(l.c, 1, nil)
	vs, _ := b.SendSlice(ctx, nil)
	_, err := b.SendSlice(ctx, append(vs, cell{number: int(v)}))
	return err
}

func (l lending) Recv(ctx context.Context) (byte, error) {
	if rand.IntN(3) == 0 {
		v, err := l.c.Recv(ctx)
		return byte(v.number), err
	}
	batches := batch.Receive(ctx, sluice.LeaveOpen(l.c), 1, nil)
	for vs := range batches.All() {
		return byte(vs[0].number), nil
	}
	return 0, cmp.Or(batches.Err(), sluice.ErrClosed)
}

func (l lending) TrySend(v byte) error { return l.c.TrySend(cell{number: int(v)}) }

func (l lending) TryRecv() (byte, error) {
	v, err := l.c.TryRecv()
	return byte(v.number), err
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
				return lending{c: sluice.NewBounded(s.capacity, &sluice.BoundedOptions[cell]{Overflow: overflow})}
			}
			seed := rand.Uint64()
			run := Record(t, plan, seed)
			if err := Explain(run, Model(s.capacity, overflow)); err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, Render(run.History))
			}
		}
	}
}
