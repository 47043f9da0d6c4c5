package sluice_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/sluicetest"
)

// TestSelectInBubbles: Selects inside and outside of bubbles share no state, such as
// pooled parkers.
func TestSelectInBubbles(t *testing.T) {
	exchange := func() {
		ctx := context.Background()
		a, b := sluice.NewRendezvous[int](nil), sluice.NewBounded[int](20, nil)
		in, late := sluice.OnRecv[int](a), sluice.OnRecv[int](b)
		for i := range 10 {
			go func() {
				runtime.Gosched()
				if i%2 == 0 {
					_ = a.Send(ctx, i)
				} else {
					_ = b.Send(ctx, i)
				}
			}()
			_, _ = sluice.Select(ctx, in, late)
		}
	}
	for range 10 {
		exchange()
		synctest.Test(t, func(*testing.T) { exchange() })
	}
}

// TestSelectRetainsNothing: only the cases themselves refer to a value that was sent,
// received, or not chosen.
func TestSelectRetainsNothing(t *testing.T) {
	ctx := context.Background()
	for _, c := range []sluice.Channel[*sluicetest.Parcel]{
		sluice.NewRendezvous[*sluicetest.Parcel](nil), sluice.NewBounded[*sluicetest.Parcel](20, nil),
	} {
		never := sluice.NewRendezvous[*sluicetest.Parcel](nil)
		idle, other := sluice.OnSend(never, new(sluicetest.Parcel)), sluice.OnRecv[*sluicetest.Parcel](sluice.NewRendezvous[*sluicetest.Parcel](nil))
		in, out := sluice.OnRecv[*sluicetest.Parcel](c), sluice.OnSend(c, new(sluicetest.Parcel))
		kept := []weak.Pointer[sluicetest.Parcel]{weak.Make(idle.Value), weak.Make(out.Value)}
		var all sync.WaitGroup
		all.Go(func() { _, _ = sluice.Select(ctx, idle, out) })
		_, _ = sluice.Select(ctx, other, in)
		all.Wait()
		short, cancel := context.WithTimeout(ctx, time.Millisecond)
		_, _ = sluice.Select(short, idle, in)
		cancel()
		in.Value, out.Value, idle.Value = nil, nil, nil
		runtime.GC()
		for i, p := range kept {
			if p.Value() != nil {
				t.Errorf("%T: value %d is still reachable", c, i)
			}
		}
		runtime.KeepAlive(c)
		runtime.KeepAlive(idle)
		runtime.KeepAlive(in)
		runtime.KeepAlive(out)
	}
}
