package spill

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
)

// small returns a Durable on a store in memory, for records of 100 bytes.
func small(limit int64) (*Durable[[]byte], *memoryStore) {
	s := newMemoryStore()
	return durableOn(s, &DurableOptions[[]byte]{MemoryLimit: 1000, DiskLimit: limit}), s
}

// mustRecv receives record i.
func mustRecv(t *testing.T, c *Durable[[]byte], i int) *Delivery[[]byte] {
	t.Helper()
	d, err := c.TryRecv()
	if err != nil || !bytes.Equal(d.Value, numbered(i)) {
		t.Fatalf("received %v, %v, want %d", d, err, i)
	}
	return d
}

// TestNackOrder: values that were given back come first, in the order in which they
// were sent, and count their attempts.
func TestNackOrder(t *testing.T) {
	c, s := small(0)
	for i := range 30 { // more than fit into the window
		if err := c.TrySend(numbered(i)); err != nil {
			t.Fatal(err)
		}
	}
	var ds []*Delivery[[]byte]
	for i := range 20 {
		ds = append(ds, mustRecv(t, c, i))
	}
	for _, i := range []int{7, 3, 12, 5} {
		if err := ds[i].Nack(); err != nil {
			t.Fatal(err)
		}
	}
	if c.Len() != 14 || c.InFlight() != 16 {
		t.Errorf("%d queued, %d unsettled", c.Len(), c.InFlight())
	}
	for _, i := range []int{3, 5, 7, 12} {
		if d := mustRecv(t, c, i); d.Attempt != 2 {
			t.Errorf("record %d: delivered for the %d. time", i, d.Attempt)
		} else {
			ds[i] = d
		}
	}
	for i := 20; i < 30; i++ {
		ds = append(ds, mustRecv(t, c, i))
	}
	if err := c.Ack(ds...); err != nil {
		t.Fatal(err)
	}
	if len(s.records) != 0 || c.bytes != 0 || len(c.attempts) != 0 || c.InFlight() != 0 || c.backlog.bytes != 0 {
		t.Errorf("all is acknowledged, but %d records, %d bytes, %d tries, %d unsettled, %d in the window are left",
			len(s.records), c.bytes, len(c.attempts), c.InFlight(), c.backlog.bytes)
	}
}

// TestSettledOnce: a delivery is settled once, and never by another channel.
func TestSettledOnce(t *testing.T) {
	c, s := small(0)
	for i := range 4 {
		if err := c.TrySend(numbered(i)); err != nil {
			t.Fatal(err)
		}
	}
	acked, given, open := mustRecv(t, c, 0), mustRecv(t, c, 1), mustRecv(t, c, 2)
	if err := errors.Join(acked.Ack(), given.Nack()); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"Ack, Ack": acked.Ack(), "Ack, Nack": acked.Nack(), "Nack, Ack": given.Ack(), "Nack, Nack": given.Nack(),
		"Ack of two, one settled": c.Ack(open, acked), "Ack of one twice": c.Ack(open, open),
	} {
		if err != ErrSettled {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := acked.Ack(); err != ErrSettled {
		t.Errorf("Ack of a settled delivery and another: %v", err)
	}
	writes := s.writes
	if c.Ack() != nil || s.writes != writes {
		t.Errorf("%d writes for an empty Ack", s.writes-writes)
	}
	if len(s.records) != 3 || open.Ack() != nil || len(s.records) != 2 {
		t.Errorf("%d records are left", len(s.records))
	}
	other, _ := small(0)
	defer func() {
		if p, _ := recover().(string); !strings.Contains(p, "another channel") || open.Nack() != ErrSettled {
			t.Errorf("a delivery of another channel: %v", p)
		}
		if err := mustRecv(t, c, 1).Nack(); err != nil { // the panic has not settled it
			t.Error(err)
		}
	}()
	_ = other.Ack(open)
}

// TestGroupCommit: operations that arrive during a write share the next one.
func TestGroupCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := small(0)
		gate := make(chan struct{})
		s.onWrite = func(uint64, [][]byte, []uint64) error {
			<-gate
			return nil
		}
		const n = 50
		var done sync.WaitGroup
		for i := range n {
			done.Go(func() {
				if err := c.Send(context.Background(), numbered(i)); err != nil {
					t.Error(err)
				}
			})
			if i == 0 {
				synctest.Wait() // its write has begun, without the others
			}
		}
		synctest.Wait()
		if c.Len() != 0 {
			t.Errorf("%d records can be received before they are stored", c.Len())
		}
		close(gate)
		done.Wait()
		if s.writes != 2 || c.Len() != n || c.leading {
			t.Errorf("%d senders at once: %d writes, %d records", n, s.writes, c.Len())
		}
	})
}

