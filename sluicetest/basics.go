package sluicetest

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
)

// testBlocking: an operation that cannot proceed waits, its Try variant fails,
// and an operation on the other side releases the waiter.
func testBlocking(t *testing.T, k Kind) {
	t.Run("receive", func(t *testing.T) { synctest.Test(t, k.testRecvBlocks) })
	t.Run("send", func(t *testing.T) { synctest.Test(t, k.testSendBlocks) })
}

func (k Kind) testRecvBlocks(t *testing.T) {
	ctx := context.Background()
	c := k.numbers(t)
	mustBeEmpty(t, c)
	var calls []*call
	for range k.receivers(2) {
		calls = append(calls, startRecv(ctx, c))
	}
	for _, p := range calls {
		p.parked(t, "Recv of an empty channel")
	}
	if !k.OneReceiver {
		mustBeEmpty(t, c)
	}
	for i := range calls {
		if err := c.Send(ctx, uint64(i)); err != nil {
			t.Fatalf("Send to a waiting receiver: %v", err)
		}
	}
	var got []uint64
	for _, p := range calls {
		p.returned(t, "Recv after a Send", nil)
		got = append(got, p.values...)
	}
	slices.Sort(got)
	for i := range calls {
		if got[i] != uint64(i) {
			t.Fatalf("waiting receivers received %v", got)
		}
	}
}

func (k Kind) testSendBlocks(t *testing.T) {
	ctx := context.Background()
	c := k.numbers(t)
	fill(t, k, c)
	if err := c.TrySend(99); err != sluice.ErrFull {
		t.Fatalf("TrySend to a full channel: %v, want %v", err, sluice.ErrFull)
	}
	var calls []*call
	for i := range k.senders(2) {
		calls = append(calls, startSend(ctx, c, uint64(k.Capacity+i)))
	}
	for _, p := range calls {
		p.parked(t, "Send to a full channel")
	}
	if !k.OneSender {
		if err := c.TrySend(99); err != sluice.ErrFull {
			t.Fatalf("TrySend to a full channel: %v, want %v", err, sluice.ErrFull)
		}
	}
	var got []uint64
	for range k.Capacity + len(calls) {
		v, err := c.Recv(ctx)
		if err != nil {
			t.Fatalf("Recv of a full channel: %v", err)
		}
		got = append(got, v)
	}
	for _, p := range calls {
		p.returned(t, "Send after a Recv", nil)
	}
	if slices.Sort(got); got[0] != 0 || len(slices.Compact(got)) != k.Capacity+len(calls) {
		t.Fatalf("received %v", got)
	}
	mustBeEmpty(t, c)
}

// testSequence: one goroutine at a time. Values come out in the order of
// sending, at every fill level and across every internal wrap-around; Len and
// Cap are exact.
func testSequence(t *testing.T, k Kind) {
	c := k.numbers(t)
	if c.Len() != 0 || c.Cap() != k.Capacity {
		t.Fatalf("a new channel: Len %d, Cap %d, want 0, %d", c.Len(), c.Cap(), k.Capacity)
	}
	mustBeEmpty(t, c)
	limit := min(k.Capacity, fillable)
	next, expect := uint64(0), uint64(0)
	var seen []uint64
	for _, level := range []int{1, 2, 3, limit / 2, limit - 1, limit, 1, limit} {
		if level < 1 || level > limit {
			continue
		}
		for c.Len() < level {
			mustSend(t, c, next)
			next++
			if !k.has(c, int(next-expect)) {
				t.Fatalf("Len is %d with %d queued", c.Len(), next-expect)
			}
		}
		for range max(1, level*2/3) {
			v, err := tryRecv(k, c)
			if err != nil {
				t.Fatalf("TryRecv with %d queued: %v", next-expect, err)
			}
			if k.Order != AnyOrder && v != expect {
				t.Fatalf("received %d, want %d: not in the order of sending", v, expect)
			}
			seen = append(seen, v)
			if expect++; !k.has(c, int(next-expect)) {
				t.Fatalf("Len is %d with %d queued", c.Len(), next-expect)
			}
		}
	}
	for ; expect < next; expect++ {
		if !k.has(c, int(next-expect)) {
			t.Fatalf("Len is %d with %d queued", c.Len(), next-expect)
		}
		v, err := c.Recv(context.Background())
		if err != nil {
			t.Fatalf("Recv with %d queued: %v", next-expect, err)
		}
		seen = append(seen, v)
	}
	mustBeEmpty(t, c)
	slices.Sort(seen)
	if len(seen) != int(next) || len(slices.Compact(seen)) != int(next) {
		t.Fatalf("sent %d values, received %d", next, len(seen))
	}
}

