package spill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/spill/internal/logstore"
)

// A dropLog is what the hook of a channel was called with.
type dropLog struct {
	mu      sync.Mutex
	values  []uint64
	reasons []sluice.Reason
}

func (l *dropLog) hook(v uint64, why sluice.Reason) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.values, l.reasons = append(l.values, v), append(l.reasons, why)
}

// dropping returns a Durable for n values that drops the oldest ones.
func dropping(n int) (*Durable[uint64], *memoryStore, *dropLog) {
	s, l := newMemoryStore(), new(dropLog)
	o := &DurableOptions[uint64]{Capacity: n, Overflow: sluice.DropOldest, Codec: fixed{}, OnUndelivered: l.hook}
	return durableOn(s, o), s, l
}

// takeAll receives what is queued, without waiting.
func takeAll(t *testing.T, c *Durable[uint64]) (ds []*Delivery[uint64], values []uint64) {
	t.Helper()
	for {
		d, err := c.TryRecv()
		if err == sluice.ErrEmpty {
			return ds, values
		}
		if err != nil {
			t.Fatal(err)
		}
		ds, values = append(ds, d), append(values, d.Value)
	}
}

// balance checks the sums of Stats, for a policy other than DropNewest.
func balance(t *testing.T, c *Durable[uint64]) {
	t.Helper()
	if s := c.Stats(); s.Sent-s.Received-s.Dropped != uint64(s.Len) || s.Len != c.Len() {
		t.Errorf("sent %d, received %d, dropped %d, queued %d", s.Sent, s.Received, s.Dropped, s.Len)
	}
	if c.records < c.queued()+c.flight.records || c.records > c.queued()+c.flight.records+c.adding+c.dropping || c.evicting > c.dropping {
		t.Errorf("%d records count: %d queued, %d in flight, %d being stored, %d being dropped", c.records, c.queued(), c.flight.records, c.adding, c.dropping)
	}
}

// TestDropOldestInOneWrite: a new value and the deletion of the oldest are one write.
func TestDropOldestInOneWrite(t *testing.T) {
	c, s, l := dropping(3)
	var writes []string
	s.onWrite = func(first uint64, payloads [][]byte, deletes []uint64) error {
		writes = append(writes, fmt.Sprint(first, len(payloads), deletes))
		return nil
	}
	for v := range uint64(5) {
		if err := c.TrySend(v); err != nil {
			t.Fatal(err)
		}
		balance(t, c)
	}
	if n, err := c.SendBatch(t.Context(), []uint64{5, 6, 7, 8}); n != 4 || err != nil {
		t.Fatal(n, err)
	}
	if want := []string{"1 1 []", "2 1 []", "3 1 []", "4 1 [1]", "5 1 [2]", "6 3 [3 4 5]"}; !slices.Equal(writes, want) {
		t.Errorf("writes %q, want %q", writes, want)
	}
	if _, got := takeAll(t, c); !slices.Equal(got, []uint64{6, 7, 8}) || !slices.Equal(l.values, []uint64{0, 1, 2, 3, 4, 5}) || slices.Max(l.reasons) != sluice.Overflowed {
		t.Errorf("received %v, dropped %v, %v", got, l.values, l.reasons)
	}
	balance(t, c)
	if c.Cap() != 3 || c.Stats().Cap != 3 || c.Stats().Dropped != 6 {
		t.Errorf("Cap %d, %+v", c.Cap(), c.Stats())
	}
}

