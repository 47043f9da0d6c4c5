package sluicetest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// testRendezvous: without a buffer, a send returns after its value was taken
// and not before, and a Try operation succeeds only against a waiter.
func testRendezvous(t *testing.T, k Kind) {
	ctx := context.Background()
	synctest.Test(t, func(t *testing.T) {
		c := k.numbers(t)
		// With a waiting receiver, every way of sending succeeds at once.
		for i, send := range []func(v uint64) error{
			c.TrySend,
			func(v uint64) error { return c.Send(ctx, v) },
			func(v uint64) error { _, err := c.SendBatch(ctx, []uint64{v}); return err },
		} {
			p := startRecv(ctx, c)
			p.parked(t, "Recv of a rendezvous")
			if err := send(uint64(i)); err != nil {
				t.Fatalf("send %d to a waiting receiver: %v", i, err)
			}
			p.received(t, "the waiting Recv", uint64(i))
		}
		if !k.blocks() {
			return
		}
		// With a waiting sender, every way of receiving succeeds at once.
		for i, recv := range []func() (uint64, error){
			c.TryRecv,
			func() (uint64, error) { return c.Recv(ctx) },
			func() (uint64, error) {
				var buf [3]uint64
				n, err := c.RecvBatch(ctx, buf[:])
				if n != 1 {
					t.Errorf("RecvBatch with one sender waiting: %d", n)
				}
				return buf[0], err
			},
		} {
			p := startSend(ctx, c, uint64(i))
			p.parked(t, "Send of a rendezvous")
			if c.Len() != 0 || c.Cap() != 0 {
				t.Fatalf("a rendezvous: Len %d, Cap %d", c.Len(), c.Cap())
			}
			if v, err := recv(); v != uint64(i) || err != nil {
				t.Fatalf("receive %d from a waiting sender: %d, %v", i, v, err)
			}
			p.returned(t, "the waiting Send", nil)
		}
		mustBeEmpty(t, c)
		// On the bubble's clock: a batch needs one receive per value.
		begin := time.Now()
		var sent time.Duration
		p := start(func(p *call) {
			p.n, p.err = c.SendBatch(ctx, []uint64{0, 1, 2})
			sent = time.Since(begin)
		})
		for i := range uint64(3) {
			time.Sleep(time.Second)
			p.parked(t, "SendBatch with values left")
			mustRecv(t, c, i)
		}
		p.returned(t, "SendBatch", nil)
		if p.n != 3 || sent != 3*time.Second {
			t.Fatalf("SendBatch of 3, one taken per second: sent %d in %v", p.n, sent)
		}
	})
}
