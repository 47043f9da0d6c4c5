package sluicetest

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
)

// A discarder has a method Discard.
type discarder interface{ Discard() int }

// testDiscard: Discard closes the channel, and removes and counts what is queued, and nothing else.
func testDiscard(t *testing.T, k Kind) {
	for _, queued := range []int{0, 1, 2, min(k.Capacity, fillable)} {
		if queued > k.Capacity {
			continue
		}
		c := k.numbers(t)
		for i := range queued {
			mustSend(t, c, uint64(i))
		}
		if n := c.(discarder).Discard(); n != queued {
			t.Fatalf("Discard with %d queued returned %d", queued, n)
		}
		checkRefusesSends(t, c)
		checkDrained(t, c)
		if n := c.(discarder).Discard(); n != 0 {
			t.Fatalf("a second Discard returned %d", n)
		}
	}
	if k.blocks() {
		synctest.Test(t, func(t *testing.T) { testDiscardParked(t, k) })
	}
	for range k.rounds(200) {
		testDiscardRace(t, k)
	}
}

// testDiscardParked: senders that wait get ErrClosed, and their values are not counted.
func testDiscardParked(t *testing.T, k Kind) {
	c := k.numbers(t)
	fill(t, k, c)
	var calls []*call
	for i := range k.senders(3) {
		calls = append(calls, startSend(context.Background(), c, uint64(1000000+i)))
	}
	settle()
	if n := c.(discarder).Discard(); n != k.Capacity {
		t.Fatalf("Discard of a full channel with senders parked returned %d, want %d", n, k.Capacity)
	}
	for _, p := range calls {
		p.returned(t, "a send that Discard released", sluice.ErrClosed)
	}
	checkDrained(t, c)
}

// testDiscardRace: beside senders and, if the kind allows them, receivers, each value that was sent
// is received or counted by Discard.
func testDiscardRace(t *testing.T, k Kind) {
	c := k.numbers(t)
	var sent, received atomic.Int64
	var group sync.WaitGroup
	for range k.senders(3) {
		group.Go(func() {
			for i := range 50 {
				if c.Send(context.Background(), uint64(i)) == nil {
					sent.Add(1)
				}
			}
		})
	}
	receivers := 2
	if k.OneReceiver { // Discard is a receive
		receivers = 0
	}
	for range receivers {
		group.Go(func() {
			for range 20 {
				if _, err := c.Recv(context.Background()); err == nil {
					received.Add(1)
				}
			}
		})
	}
	var discarded int
	group.Go(func() {
		runtime.Gosched()
		if _, err := c.TryRecv(); err == nil {
			received.Add(1)
		}
		discarded = c.(discarder).Discard()
	})
	group.Wait()
	lost := int64(c.Stats().Dropped)
	if s, r := sent.Load(), received.Load(); s != r+int64(discarded)+lost {
		t.Fatalf("%d sent, %d received, %d discarded, %d dropped", s, r, discarded, lost)
	}
}
