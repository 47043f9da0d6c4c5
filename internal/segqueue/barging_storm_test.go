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

// A jostle is a channel with senders of all sorts, whose contexts end at the moments in
// which room is made. What they send, and others receive, is added up.
type jostle struct {
	t        *testing.T
	e        *Engine[int]
	sent     atomic.Int64
	received atomic.Int64
	senders  sync.WaitGroup
}

// A meddler is a context that receives from the channel whenever it is asked: so there is
// room just when a sender that has found none comes into the line.
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

// sender sends until the channel is closed: batches, short and longer than the channel,
// and single values, under contexts that are done, will be, or never are.
func (j *jostle) sender(rng *rand.Rand) {
	for err := error(nil); err != engine.ErrClosed; {
		parent, cancel := context.WithCancel(context.Background())
		switch rng.IntN(16) {
		case 0:
			cancel()
		case 1, 2, 3, 4:
			parent, cancel = context.WithTimeout(parent, time.Duration(rng.IntN(40))*long/10)
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
			time.Sleep(long / 10) // or it never waits
		}
		cancel()
	}
}

// recv receives up to n values.
func (j *jostle) recv(n int) {
	n, _ = j.e.RecvBatch(engine.NoWait{}, make([]int, n))
	j.received.Add(int64(n))
}

// quiet asserts that nobody sleeps in line beside room, when all is quiet, and reports
// whether the channel is strict.
func (j *jostle) quiet() (strict bool) {
	j.t.Helper()
	synctest.Wait()
	word := j.e.send.lock()
	strict = j.e.send.strict
	j.e.send.unlock(word)
	if n := j.e.senders.Snapshot(park.Now(), nil).Waiting; n > 0 && j.e.Len() < j.e.Cap() {
		j.t.Fatalf("%d of %d queued, and %d sleep in line", j.e.Len(), j.e.Cap(), n)
	}
	return strict
}

// Whatever senders, contexts and receivers do to a channel that is strict, nobody is left
// asleep in line when all is quiet and there is room.
func TestNobodySleepsBesideRoom(t *testing.T) {
	for _, config := range []engine.Config[int]{
		{Limit: crowdLimit},
		{Limit: 100},
		{Limit: 3},
		{Limit: crowdLimit, Elastic: true, Shrink: engine.ShrinkEmpty},
	} {
		strict := 0
		for _, senders := range []int{1, 3, 24} {
			t.Run(fmt.Sprintf("limit %d, elastic %v, %d senders", config.Limit, config.Elastic, senders), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { strict += jostleOnce(t, config, senders) })
			})
		}
		if strict == 0 {
			t.Errorf("a channel of %d values was never strict", config.Limit)
		}
	}
}

// jostleOnce returns at how many looks the channel was strict.
func jostleOnce(t *testing.T, config engine.Config[int], senders int) (strict int) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	j := &jostle{t: t, e: New(config)}
	for number := range senders {
		j.senders.Go(func() { j.sender(rand.New(rand.NewPCG(seed, uint64(number)))) })
	}
	rng := rand.New(rand.NewPCG(seed, 1000))
	for range 150 {
		time.Sleep(time.Duration(rng.IntN(25)) * long / 10)
		var receiving sync.WaitGroup
		for range 2 {
			n := 1 + rng.IntN(config.Limit)
			receiving.Go(func() { j.recv(n) })
		}
		receiving.Wait()
		if j.quiet() {
			strict++
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
	return strict
}
