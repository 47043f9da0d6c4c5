package jetstream

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-go/sluice"
)

// Waits are counted exactly, including those under way.
func TestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var of counters
		w := &of.sendWaits
		want := func(n uint64, now int, total time.Duration) {
			t.Helper()
			if w.n != n || w.now != now || w.time() != total {
				t.Errorf("%d waits, %d now, of %v; want %d, %d, %v", w.n, w.now, w.time(), n, now, total)
			}
		}
		want(0, 0, 0)
		first := of.wait(&of.sendWaits)
		time.Sleep(time.Second)
		want(1, 1, time.Second)
		second := of.wait(&of.sendWaits)
		time.Sleep(time.Second)
		want(2, 2, 3*time.Second)
		first()
		time.Sleep(time.Second)
		want(2, 1, 4*time.Second)
		second()
		time.Sleep(time.Second)
		want(2, 0, 4*time.Second)
		of.wait(&of.recvWaits)()
		if of.recvWaits.n != 1 || w.n != 2 {
			t.Errorf("waits: %d of receivers, %d of senders", of.recvWaits.n, w.n)
		}
	})
}

// The high-water mark does not fall with the number of values.
func TestHighWater(t *testing.T) {
	t.Parallel()
	var of counters
	for _, stored := range []uint64{3, 7, 2} {
		of.observe(&natsjs.StreamInfo{State: natsjs.StreamState{Msgs: stored, Bytes: 10 * stored}})
	}
	if of.stored != 2 || of.bytes != 20 || of.highWater != 7 {
		t.Errorf("after 3, 7 and 2: %d values, %d bytes, the high-water mark %d", of.stored, of.bytes, of.highWater)
	}
}

// OldestValue is the age of the first stored value, by the clock of the servers.
func TestOldestValue(t *testing.T) {
	t.Parallel()
	var c counters
	now := time.Now()
	for _, test := range []struct {
		stored    uint64
		at, first time.Time
		want      time.Duration
	}{
		{2, now, now.Add(-time.Minute), time.Minute},
		{0, now, time.Time{}, 0},
		{1, time.Time{}, now, 0}, // servers that do not report their time
		{1, now, now.Add(time.Second), 0},
	} {
		c.observe(&natsjs.StreamInfo{TimeStamp: test.at, State: natsjs.StreamState{Msgs: test.stored, FirstTime: test.first}})
		if c.oldest != test.want {
			t.Errorf("%d values, the first one of %v at %v: %v, want %v", test.stored, test.first, test.at, c.oldest, test.want)
		}
	}
	ch := open(t, Options[int]{})
	mustSend(t, ch, 1)
	until(t, "the value ages", func() bool { return ch.Stats().OldestValue > 10*time.Millisecond })
	mustRecv(t, ch, 1)
	until(t, "it is acknowledged", func() bool { return ch.Stats().OldestValue == 0 })
}

// A warning is logged once, reported while it holds, and withdrawn.
func TestWarnings(t *testing.T) {
	t.Parallel()
	var j journal
	c := newCore(config{log: j.log()}, &connection{})
	for range 2 {
		c.warn(warnSync, "zeal")
		c.warn(warnClose, "ardor")
	}
	if got := c.warnings.String(); got != "ardor; zeal" {
		t.Errorf("two warnings: %q", got)
	}
	if n := strings.Count(j.String(), "zeal"); n != 1 {
		t.Errorf("logged %d times", n)
	}
	c.warn(warnClose, "")
	if got := c.warnings.String(); got != "zeal" {
		t.Errorf("after one was withdrawn: %q", got)
	}
	c.warn(warnSync, "more zeal")
	if got := c.warnings.String(); got != "more zeal" || !strings.Contains(j.String(), "more zeal") {
		t.Errorf("after one has changed: %q", got)
	}
}

// Stats reports what happened, and after Shutdown the last known state.
func TestStats(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{Capacity: 3})
	mustSend(t, c, 1)
	if n, err := c.SendBatch(patient(t), []int{2, 3}); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	if err := c.TrySend(4); err != sluice.ErrFull {
		t.Errorf("TrySend: %v", err)
	}
	mustHold(t, c, 3)
	if s := c.Stats(); s.Len != 3 || s.Cap != 3 || s.HighWater != 3 || s.Sent != 3 || s.Received != 0 || s.SendWaits != 0 || s.Closed {
		t.Errorf("after three were sent: %+v", s)
	}
	mustRecv(t, c, 1, 2)
	until(t, "it is acknowledged", func() bool { return c.Len() == 1 })
	if s := c.Stats(); s.Len != 1 || s.HighWater != 3 || s.Sent != 3 || s.Received != 2 || s.RecvWaits == 0 || s.RecvWaitTime == 0 || s.ReceiversWaiting != 0 {
		t.Errorf("after two were received: %+v", s)
	}
	c.Close()
	if s := c.Stats(); !s.Closed {
		t.Errorf("after Close: %+v", s)
	}
	leave(t, c)
	if s := c.Stats(); s.Len != 1 || s.Disk.Bytes < 10 || s.Dropped != 0 || c.Len() != 1 || c.Cap() != 3 {
		t.Errorf("after Shutdown: %+v", s)
	}
}
