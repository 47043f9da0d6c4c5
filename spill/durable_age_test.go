package spill

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/spill/internal/logstore"
)

// aging returns a Durable for n values, of which each is too old after a minute.
func aging(n int, overflow sluice.Overflow) (*Durable[uint64], *memoryStore, *dropLog) {
	s, l := newMemoryStore(), new(dropLog)
	o := &DurableOptions[uint64]{Capacity: n, Overflow: overflow, MaxAge: time.Minute, Codec: fixed{}, OnUndelivered: l.hook}
	return durableOn(s, o), s, l
}

// reopened returns a Durable on what s holds.
func reopened(c *Durable[uint64], s *memoryStore) *Durable[uint64] {
	found := logstore.Contents{First: c.tail, Next: c.tail}
	for seq, payload := range s.records {
		found.First = min(found.First, seq)
		found.Records++
		if found.Bytes += int64(len(payload)); s.times[seq] != 0 {
			found.Bytes += timeCost
		}
	}
	return newDurable(c.config, s, found)
}

// TestMaxAge: a value of exactly MaxAge is received, an older one never, before and after
// reopening. Values that are too old are deleted in few writes.
func TestMaxAge(t *testing.T) {
	for _, reopens := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c, s, l := aging(0, sluice.Block)
			if _, err := c.SendBatch(t.Context(), make([]uint64, 300)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(30 * time.Second)
			if err := c.TrySend(1); err != nil {
				t.Fatal(err)
			}
			if reopens {
				c = reopened(c, s)
			}
			time.Sleep(30 * time.Second)
			if d, err := c.TryRecv(); err != nil || d.Value != 0 {
				t.Fatal("a value of exactly MaxAge:", err)
			}
			if age := c.Stats().OldestValue; age != time.Minute {
				t.Errorf("OldestValue is %v", age)
			}
			time.Sleep(time.Nanosecond)
			before := s.written()
			d, err := c.TryRecv()
			if err != nil || d.Value != 1 || s.written() != before+2 {
				t.Fatalf("reopened %v: %v, %d writes for 299 values", reopens, err, s.written()-before)
			}
			if st := c.Stats(); st.TooOld != 299 || st.Dropped != 299 || len(l.values) != 299 || slices.Min(l.reasons) != sluice.TooOld {
				t.Errorf("reopened %v: dropped %d, %+v", reopens, len(l.values), st)
			}
			balance(t, c)
			time.Sleep(time.Hour)
			if err := d.Nack(); err != nil { // it becomes too old only now
				t.Fatal(err)
			}
			if _, err := c.TryRecv(); err != sluice.ErrEmpty || c.Stats().TooOld != 300 || len(s.records) != 1 {
				t.Errorf("reopened %v: given back too late: %v, %d records", reopens, err, len(s.records))
			}
			balance(t, c)
		})
	}
}

// TestMaxAgeClocks: values without a time, or with one in the future, are as old as
// OpenDurable.
func TestMaxAgeClocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, _ := aging(0, sluice.Block)
		if _, err := c.SendBatch(t.Context(), []uint64{1, 2, 3, 9}); err != nil {
			t.Fatal(err)
		}
		future := time.Now().Add(time.Hour).UnixNano()
		s.times[1], s.times[2], s.times[4] = 0, future, future
		time.Sleep(50 * time.Second)
		c = reopened(c, s)
		time.Sleep(time.Minute)
		if err := c.TrySend(4); err != nil { // evicts nothing: 1 is a minute old
			t.Fatal(err)
		}
		for want := uint64(1); want <= 2; want++ {
			if d, err := c.TryRecv(); err != nil || d.Value != want {
				t.Fatalf("value %d: %v", want, err)
			}
		}
		time.Sleep(time.Nanosecond)
		if d, err := c.TryRecv(); err != nil || d.Value != 4 || c.Stats().TooOld != 2 {
			t.Errorf("3 was stored 110 seconds ago, and 9 is as old as OpenDurable: %v, %+v", err, c.Stats())
		}
	})
}

