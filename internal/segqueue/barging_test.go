package segqueue

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/internal/engine"
)

// A crowd is a channel with senders of batches in line.
type crowd struct {
	t *testing.T
	e *Engine[int]
}

const (
	crowdLimit = 4 * overtaking
	batchSize  = 64
)

// sender returns one of a batch that goes step by step.
func (c crowd) sender(size int) *stepper {
	return &stepper{e: c.e, vs: make([]int, size), turn: turn{batch: size > 1}}
}

// parked returns a sender of a batch that sleeps in line.
func (c crowd) parked() *stepper {
	s := c.sender(batchSize)
	s.join()
	go s.wait()
	synctest.Wait()
	return s
}

// recv receives n values, which wakes the first in line, and waits until that is awake.
func (c crowd) recv(n int) {
	c.t.Helper()
	if got, err := c.e.RecvBatch(engine.NoWait{}, make([]int, n)); got != n {
		c.t.Fatalf("received %d of %d: %v", got, n, err)
	}
	synctest.Wait()
}

// looks asserts whether a look of s gets its batch through. If that was woken, it is one
// of those that read the clock.
func (c crowd) looks(s *stepper, want bool, who string) {
	c.t.Helper()
	c.e.send.batches = askEach - 1
	if all := s.look(); all != want {
		c.t.Fatalf("%s sent %d of %d values", who, s.n, len(s.vs))
	}
}

// inCrowd runs test with a channel whose first sender in line has waited for a time and
// was served then, and with another that is parked. Its strictness shows if that was long.
func inCrowd(t *testing.T, waited time.Duration, test func(c crowd, next *stepper)) {
	t.Helper()
	inCrowdAt(t, 0, waited, test)
}

// inCrowdAt is inCrowd with the first index given.
func inCrowdAt(t *testing.T, first uint64, waited time.Duration, test func(c crowd, next *stepper)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := crowd{t, newAt(engine.Config[int]{Limit: crowdLimit}, first&(1<<(64-shift)-1))}
		if _, err := c.e.SendBatch(engine.NoWait{}, make([]int, crowdLimit)); err != nil {
			t.Fatal(err)
		}
		first := c.parked()
		next := c.parked()
		time.Sleep(waited)
		c.recv(batchSize)
		c.looks(first, true, "the first in line")
		test(c, next)
	})
}

// overtake has strangers send as many values as may overtake one in line.
func (c crowd) overtake() {
	c.t.Helper()
	for range overtaking / batchSize {
		c.looks(c.sender(batchSize), true, "a stranger at first")
	}
}

// When batches wait for long, others overtake each of them by so many values and no more,
// and then wait behind them; and each in line is woken in its turn.
func TestOvertakenForLong(t *testing.T) {
	inCrowd(t, long, func(c crowd, next *stepper) {
		c.recv(crowdLimit * 3 / 4) // next is awake
		c.overtake()
		stranger := c.sender(batchSize)
		c.looks(stranger, false, "a stranger too many")
		stranger.join()
		c.looks(stranger, false, "a stranger that has joined")
		c.looks(next, true, "the next in line")
		stranger.wait() // next has passed its wake-up on, or this never ends
		c.looks(stranger, true, "who was woken")
	})
}

// A channel whose line moves fast is not strict.
func TestOvertakenForAMoment(t *testing.T) {
	inCrowd(t, long-1, func(c crowd, next *stepper) {
		c.recv(crowdLimit * 3 / 4)
		c.overtake()
		c.looks(c.sender(batchSize), true, "a stranger")
		sent := 0
		go func() { sent, _ = c.e.SendBatch(context.Background(), make([]int, batchSize)) }()
		if synctest.Wait(); sent != batchSize {
			t.Errorf("SendBatch sent %d values", sent)
		}
		c.looks(next, true, "the next in line")
	})
}

// A channel that is strict stays so as long as its line does not move fast, also if nobody
// waits for long there any more.
func TestStrictUntilFast(t *testing.T) {
	for waited, strict := range map[time.Duration]bool{moment: false, moment + 1: true} {
		inCrowd(t, long, func(c crowd, next *stepper) {
			late := c.parked()
			c.recv(batchSize)
			c.looks(next, true, "who has waited for long")
			last := c.parked()
			time.Sleep(waited)
			c.recv(crowdLimit * 3 / 4)
			c.looks(late, true, "who has not")
			c.overtake()
			c.looks(c.sender(batchSize), !strict, "a stranger")
			synctest.Wait()
			c.looks(last, true, "the last in line")
		})
	}
}

