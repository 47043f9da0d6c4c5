package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-go/sluice"
)

// behindProxy opens a channel whose connection can be broken.
func behindProxy(t *testing.T, o Options[string]) (*Channel[string], *proxy, *server.Server) {
	t.Helper()
	s := listening(t, nil)
	p := newProxy(t, s.Addr().String())
	o.URL, o.Replicas, o.Log = p.url(), 1, mute()
	return open(t, o), p, s
}

// storedIn returns the number of stored values, over a connection of its own.
func storedIn(t *testing.T, s *server.Server, name string) uint64 {
	t.Helper()
	js, err := natsjs.New(client(t, s.ClientURL()))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return stream.CachedInfo().State.Msgs
}

// If the answer to a Send is lost with the connection, the value is sent again, and
// stored once.
func TestSendRepeats(t *testing.T) {
	t.Parallel()
	c, p, s := behindProxy(t, Options[string]{Name: "jobs"})
	for i := range 5 {
		p.deafen()
		sent := make(chan error)
		go func() { sent <- c.Send(patient(t), fmt.Sprint(i)) }()
		until(t, "the value is stored", func() bool { return storedIn(t, s, "jobs") == uint64(i+1) })
		p.cut(false)
		if err := <-sent; err != nil {
			t.Fatalf("Send: %v", err)
		}
	}
	if n := storedIn(t, s, "jobs"); n != 5 {
		t.Errorf("%d stored, want 5", n)
	}
	mustRecv(t, c, "0", "1", "2", "3", "4")
}

// A batch whose answer is lost is stored once, in order.
func TestSendBatchRepeats(t *testing.T) {
	t.Parallel()
	c, p, s := behindProxy(t, Options[string]{Name: "jobs"})
	var want []string
	for i := range 3 {
		batch := make([]string, 100)
		for j := range batch {
			batch[j] = fmt.Sprint(i, ".", j)
		}
		want = append(want, batch...)
		p.deafen()
		sent := make(chan error)
		go func() {
			_, err := c.SendBatch(patient(t), batch)
			sent <- err
		}()
		until(t, "the batch is stored", func() bool { return storedIn(t, s, "jobs") == uint64(100*(i+1)) })
		p.cut(false)
		if err := <-sent; err != nil {
			t.Fatalf("SendBatch: %v", err)
		}
	}
	mustRecv(t, c, want...)
	until(t, "all values are acknowledged", func() bool { return c.Len() == 0 })
}

// unanswered makes a Send whose value is stored, whose answer is lost, and whose
// context ends then.
func unanswered(t *testing.T, c *Channel[string], p *proxy, s *server.Server) *UnknownError {
	t.Helper()
	before := storedIn(t, s, c.core.config.name)
	ctx, cancel := context.WithCancel(t.Context())
	p.deafen()
	sent := make(chan error)
	go func() { sent <- c.Send(ctx, "a") }()
	until(t, "the value is stored", func() bool { return storedIn(t, s, c.core.config.name) == before+1 })
	cancel()
	p.cut(true)
	err := <-sent
	var u *UnknownError
	if !errors.As(err, &u) || !errors.Is(err, ErrUnknown) {
		t.Fatalf("Send with a lost answer: %v, want %v", err, ErrUnknown)
	}
	for _, no := range []error{context.Canceled, sluice.ErrClosed, sluice.ErrFull} {
		if errors.Is(err, no) {
			t.Errorf("an UnknownError is %v", no)
		}
	}
	p.cut(false)
	return u
}

// Retry resolves an unknown outcome: the servers recognize the value.
func TestUnknownRetry(t *testing.T) {
	t.Parallel()
	c, p, s := behindProxy(t, Options[string]{Name: "jobs"})
	u := unanswered(t, c, p, s)
	for range 3 {
		if err := u.Retry(patient(t)); err != nil {
			t.Fatalf("Retry: %v", err)
		}
	}
	if n := storedIn(t, s, "jobs"); n != 1 {
		t.Errorf("%d stored after Retry", n)
	}
	if n := c.Stats().Sent; n != 1 || u.Values != 1 {
		t.Errorf("Stats.Sent is %d after Retry of %d values", n, u.Values)
	}
}

// An UnknownError of SendBatch reports how many values it is about, and Retry sends
// these.
func TestSendBatchUnknown(t *testing.T) {
	t.Parallel()
	c, p, s := behindProxy(t, Options[string]{Name: "jobs"})
	batch := make([]string, maxBatch+10)
	ctx, cancel := context.WithCancel(t.Context())
	p.deafen()
	sent := make(chan int)
	var err error
	go func() {
		var n int
		n, err = c.SendBatch(ctx, batch)
		sent <- n
	}()
	until(t, "a batch is stored", func() bool { return storedIn(t, s, "jobs") == maxBatch })
	cancel()
	p.cut(false)
	n := <-sent
	u := (*UnknownError)(nil)
	if !errors.As(err, &u) || n != 0 || u.Values != maxBatch {
		t.Fatalf("SendBatch with a lost answer: %d, %v, %+v", n, err, u)
	}
	for range 2 {
		if err := u.Retry(patient(t)); err != nil {
			t.Fatalf("Retry: %v", err)
		}
	}
	if stored, n := storedIn(t, s, "jobs"), c.Stats().Sent; stored != maxBatch || n != maxBatch {
		t.Errorf("%d stored after Retry, Stats.Sent is %d", stored, n)
	}
}

