package segqueue

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/internal/engine"
)

// TestBargingIsLimited: after a long wait, other batches barge in front of each
// waiter by bargeLimit values, and then queue behind it; each waiter is woken in
// its call.
func TestBargingIsLimited(t *testing.T) {
	inCrowd(t, longWait, func(c crowd, next *stepper) {
		c.recv(crowdLimit * 3 / 4) // next is awake
		c.barge()
		other := c.sender(batchSize)
		c.polls(other, false, "one sender too many")
		other.join()
		c.polls(other, false, "another sender that has joined")
		c.polls(next, true, "the next waiter")
		other.step() // next has passed its wake-up on, or this never ends
		c.polls(other, true, "a woken sender")
	})
}

// TestBargingAfterShortWaits: a channel whose waiters are served fast does not enter
// anti-barging mode.
func TestBargingAfterShortWaits(t *testing.T) {
	inCrowd(t, longWait-1, func(c crowd, next *stepper) {
		c.recv(crowdLimit * 3 / 4)
		c.barge()
		c.polls(c.sender(batchSize), true, "another sender")
		sent := 0
		go func() { sent, _ = c.e.SendBatch(context.Background(), make([]int, batchSize)) }()
		if synctest.Wait(); sent != batchSize {
			t.Errorf("SendBatch sent %d values", sent)
		}
		c.polls(next, true, "the next waiter")
	})
}

// TestModeEndsAfterShortWait: anti-barging mode lasts until a wait is short, even
// if no wait is long any more.
func TestModeEndsAfterShortWait(t *testing.T) {
	for waited, antiBarging := range map[time.Duration]bool{shortWait: false, shortWait + 1: true} {
		inCrowd(t, longWait, func(c crowd, next *stepper) {
			late := c.parked()
			c.recv(batchSize)
			c.polls(next, true, "a sender after a long wait")
			last := c.parked()
			time.Sleep(waited)
			c.recv(crowdLimit * 3 / 4)
			c.polls(late, true, "a sender after a shorter wait")
			c.barge()
			c.polls(c.sender(batchSize), !antiBarging, "another sender")
			synctest.Wait()
			c.polls(last, true, "the last waiter")
		})
	}
}

// TestSampling: one in sampleEvery served batches reads the clock, however long the
// others have waited. Single values do not count.
func TestSampling(t *testing.T) {
	inCrowd(t, longWait, func(c crowd, next *stepper) {
		c.recv(batchSize)
		c.polls(next, true, "the next waiter")
		for i := 1; i <= 2*sampleEvery; i++ {
			for _, size := range []int{1, batchSize} {
				c.e.send.antiBarging = i%2 == 0
				s := c.sender(size)
				s.join()
				go s.step()
				synctest.Wait()
				c.recv(size)
				antiBarging := c.e.send.antiBarging && (size == 1 || i%sampleEvery != 0)
				if s.poll(); c.e.send.antiBarging != antiBarging {
					t.Errorf("batch %d, %d values: antiBarging is %v", i, size, !antiBarging)
				}
			}
		}
	})
}

// TestModeOutlastsSend: a Send of one value, whose wait is not measured, does not
// end the mode.
func TestModeOutlastsSend(t *testing.T) {
	inCrowd(t, longWait, func(c crowd, next *stepper) {
		c.recv(batchSize)
		c.polls(next, true, "the next waiter")
		one := c.sender(1)
		one.join()
		last := c.parked()
		c.recv(crowdLimit * 3 / 4)
		one.step()
		c.polls(one, true, "a Send")
		synctest.Wait() // last has its wake-up
		c.barge()
		c.polls(c.sender(batchSize), false, "one sender too many")
		c.polls(last, true, "the last waiter")
	})
}

