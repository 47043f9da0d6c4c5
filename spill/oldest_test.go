package spill

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/age"
	"github.com/sluice-go/sluice/spill/internal/logstore"
)

// TestOldestValue: Stats reports the age of the oldest value, in memory or on disk. It is
// a lower bound, and close while values are sent at a steady rate.
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
		if age := c.Stats().OldestValue; age != time.Minute {
			t.Errorf("a value found a minute ago: %v", age)
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
		if age := c.Stats().OldestValue; age < time.Minute || age > 2*time.Minute {
			t.Errorf("a value found two minutes ago, and given back: %v", age)
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
		most := time.Duration(left) * time.Second
		if oldest := c.Stats().OldestValue; oldest > most || oldest < most*8/10-age.Every*time.Second {
			t.Errorf("oldest of %d values, one per second: %v", left, oldest)
		}
		for range 500 {
			receive()
		}
	}
	if age := c.Stats().OldestValue; age != 0 {
		t.Errorf("a drained channel: %v", age)
	}
}