// The embedded server has answered late: "full" to a retry proves that the first attempt
// stored nothing, so Retry reports it, and does not stay unknown until it is too late. If
// the first attempt did store the value, which took the last place, Retry finds it. After
// a reconnect, "full" proves nothing.
func TestUnknownFull(t *testing.T) {
	t.Parallel()
	c := open(t, Options[string]{Capacity: 1})
	p := &c.core.publisher
	unanswered := func() *UnknownError {
		t.Helper()
		pub := p.single([]byte("a"))
		store, lose := pub.store, true
		pub.store = func(ctx context.Context) error {
			if err := store(ctx); !lose {
				return err
			}
			lose = false
			return context.DeadlineExceeded
		}
		err := p.send(patient(t), pub, waitNever)
		u := (*UnknownError)(nil)
		if !errors.As(err, &u) {
			t.Fatalf("a send whose answer is lost: %v", err)
		}
		return u
	}
	if err := unanswered().Retry(patient(t)); err != nil || c.Len() != 1 {
		t.Errorf("Retry of a value that filled the channel: %v; %d values", err, c.Len())
	}
	if err := unanswered().Retry(patient(t)); err != sluice.ErrFull {
		t.Errorf("Retry of a value for which there was no room: %v, want ErrFull", err)
	}
	u := unanswered()
	before := c.core.conn.reconnects()
	if err := c.core.conn.nc.ForceReconnect(); err != nil {
		t.Fatal(err)
	}
	until(t, "there is another connection", func() bool { return c.core.conn.reconnects() > before && c.core.conn.nc.IsConnected() })
	if err := u.Retry(patient(t)); !errors.Is(err, ErrUnknown) {
		t.Errorf("Retry over another connection: %v, want ErrUnknown", err)
	}
}

// After the dedupe window, a retry could store the value twice.
func TestUnknownTooLate(t *testing.T) {
	t.Parallel()
	c, p, s := behindProxy(t, Options[string]{Name: "jobs", DedupeWindow: time.Second})
	u := unanswered(t, c, p, s)
	done, cancel := context.WithCancel(t.Context())
	cancel()
	until(t, "it is too late", func() bool { return errors.Is(u.Retry(done), ErrTooLate) })
	if n := storedIn(t, s, "jobs"); n != 1 {
		t.Errorf("%d stored", n)
	}
}

// A value whose Send fails with the error of the context, ErrClosed or ErrShutdown
// is not stored.
func TestSendFails(t *testing.T) {
	t.Parallel()
	c := open(t, Options[string]{Capacity: 1})
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Send(done, "a"); err != context.Canceled {
		t.Errorf("Send with a canceled context: %v", err)
	}
	mustSend(t, c, "a")
	if err := c.TrySend("b"); err != sluice.ErrFull {
		t.Errorf("TrySend to a full channel: %v", err)
	}
	waiting, stop := context.WithCancel(t.Context())
	sent := make(chan error)
	go func() { sent <- c.Send(waiting, "c") }()
	until(t, "a sender waits", func() bool { return c.Stats().SendersWaiting == 1 })
	stop()
	err := <-sent
	if _, after := resolve(err); err != context.Canceled && !noAnswer(err, after) {
		t.Errorf("Send that waited for room: %v, resolved: %v", err, after)
	}
	go func() {
		n, err := c.SendBatch(t.Context(), []string{"d", "e"})
		if n != 0 {
			t.Errorf("SendBatch to a full channel sent %d", n)
		}
		sent <- err
	}()
	until(t, "a sender waits", func() bool { return c.Stats().SendersWaiting == 1 })
	c.Close()
	if err := <-sent; err != sluice.ErrClosed {
		t.Errorf("SendBatch that waited for room at Close: %v", err)
	}
	for _, err := range []error{c.Send(t.Context(), "f"), c.TrySend("f")} {
		if err != sluice.ErrClosed {
			t.Errorf("a send to a closed channel: %v", err)
		}
	}
	mustRecv(t, c, "a")
	if v, err := c.Recv(patient(t)); err != sluice.ErrClosed {
		t.Errorf("Recv from a closed and drained channel: %q, %v", v, err)
	}
	leave(t, c)
	if err := c.Send(t.Context(), "g"); err != ErrShutdown {
		t.Errorf("Send after Shutdown: %v", err)
	}
	if _, err := c.Recv(t.Context()); err != ErrShutdown {
		t.Errorf("Recv after Shutdown: %v", err)
	}
}

