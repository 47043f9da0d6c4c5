package spill

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/suite"
	"github.com/sluice-go/sluice/spill/internal/logstore"
)

// TestRandomWalk: random calls at random moments on a queue with MaxAge, mostly with Fresh, and small limits; slow
// writes, full disks, failed reads, writes with an unknown outcome after which the queue is opened
// again, hooks that take long. Whenever all goroutines wait, none waits beside what it waits for, and
// all counts add up.
func TestRandomWalk(t *testing.T) {
	rounds := suite.Rounds(15, 100)
	base := rand.Uint64()
	for i := range rounds {
		seed := base + uint64(i)
		for _, overflow := range []sluice.Overflow{sluice.Block, sluice.DropNewest, sluice.DropOldest} {
			for _, failing := range []walkFaults{{}, {reads: true}, {reopens: true}, {reads: true, reopens: true}} {
				synctest.Test(t, func(t *testing.T) {
					if err := newWalk(seed, overflow, failing).run(); err != nil {
						t.Fatalf("seed %d, %v, %+v: %v", seed, overflow, failing, err)
					}
				})
			}
		}
	}
}

// walkFaults are the failures of a walk, beside full disks.
type walkFaults struct{ reads, reopens bool }

// A walk is one program.
type walk struct {
	random *rand.Rand
	faults walkFaults
	c      *Durable[[]byte]
	held   chan *Delivery[[]byte]

	mu          sync.Mutex // of what the store reads
	last        *memoryStore
	slow        time.Duration // a write takes
	writeFails  error         // once
	failedReads int           // that are left
}

func newWalk(seed uint64, overflow sluice.Overflow, faults walkFaults) *walk {
	w := &walk{random: rand.New(rand.NewPCG(seed, 1)), faults: faults, held: make(chan *Delivery[[]byte], 1000), last: newMemoryStore()}
	o := &DurableOptions[[]byte]{
		Capacity: 1 + w.random.IntN(5), Overflow: overflow, MaxAge: time.Minute, MemoryLimit: 200,
		Log: slog.New(slog.DiscardHandler), OnUndelivered: func([]byte, sluice.Reason) {},
	}
	o.Fresh = []time.Duration{0, time.Second, 20 * time.Second, 50 * time.Second}[w.random.IntN(4)]
	if w.random.IntN(2) == 0 {
		o.DiskLimit = int64(o.Capacity) * 40
	}
	if w.random.IntN(3) == 0 {
		o.OnUndelivered = func(v []byte, _ sluice.Reason) { time.Sleep(time.Duration(len(v)) * time.Second) }
	}
	w.last.onWrite, w.last.onRead = w.onWrite, w.onRead
	w.c = durableOn(w.last, o)
	if faults.reopens {
		w.c.reopen = w.reopen
	}
	return w
}

func (w *walk) onWrite(uint64, [][]byte, []uint64) error {
	w.mu.Lock()
	err, slow := w.writeFails, w.slow
	w.writeFails = nil
	w.mu.Unlock()
	time.Sleep(slow)
	return err
}

func (w *walk) onRead() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failedReads == 0 {
		return nil
	}
	w.failedReads--
	return errors.New("input/output error")
}

func (w *walk) reopen() (store, logstore.Contents, Repair, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	again, found := w.last.again()
	for seq := range again.records {
		if again.times[seq] != 0 {
			found.Bytes += timeCost
		}
	}
	again.onWrite, again.onRead = w.onWrite, w.onRead
	w.last = again
	return again, found, Repair{}, nil
}

// set changes what the store reads.
func (w *walk) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

func (w *walk) hold(d *Delivery[[]byte], err error) {
	if err == nil {
		w.held <- d
	}
}

// settle ends a delivery.
func (w *walk) settle() {
	select {
	case d := <-w.held:
		if w.random.IntN(2) == 0 {
			_ = d.Nack()
			return
		}
		go func() {
			if d.Ack() != nil {
				_ = d.Nack()
			}
		}()
	default:
	}
}

