package spill

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/spill/internal/logstore"
)

// What happens to values that are too old when a read or a commit fails, the queue is opened again
// or ended meanwhile, or the hook panics.

// A slowStore takes a second to close, like a log that writes a checkpoint.
type slowStore struct {
	*memoryStore
	closing atomic.Bool
	late    atomic.Int32 // writes since then
}

func (s *slowStore) Close() error {
	s.closing.Store(true)
	time.Sleep(time.Second)
	return s.memoryStore.Close()
}

func (s *slowStore) Write(first uint64, payloads [][]byte, deletes []uint64, at int64) error {
	if s.closing.Load() {
		s.late.Add(1)
	}
	return s.memoryStore.Write(first, payloads, deletes, at)
}

// TestExpiryAfterShutdown: a receiver was woken for a value that is too old, and Shutdown closes the
// store before the receiver runs. It deletes nothing.
func TestExpiryAfterShutdown(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			s := &slowStore{memoryStore: newMemoryStore()}
			c := durableOn(s, &DurableOptions[uint64]{MaxAge: time.Minute, Codec: fixed{}})
			_ = c.TrySend(1)
			d, _ := c.TryRecv()
			received := make(chan error, 1)
			go func() {
				_, err := c.Recv(context.Background())
				received <- err
			}()
			time.Sleep(2 * time.Minute)
			_ = d.Nack()
			_ = c.Shutdown()
			if err := <-received; err != sluice.ErrClosed || s.late.Load() != 0 {
				t.Errorf("Recv: %v; %d writes to a store that is being closed", err, s.late.Load())
			}
		})
	}
}

// TestExpiryFailsLate: the commit of a receive that deletes values fails, and the commit after it
// opens the queue again before the receiver learns of that. Its values are queued once.
func TestExpiryFailsLate(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that the receiver runs last
	synctest.Test(t, func(t *testing.T) {
		c, s, _ := aging(0, sluice.Block)
		c.config.log = slog.New(slog.DiscardHandler)
		_, _ = c.SendBatch(t.Context(), []uint64{8, 9, 1, 2})
		first, _ := c.TryRecv()
		second, _ := c.TryRecv()
		last := s
		c.reopen = func() (store, logstore.Contents, Repair, error) {
			again, found := last.again()
			found.Bytes += int64(len(again.records)) * timeCost
			last = again
			return again, found, Repair{}, nil
		}
		time.Sleep(2 * time.Minute)
		gate, writes := make(chan error), 0
		s.onWrite = func(uint64, [][]byte, []uint64) error {
			if writes++; writes <= 2 {
				return <-gate
			}
			return errNotStored
		}
		start := func(f func()) { go f(); synctest.Wait() }
		c.config.maxAge = 10 * time.Hour
		start(func() { _ = c.Send(context.Background(), 3) }) // the first commit waits at the gate
		c.config.maxAge = time.Minute
		start(func() { _ = first.Ack() }) // the second one has only deletions
		start(func() { _ = second.Ack() })
		start(func() { _, _ = c.TryRecv() })
		gate <- nil
		synctest.Wait()
		start(func() { _ = c.Send(context.Background(), 6) }) // the third one opens the queue again
		gate <- errors.New("no space")
		synctest.Wait()
		c.mu.Lock()
		if c.dropping != 0 || c.queued() != len(last.records)-c.flight.records {
			t.Errorf("dropping %d, queued %d of %d records, requeued %v", c.dropping, c.queued(), len(last.records), c.requeued)
		}
		c.mu.Unlock()
		_ = c.Shutdown()
	})
}

// onRead changes what reads of the store do.
func onRead(s *memoryStore, do func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onRead = do
}