// TestDropOldestInFlight: deliveries in flight are not dropped. If they hold all of the room,
// TrySend fails, and Send waits until one is acknowledged or given back.
func TestDropOldestInFlight(t *testing.T) {
	for name, settle := range map[string]func(d *Delivery[uint64]) error{"Ack": (*Delivery[uint64]).Ack, "Nack": (*Delivery[uint64]).Nack} {
		synctest.Test(t, func(t *testing.T) {
			c, _, l := dropping(2)
			n, err := c.SendBatch(t.Context(), []uint64{1, 2})
			ds, _ := takeAll(t, c)
			if n != 2 || err != nil || c.TrySend(3) != sluice.ErrFull {
				t.Fatal(name, n, err)
			}
			sent := make(chan error, 2)
			for v := range uint64(2) {
				go func() { sent <- c.Send(context.Background(), 3+v) }()
				synctest.Wait()
			}
			if len(sent) != 0 || c.Stats().SendersWaiting != 2 || c.TrySend(9) != sluice.ErrFull {
				t.Fatalf("%s: %d sends have returned, %d wait", name, len(sent), c.Stats().SendersWaiting)
			}
			if err := settle(ds[0]); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(<-sent, <-sent); err != nil {
				t.Fatal(err)
			}
			balance(t, c)
			if want := map[string]int{"Ack": 1, "Nack": 2}[name]; len(l.values) != want { // the room is one value's
				t.Errorf("%s: dropped %v", name, l.values)
			}
			if _, got := takeAll(t, c); len(got) != 1 || got[0] < 3 {
				t.Errorf("%s: received %v", name, got)
			}
		})
	}
}

// TestAckMakesRoom: a value whose commit also deletes an acknowledged one needs no other room.
func TestAckMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, l := dropping(2)
		if _, err := c.SendBatch(t.Context(), []uint64{1, 2}); err != nil {
			t.Fatal(err)
		}
		first, err := c.TryRecv()
		if err != nil {
			t.Fatal(err)
		}
		gate := make(chan struct{})
		s.onWrite = func(uint64, [][]byte, []uint64) error {
			<-gate
			return nil
		}
		results := make(chan error, 3)
		go func() { results <- c.Send(context.Background(), 3) }() // replaces 2
		synctest.Wait()
		go func() { results <- first.Ack() }()
		synctest.Wait()
		go func() { results <- c.Send(context.Background(), 4) }()
		synctest.Wait()
		close(gate)
		if err := errors.Join(<-results, <-results, <-results); err != nil {
			t.Error(err)
		}
		if _, got := takeAll(t, c); !slices.Equal(got, []uint64{3, 4}) || !slices.Equal(l.values, []uint64{2}) {
			t.Errorf("received %v, dropped %v", got, l.values)
		}
		balance(t, c)
	})
}

// TestRefused: receivers may take all values while a Send waits for the write before its own. If
// deliveries then hold all of the room, the Send waits for them, and TrySend fails.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, l := dropping(3)
		if _, err := c.SendBatch(t.Context(), []uint64{1, 2, 3}); err != nil {
			t.Fatal(err)
		}
		first, err := c.TryRecv()
		if err != nil {
			t.Fatal(err)
		}
		gate, broken := make(chan error), errors.New("no space")
		s.onWrite = func(uint64, [][]byte, []uint64) error { return <-gate }
		acked, sent, tried := make(chan error, 1), make(chan error, 1), make(chan error, 1)
		go func() { acked <- first.Ack() }()
		synctest.Wait()
		go func() { sent <- c.Send(context.Background(), 4) }()
		go func() { tried <- c.TrySend(5) }()
		synctest.Wait()
		ds, _ := takeAll(t, c)
		gate <- broken
		synctest.Wait()
		if len(sent) != 0 || len(ds) != 2 || c.InFlight() != 3 || c.Stats().SendersWaiting != 1 {
			t.Fatalf("%d in flight, %d senders wait", c.InFlight(), c.Stats().SendersWaiting)
		}
		if err := <-acked; err != broken {
			t.Error("the Ack:", err)
		}
		if err := <-tried; err != sluice.ErrFull {
			t.Error("the TrySend:", err)
		}
		s.onWrite = nil
		if err := errors.Join(first.Ack(), <-sent); err != nil {
			t.Error(err)
		}
		if _, got := takeAll(t, c); !slices.Equal(got, []uint64{4}) || len(l.values) > 0 {
			t.Errorf("received %v, dropped %v", got, l.values)
		}
		balance(t, c)
	})
}

