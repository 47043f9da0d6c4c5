package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/codec"
)

// A batch has at most the number of messages that the servers allow and
// maxBatchBytes, unless its first message alone is larger.
func TestBatchSize(t *testing.T) {
	t.Parallel()
	payload := func(bytes int) []byte { return make([]byte, bytes) }
	small := payload(1)
	for _, test := range []struct {
		payloads [][]byte
		most     int
		want     int
	}{
		{[][]byte{small}, maxBatch, 1},
		{[][]byte{small, small, small}, 2, 2},
		{[][]byte{small, small, small}, 3, 3},
		{[][]byte{payload(maxBatchBytes - 1), small, small}, maxBatch, 2},
		{[][]byte{payload(maxBatchBytes), small}, maxBatch, 1},
		{[][]byte{payload(maxBatchBytes + 1), small}, maxBatch, 1},
		{[][]byte{small, payload(maxBatchBytes)}, maxBatch, 1},
	} {
		if got := batchSize(test.payloads, test.most); got != test.want {
			t.Errorf("%d payloads, the first one of %d bytes: batch of %d, want %d", len(test.payloads), len(test.payloads[0]), got, test.want)
		}
	}
}

// Servers without atomic batches get the values one by one, and Stats has a warning.
func TestSendBatchOldServers(t *testing.T) {
	t.Parallel()
	s := listening(t, nil)
	js, err := natsjs.New(client(t, s.ClientURL()))
	if err != nil {
		t.Fatal(err)
	}
	o := Options[int]{Name: "old", URL: s.ClientURL(), Replicas: 1, Log: mute()}
	config, _, err := o.resolve()
	if err != nil {
		t.Fatal(err)
	}
	stream := newCore(config, &connection{}).config.stream()
	stream.AllowAtomicPublish = false
	if _, err := js.CreateStream(t.Context(), stream); err != nil {
		t.Fatal(err)
	}
	c := open(t, o)
	if n, err := c.SendBatch(t.Context(), []int{1, 2, 3}); n != 3 || err != nil {
		t.Errorf("SendBatch: %d, %v", n, err)
	}
	mustRecv(t, c, 1, 2, 3)
	if w := c.Stats().Disk.Warning; !strings.Contains(w, "SendBatch sends the values one by one") {
		t.Errorf("Stats.Disk.Warning: %q", w)
	}
}

// positive encodes no negative numbers.
type positive struct{ codec.Codec[int] }

func (p positive) Append(b []byte, v int) ([]byte, error) {
	if v < 0 {
		return b, fmt.Errorf("%d has no form", v)
	}
	return p.Codec.Append(b, v)
}

// A value that cannot be encoded ends the batch there.
func TestSendBatchCodec(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{Codec: positive{codec.JSON[int]()}})
	n, err := c.SendBatch(t.Context(), []int{1, 2, -3, 4})
	if n != 2 || err == nil || !strings.Contains(err.Error(), "-3 has no form") {
		t.Errorf("SendBatch with a third value that cannot be encoded: %d, %v", n, err)
	}
	mustRecv(t, c, 1, 2)
	if n, err := c.SendBatch(canceled(), []int{1, -3}); n != 0 || err != context.Canceled {
		t.Errorf("SendBatch with a canceled context: %d, %v", n, err)
	}
}

// At most maxBatches batches are under way. Another one waits for a slot until its
// context is done, or Shutdown.
func TestSlots(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{})
	for range maxBatches {
		if err := c.core.publisher.acquireSlot(canceled()); err != nil { // a slot is free: it does not wait
			t.Fatal(err)
		}
	}
	if n, err := c.SendBatch(canceled(), []int{1, 2}); n != 0 || err != context.Canceled {
		t.Errorf("SendBatch without a free slot: %d, %v", n, err)
	}
	<-c.core.publisher.slots
	for range 3 { // it releases its slot
		if n, err := c.SendBatch(patient(t), []int{1, 2}); n != 2 || err != nil {
			t.Errorf("SendBatch with a free slot: %d, %v", n, err)
		}
	}
	if n := len(c.core.publisher.slots); n != maxBatches-1 {
		t.Errorf("%d slots are taken, want %d", n, maxBatches-1)
	}
	crowded := alone(config{})
	for range maxBatches {
		crowded.publisher.slots <- struct{}{}
	}
	crowded.life.cancel()
	if err := crowded.publisher.acquireSlot(patient(t)); err != ErrShutdown {
		t.Errorf("acquireSlot at Shutdown: %v", err)
	}
}

