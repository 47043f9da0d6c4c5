package segqueue

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
)

// A jostle is a channel with senders of all kinds, whose contexts end at the
// moments in which slots become free. It counts what they send, and what others
// receive.
type jostle struct {
	t        *testing.T
	e        *Engine[int]
	sent     atomic.Int64
	received atomic.Int64
	senders  sync.WaitGroup
}

// A meddler is a context whose Done method receives from the channel at times:
// slots become free while a sender that has found none joins the queue.
type meddler struct {
	context.Context
	j   *jostle
	rng *rand.Rand
}

func (m meddler) Done() <-chan struct{} {
	if m.rng.IntN(8) == 0 {
		m.j.recv(1 + m.rng.IntN(m.j.e.Cap()))
	}
	return m.Context.Done()
}

// sender sends until the channel is closed: batches, some longer than the channel,
// and single values, under contexts that are canceled, will be, or never are.
func (j *jostle) sender(rng *rand.Rand) {
	for err := error(nil); err != engine.ErrClosed; {
		parent, cancel := context.WithCancel(context.Background())
		switch rng.IntN(16) {
		case 0:
			cancel()
		case 1, 2, 3, 4:
			parent, cancel = context.WithTimeout(parent, time.Duration(rng.IntN(40))*longWait/10)
		}
		size := 1 + rng.IntN(2*batchSize)
		switch rng.IntN(16) {
		case 0:
			size = 1
		case 1:
			size = j.e.Cap() + rng.IntN(j.e.Cap())
		}
		var n int
		n, err = j.e.SendBatch(meddler{parent, j, rng}, make([]int, size))
		j.sent.Add(int64(n))
		if (err == nil) != (n == size) || err != nil && err != engine.ErrClosed && err != parent.Err() {
			j.t.Errorf("%d of %d values were sent: %v; the context: %v", n, size, err, parent.Err())
		}
		if parent.Err() != nil {
			time.Sleep(longWait / 10) // otherwise the loop never waits
		}
		cancel()
	}
}

// recv receives up to n values.
func (j *jostle) recv(n int) {
	n, _ = j.e.RecvBatch(engine.NoWait{}, make([]int, n))
	j.received.Add(int64(n))
}

// quiet asserts that no sender waits while there is room, once all goroutines are
// blocked. It reports whether the channel is in anti-barging mode.
func (j *jostle) quiet() (antiBarging bool) {
	j.t.Helper()
	synctest.Wait()
	word := j.e.send.lock()
	antiBarging = j.e.send.antiBarging
	j.e.send.unlock(word)
	if n := j.e.senders.Snapshot(park.Now(), nil).Waiting; n > 0 && j.e.Len() < j.e.Cap() {
		j.t.Fatalf("%d of %d values queued, and %d senders wait", j.e.Len(), j.e.Cap(), n)
	}
	return antiBarging
}

// TestNoSenderWaitsBesideRoom: whatever senders, contexts and receivers do to a
// channel in anti-barging mode, no sender waits while there is room.
func TestNoSenderWaitsBesideRoom(t *testing.T) {
	for _, config := range []engine.Config[int]{
		{Limit: crowdLimit},
		{Limit: 100},
		{Limit: 3},
		{Limit: crowdLimit, Elastic: true, Shrink: engine.ShrinkEmpty},
	} {
		antiBarging := 0
		for _, senders := range []int{1, 3, 24} {
			t.Run(fmt.Sprintf("limit %d, elastic %v, %d senders", config.Limit, config.Elastic, senders), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { antiBarging += jostleOnce(t, config, senders) })
			})
		}
		if antiBarging == 0 {
			t.Errorf("a channel of %d values never entered anti-barging mode", config.Limit)
		}
	}
}

// jostleOnce returns in how many samples the channel was in anti-barging mode.
func jostleOnce(t *testing.T, config engine.Config[int], senders int) (antiBarging int) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	j := &jostle{t: t, e: New(config)}
	for number := range senders {
		j.senders.Go(func() { j.sender(rand.New(rand.NewPCG(seed, uint64(number)))) })
	}
	rng := rand.New(rand.NewPCG(seed, 1000))
	for range 150 {
		time.Sleep(time.Duration(rng.IntN(25)) * longWait / 10)
		var receiving sync.WaitGroup
		for range 2 {
			n := 1 + rng.IntN(config.Limit)
			receiving.Go(func() { j.recv(n) })
		}
		receiving.Wait()
		if j.quiet() {
			antiBarging++
		}
	}
	j.e.Close()
	j.senders.Wait()
	for j.e.Len() > 0 {
		j.recv(config.Limit)
	}
	if j.quiet(); j.sent.Load() != j.received.Load() {
		t.Errorf("%d values were sent, %d received", j.sent.Load(), j.received.Load())
	}
	return antiBarging
}