// TestExpiryFails: if values that are too old cannot be deleted, the receive returns the error, and
// they are neither received nor passed to the hook.
func TestExpiryFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, l := aging(0, sluice.Block)
		if _, err := c.SendBatch(t.Context(), []uint64{1, 2}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		broken := errors.New("input/output error")
		s.onWrite = func(uint64, [][]byte, []uint64) error { return broken }
		for range 2 {
			if _, err := c.TryRecv(); err != broken || c.Len() != 2 || len(l.values) > 0 {
				t.Errorf("%v, %d queued, dropped %v", err, c.Len(), l.values)
			}
			balance(t, c)
		}
		s.onWrite = nil
		if _, err := c.TryRecv(); err != sluice.ErrEmpty || !slices.Equal(l.values, []uint64{1, 2}) {
			t.Errorf("%v, dropped %v", err, l.values)
		}
		balance(t, c)
	})
}

// TestExpiryWakes: senders that wait at a full queue are woken when the oldest value becomes too old,
// at that time, and their values replace such values in one write. No timer runs without them.
func TestExpiryWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, l := aging(3, sluice.Block)
		start := time.Now()
		for v := range uint64(3) {
			if err := c.TrySend(v); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second)
		}
		if c.expiry.armed || c.TrySend(9) != sluice.ErrFull {
			t.Error("the timer is set without a sender")
		}
		writes := s.written()
		var at [3]time.Duration
		for i := range at {
			go func() {
				if err := c.Send(context.Background(), uint64(10+i)); err != nil {
					t.Error(err)
				}
				at[i] = time.Since(start)
			}()
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := [3]time.Duration{60*time.Second + 1, 70*time.Second + 1, 80*time.Second + 1}; at != want || s.written() != writes+3 {
			t.Errorf("sent after %v, want %v; %d writes", at, want, s.written()-writes)
		}
		slices.Sort(l.values)
		if !slices.Equal(l.values, []uint64{0, 1, 2}) || c.expiry.armed || c.retrying != 0 {
			t.Errorf("dropped %v, timer %v, retrying %d", l.values, c.expiry.armed, c.retrying)
		}
		balance(t, c)
		go func() { _ = c.Send(context.Background(), 20) }()
		synctest.Wait()
		time.Sleep(9 * time.Second)
		if armed := c.expiry.armed; !armed {
			t.Error("a sender waits without a timer")
		}
		d, err := c.TryRecv() // 10, which makes no room until it is acknowledged
		if err == nil {
			err = d.Ack()
		}
		synctest.Wait()
		if err != nil || c.expiry.armed || c.Len() != 3 {
			t.Errorf("%v: timer %v, %d queued", err, c.expiry.armed, c.Len())
		}
	})
}

// TestExpiryWakesAll: when several values become too old at once, as many senders proceed, and share
// a write.
func TestExpiryWakesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, _ := aging(4, sluice.Block)
		if _, err := c.SendBatch(t.Context(), make([]uint64, 4)); err != nil {
			t.Fatal(err)
		}
		writes, sent := s.written(), make(chan error, 6)
		s.onWrite = func(uint64, [][]byte, []uint64) error {
			time.Sleep(time.Millisecond) // meanwhile the others join the next commit
			return nil
		}
		for range cap(sent) {
			go func() { sent <- c.Send(context.Background(), 1) }()
		}
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		if len(sent) != 4 || c.Stats().SendersWaiting != 2 || s.written() > writes+3 {
			t.Errorf("%d of 4 senders proceeded, %d wait, %d writes", len(sent), c.Stats().SendersWaiting, s.written()-writes)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(sent) != 6 || c.TrySend(2) != nil { // two of the four that are left become too old
			t.Errorf("%d senders proceeded", len(sent))
		}
		balance(t, c)
	})
}

// TestExpiryWithoutReceiver: a queue without a receiver and without a limit holds what MaxAge brings
// in.
func TestExpiryWithoutReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, l := aging(0, sluice.Block)
		for v := range uint64(500) {
			if err := c.TrySend(v); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		if len(s.records) > 62 || s.written() != 500 || !slices.IsSorted(l.values) || len(l.values)+len(s.records) != 500 {
			t.Errorf("%d records, %d writes, %d dropped", len(s.records), s.written(), len(l.values))
		}
	})
}

// TestExpiryIsNotEnough: values that are too old are deleted although the room that they leave is not
// enough for the value being sent.
func TestExpiryIsNotEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, l := aging(0, sluice.Block)
		for v := range uint64(5) {
			if err := c.TrySend(v); err != nil {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Second)
		}
		c.config.capacity = 2 // it is opened with a limit
		c = reopened(c, s)
		if err := c.TrySend(9); err != sluice.ErrFull || len(s.records) != 3 || !slices.Equal(l.values, []uint64{0, 1}) {
			t.Errorf("%v: %d records, dropped %v", err, len(s.records), l.values)
		}
		balance(t, c)
	})
}

