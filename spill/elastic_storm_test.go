package spill

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
)

// TestBoundaryStorm runs senders and receivers that use all methods, with limits so
// small that the channel spills and becomes direct all the time. No value is lost,
// duplicated or out of its sender's order, and no goroutine keeps waiting. Half of
// the rounds close the channel only after all values were received, so that Close
// cannot hide a lost wake-up.
func TestBoundaryStorm(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 5))
		memory := 1 + rng.IntN(6)
		o := &ElasticOptions[uint64]{MemoryLimit: int64(memory * 8), Codec: fixed{}}
		if rng.IntN(3) > 0 {
			o.DiskLimit = int64(24 * (1 + rng.IntN(10)))
		}
		if rng.IntN(2) == 0 {
			o.Size = func(v uint64) int { return int(v%9) % (memory * 8) }
		}
		disk := new(faulty)
		c := on(t, disk, o)
		c.backlog.blockSize, c.backlog.segmentSize = 12*(1+rng.IntN(5)), int64(12*(1+rng.IntN(12)))
		storm(t, c, rng, 1+rng.IntN(4), 1+rng.IntN(4))
		checkIdle(t, c, disk)
		if t.Failed() {
			t.Fatalf("seed %d: %d bytes in memory, %d on disk, sized: %v", seed, o.MemoryLimit, o.DiskLimit, o.Size != nil)
		}
	}
}

// storm sends from some goroutines and receives in others until c is closed and
// drained. A value is the number of its sender and a count.
func storm(t *testing.T, c *Elastic[uint64], rng *rand.Rand, senders, receivers int) {
	t.Helper()
	accepted, received := make([][]uint64, senders), make([][]uint64, receivers)
	var arrived atomic.Int64
	var sending, receiving sync.WaitGroup
	early := rng.IntN(2) == 0
	for i := range senders {
		own := rand.New(rand.NewPCG(rng.Uint64(), 1))
		sending.Go(func() { accepted[i] = sendRandomly(c, own, uint64(i)<<32, early) })
	}
	for i := range receivers {
		own := rand.New(rand.NewPCG(rng.Uint64(), 1))
		receiving.Go(func() {
			received[i] = receiveRandomly(c, own, &arrived)
		})
	}
	sending.Wait()
	want := int64(0)
	for _, values := range accepted {
		want += int64(len(values))
	}
	for !early && arrived.Load() < want { // forever, if a wake-up was lost
		time.Sleep(time.Microsecond)
	}
	c.Close()
	receiving.Wait()

	seen := map[uint64]int{}
	for _, values := range received {
		last := map[uint64]uint64{}
		for _, v := range values {
			if before, ok := last[v>>32]; ok && before >= v {
				t.Errorf("sender %d: %d received after %d", v>>32, uint32(v), uint32(before))
			}
			last[v>>32] = v
			seen[v]++
		}
	}
	for _, values := range accepted {
		for _, v := range values {
			if seen[v] != 1 {
				t.Errorf("sender %d: %d received %d times", v>>32, uint32(v), seen[v])
			}
			delete(seen, v)
		}
	}
	if len(seen) > 0 {
		t.Errorf("%d values received that were not accepted", len(seen))
	}
}

// sendRandomly sends first and the numbers after it until the channel is closed, or
// until it has sent enough. If early is set, it closes the channel halfway. It
// returns the accepted values.
func sendRandomly(c *Elastic[uint64], rng *rand.Rand, first uint64, early bool) (accepted []uint64) {
	for v := first; v < first+200; {
		if early && v > first+100 {
			c.Close()
		}
		ctx, cancel := randomTimeout(rng)
		batch := make([]uint64, 1+rng.IntN(8))
		for i := range batch {
			batch[i] = v + uint64(i)
		}
		n, err := 0, error(nil)
		switch rng.IntN(3) {
		case 0:
			batch = batch[:1]
			err = c.Send(ctx, v)
		case 1:
			batch = batch[:1]
			err = c.TrySend(v)
		default:
			n, err = c.SendBatch(ctx, batch)
		}
		cancel()
		if err == nil {
			n = len(batch)
		}
		accepted = append(accepted, batch[:n]...)
		if err == sluice.ErrClosed {
			return accepted
		}
		v += uint64(len(batch))
	}
	return accepted
}

// receiveRandomly receives until the channel is closed and drained, by one waiting
// method or by all methods.
func receiveRandomly(c *Elastic[uint64], rng *rand.Rand, arrived *atomic.Int64) (received []uint64) {
	manner := rng.IntN(6)
	for {
		way := manner
		ctx, cancel := context.Background(), context.CancelFunc(func() {})
		if manner > 2 {
			way = rng.IntN(3)
			ctx, cancel = randomTimeout(rng)
		}
		buf := make([]uint64, 1+rng.IntN(10))
		n, err := 1, errPanicked
		func() {
			defer recoverHook()
			switch way {
			case 0:
				buf[0], err = c.Recv(ctx)
			case 1:
				if buf[0], err = c.TryRecv(); err == sluice.ErrEmpty && manner == 1 {
					<-c.Ready()
				}
			default:
				n, err = c.RecvBatch(ctx, buf)
			}
		}()
		cancel()
		if err == sluice.ErrClosed {
			return received
		}
		if err == nil {
			received = append(received, buf[:n]...)
			arrived.Add(int64(n))
		}
	}
}

// errHook is what a hook panics with, and errPanicked stands for the error of a call that did.
var errHook, errPanicked = errors.New("the hook"), errors.New("panicked")

// recoverHook is deferred around calls that may call a hook. A receive that panics has received nothing.
func recoverHook() {
	if p := recover(); p != nil && p != errHook {
		panic(p)
	}
}

// randomTimeout returns a context that is never done, or soon.
func randomTimeout(rng *rand.Rand) (context.Context, context.CancelFunc) {
	if rng.IntN(3) > 0 {
		return context.Background(), func() {}
	}
	return context.WithTimeout(context.Background(), time.Duration(rng.IntN(50))*time.Microsecond)
}

// TestRaceIntoQueue: one receive makes room while a sender finds none, and no other
// receive follows. One of the two must see the other.
func TestRaceIntoQueue(t *testing.T) {
	c := on(t, new(faulty), &ElasticOptions[uint64]{MemoryLimit: 80, DiskLimit: 12, Codec: fixed{}})
	for v := range uint64(11) {
		if err := c.TrySend(v); err != nil {
			t.Fatal(err)
		}
	}
	for v := range uint64(50_000) {
		sent := make(chan error)
		go func() { sent <- c.Send(context.Background(), v+11) }()
		if got, err := c.TryRecv(); got != v || err != nil {
			t.Fatalf("received %d, %v, want %d", got, err, v)
		}
		if err := <-sent; err != nil { // waits forever if a wake-up was lost
			t.Fatal(err)
		}
	}
}