// A SendBatch that is canceled reports how many values are stored.
func TestSendBatchCanceled(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{Capacity: 2})
	ctx, cancel := withCancel(t)
	sent := make(chan int)
	go func() {
		n, err := c.SendBatch(ctx, []int{1, 2, 3, 4})
		more, after := resolve(err)
		if err != context.Canceled && !noAnswer(err, after) {
			t.Errorf("SendBatch: %v, resolved: %v", err, after)
		}
		sent <- n + more
	}()
	until(t, "SendBatch waits for room", func() bool { s := c.Stats(); return s.Len == 2 && s.SendersWaiting == 1 })
	cancel()
	if n := <-sent; n != 2 {
		t.Errorf("SendBatch reports %d stored, want 2", n)
	}
}

// SendBatch stores any number of values in order: none, one, and more than fit into
// one batch.
func TestSendBatchLengths(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{})
	next, received := 0, 0
	for _, n := range []int{0, 1, 2, maxBatch, maxBatch + 1, 2*maxBatch + 2} {
		batch := make([]int, n)
		for i := range batch {
			batch[i] = next
			next++
		}
		if sent, err := c.SendBatch(patient(t), batch); sent != n || err != nil {
			t.Fatalf("SendBatch of %d: %d, %v", n, sent, err)
		}
	}
	mustHold(t, c, next)
	for buf := make([]int, 100); received < next; {
		n, err := c.RecvBatch(patient(t), buf)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range buf[:n] {
			if v != received {
				t.Fatalf("received %d, want %d", v, received)
			}
			received++
		}
	}
	if s := c.Stats(); s.Sent != uint64(next) || s.Received != uint64(next) {
		t.Errorf("Stats after %d values: %+v", next, s)
	}
}

// After an unknown outcome, every later error is an UnknownError. Retry resolves it,
// and counts the values once. (The embedded server is an exception: TestUnknownFull.)
func TestUnknownStays(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{Capacity: 1, URL: listening(t, nil).ClientURL(), Replicas: 1, Log: mute()})
	for what, second := range map[string]error{
		"the context is done": context.Canceled,
		"closed":              answer(codeSealed, ""),
		"rejected":            answer(codeTooLarge, ""),
		"full":                answer(codeStoreFailed, textFullValues),
	} {
		ctx, cancel := withCancel(t)
		attempts := 0
		s := &publication{values: 3, store: func(context.Context) error {
			switch attempts++; {
			case attempts == 1 && second == context.Canceled:
				cancel()
				return context.DeadlineExceeded
			case attempts == 1:
				return context.DeadlineExceeded
			case attempts == 2 && second != context.Canceled:
				return second
			}
			return nil
		}}
		var u *UnknownError
		if err := c.core.publisher.send(ctx, s, waitServers); !errors.As(err, &u) || u.Values != 3 {
			t.Errorf("%s: %v", what, err)
			continue
		}
		c.core.life.closed.Store(false) // it is still open
		before := c.Stats().Sent
		for range 3 {
			if err := u.Retry(t.Context()); err != nil {
				t.Errorf("%s, then Retry: %v", what, err)
			}
		}
		if n := c.Stats().Sent - before; n != 3 {
			t.Errorf("%s: Retry counts %d values", what, n)
		}
	}
}

// TrySend makes one attempt: it does not wait for servers that are away or silent.
func TestOneAttempt(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{})
	for _, test := range []struct {
		answer error
		is     error
		values uint64
	}{
		{nil, nil, 2},
		{answer(codeStoreFailed, textFullBytes), sluice.ErrFull, 0},
		{nats.ErrNoResponders, nats.ErrNoResponders, 0},
		{context.DeadlineExceeded, ErrUnknown, 0},
	} {
		attempts, before := 0, c.Stats().Sent
		s := &publication{values: 2, store: func(context.Context) error { attempts++; return test.answer }}
		if err := c.core.publisher.send(t.Context(), s, waitNever); !errors.Is(err, test.is) || attempts != 1 {
			t.Errorf("%v: %v after %d attempts, want %v", test.answer, err, attempts, test.is)
		}
		if n := c.Stats().Sent - before; n != test.values {
			t.Errorf("%v: %d values are counted", test.answer, n)
		}
	}
}

