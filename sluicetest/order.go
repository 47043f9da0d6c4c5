package sluicetest

import (
	"context"
	"testing"
	"testing/synctest"
)

// testServiceOrder: parked goroutines are served in the order in which they
// parked, except those that left, and no running goroutine barges in.
func testServiceOrder(t *testing.T, k Kind) {
	if !k.OneReceiver {
		t.Run("receivers", func(t *testing.T) { synctest.Test(t, k.testReceiversInOrder) })
	}
	if !k.OneSender && k.blocks() {
		t.Run("senders", func(t *testing.T) { synctest.Test(t, k.testSendersInOrder) })
	}
}

func (k Kind) testReceiversInOrder(t *testing.T) {
	c := k.numbers(t)
	leaving, leave := context.WithCancel(context.Background())
	var calls []*call
	for i := range 8 {
		ctx := context.Background()
		if i%3 == 1 {
			ctx = leaving
		}
		calls = append(calls, startRecv(ctx, c))
		settle()
	}
	leave()
	next := uint64(0)
	for i, p := range calls {
		if i%3 == 1 {
			p.returned(t, "a receiver that left", context.Canceled)
			continue
		}
		if err := c.Send(context.Background(), next); err != nil {
			t.Fatalf("Send to waiting receivers: %v", err)
		}
		// A barging TryRecv must not take the value of the waiter.
		if v, err := c.TryRecv(); err == nil {
			t.Fatalf("TryRecv took %d, which a parked receiver was waiting for", v)
		}
		p.received(t, "the receiver that waited longest", next)
		next++
	}
}

func (k Kind) testSendersInOrder(t *testing.T) {
	c := k.numbers(t)
	fill(t, k, c)
	leaving, leave := context.WithCancel(context.Background())
	var calls []*call
	var values []uint64
	for i := range 8 {
		ctx, v := context.Background(), uint64(k.Capacity+i)
		if i%3 == 1 {
			ctx = leaving
		} else {
			values = append(values, v)
		}
		calls = append(calls, startSend(ctx, c, v))
		settle()
	}
	leave()
	for i, p := range calls {
		if i%3 == 1 {
			p.returned(t, "a sender that left", context.Canceled)
			continue
		}
		if _, err := c.TryRecv(); err != nil {
			t.Fatalf("TryRecv of a full channel: %v", err)
		}
		if err := c.TrySend(99); err == nil {
			t.Fatal("TrySend took the room that a parked sender was waiting for")
		}
		p.returned(t, "the sender that waited longest", nil)
	}
	// All values except the last Capacity ones have been taken.
	all := make([]uint64, 0, k.Capacity+len(values))
	for i := range k.Capacity {
		all = append(all, uint64(i))
	}
	all = append(all, values...)
	for _, want := range all[len(values):] {
		mustRecv(t, c, want)
	}
}

// testStarvation: a parked goroutine is served after a bounded number of
// others, even if another goroutine barges in at each of its wake-ups.
func testStarvation(t *testing.T, k Kind) {
	if !k.OneReceiver {
		t.Run("receivers", func(t *testing.T) { synctest.Test(t, k.testReceiversServed) })
	}
	if !k.OneSender && k.blocks() {
		t.Run("senders", func(t *testing.T) { synctest.Test(t, k.testSendersServed) })
		t.Run("behind a batch", func(t *testing.T) { synctest.Test(t, k.testServedBehindBatch) })
	}
}

// testServedBehindBatch: a sender behind a batch is served before the whole
// batch is through.
func (k Kind) testServedBehindBatch(t *testing.T) {
	c := k.numbers(t)
	fill(t, k, c)
	length := 4 * (k.Capacity + k.MaxBypass + 8)
	batch := startSendBatch(context.Background(), c, make([]uint64, length))
	settle()
	p := startSend(context.Background(), c, 99)
	settle()
	for taken := 0; !p.done; taken++ {
		if taken > length/2 || batch.done {
			t.Fatalf("a sender behind a batch of %d still waits after %d values", length, taken)
		}
		if _, err := c.TryRecv(); err != nil {
			t.Fatalf("TryRecv of a full channel: %v", err)
		}
		if taken%2 == 0 {
			_ = c.TrySend(98) // barges in ahead of both, if it can
		}
		settle()
	}
}

const waiting = 5

func (k Kind) testReceiversServed(t *testing.T) {
	ctx := context.Background()
	c := k.numbers(t)
	calls := make([]*call, waiting)
	for i := range calls {
		calls[i] = startRecv(ctx, c)
		settle()
	}
	passed := 0
	for round := 0; !allDone(calls); round++ {
		if passed > waiting*k.MaxBypass {
			t.Fatalf("%d of %d receivers still wait after %d values were taken by others", undone(calls), waiting, passed)
		}
		mustSend(t, c, uint64(round))
		if _, err := c.TryRecv(); err == nil {
			passed++
		}
		settle()
	}
	mustBeEmpty(t, c)
}

func (k Kind) testSendersServed(t *testing.T) {
	ctx := context.Background()
	c := k.numbers(t)
	fill(t, k, c)
	calls := make([]*call, waiting)
	for i := range calls {
		calls[i] = startSend(ctx, c, uint64(i))
		settle()
	}
	passed := 0
	for !allDone(calls) {
		if passed > waiting*k.MaxBypass {
			t.Fatalf("%d of %d senders still wait after %d others took their room", undone(calls), waiting, passed)
		}
		if _, err := c.TryRecv(); err != nil {
			t.Fatalf("TryRecv of a full channel: %v", err)
		}
		if c.TrySend(99) == nil {
			passed++
		}
		settle()
	}
}

func undone(calls []*call) (n int) {
	for _, p := range calls {
		if !p.done {
			n++
		}
	}
	return n
}

func allDone(calls []*call) bool { return undone(calls) == 0 }
