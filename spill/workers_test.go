package spill

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/workers"
)

// TestWorkersFail: workers that fail close the Durable for sending, so that senders get
// ErrClosed and do not wait for room. No value is lost: those without an Ack are there
// when the queue is opened again.
func TestWorkersFail(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	open := func() *Durable[uint64] {
		c, err := OpenDurable(dir, &DurableOptions[uint64]{DiskLimit: 40 * (8 + recordCost), Codec: fixed{}})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := open()
	stored, sent := map[uint64]bool{}, make(chan error, 1)
	go func() {
		for v := uint64(0); ; v++ {
			if err := c.Send(ctx, v); err != nil {
				sent <- err
				return
			}
			stored[v] = true
		}
	}()
	var mu sync.Mutex
	done, broken := map[uint64]bool{}, errors.New("broken")
	err := workers.Run(ctx, c, 3, func(_ context.Context, d *Delivery[uint64]) error {
		if d.Value == 20 {
			return broken
		}
		mu.Lock()
		defer mu.Unlock()
		done[d.Value] = true
		return d.Ack()
	}, nil)
	if !errors.Is(err, broken) {
		t.Errorf("Run: %v", err)
	}
	if err := <-sent; err != sluice.ErrClosed {
		t.Errorf("Send: %v", err)
	}
	if err := c.Shutdown(); err != nil {
		t.Fatal(err)
	}
	c = open()
	if err := c.TrySend(1 << 40); err != nil {
		t.Errorf("a queue that was opened again: %v", err)
	}
	c.Close()
	deliveries := c.Values(ctx)
	for d := range deliveries.All() {
		if done[d.Value] {
			t.Errorf("%d came again after its Ack", d.Value)
		}
		done[d.Value] = true
	}
	if err := deliveries.Err(); err != nil {
		t.Error(err)
	}
	for v := range stored {
		if !done[v] {
			t.Errorf("%d was lost", v)
		}
	}
	if err := c.Shutdown(); err != nil {
		t.Error(err)
	}
}