// testContext: a context affects only a call that would wait. The call returns
// the context's own error, as soon as the context is done.
func testContext(t *testing.T, k Kind) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	synctest.Test(t, func(t *testing.T) {
		c := k.numbers(t)
		if _, err := c.Recv(over); err != context.Canceled {
			t.Errorf("Recv of an empty channel with a done context: %v", err)
		}
		if n, err := c.RecvBatch(over, make([]uint64, 2)); n != 0 || err != context.Canceled {
			t.Errorf("RecvBatch of an empty channel with a done context: %d, %v", n, err)
		}
		if k.Capacity > 0 {
			if err := c.Send(over, 7); err != nil {
				t.Errorf("Send with room and a done context: %v, want it to proceed", err)
			}
			if v, err := c.Recv(over); v != 7 || err != nil {
				t.Errorf("Recv with a value queued and a done context: %v, %v, want it to proceed", v, err)
			}
		}
		p := startRecv(context.Background(), c)
		p.parked(t, "Recv of an empty channel")
		if err := c.Send(over, 8); err != nil {
			t.Fatalf("Send to a waiting receiver with a done context: %v, want it to proceed", err)
		}
		p.received(t, "Recv", 8)
		checkDeadline(t, func(ctx context.Context) error { _, err := c.Recv(ctx); return err })
		checkDeadline(t, func(ctx context.Context) error {
			_, err := c.RecvBatch(ctx, make([]uint64, 2))
			return err
		})
		if !k.blocks() {
			return
		}
		fill(t, k, c)
		if err := c.Send(over, 9); err != context.Canceled {
			t.Errorf("Send to a full channel with a done context: %v", err)
		}
		checkDeadline(t, func(ctx context.Context) error { return c.Send(ctx, 10) })
		checkDeadline(t, func(ctx context.Context) error {
			n, err := c.SendBatch(ctx, []uint64{11, 12})
			if n != 0 {
				t.Errorf("SendBatch to a full channel sent %d", n)
			}
			return err
		})
		for i := range k.Capacity {
			v, err := c.TryRecv()
			if err != nil || (k.Order != AnyOrder && v != uint64(i)) {
				t.Fatalf("after failed sends TryRecv: %d, %v, want %d", v, err, i)
			}
		}
		mustBeEmpty(t, c)
	})
}

// checkDeadline runs op, which cannot proceed, with contexts that end in
// different ways. It must be called in a bubble.
func checkDeadline(t *testing.T, op func(ctx context.Context) error) {
	t.Helper()
	begin := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	if err := op(ctx); err != context.DeadlineExceeded {
		t.Errorf("with an expired deadline: %v, want %v", err, context.DeadlineExceeded)
	}
	cancel()
	if waited := time.Since(begin); waited != time.Hour {
		t.Errorf("with a deadline of an hour: waited %v", waited)
	}
	ctx, cancel = context.WithCancel(context.Background())
	p := start(func(p *call) { p.err = op(ctx) })
	p.parked(t, "an operation that cannot proceed")
	cancel()
	p.returned(t, "an operation whose context was canceled", context.Canceled)

	own := &ownContext{done: make(chan struct{})}
	p = start(func(p *call) { p.err = op(own) })
	p.parked(t, "an operation that cannot proceed")
	own.end(errOwn)
	p.returned(t, "an operation whose context returns its own error", errOwn)

	own = &ownContext{done: make(chan struct{})}
	p = start(func(p *call) { p.err = op(own) })
	p.parked(t, "an operation that cannot proceed")
	own.end(nil)
	p.returned(t, "an operation whose context is done and returns no error", context.Canceled)
}
