//go:build !race

package sluice_test

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"github.com/sluice-go/sluice"
)

// TestSelectAllocatesNothing: neither a Select that can proceed at once nor one that
// waits allocates.
func TestSelectAllocatesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for kind, open := range map[string]func() sluice.Channel[int]{
		"Rendezvous": func() sluice.Channel[int] { return sluice.NewRendezvous[int](nil) },
		"Bounded 1":  func() sluice.Channel[int] { return sluice.NewBounded[int](1, nil) },
		"Bounded 99": func() sluice.Channel[int] { return sluice.NewBounded[int](99, nil) },
	} {
		request, answer := open(), open()
		in, out := sluice.OnRecv[int](answer), sluice.OnSend[int](request, 1)
		idle, quiet := sluice.OnRecv[int](sluice.NewRendezvous[int](nil)), sluice.OnRecv[int](sluice.NewElastic[int](9, nil))
		var echo sync.WaitGroup
		echo.Go(func() {
			for v, err := request.Recv(ctx); err == nil; v, err = request.Recv(ctx) {
				for range 3 { // let the Select wait
					runtime.Gosched()
				}
				_ = answer.Send(ctx, v)
			}
		})
		n := testing.AllocsPerRun(200, func() {
			if chosen, err := sluice.Select(ctx, idle, out, quiet); chosen != out || err != nil {
				t.Error(chosen, err)
			}
			if chosen, err := sluice.Select(ctx, quiet, idle, in); chosen != in || err != nil {
				t.Error(chosen, err)
			}
			if chosen, _ := sluice.Select(ctx, quiet, idle, in, sluice.Default); chosen != sluice.Default {
				t.Error(chosen)
			}
		})
		if n != 0 {
			t.Errorf("%s: %v allocations for three Selects", kind, n)
		}
		if answer.Stats().RecvWaits == 0 {
			t.Errorf("%s: no Select waited", kind)
		}
		request.Close()
		echo.Wait()
	}
}