// The dedupe window counts from the start of the first attempt with an unknown
// outcome.
func TestRetriesEnd(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{})
	attempts := 0
	s := &publication{values: 1, store: func(context.Context) error { attempts++; return context.DeadlineExceeded }}
	s.unknownSince, s.cause = time.Now().Add(-c.core.config.dedupeWindow/2-time.Second), context.DeadlineExceeded
	if err := c.core.publisher.send(patient(t), s, waitRoom); !errors.Is(err, ErrUnknown) || attempts != 0 {
		t.Errorf("after the window: %v, and %d attempts", err, attempts)
	}
	s.unknownSince = time.Time{}
	begun := time.Now()
	err := c.core.publisher.send(patient(t), s, waitNever)
	if !errors.Is(err, ErrUnknown) || s.unknownSince.Before(begun) || s.unknownSince.After(time.Now()) || attempts != 1 {
		t.Errorf("the window starts at %v, %v", s.unknownSince, err)
	}
	first := s.unknownSince
	if err := c.core.publisher.send(patient(t), s, waitNever); !errors.Is(err, ErrUnknown) || s.unknownSince != first {
		t.Errorf("the window restarts with each attempt: %v", err)
	}
}

// RecvBatch gets what the servers have with one request, however much time passes
// between two calls.
func TestRecvBatchAtOnce(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{AckWait: 2 * time.Hour, Log: mute()})
	in := &c.core.inbox
	buf := make([]int, 100)
	calls := 0
	for range 3 {
		if n, err := c.SendBatch(patient(t), make([]int, 250)); n != 250 || err != nil {
			t.Fatal(n, err)
		}
		until(t, "the consumer has them", func() bool { return consumerOf(t, c).NumPending == 250 })
		for got := 0; got < 250; calls++ {
			in.mu.Lock()
			in.takenAt = time.Time{} // a long time ago
			in.mu.Unlock()
			n, err := c.RecvBatch(patient(t), buf)
			if err != nil {
				t.Fatal(err)
			}
			got += n
		}
	}
	// Nine calls, or more if one returned what had come before its timeout. Values that
	// receivers wait for come one by one.
	if w := c.Stats().RecvWaits; calls > 50 || w > 50 {
		t.Errorf("%d calls, of which %d waited", calls, w)
	}
}

// RecvBatch ends with its context even while the servers do not answer, and
// otherwise waits.
func TestRecvBatchDeaf(t *testing.T) {
	t.Parallel()
	c, p, _ := behindProxy(t, Options[string]{Name: "jobs"})
	p.deafen()
	ctx, cancel := withCancel(t)
	asked := func() bool {
		c.core.inbox.mu.Lock()
		defer c.core.inbox.mu.Unlock()
		return c.core.fetcher.try.left > 0
	}
	ended := make(chan error)
	go func() {
		_, err := c.RecvBatch(ctx, make([]string, 8))
		ended <- err
	}()
	until(t, "it requests what the servers have", asked)
	cancel()
	if err := <-ended; err != context.Canceled {
		t.Errorf("RecvBatch: %v", err)
	}
	go func() {
		_, err := c.RecvBatch(patient(t), make([]string, 8))
		ended <- err
	}()
	until(t, "it waits", func() bool {
		c.core.inbox.mu.Lock()
		defer c.core.inbox.mu.Unlock()
		return len(c.core.inbox.waiters) == 1
	})
	p.cut(false)
	mustSend(t, c, "a")
	if err := <-ended; err != nil {
		t.Errorf("RecvBatch: %v", err)
	}
}

// A value whose answer is missing when the connection is closed is unknown; a value
// sent over a closed connection is not stored.
func TestShutdownUnanswered(t *testing.T) {
	t.Parallel()
	for values := 1; values <= 2; values++ {
		c, p, s := behindProxy(t, Options[string]{Name: "jobs"})
		p.deafen()
		sent := make(chan error)
		go func() {
			_, err := c.SendBatch(patient(t), []string{"a", "b"}[:values])
			sent <- err
		}()
		until(t, "the values are stored", func() bool { return storedIn(t, s, "jobs") == uint64(values) })
		c.core.conn.nc.Close() // as Shutdown does
		if err := <-sent; !errors.Is(err, ErrUnknown) {
			t.Errorf("SendBatch of %d stored values: %v", values, err)
		}
		if err := c.Send(patient(t), "late"); err != ErrShutdown {
			t.Errorf("Send over a closed connection: %v", err)
		}
	}
}
