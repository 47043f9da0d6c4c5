package spill

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/spill/internal/logstore"
)

// reopening returns a Durable on a store in memory that is opened again when it fails, at most
// times. stores gets each new store before it is used.
func reopening(times int) (c *Durable[[]byte], stores *[]*memoryStore) {
	s := newMemoryStore()
	c = durableOn(s, &DurableOptions[[]byte]{MemoryLimit: 1000, OnDamage: SetDamageAside, Log: slog.New(slog.DiscardHandler)})
	stores = &[]*memoryStore{s}
	c.reopen = func() (store, logstore.Contents, Repair, error) {
		if len(*stores) > times {
			return nil, logstore.Contents{}, Repair{}, errors.New("no such device")
		}
		again, found := (*stores)[len(*stores)-1].again()
		*stores = append(*stores, again)
		return again, found, Repair{}, nil
	}
	return c, stores
}

// failOnce makes the next write of s fail.
func failOnce(s *memoryStore, err error) {
	s.onWrite = func(uint64, [][]byte, []uint64) error {
		s.onWrite = nil
		return err
	}
}

// TestReopenSend: after a write with an unknown outcome the queue is opened again, and the record
// is there once, whether it was stored or not.
func TestReopenSend(t *testing.T) {
	for _, failure := range []error{errUnknown, errNotStored} {
		c, stores := reopening(1)
		failOnce((*stores)[0], nil)
		if err := c.TrySend(numbered(0)); err != nil {
			t.Fatal(err)
		}
		failOnce((*stores)[0], failure)
		for i := 1; i < 3; i++ {
			if err := c.TrySend(numbered(i)); err != nil {
				t.Fatalf("%v: %v", failure, err)
			}
		}
		if r := c.Repaired(); r.Reopened != 1 || r.Lost != 0 || !errors.Is(r.Err, errUnknown) || c.Stats().Disk.Warning != r.String() {
			t.Errorf("%v: %v", failure, r)
		}
		for i := range 3 {
			if err := mustRecv(t, c, i).Ack(); err != nil {
				t.Fatal(err)
			}
		}
		if s := c.Stats(); s.Len != 0 || s.Sent != 3 || s.Received != 3 || c.bytes != 0 || c.stored != 0 || c.flight.records != 0 {
			t.Errorf("%v: %+v, %d bytes, %d stored", failure, s, c.bytes, c.stored)
		}
		if err := c.Shutdown(); err != nil {
			t.Error(err)
		}
	}
}

// TestReopenDeliveries: what was in flight is delivered again, and cannot be settled any more.
func TestReopenDeliveries(t *testing.T) {
	c, stores := reopening(1)
	for i := range 3 {
		if err := c.TrySend(numbered(i)); err != nil {
			t.Fatal(err)
		}
	}
	first, second := mustRecv(t, c, 0), mustRecv(t, c, 1)
	if err := second.Nack(); err != nil {
		t.Fatal(err)
	}
	failOnce((*stores)[0], errNotStored)
	if err := c.TrySend(numbered(3)); err != nil {
		t.Fatal(err)
	}
	if err := first.Ack(); err != ErrReopened {
		t.Errorf("Ack: %v", err)
	}
	if err := first.Nack(); err != ErrReopened {
		t.Errorf("Nack: %v", err)
	}
	if err := second.Ack(); err != ErrSettled {
		t.Errorf("of the one that was given back: %v", err)
	}
	for i := range 4 {
		if d := mustRecv(t, c, i); d.Attempt != 1 || d.Ack() != nil {
			t.Errorf("value %d: attempt %d", i, d.Attempt)
		}
	}
	if s := c.Stats(); s.Len != 0 || s.Sent != s.Received || c.bytes != 0 || c.InFlight() != 0 {
		t.Errorf("%+v, %d bytes", s, c.bytes)
	}
}

// TestReopenAck: an Ack whose write has an unknown outcome returns nil if it was stored, and
// otherwise ErrReopened; then the value comes again.
func TestReopenAck(t *testing.T) {
	for failure, want := range map[error]error{errUnknown: nil, errNotStored: ErrReopened} {
		c, stores := reopening(1)
		for i := range 2 {
			if err := c.TrySend(numbered(i)); err != nil {
				t.Fatal(err)
			}
		}
		d := mustRecv(t, c, 0)
		failOnce((*stores)[0], failure)
		if err := d.Ack(); err != want {
			t.Errorf("%v: %v", failure, err)
		}
		if want != nil {
			mustRecv(t, c, 0)
		}
		mustRecv(t, c, 1)
		if r := c.Repaired(); r.Lost != 0 || c.Len() != 0 {
			t.Errorf("%v; %d left", r, c.Len())
		}
	}
}

