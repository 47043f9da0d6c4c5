package livepage_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
	"github.com/sluice-go/sluice/livepage"
	"github.com/sluice-go/sluice/workers"
)

func produce(ctx context.Context, out sluice.Sender[int]) {
	for out.Send(ctx, 1) == nil {
	}
}

func double(_ context.Context, v int) (int, error) { return 2 * v, nil }

func triple(_ context.Context, v int) (int, error) { return 3 * v, nil }

func collect(ctx context.Context, in sluice.Receiver[int], out sluice.Sender[int]) {
	for v, err := in.Recv(ctx); err == nil; v, err = in.Recv(ctx) {
		_ = out.Send(ctx, v)
	}
}

func lingerer(ctx context.Context, in sluice.Receiver[int], out *batch.Sender[int]) {
	for v, err := in.Recv(ctx); err == nil; v, err = in.Recv(ctx) {
		time.Sleep(time.Millisecond) // the timer flushes before a batch is full
		_ = out.Send(ctx, v)
	}
}

func slowly(ctx context.Context, in sluice.Receiver[int]) {
	for _, err := in.Recv(ctx); err == nil; _, err = in.Recv(ctx) {
		time.Sleep(10 * time.Millisecond)
	}
}

// TestFlowThroughLibrary: a stage whose values pass through goroutines of the library is
// not taken for the slowest one when what is behind it is slow.
func TestFlowThroughLibrary(t *testing.T) {
	for name, middle := range map[string]func(ctx context.Context, in, out *sluice.Bounded[int]){
		"Map": func(ctx context.Context, in, out *sluice.Bounded[int]) {
			collect(ctx, workers.Map(ctx, in, 2, double, nil), out)
		},
		"Map of Map": func(ctx context.Context, in, out *sluice.Bounded[int]) {
			collect(ctx, workers.Map(ctx, workers.Map(ctx, in, 2, double, nil), 2, triple, nil), out)
		},
		"Run of Map": func(ctx context.Context, in, out *sluice.Bounded[int]) {
			send := func(ctx context.Context, v int) error { return out.Send(ctx, v) }
			_ = workers.Run(ctx, workers.Map(ctx, in, 2, double, nil), 2, send, nil)
		},
		"Sender with linger": func(ctx context.Context, in, out *sluice.Bounded[int]) {
			s := batch.NewSender(out, 1000, &batch.Options[int]{Linger: time.Millisecond})
			lingerer(ctx, in, s)
			_ = s.TakeUnsent()
		},
	} {
		t.Run(name, func(t *testing.T) {
			awaitNoChannels()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(context.Background())
				in := sluice.NewBounded(64, &sluice.BoundedOptions[int]{Name: t.Name() + "/in"})
				out := sluice.NewBounded(8, &sluice.BoundedOptions[int]{Name: t.Name() + "/out"})
				var stages sync.WaitGroup
				stages.Go(func() { produce(ctx, in) })
				stages.Go(func() { middle(ctx, in, out) })
				stages.Go(func() { slowly(ctx, out) })
				h := livepage.Handler()
				for range 5 {
					_ = mapOf(t, h)
					time.Sleep(time.Second)
				}
				want := "livepage_test.slowly is the slowest stage: "
				for range 10 {
					f := mapOf(t, h)
					if f.Bottleneck == nil || f.Bottleneck.Stage != "github.com/sluice-go/sluice/livepage_test.slowly" {
						t.Errorf("%q, want %q; edges %+v", f.Summary, want, f.Edges)
					}
					time.Sleep(time.Second)
				}
				cancel()
				stages.Wait()
			})
		})
	}
}
