package spill

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/age"
	"github.com/sluice-go/sluice/spill/internal/logstore"
)

// TestOldestValue: Stats reports the age of the oldest value, in memory or on disk, between bounds
// that are close to each other while values are sent at a steady rate.
func TestOldestValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := on(t, new(faulty), &ElasticOptions[uint64]{MemoryLimit: 5 * 8, Codec: fixed{}})
		oldestValue(t, c, func() { _, _ = c.TryRecv() })
	})
	synctest.Test(t, func(t *testing.T) {
		c := durableOn(newMemoryStore(), &DurableOptions[uint64]{Codec: fixed{}, MemoryLimit: 1000})
		oldestValue(t, c, func() { _, _ = c.TryRecv() })
	})
	synctest.Test(t, func(t *testing.T) { // found when the queue is opened, and given back
		s := newMemoryStore()
		c := durableOn(s, &DurableOptions[uint64]{Codec: fixed{}})
		if err := c.TrySend(1); err != nil {
			t.Fatal(err)
		}
		c = newDurable(c.config, s, logstore.Contents{First: 1, Next: 2, Records: 1})
		time.Sleep(time.Minute)
		if s := c.Stats(); s.OldestAtLeast != time.Minute || s.OldestValue != 0 || s.OldestAtMost != age.Unbounded {
			t.Errorf("a value found a minute ago: %v to %v, %v", s.OldestAtLeast, s.OldestAtMost, s.OldestValue)
		}
		d, err := c.TryRecv()
		if err != nil || c.Stats().OldestValue != 0 {
			t.Error(err, c.Stats().OldestValue)
		}
		if err := c.TrySend(2); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := d.Nack(); err != nil {
			t.Fatal(err)
		}
		if s := c.Stats(); s.OldestAtLeast < time.Minute || s.OldestAtLeast > 2*time.Minute || s.OldestAtMost < 2*time.Minute {
			t.Errorf("a value found two minutes ago, and given back: %v to %v", s.OldestAtLeast, s.OldestAtMost)
		}
	})
}

func oldestValue(t *testing.T, c interface {
	TrySend(v uint64) error
	Stats() sluice.Stats
}, receive func()) {
	t.Helper()
	if age := c.Stats().OldestValue; age != 0 {
		t.Errorf("an empty channel: %v", age)
	}
	for range 3000 {
		if err := c.TrySend(0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
	}
	for left := 3000; left > 0; left -= 500 {
		want, s := time.Duration(left)*time.Second, c.Stats()
		if s.OldestAtLeast > want || s.OldestAtLeast < want*8/10-age.Every*time.Second || s.OldestAtMost < want ||
			s.OldestValue != 0 && (s.OldestValue < want-2*time.Second || s.OldestValue > want+2*time.Second) || s.OldestValue == 0 && left < 3000 {
			t.Errorf("oldest of %d values, one per second: %v (%v to %v)", left, s.OldestValue, s.OldestAtLeast, s.OldestAtMost)
		}
		for range 500 {
			receive()
		}
	}
	if age := c.Stats().OldestValue; age != 0 {
		t.Errorf("a drained channel: %v", age)
	}
}

// TestOldestWaits: Stats reports for how long the first goroutine of each side has waited. One that
// has to look for room again waits on from the same moment.
func TestOldestWaits(t *testing.T) {
	waits := func(t *testing.T, stats func() sluice.Stats, sender, receiver time.Duration) {
		t.Helper()
		synctest.Wait()
		if s := stats(); s.OldestSender != sender || s.OldestReceiver != receiver {
			t.Errorf("a sender has waited for %v, a receiver for %v; want %v and %v", s.OldestSender, s.OldestReceiver, sender, receiver)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		c := on(t, new(faulty), &ElasticOptions[uint64]{MemoryLimit: 5 * 8, Capacity: 1, Codec: fixed{}})
		if err := c.TrySend(1); err != nil {
			t.Fatal(err)
		}
		go func() { _ = c.Send(t.Context(), 2) }()
		waits(t, c.Stats, 0, 0)
		time.Sleep(time.Minute)
		waits(t, c.Stats, time.Minute, 0)
		_, _ = c.TryRecv()
		waits(t, c.Stats, 0, 0)
	})
	synctest.Test(t, func(t *testing.T) {
		c := durableOn(newMemoryStore(), &DurableOptions[uint64]{Codec: fixed{}, Capacity: 1})
		receive := func() { _, _ = c.Recv(t.Context()) }
		go receive()
		waits(t, c.Stats, 0, 0)
		time.Sleep(time.Minute)
		waits(t, c.Stats, 0, time.Minute)
		for range 3 { // one is received, one is in flight, and one waits
			go func() { _ = c.Send(t.Context(), 1) }()
		}
		waits(t, c.Stats, 0, 0)
		time.Sleep(time.Minute)
		waits(t, c.Stats, time.Minute, 0)
		c.mu.Lock()
		c.retry(func(w *waiter) bool { return c.retrying == 0 }) // in vain: there is no room
		c.mu.Unlock()
		time.Sleep(time.Minute)
		waits(t, c.Stats, 2*time.Minute, 0)
		c.Close()
		waits(t, c.Stats, 0, 0)
	})
}
