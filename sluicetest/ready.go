package sluicetest

import (
	"context"
	"math"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
)

// testReady: the channel that Ready returns is readable whenever TryRecv may
// succeed and no reader has been notified yet, and always after Close.
func testReady(t *testing.T, k Kind) {
	t.Run("buffered", func(t *testing.T) {
		if k.Capacity == 0 {
			t.Run("waiting sender", func(t *testing.T) { synctest.Test(t, k.testReadyRendezvous) })
			return
		}
		for _, early := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) { k.testReadyBuffered(t, early) })
		}
	})
	t.Run("closed", func(t *testing.T) {
		for _, early := range []bool{true, false} {
			c := k.numbers(t)
			if early {
				checkUnreadable(t, c, "a new channel")
			}
			if k.Capacity > 0 {
				mustSend(t, c, 1)
			}
			c.Close()
			for range 3 {
				checkReadable(t, c, "a closed channel")
			}
			if k.Capacity > 0 {
				mustRecv(t, c, 1)
			}
			for range 3 {
				checkReadable(t, c, "a closed and drained channel")
			}
		}
	})
	t.Run("close wakes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := k.numbers(t)
			p := start(func(*call) { <-c.Ready() })
			p.parked(t, "a select on Ready of an empty channel")
			c.Close()
			p.returned(t, "a select on Ready of a closed channel", nil)
		})
	})
}

// checkReadable takes the token from c's Ready.
func checkReadable(t *testing.T, c Channel[uint64], what string) {
	t.Helper()
	select {
	case <-c.Ready():
	default:
		t.Fatalf("Ready of %s is not readable", what)
	}
}

func checkUnreadable(t *testing.T, c Channel[uint64], what string) {
	t.Helper()
	select {
	case <-c.Ready():
		t.Fatalf("Ready of %s is readable", what)
	default:
	}
}

// drain does what the doc comment of Ready requires after reading from it, and
// returns the number of values received.
func drain(c Channel[uint64]) (n int) {
	for {
		if _, err := c.TryRecv(); err != nil {
			return n
		}
		n++
	}
}

// testReadyBuffered calls Ready before the first send, or after it.
func (k Kind) testReadyBuffered(t *testing.T, early bool) {
	ctx := context.Background()
	c := k.numbers(t)
	if early {
		if first := c.Ready(); first != c.Ready() {
			t.Fatal("Ready returns a different channel each time")
		}
		checkUnreadable(t, c, "a new channel")
	}
	most := min(k.Capacity, 5)
	for round := range 12 {
		many := most
		if round > 3 {
			many = 1 // a lone value: no later one can compensate for a missed announcement
		}
		for i := range many {
			switch {
			case round == 1 && i == 0:
				if n, err := c.SendBatch(ctx, counted(many, 0)); n != many || err != nil {
					t.Fatalf("SendBatch with room: %d, %v", n, err)
				}
			case round != 1:
				mustSend(t, c, uint64(i))
			}
		}
		// A goroutine that waits only on Ready must receive every value.
		p := start(func(p *call) {
			<-c.Ready()
			p.n = drain(c)
		})
		if p.returned(t, "a select on Ready with values queued", nil); p.n != many {
			t.Fatalf("TryRecv until ErrEmpty received %d of %d", p.n, many)
		}
	}
	// A value that a reader left behind is announced again.
	if most < 2 {
		return
	}
	drainReady(c)
	mustSend(t, c, 1)
	mustSend(t, c, 2)
	for range 2 {
		checkReadable(t, c, "a channel with a value queued")
		if _, err := c.Recv(ctx); err != nil {
			t.Fatalf("Recv: %v", err)
		}
	}
}

// drainReady takes a token left from before, if any.
func drainReady(c Channel[uint64]) {
	select {
	case <-c.Ready():
	default:
	}
}

// testReadyRendezvous: a waiting sender is announced, even if it began to wait
// before the first call of Ready, and so is the next one.
func (k Kind) testReadyRendezvous(t *testing.T) {
	if !k.blocks() {
		return
	}
	ctx := context.Background()
	c := k.numbers(t)
	p := startSend(ctx, c, 1)
	p.parked(t, "Send of a rendezvous")
	for v := uint64(2); v < 5; v++ {
		checkReadable(t, c, "a rendezvous with a sender waiting")
		mustRecv(t, c, v-1)
		mustBeEmpty(t, c)
		p.returned(t, "Send", nil)
		p = startSend(ctx, c, v)
		p.parked(t, "Send of a rendezvous")
	}
	mustRecv(t, c, 4)
}

// testReadyFlow: consumers that wait only on Ready receive every value, whether
// they drain the channel after each token, as they should, or take a single
// value.
func testReadyFlow(t *testing.T, k Kind) {
	if k.Overflow != sluice.Block {
		return
	}
	k.inBothWorlds(t, func(t *testing.T) {
		for _, shape := range k.shapes([][2]int{{1, 1}, {8, 1}, {4, 4}}) {
			for _, most := range []int{1, math.MaxInt} {
				f := newFlow(k, shape[0], shape[1], k.rounds(3000))
				f.receive = func(c Channel[uint64], got func(uint64)) { recvReady(c, most, got) }
				f.run(t)
			}
		}
	})
}

// recvReady receives at most most values per token of Ready, until the channel
// is closed and drained.
func recvReady(c Channel[uint64], most int, got func(uint64)) {
	for range c.Ready() {
		for range most {
			v, err := c.TryRecv()
			if err != nil {
				break
			}
			got(v)
		}
	}
	// Closed: the remaining values can be received without waiting.
	for v, err := c.TryRecv(); err == nil; v, err = c.TryRecv() {
		got(v)
	}
}
