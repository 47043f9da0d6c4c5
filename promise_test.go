//go:build race || sluicecheck

package sluice_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
)

// TestBrokenPromise: a call panics if the promise of a single sender or receiver is
// broken, that is, while another goroutine blocks in the same role.
func TestBrokenPromise(t *testing.T) {
	makers := map[string]func() sluice.Channel[int]{
		"Rendezvous": func() sluice.Channel[int] {
			return sluice.NewRendezvous(&sluice.RendezvousOptions[int]{SingleSender: true, SingleReceiver: true})
		},
		"Bounded": func() sluice.Channel[int] {
			return sluice.NewBounded(64, &sluice.BoundedOptions[int]{SingleSender: true, SingleReceiver: true})
		},
		"Elastic": func() sluice.Channel[int] {
			return sluice.NewElastic(64, &sluice.ElasticOptions[int]{SingleSender: true, SingleReceiver: true})
		},
	}
	ctx := context.Background()
	buf := make([]int, 1)
	for kind, make := range makers {
		for name, second := range map[string]struct {
			sends bool
			call  func(c sluice.Channel[int])
		}{
			"Send":      {true, func(c sluice.Channel[int]) { _ = c.Send(ctx, 1) }},
			"TrySend":   {true, func(c sluice.Channel[int]) { _ = c.TrySend(1) }},
			"SendBatch": {true, func(c sluice.Channel[int]) { _, _ = c.SendBatch(ctx, buf) }},
			"Recv":      {false, func(c sluice.Channel[int]) { _, _ = c.Recv(ctx) }},
			"TryRecv":   {false, func(c sluice.Channel[int]) { _, _ = c.TryRecv() }},
			"RecvBatch": {false, func(c sluice.Channel[int]) { _, _ = c.RecvBatch(ctx, buf) }},
		} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := make()
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
					synctest.Wait() // the first goroutine is parked
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

// TestBrokenPromiseRecovered: a call that panicked has no effect on the channel.
func TestBrokenPromiseRecovered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		c := sluice.NewBounded(1, &sluice.BoundedOptions[int]{SingleSender: true, SingleReceiver: true})
		go c.Recv(ctx)
		synctest.Wait()
		for range 3 {
			mustRefuse(t, "TryRecv", func() { _, _ = c.TryRecv() })
		}
		_ = c.TrySend(1) // lets the first receiver go
		synctest.Wait()

		_ = c.TrySend(2)
		go c.Send(ctx, 3)
		synctest.Wait()
		for range 3 {
			mustRefuse(t, "TrySend", func() { _ = c.TrySend(4) })
		}
		for want := 2; want <= 3; want++ {
			if v, err := c.Recv(ctx); v != want || err != nil {
				t.Errorf("Recv = %d, %v, want %d", v, err, want)
			}
			synctest.Wait()
		}
		if err := c.TrySend(5); err != nil {
			t.Errorf("TrySend = %v after the other sender returned", err)
		}
	})
}

// TestBrokenPromiseDuringOnUndelivered: a send that returns from OnUndelivered while another send is
// active panics; the channel still counts each of the two once.
func TestBrokenPromiseDuringOnUndelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const slow = 7
		release := make(chan struct{})
		var c *sluice.Elastic[int]
		c = sluice.NewElastic(1, &sluice.ElasticOptions[int]{
			SingleSender: true,
			Overflow:     sluice.DropOldest,
			MaxBytes:     100,
			Size: func(v int) int {
				if v == slow {
					<-release
				}
				return 1
			},
			OnUndelivered: func(v int, _ sluice.Reason) {
				if v == 1 {
					go c.TrySend(slow)
					synctest.Wait() // it blocks in Size
				}
			},
		})
		_ = c.TrySend(1)
		mustRefuse(t, "Send", func() { _ = c.TrySend(2) })    // drops 1
		mustRefuse(t, "TrySend", func() { _ = c.TrySend(3) }) // slow is still active
		close(release)
		synctest.Wait()
		if err := c.TrySend(4); err != nil {
			t.Errorf("TrySend = %v after all others returned", err)
		}
	})
}

// mustRefuse fails t unless f, which breaks a promise, panics with the name of method.
func mustRefuse(t *testing.T, method string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if msg, _ := recover().(string); !strings.Contains(msg, " "+method+":") {
			t.Errorf("recovered %q, want a panic that names %s", msg, method)
		}
	}()
	f()
}