// step makes one call.
func (w *walk) step(ctx context.Context) {
	n, size, c := 1+w.random.IntN(6), w.random.IntN(24), w.c
	switch p := w.random.IntN(100); {
	case p < 25:
		go func() { _ = c.Send(ctx, make([]byte, size)) }()
	case p < 35:
		vs := make([][]byte, n)
		for i := range vs {
			vs[i] = make([]byte, size)
		}
		go func() { _, _ = c.SendBatch(ctx, vs) }()
	case p < 40:
		go func() { _ = c.TrySend(make([]byte, size)) }()
	case p < 55:
		go func() { w.hold(c.Recv(ctx)) }()
	case p < 60:
		go func() {
			ds := make([]*Delivery[[]byte], n)
			got, _ := c.TryRecvBatch(ds)
			for _, d := range ds[:got] {
				w.hold(d, nil)
			}
		}()
	case p < 80:
		for range n {
			w.settle()
		}
	case p < 84:
		w.set(func() { w.writeFails = errors.New("no space") })
	case p < 86 && w.faults.reopens:
		err := []error{errUnknown, errNotStored}[w.random.IntN(2)]
		w.set(func() { w.writeFails = err })
	case p < 88 && w.faults.reads:
		w.set(func() { w.failedReads = 1 + n%2 })
	default:
		time.Sleep(time.Duration(w.random.IntN(40)) * time.Second)
	}
}

func (w *walk) run() error {
	all, cancel := context.WithCancel(context.Background())
	defer func() {
		cancel()
		time.Sleep(time.Hour)
		_ = w.c.Shutdown()
		synctest.Wait()
	}()
	for range 250 {
		slow := time.Duration(max(0, w.random.IntN(90)-60)) * time.Second
		w.set(func() { w.slow = slow })
		ctx := all
		if w.random.IntN(2) == 0 { // some end when values become too old
			var stop context.CancelFunc
			ctx, stop = context.WithTimeout(all, []time.Duration{time.Second, time.Minute / 2, time.Minute, time.Minute + 1}[w.random.IntN(4)])
			defer stop()
		}
		w.step(ctx)
		if w.random.IntN(2) == 0 {
			if w.faults.reads { // the disk is well again, and there is time to find out
				w.set(func() { w.failedReads = 0 })
				time.Sleep(3 * time.Second)
			}
			synctest.Wait()
			if err := w.look(); err != nil {
				return err
			}
		}
	}
	time.Sleep(time.Hour)
	synctest.Wait()
	return w.look()
}

// look returns what is wrong while all goroutines wait.
func (w *walk) look() error {
	c := w.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leading || c.pending != nil || c.reopening != nil {
		return nil // a write is slow
	}
	if c.failure != nil {
		if c.senders.Len()+c.receivers.Len() > 0 {
			return fmt.Errorf("%d senders and %d receivers wait after a failure", c.senders.Len(), c.receivers.Len())
		}
		return nil
	}
	old, err := c.isOld(c.oldest(), 0)
	first, sender := c.senders.First(), ""
	switch {
	case first == nil:
	case c.closed:
		sender = "closed"
	case c.config.overflow == sluice.DropOldest && c.free(first.Value.need), c.config.overflow != sluice.DropOldest && c.fits(first.Value.need):
		sender = "beside room"
	case c.config.overflow == sluice.DropOldest || c.queued() == 0:
	case old && !c.expiry.armed:
		sender = "beside a value that is too old"
	case !c.expiry.armed:
		sender = "without a timer"
	}
	switch {
	case c.retrying != 0 || c.promised != 0 || c.dropping != 0 || c.adding != 0 || c.evicting != 0 || c.acking.records != 0 || c.receivers.brief != 0:
		return fmt.Errorf("retrying %d, promised %d, dropping %d, adding %d, evicting %d, acking %d, brief %d", c.retrying, c.promised, c.dropping, c.adding, c.evicting, c.acking.records, c.receivers.brief)
	case c.records != c.queued()+c.flight.records || c.records != len(w.last.records):
		return fmt.Errorf("%d records count: %d queued, %d in flight, %d stored", c.records, c.queued(), c.flight.records, len(w.last.records))
	case c.records > c.config.capacity && !w.faults.reopens: // then a write is repeated without its drops
		return fmt.Errorf("%d records, limit %d", c.records, c.config.capacity)
	case c.receivers.Len() > 0 && c.queued() > 0 && err == nil && (!old || c.queued() > 1):
		return fmt.Errorf("%d receivers wait, %d values are queued", c.receivers.Len(), c.queued())
	case sender != "":
		return fmt.Errorf("a sender waits %s", sender)
	}
	return partsError(c, w.last)
}
