package sluicetest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
)

// testClose: buffered values stay receivable, then every receive fails; every
// send fails at once; Close is idempotent.
func testClose(t *testing.T, k Kind) {
	ctx := context.Background()
	for _, queued := range []int{0, 1, 2, min(k.Capacity, fillable)} {
		if queued > k.Capacity {
			continue
		}
		c := k.numbers(t)
		for i := range queued {
			mustSend(t, c, uint64(i))
		}
		c.Close()
		c.Close()
		if !k.has(c, queued) {
			t.Fatalf("Len is %d after Close with %d queued", c.Len(), queued)
		}
		checkRefusesSends(t, c)
		var got []uint64
		for range queued {
			v, err := c.Recv(ctx)
			if err != nil {
				t.Fatalf("Recv from a closed channel with %d of %d left: %v", queued-len(got), queued, err)
			}
			got = append(got, v)
		}
		slices.Sort(got)
		for i, v := range got {
			if v != uint64(i) {
				t.Fatalf("received %v after Close, want 0 to %d", got, queued-1)
			}
		}
		checkDrained(t, c)
		c.Close()
		checkDrained(t, c)
	}
	c := k.numbers(t)
	var closers sync.WaitGroup
	for range 8 {
		closers.Go(c.Close)
	}
	closers.Wait()
	checkDrained(t, c)
}

// checkRefusesSends fails t unless every way of sending to c returns ErrClosed.
func checkRefusesSends(t *testing.T, c Channel[uint64]) {
	t.Helper()
	ctx := context.Background()
	if err := c.Send(ctx, 99); err != sluice.ErrClosed {
		t.Fatalf("Send after Close: %v", err)
	}
	if err := c.TrySend(99); err != sluice.ErrClosed {
		t.Fatalf("TrySend after Close: %v", err)
	}
	if n, err := c.SendBatch(ctx, []uint64{99, 98}); n != 0 || err != sluice.ErrClosed {
		t.Fatalf("SendBatch after Close: %d, %v", n, err)
	}
}

// checkDrained fails t unless every way of receiving from c, which is closed
// and drained, returns ErrClosed and the zero value.
func checkDrained(t *testing.T, c Channel[uint64]) {
	t.Helper()
	ctx := context.Background()
	for range 2 {
		if v, err := c.Recv(ctx); v != 0 || err != sluice.ErrClosed {
			t.Fatalf("Recv from a closed and drained channel: %d, %v", v, err)
		}
		if v, err := c.TryRecv(); v != 0 || err != sluice.ErrClosed {
			t.Fatalf("TryRecv from a closed and drained channel: %d, %v", v, err)
		}
		if n, err := c.RecvBatch(ctx, make([]uint64, 3)); n != 0 || err != sluice.ErrClosed {
			t.Fatalf("RecvBatch from a closed and drained channel: %d, %v", n, err)
		}
		for v := range allOf(ctx, c) {
			t.Fatalf("a loop over a closed and drained channel yields %d", v)
		}
	}
	if c.Len() != 0 || !c.Stats().Closed {
		t.Fatalf("a closed and drained channel: Len %d, Stats %+v", c.Len(), c.Stats())
	}
}

// testCloseParked: Close releases every waiter on both sides, and the values of
// the released senders are never received.
func testCloseParked(t *testing.T, k Kind) {
	ctx := context.Background()
	t.Run("receivers", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := k.numbers(t)
			var calls []*call
			for i := range k.receivers(6) {
				if i%2 == 0 {
					calls = append(calls, startRecv(ctx, c))
				} else {
					calls = append(calls, startRecvBatch(ctx, c, 3))
				}
			}
			settle()
			c.Close()
			for _, p := range calls {
				if p.returned(t, "a receive that Close released", sluice.ErrClosed); p.n != 0 {
					t.Fatalf("a receive that Close released: received %v", p.values)
				}
			}
			checkDrained(t, c)
		})
	})
	if !k.blocks() {
		return
	}
	t.Run("senders", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := k.numbers(t)
			fill(t, k, c)
			var calls []*call
			for i := range k.senders(6) {
				if v := uint64(1000000 + i); i%2 == 0 {
					calls = append(calls, startSend(ctx, c, v))
				} else {
					calls = append(calls, startSendBatch(ctx, c, []uint64{v, v + 100}))
				}
			}
			for _, p := range calls {
				p.parked(t, "a send to a full channel")
			}
			c.Close()
			for _, p := range calls {
				if p.returned(t, "a send that Close released", sluice.ErrClosed); p.n != 0 {
					t.Fatalf("a send that Close released: sent %d", p.n)
				}
			}
			if c.Len() != k.Capacity {
				t.Fatalf("Len is %d after Close of a full channel of %d", c.Len(), k.Capacity)
			}
			for range k.Capacity {
				if v, err := c.Recv(ctx); err != nil || v >= 1000000 {
					t.Fatalf("Recv of what was buffered at Close: %d, %v", v, err)
				}
			}
			checkDrained(t, c)
		})
	})
}
