package segqueue

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/internal/engine"
)

// A crowd is a channel with senders of batches in its wait queue.
type crowd struct {
	t *testing.T
	e *Engine[int]
}

const (
	crowdLimit = 4 * bargeLimit
	batchSize  = 64
)

// sender returns a sender of one batch that a test steps.
func (c crowd) sender(size int) *stepper {
	return &stepper{e: c.e, vs: make([]int, size), call: call{batch: size > 1}}
}

// parked returns a sender of a batch that is parked.
func (c crowd) parked() *stepper {
	s := c.sender(batchSize)
	s.join()
	go s.step()
	synctest.Wait()
	return s
}

// recv receives n values, which wakes the first waiter, and waits until that is
// awake.
func (c crowd) recv(n int) {
	c.t.Helper()
	if got, err := c.e.RecvBatch(engine.NoWait{}, make([]int, n)); got != n {
		c.t.Fatalf("received %d of %d: %v", got, n, err)
	}
	synctest.Wait()
}

// polls asserts whether a poll of s completes its batch. If s was woken, it is a
// batch that reads the clock.
func (c crowd) polls(s *stepper, want bool, sender string) {
	c.t.Helper()
	c.e.send.samples = sampleEvery - 1
	if all := s.poll(); all != want {
		c.t.Fatalf("%s sent %d of %d values", sender, s.n, len(s.vs))
	}
}

// inCrowd runs test with a channel whose first waiter was served after waiting for
// the given time, and with another waiter that is parked. A long wait enters
// anti-barging mode.
func inCrowd(t *testing.T, waited time.Duration, test func(c crowd, next *stepper)) {
	t.Helper()
	inCrowdAt(t, 0, waited, test)
}

// inCrowdAt is inCrowd with the given first index.
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
		c.polls(first, true, "the first waiter")
		test(c, next)
	})
}

// barge sends as many values as may barge in front of one waiter.
func (c crowd) barge() {
	c.t.Helper()
	for range bargeLimit / batchSize {
		c.polls(c.sender(batchSize), true, "another sender at first")
	}
}