// A batch larger than the channel is sent in parts, as room becomes available.
func TestSendBatchRoom(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{Capacity: 10})
	want := make([]int, 100)
	for i := range want {
		want[i] = i
	}
	var sender sync.WaitGroup
	sender.Go(func() {
		if n, err := c.SendBatch(patient(t), want); n != len(want) || err != nil {
			t.Errorf("SendBatch: %d, %v", n, err)
		}
	})
	mustRecv(t, c, want...)
	sender.Wait()
}

// Concurrent batches are not interleaved, and each is in order.
func TestSendBatchesWhole(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{})
	const senders, each = 20, 60
	var all sync.WaitGroup
	for s := range senders {
		all.Go(func() {
			batch := make([]int, each)
			for i := range batch {
				batch[i] = s*each + i
			}
			if n, err := c.SendBatch(patient(t), batch); n != each || err != nil {
				t.Errorf("SendBatch: %d, %v", n, err)
			}
		})
	}
	all.Wait()
	var seen []int
	for range senders {
		first, err := c.Recv(patient(t))
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, first)
		for i := 1; i < each; i++ {
			if v, err := c.Recv(patient(t)); v != first+i || err != nil {
				t.Fatalf("after value %d of sender %d: %v, %v", i-1, first/each, v, err)
			}
		}
	}
	if slices.Sort(seen); len(slices.Compact(seen)) != senders {
		t.Errorf("received batches of %v", seen)
	}
}

// A value that is too large for a message fails with one clear error, and nothing is
// sent.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	c := open(t, Options[string]{})
	large := strings.Repeat("a", 1<<20)
	_, batchErr := c.SendBatch(t.Context(), []string{"b", large})
	for _, err := range []error{c.Send(t.Context(), large), c.TrySend(large), batchErr} {
		if !errors.Is(err, sluice.ErrTooLarge) || !strings.Contains(err.Error(), "the value has 1048576 bytes, max_payload of the servers is 1048576") {
			t.Errorf("a value of 1 MiB: %v", err)
		}
	}
	if n := c.Len(); n != 0 {
		t.Errorf("%d values are stored", n)
	}
	fits := large[:1<<20-maxHeaders]
	mustSend(t, c, fits)
	mustRecv(t, c, fits)
	many := slices.Repeat([]string{fits}, 10) // more than maxBatchBytes
	if n, err := c.SendBatch(patient(t), many); n != 10 || err != nil {
		t.Fatalf("SendBatch of 10 MiB: %d, %v", n, err)
	}
	mustRecv(t, c, many...)
}

// A value larger than MaxBytes is rejected: its sender would wait forever.
func TestLargerThanMaxBytes(t *testing.T) {
	t.Parallel()
	c := open(t, Options[string]{MaxBytes: 1000})
	fits := strings.Repeat("a", 1000-minOverhead-len(c.core.subject))
	if err := c.TrySend(fits + "a"); !errors.Is(err, sluice.ErrTooLarge) || !strings.Contains(err.Error(), "takes 1001 bytes, MaxBytes is 1000") {
		t.Errorf("a value that is too large: %v", err)
	}
	if err := c.TrySend(fits); err != nil {
		t.Errorf("a value that just fits: %v", err)
	}
}

// A sender notices that the stream was deleted.
func TestDeletedForSenders(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{Log: mute()})
	if err := c.core.conn.js.DeleteStream(t.Context(), c.core.config.name); err != nil {
		t.Fatal(err)
	}
	if err := c.Send(patient(t), 1); err != ErrDeleted {
		t.Errorf("Send: %v", err)
	}
}

// Waiting receivers notice that the stream was deleted.
func TestDeleted(t *testing.T) {
	t.Parallel()
	s := listening(t, nil)
	c := open(t, Options[int]{Name: "jobs", URL: s.ClientURL(), Replicas: 1, Log: mute()})
	js, err := natsjs.New(client(t, s.ClientURL()))
	if err != nil {
		t.Fatal(err)
	}
	received := make(chan error, 1)
	go func() {
		_, err := c.Recv(context.Background()) // must not end with its context
		received <- err
	}()
	until(t, "a receiver waits", func() bool { return c.Stats().ReceiversWaiting == 1 })
	if err := js.DeleteStream(t.Context(), "jobs"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-received:
		if err != ErrDeleted {
			t.Errorf("Recv: %v", err)
		}
	case <-patient(t).Done():
		t.Error("the receiver still waits")
	}
	if err := c.Send(patient(t), 1); err != ErrDeleted {
		t.Errorf("Send: %v", err)
	}
	if err := c.CloseContext(patient(t)); err != ErrDeleted {
		t.Errorf("CloseContext: %v", err)
	}
}