// One in so many batches that are served reads the clock, however long the others have
// waited, and values sent alone do not count.
func TestWhoReadsTheClock(t *testing.T) {
	inCrowd(t, long, func(c crowd, next *stepper) {
		c.recv(batchSize)
		c.looks(next, true, "the next in line")
		for i := 1; i <= 2*askEach; i++ {
			for _, size := range []int{1, batchSize} {
				c.e.send.strict = i%2 == 0
				s := c.sender(size)
				s.join()
				go s.wait()
				synctest.Wait()
				c.recv(size)
				strict := c.e.send.strict && (size == 1 || i%askEach != 0)
				if s.look(); c.e.send.strict != strict {
					t.Errorf("batch %d, %d values: strict is %v", i, size, !strict)
				}
			}
		}
	})
}

// A Send of one value, which does not know for how long it has waited, ends nothing.
func TestServedBetween(t *testing.T) {
	inCrowd(t, long, func(c crowd, next *stepper) {
		c.recv(batchSize)
		c.looks(next, true, "the next in line")
		one := c.sender(1)
		one.join()
		last := c.parked()
		c.recv(crowdLimit * 3 / 4)
		one.wait()
		c.looks(one, true, "a Send")
		synctest.Wait() // last has its wake-up
		c.overtake()
		c.looks(c.sender(batchSize), false, "a stranger too many")
		c.looks(last, true, "the last in line")
	})
}

// Who has no other place to be goes on in a strict channel too.
func TestMayOvertake(t *testing.T) {
	for name, test := range map[string]func(c crowd, next *stepper){
		"one value": func(c crowd, next *stepper) {
			c.looks(c.sender(1), true, "a Send")
		},
		"Try": func(c crowd, next *stepper) {
			if n, err := c.e.SendBatch(engine.NoWait{}, make([]int, batchSize)); n != batchSize {
				c.t.Errorf("a Try call sent %d values: %v", n, err)
			}
		},
		"short queue": func(c crowd, next *stepper) {
			c.recv(c.e.Len() - crowdLimit/shortPart + 1)
			c.looks(c.sender(batchSize), true, "a stranger at a short queue")
			c.looks(c.sender(batchSize), false, "a stranger when it is none any more")
		},
		"a queue that is not short": func(c crowd, next *stepper) {
			c.recv(c.e.Len() - crowdLimit/shortPart)
			c.looks(c.sender(batchSize), false, "a stranger")
		},
		"room for one": func(c crowd, next *stepper) {
			one := make([]int, crowdLimit-c.e.Len()-1)
			_, _ = c.e.SendBatch(engine.NoWait{}, one)
			if stranger := c.sender(batchSize); stranger.look() || stranger.n > 0 {
				c.t.Errorf("a stranger sent %d values", stranger.n)
			}
			c.recv(batchSize)
		},
		"ended": func(c crowd, next *stepper) {
			s := c.sender(batchSize)
			s.turn.stay.Cancel()
			c.looks(s, true, "who looks for the last time")
		},
		"nobody in line": func(c crowd, next *stepper) {
			c.looks(next, true, "the next in line")
			c.overtake()
			c.looks(c.sender(batchSize), true, "a stranger")
			next = c.sender(1)
			c.looks(next, true, "a Send")
		},
	} {
		t.Run(name, func(t *testing.T) {
			inCrowd(t, long, func(c crowd, next *stepper) {
				c.recv(crowdLimit * 3 / 4)
				c.overtake()
				if test(c, next); next.n == 0 {
					c.looks(next, true, "the next in line")
				}
			})
		})
	}
}

// Who stands back in line while no wake-up is on its way wakes the first one, here
// itself: there is room, and nobody else may ever come.
func TestStandsBackAlone(t *testing.T) {
	inCrowd(t, long, func(c crowd, next *stepper) {
		c.recv(crowdLimit * 3 / 4)
		c.overtake()
		stranger := c.sender(batchSize)
		c.looks(stranger, false, "a stranger too many")
		c.looks(next, true, "the next in line")
		c.overtake()
		for !stranger.turn.stay.Joined() {
			stranger.wait()
		}
		c.looks(stranger, false, "one that is overtaken on its way into the line")
		stranger.wait() // or this never ends
		c.looks(stranger, true, "who woke itself")

		c.e.send.strict, c.e.send.served = true, c.e.send.served-overtaking
		first := c.sender(batchSize)
		for !first.turn.stay.Joined() {
			first.wait()
		}
		c.looks(c.sender(batchSize), false, "a stranger, who is in no line")
		first.wait() // or this never ends
		c.looks(first, true, "who was woken by a stranger")
	})
}

// Who is in line at a full channel does not wake itself: that would go round for ever.
func TestStandsBackWhenFull(t *testing.T) {
	inCrowd(t, long, func(c crowd, next *stepper) {
		c.recv(overtaking)
		c.overtake()
		c.looks(next, false, "the next in line")
		next.wait() // back in line
		c.looks(next, false, "who was woken in vain")
		if !c.e.senders.Waiting() {
			t.Error("somebody is awake to send into a full channel")
		}
		c.recv(batchSize)
		next.wait()
		c.looks(next, true, "the next in line")
	})
}

