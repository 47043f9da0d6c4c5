package spill

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/locked"
)

// A tally counts what becomes of each value.
type tally struct {
	mu                sync.Mutex
	dropped, received map[uint64]int
}

// TestPolicyStorm runs senders and receivers that use all methods, with each policy and limits
// around the memory limit, and in half of the rounds a MaxAge. Sends are canceled, and in half of the rounds the channel is closed
// meanwhile. Each value is received, dropped and reported, or rejected, once. Values of a sender
// are received in order. The hook uses the channel, and panics.
func TestPolicyStorm(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 21))
		all := tally{dropped: map[uint64]int{}, received: map[uint64]int{}}
		var c *Elastic[uint64]
		var calls atomic.Int64
		o := &ElasticOptions[uint64]{
			MemoryLimit: int64(8 * (1 + rng.IntN(6))), Codec: fixed{}, Overflow: sluice.Overflow(rng.IntN(4)),
			OnUndelivered: func(v uint64, _ sluice.Reason) {
				all.mu.Lock()
				all.dropped[v]++
				all.mu.Unlock()
				switch calls.Add(1) % 16 {
				case 3:
					_ = c.Len()
				case 6:
					if v, err := c.TryRecv(); err == nil {
						all.receive(v)
					}
				case 9:
					_ = c.Stats()
				case 12:
					panic(errHook)
				}
			},
		}
		if rng.IntN(3) > 0 {
			o.Capacity = 1 + rng.IntN(12)
		}
		if o.Capacity == 0 || rng.IntN(3) == 0 {
			o.DiskLimit = int64(20 * (1 + rng.IntN(10)))
		}
		if rng.IntN(2) == 0 {
			o.MaxAge = time.Duration(1+rng.IntN(1000)) * time.Microsecond
			o.MemoryLimit += int64(locked.DatedBytes * (1 + rng.IntN(6)))
		}
		if rng.IntN(2) == 0 {
			o.Size = func(v uint64) int { return min(1+int(v%9), int(o.MemoryLimit)) }
		}
		disk := new(faulty)
		c = on(t, disk, o)
		c.backlog.blockSize, c.backlog.segmentSize = 12*(1+rng.IntN(5)), int64(12*(1+rng.IntN(12)))
		all.storm(t, c, rng, 1+rng.IntN(4), 1+rng.IntN(3))
		checkIdle(t, c, disk)
		if t.Failed() {
			t.Fatalf("seed %d: %v, limit %d, %d bytes in memory, %d on disk, sized: %v, for %v",
				seed, o.Overflow, o.Capacity, o.MemoryLimit, o.DiskLimit, o.Size != nil, o.MaxAge)
		}
	}
}

func (a *tally) receive(v uint64) {
	a.mu.Lock()
	a.received[v]++
	a.mu.Unlock()
}

// storm sends from some goroutines and receives in others until c is closed and drained.
func (a *tally) storm(t *testing.T, c *Elastic[uint64], rng *rand.Rand, senders, receivers int) {
	t.Helper()
	early, discard := rng.IntN(2) == 0, rng.IntN(4) == 0
	var sending, receiving sync.WaitGroup
	sent := make([]map[uint64]sendOutcome, senders)
	for i := range senders {
		own := rand.New(rand.NewPCG(rng.Uint64(), 1))
		sending.Go(func() { sent[i] = sendPanicking(c, own, uint64(i)<<32, early) })
	}
	for range receivers {
		own := rand.New(rand.NewPCG(rng.Uint64(), 1))
		receiving.Go(func() {
			last := map[uint64]uint64{}
			var arrived atomic.Int64
			for _, v := range receiveRandomly(c, own, &arrived) {
				if before, ok := last[v>>32]; ok && before >= v {
					t.Errorf("sender %d: %d received after %d", v>>32, uint32(v), uint32(before))
				}
				last[v>>32] = v
				a.receive(v)
			}
		})
	}
	sending.Wait()
	for !early && c.Len() > 0 { // forever, if a wake-up was lost
		time.Sleep(time.Microsecond)
	}
	for done := !discard; !done; { // the hook may panic
		func() {
			defer func() { _ = recover() }()
			c.Discard()
			done = true
		}()
	}
	c.Close()
	receiving.Wait()
	a.check(t, c, sent)
}

// A sendOutcome is what the sender knows of a value.
type sendOutcome uint8

const (
	accepted sendOutcome = iota
	refused
	unknown // a hook panicked during a batch
)

// check compares what was sent with what became of it.
func (a *tally) check(t *testing.T, c *Elastic[uint64], sent []map[uint64]sendOutcome) {
	t.Helper()
	total := 0
	for _, values := range sent {
		for v, outcome := range values {
			n := a.dropped[v] + a.received[v]
			total += n
			if outcome == accepted && n != 1 || outcome == refused && n != 0 || n > 1 {
				t.Errorf("sender %d: %d, outcome %d, was received %d times and dropped %d times",
					v>>32, uint32(v), outcome, a.received[v], a.dropped[v])
			}
		}
	}
	if seen := len(a.dropped) + len(a.received); total != seen {
		t.Errorf("%d values received or dropped, %d of them were sent", seen, total)
	}
	s := c.Stats()
	if s.Len != 0 || c.config.overflow != sluice.DropNewest && s.Sent != s.Received+s.Dropped ||
		c.config.overflow == sluice.DropNewest && s.Sent != s.Received+s.TooOld || c.Cap() < s.HighWater {
		t.Errorf("%+v", s)
	}
}

// sendPanicking sends some values with all methods, and recovers from panics of the hook. If
// early is set, it closes the channel halfway.
func sendPanicking(c *Elastic[uint64], rng *rand.Rand, first uint64, early bool) map[uint64]sendOutcome {
	outcome := map[uint64]sendOutcome{}
	for v := first; v < first+150; {
		if early && v > first+100 {
			c.Close()
		}
		batch := make([]uint64, 1+rng.IntN(8))
		way := rng.IntN(3)
		if way < 2 {
			batch = batch[:1]
		}
		for i := range batch {
			batch[i] = v + uint64(i)
			outcome[batch[i]] = unknown
		}
		n, err, panicked := 0, error(nil), true
		func() {
			ctx, cancel := randomTimeout(rng)
			defer cancel()
			defer func() { _ = recover() }()
			switch way {
			case 0:
				err = c.Send(ctx, v)
			case 1:
				err = c.TrySend(v)
			default:
				n, err = c.SendBatch(ctx, batch)
			}
			panicked = false
		}()
		if way < 2 && err == nil {
			n = 1
		}
		for i := range batch {
			switch {
			case panicked && way < 2: // its drop was the last thing that the send did
				outcome[batch[i]] = accepted
			case panicked:
			case i < n:
				outcome[batch[i]] = accepted
			default:
				outcome[batch[i]] = refused
			}
		}
		v += uint64(len(batch))
	}
	return outcome
}
