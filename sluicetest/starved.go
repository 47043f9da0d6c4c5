package sluicetest

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
)

// testStarvedTruth: whatever a kind does for a goroutine that is often passed
// over, a Try call that fails in its favor must have returned the truth.
// ErrEmpty is true if the waiting goroutine takes the queued value, even when
// its context ends at that moment, and false if there was one more value than
// it takes.
func testStarvedTruth(t *testing.T, k Kind) {
	for _, lost := range []int{0, 1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 100} {
		for name, run := range map[string]func(t *testing.T, lost int){
			"receiver canceled": func(t *testing.T, lost int) {
				k.testStarvedRecvCanceled(t, lost, func(cancel, send func()) { send(); cancel() })
			},
			"receiver canceled before": func(t *testing.T, lost int) {
				k.testStarvedRecvCanceled(t, lost, func(cancel, send func()) { cancel(); send() })
			},
			"receiver, two": k.testStarvedRecvTwo,
			"sender canceled": func(t *testing.T, lost int) {
				k.testStarvedSendCanceled(t, lost, func(cancel, recv func()) { recv(); cancel() })
			},
			"sender canceled before": func(t *testing.T, lost int) {
				k.testStarvedSendCanceled(t, lost, func(cancel, recv func()) { cancel(); recv() })
			},
			"sender, two": k.testStarvedSendTwo,
		} {
			if !t.Run(name, func(t *testing.T) {
				for range k.rounds(8) {
					synctest.Test(t, func(t *testing.T) { run(t, lost) })
				}
			}) {
				return
			}
		}
	}
}

// starveReceiver parks a receiver and takes the value that it was woken for, lost
// times in a row. It returns nil if k does not allow that, or if the receiver was
// faster.
func (k Kind) starveReceiver(t *testing.T, c Channel[uint64], ctx context.Context, lost int) *call {
	t.Helper()
	if k.OneReceiver {
		return nil
	}
	p := startRecv(ctx, c)
	settle()
	for range lost {
		mustSend(t, c, 1)
		_, _ = c.TryRecv()
		if settle(); p.done {
			return nil
		}
	}
	return p
}

// testStarvedRecvCanceled cancels the waiting receiver and sends a value, in
// the given order, before the receiver runs; then it calls TryRecv.
func (k Kind) testStarvedRecvCanceled(t *testing.T, lost int, order func(cancel, send func())) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := k.numbers(t)
	p := k.starveReceiver(t, c, ctx, lost)
	if p == nil {
		return
	}
	sent := false
	order(cancel, func() {
		err := c.TrySend(2)
		if sent = err == nil; !sent && k.Capacity > 0 {
			t.Fatalf("TrySend with room: %v", err)
		}
	})
	if !sent { // the receiver had left
		p.returned(t, "a receiver whose context is done", context.Canceled)
		return
	}
	_, err := c.TryRecv()
	if settle(); !p.done {
		t.Fatal("a receiver waits though its context is done")
	}
	if took := p.err == nil; took == (err == nil) {
		t.Fatalf("one value, two receivers: TryRecv %v, the waiting Recv %v after %d lost wake-ups", err, p.err, lost)
	}
}

func (k Kind) testStarvedRecvTwo(t *testing.T, lost int) {
	if k.Capacity < 2 {
		return
	}
	c := k.numbers(t)
	p := k.starveReceiver(t, c, context.Background(), lost)
	if p == nil {
		return
	}
	if n, err := c.SendBatch(context.Background(), []uint64{2, 3}); n != 2 || err != nil {
		t.Fatalf("SendBatch with room: %d, %v", n, err)
	}
	if _, err := c.TryRecv(); err != nil {
		t.Fatalf("two values, one waiting receiver: TryRecv %v after %d lost wake-ups", err, lost)
	}
	p.returned(t, "the waiting Recv", nil)
	mustBeEmpty(t, c)
}

// starveSender parks a sender at a full channel and takes the slot that it was
// woken for, lost times in a row. It returns nil if k does not allow that, or if
// the sender was faster.
func (k Kind) starveSender(t *testing.T, c Channel[uint64], ctx context.Context, lost int) *call {
	t.Helper()
	if k.OneSender || !k.blocks() {
		return nil
	}
	fill(t, k, c)
	p := startSend(ctx, c, 99)
	settle()
	for range lost {
		if _, err := c.TryRecv(); err != nil {
			t.Fatalf("TryRecv of a full channel: %v", err)
		}
		_ = c.TrySend(1)
		if settle(); p.done {
			return nil
		}
	}
	return p
}

// testStarvedSendCanceled is the same with a sender and room for one value.
func (k Kind) testStarvedSendCanceled(t *testing.T, lost int, order func(cancel, recv func())) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := k.numbers(t)
	p := k.starveSender(t, c, ctx, lost)
	if p == nil || k.Capacity == 0 {
		return
	}
	order(cancel, func() {
		if _, err := c.TryRecv(); err != nil {
			t.Fatalf("TryRecv of a full channel: %v", err)
		}
	})
	err := c.TrySend(2)
	if settle(); !p.done {
		t.Fatal("a sender waits though its context is done")
	}
	if sent := p.err == nil; sent == (err == nil) {
		t.Fatalf("one slot, two senders: TrySend %v, the waiting Send %v after %d lost wake-ups", err, p.err, lost)
	}
}

func (k Kind) testStarvedSendTwo(t *testing.T, lost int) {
	if k.Capacity < 2 {
		return
	}
	c := k.numbers(t)
	p := k.starveSender(t, c, context.Background(), lost)
	if p == nil {
		return
	}
	if n, err := c.RecvBatch(context.Background(), make([]uint64, 2)); n != 2 || err != nil {
		t.Fatalf("RecvBatch of a full channel: %d, %v", n, err)
	}
	if err := c.TrySend(2); err != nil {
		t.Fatalf("two slots, one waiting sender: TrySend %v after %d lost wake-ups", err, lost)
	}
	p.returned(t, "the waiting Send", nil)
	if err := c.TrySend(3); err != sluice.ErrFull {
		t.Fatalf("TrySend to a full channel: %v", err)
	}
}