// Many senders of batches to a channel that is too slow: none of them fails, whatever
// the order, and a context that ends leaves the others their room.
func TestStrictWithEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const senders, batches = 20, 30
		e := New(engine.Config[int]{Limit: crowdLimit})
		sent, received, strict := make([]int, senders), 0, 0
		var sending sync.WaitGroup
		for i := range senders {
			sending.Go(func() {
				for b := range batches {
					ctx, cancel := context.WithCancel(context.Background())
					if (i+b)%3 == 0 {
						ctx, cancel = context.WithTimeout(context.Background(), 3*long)
					}
					n, err := e.SendBatch(ctx, make([]int, batchSize))
					if sent[i] += n; n < batchSize && err != context.DeadlineExceeded {
						t.Errorf("%d of a batch were sent: %v", n, err)
					}
					cancel()
				}
			})
		}
		go func() {
			sending.Wait()
			e.Close()
		}()
		for buf := make([]int, crowdLimit/4); ; time.Sleep(long / 2) {
			n, err := e.RecvBatch(context.Background(), buf)
			if err != nil {
				break
			}
			received += n
			word := e.send.lock()
			if e.send.strict {
				strict++
			}
			e.send.unlock(word)
		}
		sum := 0
		for _, n := range sent {
			sum += n
		}
		if sum != received || strict == 0 {
			t.Errorf("%d values were sent, %d received; strict at %d looks", sum, received, strict)
		}
	})
}

// The count of values that overtook goes on where the indices wrap, and where what is
// kept of them does.
func TestOvertakenAcrossTheWrap(t *testing.T) {
	for _, wrap := range []uint64{0, 1 << 32} { // of the indices, and of their lower half
		inCrowdAt(t, wrap-crowdLimit-batchSize-overtaking/2, long, func(c crowd, next *stepper) {
			c.recv(crowdLimit * 3 / 4)
			c.overtake()
			c.looks(c.sender(batchSize), false, "a stranger too many")
			c.e.send.served -= 1 << 31
			c.looks(c.sender(batchSize), false, "a stranger when that was ages ago")
			c.looks(next, true, "the next in line")
			c.overtake()
		})
	}
}

// One value less than may overtake leaves a batch the right to go.
func TestOvertakenToTheLast(t *testing.T) {
	inCrowd(t, long, func(c crowd, next *stepper) {
		c.recv(crowdLimit * 3 / 4)
		c.looks(c.sender(overtaking-1), true, "a stranger at first")
		c.looks(c.sender(batchSize), true, "a stranger before the last value")
		c.looks(c.sender(batchSize), false, "a stranger too many")
	})
}

// What SendBatch is given says who stands back: two values are a batch, one is not.
func TestWhoStandsBack(t *testing.T) {
	inCrowd(t, long, func(c crowd, next *stepper) {
		c.recv(crowdLimit * 3 / 4)
		c.overtake()
		sent := [3]int{}
		for size := range sent {
			go func() { sent[size], _ = c.e.SendBatch(context.Background(), make([]int, size)) }()
		}
		if synctest.Wait(); sent[1] != 1 || sent[2] != 0 {
			t.Errorf("of one value and of two were sent %v", sent[1:])
		}
		c.looks(next, true, "the next in line")
		if synctest.Wait(); sent[2] != 2 {
			t.Error("a batch that stood back was not woken")
		}
	})
}

// A batch that got a part has waited for the rest from then on.
func TestStrictByTheLastPart(t *testing.T) {
	inCrowd(t, long, func(c crowd, next *stepper) {
		c.recv(batchSize)
		c.looks(next, true, "the next in line")
		slow := c.sender(2 * batchSize)
		slow.join()
		for i, strict := range []bool{true, false} {
			go slow.wait()
			synctest.Wait()
			if strict {
				time.Sleep(long)
			}
			c.recv(batchSize)
			if c.looks(slow, i == 1, "a batch"); c.e.send.strict != strict {
				t.Errorf("part %d of a batch makes strict %v", i, !strict)
			}
			if i == 0 {
				slow.wait()
				c.looks(slow, false, "back in line")
			}
		}
	})
}

// Who stands back does nothing for one that starves, as another would: that one is the
// first in line, and is served there.
func TestStandsBackBesideStarving(t *testing.T) {
	inCrowd(t, long, func(c crowd, next *stepper) {
		c.recv(overtaking)
		c.overtake()
		next.turn.losses = maxLosses - 1
		c.looks(next, false, "who was woken in vain once too often")
		next.wait() // back in line
		c.looks(next, false, "who starves")
		if c.e.send.word.Load()&starving == 0 {
			t.Fatal("it does not starve")
		}
		go next.wait()
		c.recv(2 * batchSize)
		c.looks(c.sender(batchSize), false, "a stranger")
		c.looks(next, true, "who starves")
		if word := c.e.send.word.Load(); word&flags != 0 || c.e.send.paid {
			t.Errorf("of a batch that starved the bits %#x stay; paid for: %v", word&flags, c.e.send.paid)
		}
	})
}
