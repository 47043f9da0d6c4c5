package spill

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// TestCrossingRace repeatedly sends two values, with memory for one, to two
// receivers. At each crossing of the boundary one receiver may be about to wait
// while the sender spills to disk, or while the other receiver takes the last value
// in memory. If no goroutine moves the record, all of them sleep, which the bubble
// reports.
func TestCrossingRace(t *testing.T) {
	for _, sized := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			o := &ElasticOptions[uint64]{MemoryLimit: 8, Codec: fixed{}}
			if sized {
				o.Size = func(uint64) int { return 8 }
			}
			c := on(t, new(faulty), o)
			var receivers [2]chan int
			var done sync.WaitGroup
			for r := range receivers {
				receivers[r] = make(chan int)
				go func() {
					for pause := range receivers[r] {
						for range pause { // to hit every step of a send
							_ = c.state.Load()
						}
						if _, err := c.Recv(context.Background()); err != nil {
							t.Error(err)
						}
						done.Done()
					}
				}()
			}
			for round := range 60_000 {
				done.Add(2)
				receivers[0] <- round % 7 * 20
				receivers[1] <- round % 11 * 40
				for v := range uint64(2) {
					if err := c.Send(context.Background(), v); err != nil {
						t.Fatal(err)
					}
				}
				done.Wait()
			}
			for _, r := range receivers {
				close(r)
			}
			if c.Len() != 0 {
				t.Errorf("%d values are left", c.Len())
			}
		})
	}
}

// TestLastTakerWaits: a receiver that takes the last value in memory while another
// goroutine holds the lock waits for the lock, and moves the next record, because
// other receivers may be waiting.
func TestLastTakerWaits(t *testing.T) {
	c := on(t, new(faulty), &ElasticOptions[uint64]{MemoryLimit: 8, Codec: fixed{}})
	for v := range uint64(2) {
		if err := c.TrySend(v); err != nil {
			t.Fatal(err)
		}
	}
	c.mu.Lock()
	var taker sync.WaitGroup
	taker.Go(func() {
		if v, err := c.TryRecv(); v != 0 || err != nil {
			t.Error(v, err)
		}
	})
	for c.head.Len() > 0 {
		runtime.Gosched()
	}
	for range 1000 { // until it waits for the lock
		runtime.Gosched()
	}
	c.mu.Unlock()
	taker.Wait()
	if c.head.Len() != 1 || c.state.Load()&spilling != 0 {
		t.Errorf("after the last value was taken %d are in memory", c.head.Len())
	}
}

// TestRecvOutrun: a Recv that saw the channel spilling, and whose value another
// receiver took, waits as if it had seen the channel direct, and returns the failure
// of the channel.
func TestRecvOutrun(t *testing.T) {
	c := on(t, new(faulty), &ElasticOptions[uint64]{MemoryLimit: 8, Codec: fixed{}})
	for v := range uint64(2) {
		if err := c.TrySend(v); err != nil {
			t.Fatal(err)
		}
	}
	broken := errors.New("broken")
	closedError := make(chan error, 1)
	c.mu.Lock()
	_, _ = c.head.TryRecv() // without a refill
	go func() {
		_, err := c.Recv(context.Background())
		closedError <- err
	}()
	for range 1000 { // until it waits for the lock
		runtime.Gosched()
	}
	c.advance()
	_, _ = c.head.TryRecv()
	c.mu.Unlock()
	for c.head.Stats().ReceiversWaiting == 0 && len(closedError) == 0 {
		runtime.Gosched()
	}
	c.mu.Lock()
	c.fail(broken)
	c.mu.Unlock()
	if err := <-closedError; err != broken {
		t.Errorf("got %v, want %v", err, broken)
	}
}

// TestTryRecvTruth: TryRecv does not return ErrEmpty to one of two receivers while
// there is a value for each.
func TestTryRecvTruth(t *testing.T) {
	c := on(t, new(faulty), &ElasticOptions[uint64]{MemoryLimit: 8, Codec: fixed{}})
	const n = 200_000
	var sent, claimed atomic.Int64
	var all sync.WaitGroup
	all.Go(func() {
		for v := range uint64(n) {
			if err := c.TrySend(v); err != nil {
				t.Error(err)
			}
			sent.Add(1)
		}
	})
	for range 2 {
		all.Go(func() {
			for {
				claim := claimed.Load()
				if claim == n {
					return
				}
				if claim == sent.Load() {
					runtime.Gosched()
					continue
				}
				if claimed.CompareAndSwap(claim, claim+1) {
					if _, err := c.TryRecv(); err != nil {
						t.Errorf("%d of %d values were there: %v", sent.Load()-claim, n, err)
						return
					}
				}
			}
		})
	}
	all.Wait()
}