// TestWithdraw: a sender whose context ends before its commit is taken is not in the
// commit; a sender whose commit is being written is. A remaining member takes over
// leadership, if there is one.
func TestWithdraw(t *testing.T) {
	for _, stay := range []int{0, 1, 3} {
		synctest.Test(t, func(t *testing.T) {
			c, s := small(0)
			gate := make(chan struct{})
			s.onWrite = func(uint64, [][]byte, []uint64) error {
				<-gate
				return nil
			}
			ctx, cancel := context.WithCancel(context.Background())
			errs := make([]error, 8)
			send := func(ctx context.Context, i int) {
				go func() { errs[i] = c.Send(ctx, numbered(i)) }()
				synctest.Wait()
			}
			send(ctx, 0) // leads, and writes its commit
			for i := 1; i < len(errs); i++ {
				if i <= stay {
					send(context.Background(), i)
				} else {
					send(ctx, i)
				}
			}
			cancel()
			synctest.Wait()
			close(gate)
			synctest.Wait()
			for i, err := range errs {
				if i <= stay && err != nil || i > stay && err != context.Canceled {
					t.Errorf("%d stay: sender %d: %v", stay, i, err)
				}
			}
			for i := range stay + 1 {
				mustRecv(t, c, i)
			}
			if c.Len() != 0 || c.leading || c.pending != nil || c.adding != 0 || c.bytes != int64(stay+1)*108 {
				t.Errorf("%d stay: %d queued, leading %v, %d bytes", stay, c.Len(), c.leading, c.bytes)
			}
			if err := c.Send(context.Background(), nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCommitFails: all members of a failed commit get its error, no part of it is
// stored, and the channel remains usable; deliveries can be acknowledged again.
func TestCommitFails(t *testing.T) {
	c, s := small(400)
	if err := c.TrySend(numbered(0)); err != nil {
		t.Fatal(err)
	}
	d := mustRecv(t, c, 0)
	full := errors.New("write 0000000000000001.log: no space left on device")
	s.onWrite = func(uint64, [][]byte, []uint64) error { return full }
	if n, err := c.SendBatch(context.Background(), [][]byte{numbered(1), numbered(2)}); n != 0 || err != full {
		t.Errorf("SendBatch: %d, %v", n, err)
	}
	for what, err := range map[string]error{"Send": c.Send(context.Background(), nil), "Ack": d.Ack(), "Ack again": d.Ack()} {
		if err != full {
			t.Errorf("%s: %v", what, err)
		}
	}
	if c.Len() != 0 || c.bytes != 108 || len(s.records) != 1 || c.adding != 0 {
		t.Errorf("%d queued, %d bytes, %d records", c.Len(), c.bytes, len(s.records))
	}
	s.onWrite = nil
	if err := errors.Join(c.Send(context.Background(), numbered(1)), d.Ack()); err != nil {
		t.Errorf("there is room again: %v", err)
	}
	mustRecv(t, c, 1)
}

// mixed sends two records and acknowledges a delivery concurrently: the first record
// leads a commit, the others share the next one. It returns the errors of the three,
// in that order. It must be called in a bubble.
func mixed(t *testing.T, c *Durable[[]byte], s *memoryStore, onWrite func(payloads [][]byte, deletes []uint64) error) []error {
	t.Helper()
	if err := c.TrySend(numbered(0)); err != nil {
		t.Fatal(err)
	}
	d := mustRecv(t, c, 0)
	gate := make(chan struct{})
	s.onWrite = func(_ uint64, payloads [][]byte, deletes []uint64) error {
		<-gate
		return onWrite(payloads, deletes)
	}
	errs := make([]error, 3)
	for i, f := range []func() error{
		func() error { return c.TrySend(numbered(1)) },
		func() error { return c.TrySend(numbered(2)) },
		d.Ack,
	} {
		go func() { errs[i] = f() }()
		synctest.Wait()
	}
	close(gate)
	synctest.Wait()
	return errs
}

// TestMixedCommitFails: if there is no room for the records of a commit, its deletes
// are still done.
func TestMixedCommitFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := small(0)
		full := errors.New("full")
		errs := mixed(t, c, s, func(payloads [][]byte, _ []uint64) error {
			if len(payloads) > 0 {
				return full
			}
			return nil
		})
		if errs[0] != full || errs[1] != full || errs[2] != nil || len(s.records) != 0 || c.bytes != 0 || c.InFlight() != 0 {
			t.Errorf("%v; %d records, %d bytes, %d unsettled", errs, len(s.records), c.bytes, c.InFlight())
		}
	})
}

// TestUnknownOutcome: after a write whose outcome is unknown, all operations of the
// channel fail.
func TestUnknownOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := small(0)
		got := make([]error, 3)
		go func() { got[0] = second(c.Recv(context.Background())) }()
		synctest.Wait()
		gate := make(chan struct{})
		s.onWrite = func(uint64, [][]byte, []uint64) error {
			<-gate
			return errors.Join(errors.New("fsync: input/output error"), errUnknown)
		}
		for i := range 2 { // the first is written, the second joins the next commit
			go func() { got[1+i] = c.Send(context.Background(), numbered(i)) }()
			synctest.Wait()
		}
		close(gate)
		synctest.Wait()
		for what, err := range map[string]error{
			"a receiver that waited": got[0], "the leader": got[1], "a sender behind": got[2],
			"Send": c.Send(context.Background(), nil), "TryRecv": second(c.TryRecv()), "Warning": errors.New(c.Stats().Disk.Warning),
		} {
			if err == nil || !strings.Contains(err.Error(), "input/output error") || !strings.Contains(err.Error(), errUnknown.Error()) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if s.writes != 1 || c.Shutdown() != nil {
			t.Errorf("%d writes", s.writes)
		}
	})
}