// TestTooOldOrOverflowed: DropOldest reports the reason for each value.
func TestTooOldOrOverflowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, l := aging(2, sluice.DropOldest)
		for v := range uint64(4) {
			if err := c.TrySend(v); err != nil {
				t.Fatal(err)
			}
			time.Sleep([]time.Duration{1, 50 * time.Second, 1, 20 * time.Second}[v])
		}
		if err := c.TrySend(4); err != nil { // 2 is 20 seconds old
			t.Fatal(err)
		}
		time.Sleep(50 * time.Second)
		if err := c.TrySend(5); err != nil { // 3 is 70 seconds old
			t.Fatal(err)
		}
		want := []sluice.Reason{sluice.Overflowed, sluice.Overflowed, sluice.Overflowed, sluice.TooOld}
		if st := c.Stats(); !slices.Equal(l.values, []uint64{0, 1, 2, 3}) || !slices.Equal(l.reasons, want) || st.TooOld != 1 || st.Dropped != 4 {
			t.Errorf("dropped %v, %v, %+v", l.values, l.reasons, st)
		}
	})
}

// TestExpiryHook: a hook may use the channel, and panic: it gets all values, and the channel
// remains usable.
func TestExpiryHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, l := aging(3, sluice.Block)
		c.config.undelivered = func(v uint64, why sluice.Reason) {
			l.hook(v, why)
			if v == 0 {
				if err := c.TrySend(7); err != nil {
					t.Error("a send of the hook:", err)
				}
				panic("hook")
			}
		}
		if _, err := c.SendBatch(t.Context(), []uint64{0, 1, 2}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		func() {
			defer func() {
				if p := recover(); p != "hook" {
					t.Errorf("TryRecv: %v", p)
				}
			}()
			_, err := c.TryRecv()
			t.Error("TryRecv has returned", err)
		}()
		if _, got := takeAll(t, c); !slices.Equal(l.values, []uint64{0, 1, 2}) || !slices.Equal(got, []uint64{7}) {
			t.Errorf("dropped %v, received %v", l.values, got)
		}
		balance(t, c)
	})
}

// TestReceiverBehindExpired: a receiver that waits gets a value that was given back in time, and one
// that comes back too late is deleted by it.
func TestReceiverBehindExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, l := aging(0, sluice.Block)
		if err := c.TrySend(1); err != nil {
			t.Fatal(err)
		}
		ds, _ := takeAll(t, c)
		received := make(chan uint64, 2)
		for range 2 {
			go func() {
				d, err := c.Recv(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				received <- d.Value
			}()
		}
		time.Sleep(2 * time.Minute)
		if err := ds[0].Nack(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(received) != 0 || !slices.Equal(l.values, []uint64{1}) || c.Stats().ReceiversWaiting != 2 {
			t.Errorf("%d received, dropped %v, %d wait", len(received), l.values, c.Stats().ReceiversWaiting)
		}
		if _, err := c.SendBatch(context.Background(), []uint64{2, 3}); err != nil {
			t.Error(err)
		}
		if a, b := <-received, <-received; a+b != 5 {
			t.Errorf("received %d and %d", a, b)
		}
	})
}

// TestTimerKeepsNothing: the timer of a sender that waits does not keep a channel in memory after
// the sender has left.
func TestTimerKeepsNothing(t *testing.T) {
	c, _, _ := aging(1, sluice.Block)
	if err := c.TrySend(1); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	sent := make(chan error)
	go func() { sent <- c.Send(ctx, 2) }()
	for c.Stats().SendersWaiting == 0 {
		runtime.Gosched()
	}
	c.mu.Lock()
	if !c.expiry.armed {
		t.Error("the timer is not set")
	}
	c.mu.Unlock()
	cancel()
	if err := <-sent; err != context.Canceled || c.expiry.armed {
		t.Errorf("%v; timer %v", err, c.expiry.armed)
	}
	c.mu.Lock()
	c.expiry.armed = true // as if it had not been stopped
	c.expiry.timer.Reset(time.Hour)
	c.mu.Unlock()
	ref := weak.Make(c)
	c = nil
	for range 100 {
		if runtime.GC(); ref.Value() == nil {
			return
		}
	}
	t.Error("the timer keeps the channel")
}