// TestMayBarge: the senders that may barge in anti-barging mode.
func TestMayBarge(t *testing.T) {
	for name, test := range map[string]func(c crowd, next *stepper){
		"one value": func(c crowd, next *stepper) {
			c.polls(c.sender(1), true, "a Send")
		},
		"Try": func(c crowd, next *stepper) {
			if n, err := c.e.SendBatch(engine.NoWait{}, make([]int, batchSize)); n != batchSize {
				c.t.Errorf("a Try call sent %d values: %v", n, err)
			}
		},
		"short queue": func(c crowd, next *stepper) {
			c.recv(c.e.Len() - crowdLimit/shortFraction + 1)
			c.polls(c.sender(batchSize), true, "another sender at a short queue")
			c.polls(c.sender(batchSize), false, "a sender at a queue that is not short any more")
		},
		"a queue that is not short": func(c crowd, next *stepper) {
			c.recv(c.e.Len() - crowdLimit/shortFraction)
			c.polls(c.sender(batchSize), false, "another sender")
		},
		"room for one": func(c crowd, next *stepper) {
			one := make([]int, crowdLimit-c.e.Len()-1)
			_, _ = c.e.SendBatch(engine.NoWait{}, one)
			if other := c.sender(batchSize); other.poll() || other.n > 0 {
				c.t.Errorf("another sender sent %d values", other.n)
			}
			c.recv(batchSize)
		},
		"canceled": func(c crowd, next *stepper) {
			s := c.sender(batchSize)
			s.call.wait.Cancel()
			c.polls(s, true, "a canceled sender at its last poll")
		},
		"no waiter": func(c crowd, next *stepper) {
			c.polls(next, true, "the next waiter")
			c.barge()
			c.polls(c.sender(batchSize), true, "another sender")
			next = c.sender(1)
			c.polls(next, true, "a Send")
		},
	} {
		t.Run(name, func(t *testing.T) {
			inCrowd(t, longWait, func(c crowd, next *stepper) {
				c.recv(crowdLimit * 3 / 4)
				c.barge()
				if test(c, next); next.n == 0 {
					c.polls(next, true, "the next waiter")
				}
			})
		})
	}
}

// TestYieldWakesTheFirst: a queued sender that yields while no wake-up is in flight
// wakes the first waiter, here itself: there is room, and no other goroutine may
// come.
func TestYieldWakesTheFirst(t *testing.T) {
	inCrowd(t, longWait, func(c crowd, next *stepper) {
		c.recv(crowdLimit * 3 / 4)
		c.barge()
		other := c.sender(batchSize)
		c.polls(other, false, "one sender too many")
		c.polls(next, true, "the next waiter")
		c.barge()
		for !other.call.wait.Joined() {
			other.step()
		}
		c.polls(other, false, "a sender in front of which others barge before it is queued")
		other.step() // or this never ends
		c.polls(other, true, "a sender that woke itself")

		c.e.send.antiBarging, c.e.send.served = true, c.e.send.served-bargeLimit
		first := c.sender(batchSize)
		for !first.call.wait.Joined() {
			first.step()
		}
		c.polls(c.sender(batchSize), false, "another sender, which is not queued")
		first.step() // or this never ends
		c.polls(first, true, "a sender that another one woke")
	})
}

// TestNoYieldWhenFull: a queued sender of a full channel does not wake itself: that
// would be an endless loop.
func TestNoYieldWhenFull(t *testing.T) {
	inCrowd(t, longWait, func(c crowd, next *stepper) {
		c.recv(bargeLimit)
		c.barge()
		c.polls(next, false, "the next waiter")
		next.step() // queued again
		c.polls(next, false, "after a spurious wake-up")
		if !c.e.senders.Waiting() {
			t.Error("a sender was woken for a full channel")
		}
		c.recv(batchSize)
		next.step()
		c.polls(next, true, "the next waiter")
	})
}

// TestAntiBargingWithCancellation: many senders of batches to a slow channel all
// succeed, in any order, and a canceled sender leaves its room to the others.
func TestAntiBargingWithCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const senders, batches = 20, 30
		e := New(engine.Config[int]{Limit: crowdLimit})
		sent, received, antiBarging := make([]int, senders), 0, 0
		var sending sync.WaitGroup
		for i := range senders {
			sending.Go(func() {
				for b := range batches {
					ctx, cancel := context.WithCancel(context.Background())
					if (i+b)%3 == 0 {
						ctx, cancel = context.WithTimeout(context.Background(), 3*longWait)
					}
					n, err := e.SendBatch(ctx, make([]int, batchSize))
					if sent[i] += n; n < batchSize && err != context.DeadlineExceeded {
						t.Errorf("%d values of a batch were sent: %v", n, err)
					}
					cancel()
				}
			})
		}
		go func() {
			sending.Wait()
			e.Close()
		}()
		for buf := make([]int, crowdLimit/4); ; time.Sleep(longWait / 2) {
			n, err := e.RecvBatch(context.Background(), buf)
			if err != nil {
				break
			}
			received += n
			word := e.send.lock()
			if e.send.antiBarging {
				antiBarging++
			}
			e.send.unlock(word)
		}
		sum := 0
		for _, n := range sent {
			sum += n
		}
		if sum != received || antiBarging == 0 {
			t.Errorf("%d values were sent, %d received; anti-barging mode in %d samples", sum, received, antiBarging)
		}
	})
}

