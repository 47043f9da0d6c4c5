//go:build race || sluicecheck

package sluice_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
)

// TestBrokenPromise lets a second goroutine in while the first one waits inside.
func TestBrokenPromise(t *testing.T) {
	makers := map[string]func(o *sluice.Options[int]) sluice.Chan[int]{
		"Rendezvous": func(o *sluice.Options[int]) sluice.Chan[int] { return sluice.NewRendezvous(o) },
		"Bounded":    func(o *sluice.Options[int]) sluice.Chan[int] { return sluice.NewBounded(64, o) },
		"Elastic":    func(o *sluice.Options[int]) sluice.Chan[int] { return sluice.NewElastic(64, o) },
	}
	ctx := context.Background()
	buf := make([]int, 1)
	for kind, make := range makers {
		for name, second := range map[string]struct {
			sends bool
			call  func(c sluice.Chan[int])
		}{
			"Send":      {true, func(c sluice.Chan[int]) { _ = c.Send(ctx, 1) }},
			"TrySend":   {true, func(c sluice.Chan[int]) { _ = c.TrySend(1) }},
			"SendBatch": {true, func(c sluice.Chan[int]) { _, _ = c.SendBatch(ctx, buf) }},
			"Recv":      {false, func(c sluice.Chan[int]) { _, _ = c.Recv(ctx) }},
			"TryRecv":   {false, func(c sluice.Chan[int]) { _, _ = c.TryRecv() }},
			"RecvBatch": {false, func(c sluice.Chan[int]) { _, _ = c.RecvBatch(ctx, buf) }},
		} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := make(&sluice.Options[int]{SingleSender: true, SingleReceiver: true})
					promise := "SingleReceiver"
					if second.sends {
						promise = "SingleSender"
						for range c.Cap() {
							_ = c.TrySend(0)
						}
						go c.Send(ctx, 0)
					} else {
						go c.Recv(ctx)
					}
					synctest.Wait() // the first one is parked
					defer c.Close()
					defer func() {
						msg, _ := recover().(string)
						if !strings.Contains(msg, name+":") || !strings.Contains(msg, promise) {
							t.Errorf("recovered %q, want a panic that names %s and %s", msg, name, promise)
						}
					}()
					second.call(c)
				})
			})
		}
	}
}