// TestDropFails: if the write fails, nothing was dropped, and the order is as before.
func TestDropFails(t *testing.T) {
	c, s, l := dropping(3)
	if _, err := c.SendBatch(t.Context(), []uint64{1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("no space")
	s.onWrite = func(uint64, [][]byte, []uint64) error { return broken }
	for range 2 {
		if n, err := c.SendBatch(t.Context(), []uint64{4, 5, 6, 7}); n != 0 || err != broken {
			t.Fatal(n, err)
		}
		balance(t, c)
	}
	s.onWrite = nil
	if st := c.Stats(); st.Dropped != 0 || st.Len != 3 || len(l.values) > 0 || len(s.records) != 3 {
		t.Errorf("dropped %v, %+v", l.values, st)
	}
	if err := c.TrySend(8); err != nil {
		t.Fatal(err)
	}
	if _, got := takeAll(t, c); !slices.Equal(got, []uint64{2, 3, 8}) || !slices.Equal(l.values, []uint64{1}) {
		t.Errorf("received %v, dropped %v", got, l.values)
	}
	balance(t, c)
}

// TestDropUnknown: if the outcome is unknown, the hook is not called.
func TestDropUnknown(t *testing.T) {
	c, s, l := dropping(1)
	if err := c.TrySend(1); err != nil {
		t.Fatal(err)
	}
	s.onWrite = func(uint64, [][]byte, []uint64) error { return errUnknown }
	if err := c.TrySend(2); !errors.Is(err, errUnknown) || len(l.values) > 0 {
		t.Errorf("%v, dropped %v", err, l.values)
	}
	if _, err := c.TryRecv(); !errors.Is(err, errUnknown) {
		t.Error(err)
	}
}

// TestReplacedBeforeStored: senders that share a write replace each other's values, which are
// not stored at all. Each is dropped by its own sender.
func TestReplacedBeforeStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, l := dropping(2)
		gate := make(chan struct{})
		var written []int
		s.onWrite = func(_ uint64, payloads [][]byte, deletes []uint64) error {
			<-gate
			written = append(written, len(payloads), len(deletes))
			return nil
		}
		var sent atomic.Int64
		for v := range uint64(7) {
			go func() {
				if err := c.Send(context.Background(), v); err != nil {
					t.Error(err)
				}
				sent.Add(1)
			}()
			synctest.Wait()
		}
		gate <- struct{}{} // 0 is stored, and the next write replaces it
		synctest.Wait()
		received := make(chan uint64, 1)
		go func() {
			d, err := c.TryRecv()
			if err != nil {
				t.Error(err)
				return
			}
			received <- d.Value
		}()
		synctest.Wait()
		if len(received) > 0 || c.Len() != 1 {
			t.Errorf("a value that is being replaced was received; Len is %d", c.Len())
		}
		gate <- struct{}{}
		synctest.Wait()
		if v := <-received; v != 5 || sent.Load() != 7 || !slices.Equal(written, []int{1, 0, 2, 1}) {
			t.Errorf("received %d; %d sends have returned; writes: %v", v, sent.Load(), written)
		}
		slices.Sort(l.values)
		if !slices.Equal(l.values, []uint64{0, 1, 2, 3, 4}) {
			t.Errorf("dropped %v", l.values)
		}
		balance(t, c)
	})
}

// TestReplaceFails: a TryRecv that waits for a write which replaces the only value gets the
// old value if the write fails. If the old value is taken meanwhile, another gets ErrEmpty.
func TestReplaceFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, l := dropping(1)
		if err := c.TrySend(1); err != nil {
			t.Fatal(err)
		}
		gate := make(chan error)
		s.onWrite = func(uint64, [][]byte, []uint64) error { return <-gate }
		broken := errors.New("no space")
		results := make(chan error, 4)
		go func() { results <- c.Send(context.Background(), 2) }()
		synctest.Wait()
		done, cancel := context.WithCancel(context.Background())
		cancel()
		for range 3 {
			go func() {
				d, err := c.Recv(done)
				if err == nil {
					err = fmt.Errorf("received %d", d.Value)
				}
				results <- err
			}()
		}
		synctest.Wait()
		gate <- broken
		synctest.Wait()
		got := map[string]int{}
		for range 4 {
			got[(<-results).Error()]++
		}
		if got["received 1"] != 1 || got["context canceled"] != 2 || got["no space"] != 1 || len(l.values) > 0 {
			t.Errorf("results %v, dropped %v", got, l.values)
		}
		balance(t, c)
	})
}