// TestBargingAcrossTheWrap: the count of barging values is right when indices wrap,
// and when their lower half does.
func TestBargingAcrossTheWrap(t *testing.T) {
	for _, wrap := range []uint64{0, 1 << 32} { // of the indices, and of their lower half
		inCrowdAt(t, wrap-crowdLimit-batchSize-bargeLimit/2, longWait, func(c crowd, next *stepper) {
			c.recv(crowdLimit * 3 / 4)
			c.barge()
			c.polls(c.sender(batchSize), false, "one sender too many")
			c.e.send.served -= 1 << 31
			c.polls(c.sender(batchSize), false, "another sender, long after a waiter was served")
			c.polls(next, true, "the next waiter")
			c.barge()
		})
	}
}

// TestBargeLimitIsExact: a batch may barge as long as one value of the limit is left.
func TestBargeLimitIsExact(t *testing.T) {
	inCrowd(t, longWait, func(c crowd, next *stepper) {
		c.recv(crowdLimit * 3 / 4)
		c.polls(c.sender(bargeLimit-1), true, "another sender at first")
		c.polls(c.sender(batchSize), true, "another sender before the last value")
		c.polls(c.sender(batchSize), false, "one sender too many")
	})
}

// TestBatchesYield: a SendBatch of two values yields, one of a single value does not.
func TestBatchesYield(t *testing.T) {
	inCrowd(t, longWait, func(c crowd, next *stepper) {
		c.recv(crowdLimit * 3 / 4)
		c.barge()
		sent := [3]int{}
		for size := range sent {
			go func() { sent[size], _ = c.e.SendBatch(context.Background(), make([]int, size)) }()
		}
		if synctest.Wait(); sent[1] != 1 || sent[2] != 0 {
			t.Errorf("batches of one and of two values sent %v", sent[1:])
		}
		c.polls(next, true, "the next waiter")
		if synctest.Wait(); sent[2] != 2 {
			t.Error("a batch that yielded was not woken")
		}
	})
}

// TestWaitOfTheRest: the wait of a batch starts again when a part of it was sent.
func TestWaitOfTheRest(t *testing.T) {
	inCrowd(t, longWait, func(c crowd, next *stepper) {
		c.recv(batchSize)
		c.polls(next, true, "the next waiter")
		slow := c.sender(2 * batchSize)
		slow.join()
		for i, antiBarging := range []bool{true, false} {
			go slow.step()
			synctest.Wait()
			if antiBarging {
				time.Sleep(longWait)
			}
			c.recv(batchSize)
			if c.polls(slow, i == 1, "a batch"); c.e.send.antiBarging != antiBarging {
				t.Errorf("after part %d of a batch antiBarging is %v", i, !antiBarging)
			}
			if i == 0 {
				slow.step()
				c.polls(slow, false, "queued again")
			}
		}
	})
}

// TestYieldBesideStarvation: a batch that yields does not rescue a starving sender,
// which is already at the head of the queue.
func TestYieldBesideStarvation(t *testing.T) {
	inCrowd(t, longWait, func(c crowd, next *stepper) {
		c.recv(bargeLimit)
		c.barge()
		next.call.losses = maxLosses - 1
		c.polls(next, false, "after one spurious wake-up too many")
		next.step() // queued again
		c.polls(next, false, "the starving sender")
		if c.e.send.word.Load()&starving == 0 {
			t.Fatal("the sender does not starve")
		}
		go next.step()
		c.recv(2 * batchSize)
		c.polls(c.sender(batchSize), false, "another sender")
		c.polls(next, true, "the starving sender")
		if word := c.e.send.word.Load(); word&flags != 0 || c.e.send.rescued {
			t.Errorf("after starvation the flags are %#x, rescued is %v", word&flags, c.e.send.rescued)
		}
	})
}
