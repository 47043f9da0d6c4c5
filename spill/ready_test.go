package spill

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
)

// noContext is the nil context that a test passes to see a panic.
var noContext context.Context

var (
	_ sluice.Channel[uint64]                  = (*Elastic[uint64])(nil)
	_ sluice.Channel[uint64]                  = AutoAck[uint64]{}
	_ sluice.BatchSender[uint64]              = (*Durable[uint64])(nil)
	_ sluice.BatchReceiver[*Delivery[uint64]] = (*Durable[uint64])(nil)
)

// tryReceiver is what a goroutine needs that waits for Ready.
type tryReceiver[T any] interface {
	Ready() <-chan struct{}
	TryRecv() (T, error)
}

// TestReadyForMany: several goroutines wait for Ready and receive one value for each
// token. Every value reaches one of them, whether the values are sent one by one or in
// a batch, stay in memory or go to disk.
func TestReadyForMany(t *testing.T) {
	const n = 20
	elastic := func(t *testing.T, batch bool) {
		c := on(t, new(faulty), &ElasticOptions[uint64]{MemoryLimit: 5 * 8, Codec: fixed{}})
		readyForMany(t, c, c, batch, n)
	}
	durable := func(t *testing.T, batch bool) {
		c := durableOn(newMemoryStore(), &DurableOptions[uint64]{Codec: fixed{}})
		readyForMany(t, c, c, batch, n)
		if c.InFlight() != n {
			t.Errorf("%d deliveries in flight, want %d", c.InFlight(), n)
		}
	}
	autoAck := func(t *testing.T, batch bool) {
		c := durableOn(newMemoryStore(), &DurableOptions[uint64]{Codec: fixed{}}).AutoAck()
		readyForMany(t, c, c, batch, n)
	}
	for name, test := range map[string]func(*testing.T, bool){"Elastic": elastic, "Durable": durable, "AutoAck": autoAck} {
		for _, batch := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { test(t, batch) })
			})
		}
	}
}

func readyForMany[T any](t *testing.T, s sluice.BatchSender[uint64], r tryReceiver[T], batch bool, n int) {
	t.Helper()
	received := make(chan error, n)
	for range n {
		go func() {
			for range r.Ready() {
				if _, err := r.TryRecv(); err != sluice.ErrEmpty {
					received <- err
					return
				}
			}
		}()
	}
	synctest.Wait()
	if batch {
		if sent, err := s.SendBatch(context.Background(), make([]uint64, n)); sent != n || err != nil {
			t.Fatal(sent, err)
		}
	} else {
		for v := range uint64(n) {
			if err := s.TrySend(v); err != nil {
				t.Fatal(err)
			}
		}
	}
	synctest.Wait()
	if len(received) != n {
		t.Fatalf("%d of %d goroutines that wait for Ready have received a value", len(received), n)
	}
	for range n {
		if err := <-received; err != nil {
			t.Error(err)
		}
	}
}

