package sluicetest

import (
	"context"
	"sync"
	"testing"
)

// testHappensBefore checks the memory-model guarantees with plain variables.
// The values prove them on this machine, the race detector on every machine.
func testHappensBefore(t *testing.T, k Kind) {
	t.Run("send before its receive", func(t *testing.T) {
		k.inBothWorlds(t, k.testSendBeforeRecv)
	})
	t.Run("close before the receive that fails", func(t *testing.T) {
		k.inBothWorlds(t, k.testCloseBeforeRecv)
	})
	if k.blocks() {
		t.Run("receive before the send that needs its room", func(t *testing.T) {
			k.inBothWorlds(t, k.testRecvBeforeSend)
		})
	}
	if k.Capacity == 1 && k.blocks() && !k.OneSender && !k.OneReceiver {
		t.Run("as a mutex", k.testMutex)
	}
}

func (k Kind) testSendBeforeRecv(t *testing.T) {
	if k.drops() {
		return // a dropped value proves nothing
	}
	for _, shape := range k.shapes([][2]int{{1, 1}, {4, 4}}) {
		written := make([][]int, shape[0])
		f := newFlow(k, shape[0], shape[1], k.rounds(2000))
		for s := range written {
			written[s] = make([]int, f.each)
		}
		f.send = func(c Channel[uint64], sender int, vs []uint64) error {
			for i := range vs {
				written[sender][i] = i + 1
			}
			return sendMixed(c, sender, vs)
		}
		f.receive = func(c Channel[uint64], got func(uint64)) {
			recvMixed(c, func(v uint64) {
				if s, i := apart(v); written[s][i] != i+1 {
					t.Errorf("a write before Send is not visible after Recv")
				}
				got(v)
			})
		}
		f.run(t)
	}
}

func (k Kind) testCloseBeforeRecv(t *testing.T) {
	for range k.fewer(k.rounds(200)) {
		c := k.numbers(t)
		written := 0
		var receivers sync.WaitGroup
		for r := range k.receivers(3) {
			receivers.Go(func() {
				var err error
				if r == 1 {
					for err == nil || !c.Stats().Closed {
						_, err = c.TryRecv()
						yield()
					}
					_, err = c.TryRecv()
				} else {
					_, err = c.Recv(context.Background())
				}
				if err == nil || written != 1 {
					t.Errorf("a write before Close is not visible after %v", err)
				}
			})
		}
		yield()
		written = 1
		c.Close()
		receivers.Wait()
	}
}

// testRecvBeforeSend: the k-th receive happens before the (k+Capacity)-th send
// returns; without a buffer, before its own send returns.
func (k Kind) testRecvBeforeSend(t *testing.T) {
	n := k.Capacity*2 + k.rounds(500)
	written := make([]int, n)
	c := k.numbers(t)
	var receiver sync.WaitGroup
	receiver.Go(func() {
		for i := range n {
			written[i] = i + 1
			if _, err := c.Recv(context.Background()); err != nil {
				t.Errorf("Recv: %v", err)
			}
		}
	})
	for i := range n {
		if err := c.Send(context.Background(), uint64(i)); err != nil {
			t.Fatalf("Send: %v", err)
		}
		if before := i - k.Capacity; before >= 0 && written[before] != before+1 {
			t.Fatalf("send %d ended before receive %d began", i, before)
		}
	}
	receiver.Wait()
}

// testMutex uses a channel with one slot as a mutex: Send locks, Recv unlocks.
func (k Kind) testMutex(t *testing.T) {
	c := k.numbers(t)
	held, each := 0, k.rounds(1000)
	var holders sync.WaitGroup
	for range 4 {
		holders.Go(func() {
			for range each {
				if err := c.Send(context.Background(), 1); err != nil {
					t.Errorf("Send: %v", err)
				}
				held++
				if _, err := c.Recv(context.Background()); err != nil {
					t.Errorf("Recv: %v", err)
				}
			}
		})
	}
	holders.Wait()
	if held != 4*each {
		t.Fatalf("%d of %d additions are lost", 4*each-held, 4*each)
	}
}
