package sluicetest

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
)

// testBatches: what a batch operation moved is a prefix of the batch, in order,
// whatever ended the operation.
func testBatches(t *testing.T, k Kind) {
	t.Run("whole", func(t *testing.T) { synctest.Test(t, k.testBatchWhole) })
	if !k.blocks() {
		return
	}
	t.Run("closed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			k.testBatchCut(t, sluice.ErrClosed, func(c Channel[uint64], _ func()) { c.Close() })
		})
	})
	t.Run("canceled", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			k.testBatchCut(t, context.Canceled, func(_ Channel[uint64], cancel func()) { cancel() })
		})
	})
}

func (k Kind) testBatchWhole(t *testing.T) {
	ctx := context.Background()
	c := k.numbers(t)
	if n, err := c.SendBatch(ctx, nil); n != 0 || err != nil {
		t.Errorf("SendBatch of nothing: %d, %v", n, err)
	}
	if n, err := c.RecvBatch(ctx, nil); n != 0 || err != nil {
		t.Errorf("RecvBatch into nothing: %d, %v", n, err)
	}
	for _, size := range []int{1, 2, 3, 5, 64, 1000} {
		// A waiting RecvBatch returns what arrives, from one value up to its
		// size.
		p := startRecvBatch(ctx, c, size)
		p.parked(t, "RecvBatch of an empty channel")
		if n, err := c.SendBatch(ctx, []uint64{7}); n != 1 || err != nil {
			t.Fatalf("SendBatch to a waiting RecvBatch: %d, %v", n, err)
		}
		p.received(t, "the waiting RecvBatch", 7)
		if size > k.Capacity && !k.blocks() {
			continue
		}
		sent := counted(size, 0)
		send := startSendBatch(ctx, c, sent)
		var got []uint64
		buf := make([]uint64, max(1, size/3))
		for len(got) < size {
			settle()
			queued := c.Len()
			n, err := c.RecvBatch(ctx, buf)
			if err != nil || n < 1 || n > len(buf) || n < min(len(buf), queued) {
				t.Fatalf("RecvBatch into %d with %d queued: %d, %v", len(buf), queued, n, err)
			}
			got = append(got, buf[:n]...)
		}
		send.returned(t, "SendBatch", nil)
		if send.n != size {
			t.Fatalf("SendBatch of %d: %d, nil", size, send.n)
		}
		if k.Order == AnyOrder {
			slices.Sort(got)
		}
		if !slices.Equal(got, counted(size, 0)) {
			t.Fatalf("SendBatch of 0 to %d: received %v", size-1, got)
		}
		// SendBatch must not keep the slice: the caller may reuse it.
		clear(sent)
		mustBeEmpty(t, c)
	}
	if k.Capacity >= 3 {
		vs := []uint64{1, 2, 3}
		if n, err := c.SendBatch(ctx, vs); n != 3 || err != nil {
			t.Fatalf("SendBatch of 3 with room: %d, %v", n, err)
		}
		clear(vs)
		buf := []uint64{0, 0, 0, 44}
		if n, err := c.RecvBatch(ctx, buf); n != 3 || err != nil {
			t.Fatalf("RecvBatch into 4 with 3 queued: %d, %v", n, err)
		}
		if slices.Sort(buf[:3]); !slices.Equal(buf[:3], []uint64{1, 2, 3}) {
			t.Fatalf("RecvBatch received %v, want 1, 2, 3", buf[:3])
		}
	}
}

// testBatchCut interrupts a SendBatch. The number that it returns must match
// the values that arrived, in order.
func (k Kind) testBatchCut(t *testing.T, want error, cut func(c Channel[uint64], cancel func())) {
	for _, taken := range []int{0, 1, 3} {
		ctx, cancel := context.WithCancel(context.Background())
		c := k.numbers(t)
		p := startSendBatch(ctx, c, counted(k.Capacity+10, 0))
		p.parked(t, "SendBatch of more than there is room for")
		var got []uint64
		for range taken {
			v, err := c.Recv(context.Background())
			if err != nil {
				t.Fatalf("Recv: %v", err)
			}
			got = append(got, v)
			settle()
		}
		cut(c, cancel)
		p.returned(t, "the cut SendBatch", want)
		if p.n != k.Capacity+taken {
			t.Fatalf("SendBatch into room for %d, with %d taken: sent %d", k.Capacity, taken, p.n)
		}
		c.Close()
		for v := range allOf(context.Background(), c) {
			got = append(got, v)
		}
		if k.Order == AnyOrder {
			slices.Sort(got)
		}
		if !slices.Equal(got, counted(p.n, 0)) {
			t.Fatalf("SendBatch returned %d, but %v came out", p.n, got)
		}
		cancel()
	}
}

// counted returns n numbers: from, from+1, …
func counted(n int, from uint64) []uint64 {
	vs := make([]uint64, n)
	for i := range vs {
		vs[i] = from + uint64(i)
	}
	return vs
}

// A tryBatcher has a method TryRecvBatch.
type tryBatcher interface {
	TryRecvBatch(buf []uint64) (n int, err error)
}

// testTryBatches: TryRecvBatch receives the available values up to the size of
// its buffer, in order, and never waits.
func testTryBatches(t *testing.T, k Kind) {
	synctest.Test(t, func(t *testing.T) {
		c := k.numbers(t)
		try := func(buf []uint64, want int, wantErr error, when string) {
			t.Helper()
			p := start(func(p *call) { p.n, p.err = c.(tryBatcher).TryRecvBatch(buf) })
			if p.returned(t, "TryRecvBatch of "+when, wantErr); p.n != want {
				t.Fatalf("TryRecvBatch of %s: %d, want %d", when, p.n, want)
			}
		}
		buf := make([]uint64, 8)
		try(nil, 0, nil, "an empty channel, into an empty buffer")
		try(buf, 0, sluice.ErrEmpty, "an empty channel")
		if k.isRendezvous() && k.blocks() {
			p := startSend(context.Background(), c, 7)
			p.parked(t, "Send of a rendezvous")
			try(buf, 1, nil, "a rendezvous with a sender waiting")
			p.returned(t, "the waiting Send", nil)
		}
		for _, queued := range []int{1, 5, 64, 1000} {
			if queued <= k.Capacity {
				k.tryBatch(t, c, queued, buf)
			}
		}
		c.Close()
		try(buf, 0, sluice.ErrClosed, "a closed and drained channel")
	})
}

// tryBatch sends values, for which there is room, and receives them with
// TryRecvBatch.
func (k Kind) tryBatch(t *testing.T, c Channel[uint64], queued int, buf []uint64) {
	for i := range uint64(queued) {
		mustSend(t, c, i)
	}
	var got []uint64
	for left := queued; left > 0; {
		n, err := c.(tryBatcher).TryRecvBatch(buf)
		if want := min(left, len(buf)); n != want || err != nil {
			t.Fatalf("TryRecvBatch into %d with %d queued: %d, %v, want %d", len(buf), left, n, err, want)
		}
		got = append(got, buf[:n]...)
		left -= n
	}
	if k.Order == AnyOrder {
		slices.Sort(got)
	}
	if !slices.Equal(got, counted(queued, 0)) {
		t.Fatalf("TryRecvBatch received %v, want 0 to %d", got, queued-1)
	}
	mustBeEmpty(t, c)
}