// TestReopenAutoAck: a receiver of plain values gets each value once.
func TestReopenAutoAck(t *testing.T) {
	for _, failure := range []error{errUnknown, errNotStored} {
		c, stores := reopening(2)
		for i := range 4 {
			if err := c.TrySend(numbered(i)); err != nil {
				t.Fatal(err)
			}
		}
		failOnce((*stores)[0], failure)
		v, err := c.AutoAck().Recv(context.Background())
		if err != nil || string(v) != string(numbered(0)) {
			t.Fatalf("%v: %v", failure, err)
		}
		failOnce((*stores)[1], failure)
		buf := make([][]byte, 9)
		n, err := c.AutoAck().RecvBatch(context.Background(), buf)
		if err != nil || n != 3 || string(buf[0]) != string(numbered(1)) {
			t.Errorf("%v: %d, %v", failure, n, err)
		}
		if c.Len() != 0 || c.InFlight() != 0 {
			t.Errorf("%d left, %d in flight", c.Len(), c.InFlight())
		}
	}
}

// TestReopenMembers: members of the commit behind the one that fails get their own results.
func TestReopenMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, stores := reopening(1)
		for i := range 2 {
			if err := c.TrySend(numbered(i)); err != nil {
				t.Fatal(err)
			}
		}
		d, other := mustRecv(t, c, 0), mustRecv(t, c, 1)
		gate := make(chan struct{})
		(*stores)[0].onWrite = func(uint64, [][]byte, []uint64) error {
			<-gate
			return errNotStored
		}
		errs := make([]error, 3)
		go func() { errs[0] = c.Send(context.Background(), numbered(2)) }()
		synctest.Wait()
		go func() { errs[1] = c.Send(context.Background(), numbered(3)) }()
		go func() { errs[2] = d.Ack() }()
		synctest.Wait()
		close(gate)
		synctest.Wait()
		if errs[0] != nil || errs[1] != nil || errs[2] != ErrReopened {
			t.Errorf("%v", errs)
		}
		if err := other.Ack(); err != ErrReopened {
			t.Error(err)
		}
		for i := range 4 {
			if err := mustRecv(t, c, i).Ack(); err != nil {
				t.Error(err)
			}
		}
		if c.bytes != 0 || c.stored != 0 || c.adding != 0 || c.leading {
			t.Errorf("%d bytes, %d stored, %d adding, leading %v", c.bytes, c.stored, c.adding, c.leading)
		}
	})
}

// TestReopenWaits: while the queue is opened again, receives wait, and a context ends that; then
// they go on. A receiver that waited before gets a value, too.
func TestReopenWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, stores := reopening(1)
		gate, reopen := make(chan struct{}), c.reopen
		c.reopen = func() (store, logstore.Contents, Repair, error) {
			<-gate
			return reopen()
		}
		var waited, tried, sent error
		go func() { _, waited = c.Recv(context.Background()) }()
		synctest.Wait()
		failOnce((*stores)[0], errNotStored)
		go func() { sent = errors.Join(c.TrySend(numbered(0)), c.TrySend(numbered(1))) }()
		synctest.Wait()
		go func() { _, tried = c.TryRecv() }()
		ctx, cancel := context.WithCancel(context.Background())
		var canceled error
		go func() { _, canceled = c.Recv(ctx) }()
		synctest.Wait()
		if s := c.Stats(); s.ReceiversWaiting != 1 || canceled != nil {
			t.Errorf("%+v; %v", s, canceled)
		}
		cancel()
		synctest.Wait()
		if canceled != context.Canceled {
			t.Errorf("canceled: %v", canceled)
		}
		close(gate)
		synctest.Wait()
		if err := errors.Join(waited, sent); err != nil || tried != nil && tried != sluice.ErrEmpty {
			t.Errorf("%v; TryRecv: %v", err, tried)
		}
		if left := c.Len(); left != 0 && tried == nil || left != 1 && tried != nil {
			t.Errorf("%d left, %v", left, tried)
		}
	})
}

// TestReopenRead: an error of a read opens the queue again, once for each receive.
func TestReopenRead(t *testing.T) {
	c, stores := reopening(2)
	for i := range 30 { // more than fit into the window
		if err := c.TrySend(numbered(i)); err != nil {
			t.Fatal(err)
		}
	}
	broken := errors.New("read 0000000000000001.log: input/output error")
	(*stores)[0].onRead = func() error { return broken }
	for i := range 30 {
		if err := mustRecv(t, c, i).Ack(); err != nil {
			t.Fatal(err)
		}
	}
	if r := c.Repaired(); r.Reopened != 1 || r.Err != broken || r.Lost != 0 {
		t.Errorf("%v", r)
	}
	if err := c.TrySend(numbered(30)); err != nil {
		t.Fatal(err)
	}
	if err := mustRecv(t, c, 30).Nack(); err != nil {
		t.Fatal(err)
	}
	reopen := c.reopen
	c.reopen = func() (store, logstore.Contents, Repair, error) {
		s, found, repair, err := reopen()
		s.(*memoryStore).onRead = func() error { return broken }
		return s, found, repair, err
	}
	(*stores)[1].onRead = func() error { return broken }
	if _, err := c.TryRecv(); err != broken || c.Repaired().Reopened != 2 {
		t.Errorf("a file that cannot be read after that either: %v, %v", err, c.Repaired())
	}
}