// TestReadError: Recv returns the error of a read, and loses no value.
func TestReadError(t *testing.T) {
	c, s := small(0)
	for i := range 30 {
		if err := c.TrySend(numbered(i)); err != nil {
			t.Fatal(err)
		}
	}
	broken := errors.New("read 0000000000000001.log: input/output error")
	s.onRead = func() error { return broken }
	received := 0
	var err error
	for ; err == nil; received++ {
		_, err = c.TryRecv()
	}
	received--
	if err != broken || second(c.Recv(context.Background())) != broken {
		t.Errorf("received %d, then %v", received, err)
	}
	s.onRead = nil
	for i := received; i < 30; i++ {
		mustRecv(t, c, i)
	}
}

// TestDurableLimit: senders wait for room in FIFO order, acknowledgements make room,
// and a sender that stops waiting lets the next one, which is smaller, proceed.
func TestDurableLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := small(334)
		for i := range 3 {
			if err := c.TrySend(numbered(i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.TrySend(make([]byte, 327)); err != sluice.ErrTooLarge {
			t.Errorf("a record above the limit: %v", err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		errs := make([]error, 3)
		for i, v := range [][]byte{numbered(3), numbered(4), nil} {
			go func() {
				if i == 0 {
					errs[i] = c.Send(ctx, v)
				} else {
					errs[i] = c.Send(context.Background(), v)
				}
			}()
			synctest.Wait()
		}
		if s := c.Stats(); s.SendersWaiting != 3 || c.TrySend(nil) != sluice.ErrFull {
			t.Fatalf("the limit does not hold: %+v", s)
		}
		d := mustRecv(t, c, 0)
		synctest.Wait()
		if s := c.Stats(); s.SendersWaiting != 3 {
			t.Fatalf("received is not acknowledged: %+v", s)
		}
		cancel()
		synctest.Wait()
		if s := c.Stats(); errs[0] != context.Canceled || s.SendersWaiting != 2 {
			t.Fatalf("the first left: %v, %+v", errs[0], s)
		}
		if err := d.Ack(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if s := c.Stats(); s.SendersWaiting != 0 || s.Len != 4 {
			t.Fatalf("there is room for both: %+v", s)
		}
	})
}

// TestShutdownWaits: Shutdown waits for a commit in progress before it closes the
// file, and releases all waiters.
func TestShutdownWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := small(120)
		if err := c.TrySend(numbered(0)); err != nil {
			t.Fatal(err)
		}
		d := mustRecv(t, c, 0)
		gate := make(chan struct{})
		s.onWrite = func(uint64, [][]byte, []uint64) error {
			<-gate
			return nil
		}
		results := map[string]*error{}
		start := func(what string, f func() error) {
			err := errors.New("still waits")
			results[what] = &err
			go func() { err = f() }()
			synctest.Wait()
		}
		start("Ack", d.Ack)
		start("Recv", func() error { return second(c.Recv(context.Background())) })
		start("Send", func() error { return c.Send(context.Background(), numbered(1)) })
		start("Shutdown", c.Shutdown)
		if s.closed || *results["Recv"] != sluice.ErrClosed || *results["Send"] != sluice.ErrClosed {
			t.Fatalf("during the commit: closed %v, Recv %v, Send %v", s.closed, *results["Recv"], *results["Send"])
		}
		close(gate)
		synctest.Wait()
		if !s.closed || *results["Ack"] != nil || *results["Shutdown"] != nil {
			t.Fatalf("after the commit: closed %v, Ack %v, Shutdown %v", s.closed, *results["Ack"], *results["Shutdown"])
		}
	})
}