// TestWithdrawDropsNothing: a Send that is canceled before its write begins drops nothing.
func TestWithdrawDropsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, l := dropping(1)
		gate := make(chan struct{})
		s.onWrite = func(uint64, [][]byte, []uint64) error {
			<-gate
			return nil
		}
		sent := make(chan error, 2)
		go func() { sent <- c.Send(context.Background(), 1) }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(context.Background())
		go func() { sent <- c.Send(ctx, 2) }()
		synctest.Wait()
		cancel()
		if err := <-sent; err != context.Canceled {
			t.Errorf("the canceled Send: %v", err)
		}
		gate <- struct{}{}
		if err := <-sent; err != nil {
			t.Error(err)
		}
		balance(t, c)
		if _, got := takeAll(t, c); !slices.Equal(got, []uint64{1}) || len(l.values) > 0 || c.promised != 0 || c.adding != 0 {
			t.Errorf("received %v, dropped %v; promised %d, being stored %d", got, l.values, c.promised, c.adding)
		}
	})
}

// TestBytesOfOverflow: DiskLimit makes room in bytes: a large value drops several small ones.
func TestBytesOfOverflow(t *testing.T) {
	s := newMemoryStore()
	var dropped []int
	c := durableOn(s, &DurableOptions[[]byte]{
		DiskLimit: 5 * (10 + recordCost), Overflow: sluice.DropOldest, OnUndelivered: func(v []byte, _ sluice.Reason) { dropped = append(dropped, len(v)) },
	})
	for range 5 {
		if err := c.TrySend(make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.TrySend(make([]byte, 30)); err != nil || len(dropped) != 3 || c.Len() != 3 {
		t.Errorf("%v: dropped %v, %d queued", err, dropped, c.Len())
	}
	if err := c.TrySend(make([]byte, 83)); err != sluice.ErrTooLarge || len(dropped) != 3 {
		t.Errorf("a value beyond the limit: %v, dropped %v", err, dropped)
	}
	if err := c.TrySend(make([]byte, 82)); err != nil || len(dropped) != 6 || c.Len() != 1 || c.bytes != c.config.diskLimit {
		t.Errorf("a value as large as the limit: %v, dropped %v, %d bytes", err, dropped, c.bytes)
	}
	d, err := c.TryRecv()
	if err != nil || c.TrySend(nil) != sluice.ErrFull {
		t.Error("the delivery in flight holds all of the room", err)
	}
	if err := d.Ack(); err != nil || c.bytes != 0 || c.records != 0 || c.flight.bytes != 0 {
		t.Errorf("%v: %d records, %d bytes, %d in flight", err, c.records, c.bytes, c.flight.bytes)
	}
}

// TestOpenedBeyondLimit: a queue with more values than the limit shrinks with each send, by at most
// evictStep.
func TestOpenedBeyondLimit(t *testing.T) {
	c, s, l := dropping(sluice.Unlimited)
	if _, err := c.SendBatch(t.Context(), make([]uint64, 2500)); err != nil {
		t.Fatal(err)
	}
	p := c.config
	p.capacity = 10
	c = newDurable(p, s, logstore.Contents{First: 1, Next: 2501, Records: 2500, Bytes: 2500 * 8})
	for i, want := range []int{2500 + 1 - evictStep, 2500 + 2 - 2*evictStep, 10, 10} {
		if err := c.TrySend(1); err != nil || c.Len() != want {
			t.Errorf("send %d: %v, %d queued, want %d", i, err, c.Len(), want)
		}
	}
	if len(l.values) != 2500+4-10 || len(s.records) != 10 {
		t.Errorf("dropped %d, stored %d", len(l.values), len(s.records))
	}
	balance(t, c)
}

// A fussy codec counts its calls of Decode, and cannot decode 13.
type fussy struct {
	fixed
	decoded *int
}

func (f fussy) Decode(b []byte) (uint64, error) {
	*f.decoded++
	v, err := f.fixed.Decode(b)
	if v == 13 {
		return 0, errors.New("unlucky")
	}
	return v, err
}

// TestDroppedUndecoded: without a hook, dropped values are not decoded. A value that cannot be
// decoded is dropped like others, and Stats reports that the hook did not get it.
func TestDroppedUndecoded(t *testing.T) {
	for _, hook := range []bool{false, true} {
		var decoded int
		l := new(dropLog)
		o := &DurableOptions[uint64]{Capacity: 1, Overflow: sluice.DropOldest, Codec: fussy{decoded: &decoded}}
		if hook {
			o.OnUndelivered = l.hook
		}
		c := durableOn(newMemoryStore(), o)
		for _, v := range []uint64{12, 13, 14, 15} {
			if err := c.TrySend(v); err != nil {
				t.Fatal(err)
			}
		}
		warning := c.Stats().Disk.Warning
		if !hook && (decoded != 0 || warning != "") || hook && (decoded != 3 || !strings.Contains(warning, "did not get 1 dropped") || !strings.Contains(warning, "unlucky")) {
			t.Errorf("hook %v: decoded %d, warning %q", hook, decoded, warning)
		}
		if c.Stats().Dropped != 3 || hook && !slices.Equal(l.values, []uint64{12, 14}) {
			t.Errorf("hook %v: %d dropped, %v", hook, c.Stats().Dropped, l.values)
		}
	}
}

// TestDropUnreadable: if the oldest value cannot be read to be dropped, Send returns the error.
func TestDropUnreadable(t *testing.T) {
	c, s, _ := dropping(2)
	if _, err := c.SendBatch(t.Context(), []uint64{1, 2}); err != nil {
		t.Fatal(err)
	}
	c = newDurable(c.config, s, logstore.Contents{First: 1, Next: 3, Records: 2, Bytes: 16})
	broken := errors.New("input/output error")
	s.onRead = func() error { return broken }
	for range 2 {
		if err := c.TrySend(3); err != broken || c.Len() != 2 {
			t.Errorf("%v, %d queued", err, c.Len())
		}
	}
	s.onRead = nil
	if err := c.Send(t.Context(), 3); err != nil {
		t.Error(err)
	}
	if _, got := takeAll(t, c); !slices.Equal(got, []uint64{2, 3}) {
		t.Errorf("received %v", got)
	}
}

// TestAttemptsInMemory: a delivery in flight uses no memory of the channel, and values that were
// given back are counted.
func TestAttemptsInMemory(t *testing.T) {
	c, _, _ := dropping(sluice.Unlimited)
	if _, err := c.SendBatch(t.Context(), make([]uint64, 100)); err != nil {
		t.Fatal(err)
	}
	ds, _ := takeAll(t, c)
	if s := c.Stats(); s.Bytes != 0 || c.attempts != nil {
		t.Errorf("%d deliveries in flight use %d bytes", len(ds), s.Bytes)
	}
	for _, d := range ds {
		if err := d.Nack(); err != nil {
			t.Fatal(err)
		}
	}
	if s := c.Stats(); s.Bytes != 100*(8+attemptMemory) {
		t.Errorf("100 values that were given back use %d bytes", s.Bytes)
	}
	ds, _ = takeAll(t, c)
	if s := c.Stats(); s.Bytes != 100*attemptMemory || ds[7].Attempt != 2 {
		t.Errorf("in flight again they use %d bytes; attempt %d", s.Bytes, ds[7].Attempt)
	}
	if err := c.Ack(ds...); err != nil || c.Stats().Bytes != 0 || c.attempts != nil {
		t.Errorf("%v: all is acknowledged, but %d bytes are left", err, c.Stats().Bytes)
	}
}