// TestReadyAfterNack: a value that was given back is announced to another goroutine.
func TestReadyAfterNack(t *testing.T) {
	c := durableOn(newMemoryStore(), &DurableOptions[uint64]{Codec: fixed{}})
	if err := c.TrySend(1); err != nil {
		t.Fatal(err)
	}
	for attempt := 1; attempt <= 3; attempt++ {
		select {
		case <-c.Ready():
		default:
			t.Fatalf("attempt %d: Ready is not readable", attempt)
		}
		d, err := c.TryRecv()
		if err != nil || d.Attempt != attempt {
			t.Fatal(d, err)
		}
		if err := d.Nack(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReadyAfterError: a receive that fails takes no token away from other goroutines.
func TestReadyAfterError(t *testing.T) {
	s := newMemoryStore()
	c := durableOn(s, &DurableOptions[uint64]{Codec: fixed{}, MemoryLimit: 1})
	if n, err := c.SendBatch(context.Background(), []uint64{1, 2}); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	s.onRead = func() error { return context.DeadlineExceeded }
	for range 3 {
		<-c.Ready()
		if _, err := c.TryRecv(); err != context.DeadlineExceeded {
			t.Fatal(err)
		}
	}
}

// TestDrain yields the values that are there when the loop begins, also those on disk,
// and leaves what the body does not take.
func TestDrain(t *testing.T) {
	c := on(t, new(faulty), &ElasticOptions[uint64]{MemoryLimit: 5 * 8, Codec: fixed{}})
	for v := range uint64(30) {
		if err := c.TrySend(v); err != nil {
			t.Fatal(err)
		}
	}
	want := uint64(0)
	for v := range c.Drain() {
		if v != want {
			t.Fatalf("received %d, want %d", v, want)
		}
		if want++; want == 10 {
			break
		}
	}
	if c.Len() != 20 {
		t.Fatalf("%d values left, want 20", c.Len())
	}
	for v := range c.Drain() {
		if v != want {
			t.Fatalf("received %d, want %d", v, want)
		}
		want++
		if err := c.TrySend(100 + v); err != nil { // not for this loop
			t.Fatal(err)
		}
	}
	if want != 30 || c.Len() != 20 {
		t.Errorf("%d received, %d left", want, c.Len())
	}
	a := durableOn(newMemoryStore(), &DurableOptions[uint64]{Codec: fixed{}}).AutoAck()
	if n, err := a.SendBatch(context.Background(), []uint64{7, 8}); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	var drained []uint64
	for v := range a.Drain() {
		drained = append(drained, v)
	}
	if len(drained) != 2 || drained[0] != 7 || drained[1] != 8 || a.InFlight() != 0 {
		t.Errorf("received %v, %d in flight", drained, a.InFlight())
	}
	buf := make([]uint64, 3)
	if n, err := a.TryRecvBatch(buf); n != 0 || err != sluice.ErrEmpty {
		t.Errorf("TryRecvBatch of an empty channel: %d, %v", n, err)
	}
	if n, err := a.TryRecvBatch(nil); n != 0 || err != nil {
		t.Errorf("TryRecvBatch into nothing: %d, %v", n, err)
	}
}

// TestValues: Err reports what ended a loop: nothing after the last value, the context,
// or a record that cannot be decoded.
func TestValues(t *testing.T) {
	c := on(t, new(faulty), &ElasticOptions[uint64]{MemoryLimit: 16, Codec: fixed{}})
	for v := range uint64(3) {
		if err := c.TrySend(v); err != nil {
			t.Fatal(err)
		}
	}
	values, n := c.Values(never), 0
	for range values.All() {
		n++
	}
	if n != 3 || values.Err() != context.Canceled {
		t.Errorf("an open channel: %d values, %v", n, values.Err())
	}
	c.Close()
	for range values.All() {
		t.Error("a value after the last")
	}
	if values.Err() != nil {
		t.Errorf("a drained channel: %v", values.Err())
	}
	d := durableOn(newMemoryStore(), &DurableOptions[[]byte]{Codec: fragile{raw()}})
	if n, err := d.SendBatch(context.Background(), [][]byte{[]byte("fine"), []byte("late error")}); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	deliveries, n := d.Values(context.Background()), 0
	for d := range deliveries.All() {
		n++
		if err := d.Ack(); err != nil {
			t.Error(err)
		}
	}
	if _, bad := deliveries.Err().(*RecordError); n != 1 || !bad {
		t.Errorf("a record that cannot be decoded: %d values, %v", n, deliveries.Err())
	}
	for what, call := range map[string]func(){
		"Elastic": func() { c.Values(noContext) },
		"Durable": func() { d.Values(noContext) },
		"AutoAck": func() { d.AutoAck().Values(noContext) },
	} {
		func() {
			defer func() {
				if p := recover(); p != "spill: Values: nil context" {
					t.Errorf("%s.Values(nil): %v", what, p)
				}
			}()
			call()
		}()
	}
}