// TestExpiryUnreadable: a value that was given back is too old, and cannot be read. A receive returns
// the error, although the queue knows the age already.
func TestExpiryUnreadable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, _ := aging(1, sluice.Block)
		_ = c.TrySend(1)
		d, _ := c.TryRecv()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		go func() { _ = c.Send(ctx, 2) }() // it looks at the age
		synctest.Wait()
		_ = d.Nack()
		time.Sleep(2 * time.Minute)
		broken, reads := errors.New("input/output error"), 0
		onRead(s, func() error {
			if reads++; reads > 1000 {
				s.onRead = nil // let it end
			}
			return broken
		})
		if _, err := c.TryRecv(); !errors.Is(err, broken) || reads > 3 {
			t.Errorf("TryRecv: %v, after %d reads", err, reads)
		}
	})
}

// TestExpiryReadFailsOnce: a read fails when the timer of a sender is to be set. The sender gets the
// room all the same.
func TestExpiryReadFailsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, _ := aging(1, sluice.Block)
		_ = c.TrySend(1)
		d, _ := c.TryRecv()
		start, sent := time.Now(), make(chan error, 1)
		go func() { sent <- c.Send(t.Context(), 2) }()
		synctest.Wait()
		onRead(s, func() error { return errors.New("input/output error") })
		_ = d.Nack()
		onRead(s, nil)
		time.Sleep(2 * time.Minute)
		select {
		case err := <-sent:
			if err != nil {
				t.Errorf("Send: %v after %v", err, time.Since(start))
			}
		default:
			t.Error("the sender waits beside a value that is too old")
			_ = c.Shutdown()
		}
	})
}

// TestExpiryInBatch: a batch that has a delivery drops nothing: a hook that panics would lose it.
func TestExpiryInBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, _ := aging(2, sluice.Block)
		_, _ = c.SendBatch(t.Context(), []uint64{1, 2})
		s.times[1] = 0 // as if it was stored without MaxAge: its age begins when the queue is opened
		time.Sleep(50 * time.Second)
		c = reopened(c, s)
		c.config.undelivered = func(uint64, sluice.Reason) { panic("the hook") }
		time.Sleep(20 * time.Second)
		buf := make([]uint64, 2)
		if n, err := c.AutoAck().RecvBatch(t.Context(), buf); n != 1 || buf[0] != 1 || err != nil {
			t.Errorf("received %d of %d: %v", n, buf, err)
		}
		func() {
			defer func() { _ = recover() }()
			_, err := c.TryRecv()
			t.Errorf("TryRecv of a value that is too old: %v", err)
		}()
		if c.InFlight() != 0 || c.Len() != 0 {
			t.Errorf("%d in flight, %d queued", c.InFlight(), c.Len())
		}
	})
}

// TestBatchPassesOldValues: a receive for the rest of a batch waits for a write that would replace the
// last values, and finds one too old when it fails. It deletes none, so a receiver that waits behind
// it does, and gets the other value.
func TestBatchPassesOldValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemoryStore()
		c := durableOn(s, &DurableOptions[uint64]{Codec: fixed{}, Capacity: 3, Overflow: sluice.DropOldest, MaxAge: time.Minute})
		if n, err := c.SendBatch(never, []uint64{1, 2}); err != nil {
			t.Fatal(n, err)
		}
		time.Sleep(59 * time.Second)
		if err := c.Send(never, 3); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Recv(never); err != nil {
			t.Fatal(err)
		}
		s.onWrite = func(uint64, [][]byte, []uint64) error {
			s.onWrite = nil
			time.Sleep(30 * time.Second)
			return errors.New("no space")
		}
		go func() { _, _ = c.SendBatch(never, []uint64{4, 5}) }()
		synctest.Wait()
		go func() { _, _ = c.recv(engine.NoWait{}, false) }()
		synctest.Wait()
		ctx, stop := context.WithTimeout(context.Background(), 31*time.Second)
		defer stop()
		if d, err := c.Recv(ctx); err != nil || d.Value != 3 {
			t.Errorf("received %v, %v; %d values are queued", d, err, c.Len())
		}
	})
}