// TestReopenLost: records that are not there any more are counted.
func TestReopenLost(t *testing.T) {
	c, stores := reopening(1)
	for i := range 10 {
		if err := c.TrySend(numbered(i)); err != nil {
			t.Fatal(err)
		}
	}
	mustRecv(t, c, 0)
	for n := uint64(4); n < 7; n++ {
		delete((*stores)[0].records, n)
	}
	failOnce((*stores)[0], errNotStored)
	if err := c.TrySend(numbered(10)); err != nil {
		t.Fatal(err)
	}
	if r := c.Repaired(); r.Lost != 3 || r.First == 0 || r.First > 4 || r.Last < 6 || !strings.Contains(r.String(), "3 records were lost") {
		t.Errorf("%+v", r)
	}
	for _, i := range []int{0, 1, 2, 6, 7, 8, 9, 10} {
		mustRecv(t, c, i)
	}
	if s := c.Stats(); s.Len != 0 || s.Dropped != 3 || s.Received != 9 || s.Sent != 12 { // 11 values, one delivered twice
		t.Errorf("%+v", s)
	}
}

// TestReopenFails: if the queue cannot be opened again, all calls return why, and none hangs.
func TestReopenFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, stores := reopening(0)
		errs := make([]error, 3)
		go func() { _, errs[0] = c.Recv(context.Background()) }()
		synctest.Wait()
		gate := make(chan struct{})
		(*stores)[0].onWrite = func(uint64, [][]byte, []uint64) error {
			<-gate
			return errUnknown
		}
		go func() { errs[1] = c.Send(context.Background(), numbered(0)) }()
		synctest.Wait()
		go func() { errs[2] = c.Send(context.Background(), numbered(1)) }()
		synctest.Wait()
		close(gate)
		synctest.Wait()
		errs = append(errs, c.TrySend(nil), second(c.TryRecv()))
		for i, err := range errs {
			if !errors.Is(err, errUnknown) || !strings.Contains(fmt.Sprint(err), "no such device") {
				t.Errorf("call %d: %v", i, err)
			}
		}
		if err := c.Shutdown(); err != nil || c.Stats().Disk.Warning == "" {
			t.Errorf("Shutdown: %v", err)
		}
	})
}

// TestReopenPolicies: what a commit of DropOldest or MaxAge drops is reported once, if it is deleted, and
// is queued again otherwise. The limits hold again afterwards.
func TestReopenPolicies(t *testing.T) {
	for _, failure := range []error{errUnknown, errNotStored} {
		var dropped []string
		o := &DurableOptions[[]byte]{
			Capacity: 3, Overflow: sluice.DropOldest, OnDamage: SetDamageAside, MemoryLimit: 1000,
			Log:           slog.New(slog.DiscardHandler),
			OnUndelivered: func(v []byte, _ sluice.Reason) { dropped = append(dropped, string(v[:1])) },
		}
		s := newMemoryStore()
		c := durableOn(s, o)
		c.reopen = func() (store, logstore.Contents, Repair, error) {
			again, found := s.again()
			s = again
			return again, found, Repair{}, nil
		}
		for _, v := range []string{"a", "b", "c"} {
			if err := c.TrySend([]byte(v)); err != nil {
				t.Fatal(err)
			}
		}
		failOnce(s, failure)
		for _, v := range []string{"d", "e"} {
			if err := c.TrySend([]byte(v)); err != nil {
				t.Fatalf("%v: %v", failure, err)
			}
		}
		var received []string
		for d := range c.Drain() {
			received = append(received, string(d.Value))
			if err := d.Ack(); err != nil {
				t.Error(err)
			}
		}
		all := strings.Join(dropped, "") + strings.Join(received, "")
		if all != "abcde" || len(received) > 3 {
			t.Errorf("%v: dropped %q, received %q", failure, dropped, received)
		}
		if st := c.Stats(); st.Dropped != uint64(len(dropped)) || st.Sent != st.Received+st.Dropped || st.Len != 0 ||
			c.records != 0 || c.bytes != 0 || c.stored != 0 || c.dropping != 0 || c.evicting != 0 {
			t.Errorf("%v: %+v; %d records, %d bytes, %d stored", failure, st, c.records, c.bytes, c.stored)
		}
	}
}