// TestNackAfterClose: a Nack adds a value to a drained channel.
func TestNackAfterClose(t *testing.T) {
	c, _ := small(0)
	if err := c.TrySend(numbered(0)); err != nil {
		t.Fatal(err)
	}
	d := mustRecv(t, c, 0)
	c.Close()
	if _, err := c.Recv(context.Background()); err != sluice.ErrClosed {
		t.Errorf("drained: %v", err)
	}
	if err := d.Nack(); err != nil {
		t.Fatal(err)
	}
	<-c.Ready()
	if err := mustRecv(t, c, 0).Ack(); err != nil {
		t.Error(err)
	}
}

// TestAutoAckFails: a value whose acknowledgement fails was not received.
func TestAutoAckFails(t *testing.T) {
	c, s := small(0)
	for i := range 3 {
		if err := c.TrySend(numbered(i)); err != nil {
			t.Fatal(err)
		}
	}
	full := errors.New("full")
	s.onWrite = func(uint64, [][]byte, []uint64) error { return full }
	a := c.AutoAck()
	for what, err := range map[string]error{
		"Recv": second(a.Recv(context.Background())), "TryRecv": second(a.TryRecv()),
		"RecvBatch": second(a.RecvBatch(context.Background(), make([][]byte, 2))),
	} {
		if err != full {
			t.Errorf("%s: %v", what, err)
		}
	}
	s.onWrite = nil
	buf := make([][]byte, 5)
	n, err := a.RecvBatch(context.Background(), buf)
	if n != 3 || err != nil || !bytes.Equal(buf[2], numbered(2)) || len(s.records) != 0 {
		t.Errorf("received %d, %v", n, err)
	}
}
