package jetstream

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/workers"
)

// At least once: a value is redelivered after Nack, until it is acknowledged.
func TestRedelivery(t *testing.T) {
	t.Parallel()
	c := open(t, Options[string]{NackDelay: -1})
	mustSend(t, c, "a")
	d := mustDeliver(t, c)
	if d.Value != "a" || d.Attempt != 1 || string(d.Raw) != "a" || d.Reason != "" || d.Err != nil {
		t.Errorf("a first delivery: %+v", d)
	}
	if err := d.Nack(); err != nil {
		t.Fatal(err)
	}
	if d = mustDeliver(t, c); d.Value != "a" || d.Attempt != 2 {
		t.Errorf("a second delivery: %+v", d)
	}
	if err := d.AckSync(patient(t)); err != nil {
		t.Fatal(err)
	}
	mustHold(t, c, 0)
	for _, err := range []error{d.Ack(), d.Nack(), d.AckSync(t.Context()), d.InProgress()} {
		if err != ErrSettled {
			t.Errorf("after AckSync: %v", err)
		}
	}
}

// At least once: a value in flight in a process that shut down is redelivered to
// others.
func TestRedeliveryAfterShutdown(t *testing.T) {
	t.Parallel()
	o := Options[string]{Name: "jobs", Dir: t.TempDir(), AckWait: time.Second}
	c, other := open(t, o), open(t, o)
	mustSend(t, c, "a")
	before := mustDeliver(t, c).Attempt
	leave(t, c) // with it in flight, as when the process dies
	if d := mustDeliver(t, other); d.Value != "a" || d.Attempt <= before {
		t.Errorf("after attempt %d in another process: %+v", before, d)
	}
}

// A delivery in flight is extended in the background.
func TestInProgress(t *testing.T) {
	t.Parallel()
	s := listening(t, nil)
	c := open(t, Options[string]{Name: "jobs", URL: s.ClientURL(), Replicas: 1, AckWait: time.Minute, Log: mute()})
	if c.core.deliveries.interval != 20*time.Second {
		t.Errorf("interval is %v with an AckWait of 1m", c.core.deliveries.interval)
	}
	c.core.deliveries.interval = 10 * time.Millisecond
	heard := subscribed(t, s, "$JS.ACK.jobs.>")
	mustSend(t, c, "a")
	d := mustDeliver(t, c)
	for range 4 {
		m, err := heard.NextMsgWithContext(patient(t))
		if err != nil || string(m.Data) != string(ackProgress) {
			t.Fatalf("acknowledgment of a delivery in flight: %v, %v", m, err)
		}
	}
	if err := d.Ack(); err != nil {
		t.Fatal(err)
	}
	until(t, "the acknowledgment arrives", func() bool {
		m, err := heard.NextMsgWithContext(patient(t))
		return err == nil && string(m.Data) == string(ackDone)
	})
}

// Another receiver may have a value whose delivery expired: all methods fail.
func TestExpired(t *testing.T) {
	t.Parallel()
	c := open(t, Options[string]{Log: mute(), MaxInProgress: time.Nanosecond})
	mustSend(t, c, "a", "b")
	d, other := mustDeliver(t, c), mustDeliver(t, c)
	c.core.deliveries.extend()
	c.core.deliveries.mu.Lock()
	if n := len(c.core.deliveries.inFlight); n > 0 {
		t.Errorf("%d expired deliveries are still in flight", n)
	}
	c.core.deliveries.mu.Unlock()
	if err := d.Ack(); err != ErrExpired {
		t.Errorf("Ack after MaxInProgress: %v", err)
	}
	if err := other.InProgress(); err != ErrExpired {
		t.Errorf("InProgress after MaxInProgress: %v", err)
	}
	mustHold(t, c, 2) // those that were not acknowledged

	c = open(t, Options[string]{Log: mute()})
	mustSend(t, c, "a")
	d = mustDeliver(t, c)
	c.core.deliveries.mu.Lock()
	d.message.confirmed = d.message.confirmed.Add(-c.core.config.ackWait) // as if the process had been paused
	c.core.deliveries.mu.Unlock()
	if err := d.Nack(); err != ErrExpired {
		t.Errorf("Nack after AckWait: %v", err)
	}
}

// An acknowledgment may be lost with the connection. The value is redelivered, and
// acknowledged again without being handed out.
func TestAckLost(t *testing.T) {
	t.Parallel()
	c, p, s := behindProxy(t, Options[string]{Name: "jobs"})
	mustSend(t, c, "a", "b")
	d := mustDeliver(t, c)
	p.silence()
	if err := d.Ack(); err != nil {
		t.Fatal(err)
	}
	p.cut(false)
	mustRecv(t, c, "b")
	if err := client(t, s.ClientURL()).Publish(d.message.reply, ackNak); err != nil { // as the servers do after AckWait
		t.Fatal(err)
	}
	go func() { _, _ = c.Recv(c.core.life.ctx) }() // a receiver gets redeliveries
	until(t, "it is acknowledged again", func() bool { return c.Len() == 0 })
	if n := c.Stats().Received; n != 2 {
		t.Errorf("Stats.Received is %d, want 2", n)
	}
}

// A process that stalls returns the values that it fetched in advance, so other
// receivers get them.
func TestPrefetchReturned(t *testing.T) {
	t.Parallel()
	o := Options[int]{Name: "jobs", Dir: t.TempDir(), Prefetch: 16, AckWait: 2 * time.Hour} // not by AckWait
	stalled, other := open(t, o), open(t, o)
	const total = 200
	for i := range total {
		mustSend(t, stalled, i)
	}
	var seen []int
	for range total / 2 { // fast enough to fetch ahead
		v, err := stalled.Recv(patient(t))
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, v)
	}
	stalled.core.inbox.mu.Lock()
	if n := len(stalled.core.inbox.ready); n > o.Prefetch {
		t.Errorf("%d values are ready", n)
	}
	stalled.core.inbox.mu.Unlock()
	for range total / 2 {
		v, err := other.Recv(patient(t))
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, v)
	}
	if slices.Sort(seen); len(slices.Compact(seen)) != total {
		t.Errorf("%d values, %d arrived", total, len(slices.Compact(seen)))
	}
}

// With Ordered, no receiver gets a value before the one before it is acknowledged,
// even after Nack.
func TestOrdered(t *testing.T) {
	t.Parallel()
	o := Options[int]{Name: "jobs", Dir: t.TempDir(), Ordered: true, NackDelay: -1}
	c, other := open(t, o), open(t, o)
	mustSend(t, c, 1, 2, 3)
	for want := 1; want <= 3; want++ {
		d := mustDeliver(t, c)
		if _, err := other.TryRecv(); err != sluice.ErrEmpty {
			t.Errorf("TryRecv while a value is in flight: %v", err)
		}
		if err := d.Nack(); err != nil {
			t.Fatal(err)
		}
		c, other = other, c
		if d = mustDeliver(t, c); d.Value != want {
			t.Errorf("received %d, want %d", d.Value, want)
		}
		if err := d.Ack(); err != nil {
			t.Fatal(err)
		}
	}
}

// A value is moved to the dead letters after MaxDeliver attempts, and at once if it
// cannot be decoded.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{Name: "jobs", NackDelay: -1, MaxDeliver: 2, Log: mute()})
	mustSend(t, c, 1)
	if _, err := c.core.conn.js.Publish(t.Context(), c.core.subject, []byte("no number")); err != nil {
		t.Fatal(err)
	}
	mustSend(t, c, 2)
	for range 3 {
		d := mustDeliver(t, c)
		if d.Value == 2 {
			if err := d.Ack(); err != nil {
				t.Fatal(err)
			}
		} else if err := d.Nack(); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.CloseContext(patient(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Recv(patient(t)); err != sluice.ErrClosed {
		t.Errorf("Recv after the last value: %v", err)
	}
	if s := c.Stats(); s.Dropped != 2 {
		t.Errorf("Stats.Dropped is %d, want the 2 dead letters", s.Dropped)
	}
	dead, err := c.DeadLetters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer leave(t, dead)
	var reasons []string
	for range 2 {
		d := mustDeliver(t, dead)
		reasons = append(reasons, d.Reason)
		if unread := d.Err != nil; unread != (string(d.Raw) == "no number") || !unread && d.Value != 1 {
			t.Errorf("a dead letter: %+v", d)
		}
		if err := d.Ack(); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(reasons)
	if len(reasons) != 2 || !strings.HasPrefix(reasons[0], "delivered 1 times: codec json cannot decode it") ||
		reasons[1] != "delivered 2 times: Nack in the last attempt" {
		t.Errorf("reasons: %q", reasons)
	}
}

// Without dead letters, a value is redelivered without limit.
func TestNoDeadLetters(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{NackDelay: -1, MaxDeliver: -1})
	mustSend(t, c, 1)
	for i := range 15 {
		d := mustDeliver(t, c)
		if d.Attempt != i+1 {
			t.Errorf("attempt %d has Attempt %d", i+1, d.Attempt)
		}
		if err := d.Nack(); err != nil {
			t.Fatal(err)
		}
	}
}

// workers.Run works on deliveries: failed jobs are repeated, and it returns once the
// channel is drained.
func TestWorkers(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{NackDelay: -1})
	const jobs = 300
	batch := make([]int, jobs)
	for i := range batch {
		batch[i] = i
	}
	if n, err := c.SendBatch(patient(t), batch); n != jobs || err != nil {
		t.Fatal(n, err)
	}
	c.Close()
	var mu sync.Mutex
	done, failed := map[int]int{}, map[int]bool{}
	err := workers.Run(patient(t), c.Deliveries(), 4, AckEach(func(_ context.Context, job int) error {
		mu.Lock()
		defer mu.Unlock()
		if job%3 == 0 && !failed[job] {
			failed[job] = true
			return errors.New("not today")
		}
		done[job]++
		return nil
	}), &workers.RunOptions[*Delivery[int]]{OnUnprocessed: func(d *Delivery[int]) { _ = d.Nack() }})
	if err != nil {
		t.Errorf("workers.Run: %v", err)
	}
	for i := range jobs {
		if done[i] != 1 {
			t.Errorf("job %d was done %d times", i, done[i])
		}
	}
}

// Senders and receivers wait for a lost connection, and no value is lost or
// duplicated.
func TestReconnects(t *testing.T) {
	t.Parallel()
	c, p, _ := behindProxy(t, Options[string]{Name: "jobs", AckWait: time.Second})
	var all sync.WaitGroup
	const total = 300
	seen := map[string]int{}
	all.Go(func() {
		values := c.Values(patient(t))
		for v := range values.All() {
			seen[v]++
		}
		if err := values.Err(); err != nil {
			t.Errorf("Values: %v", err)
		}
	})
	for i := range total {
		mustSend(t, c, strings.Repeat("a", i+1))
		if i%60 == 30 {
			p.cut(false)
		}
	}
	c.Close()
	all.Wait()
	if len(seen) != total {
		t.Errorf("%d of %d values arrived", len(seen), total)
	}
	for v, n := range seen {
		if n > 1 {
			t.Errorf("value %d arrived %d times", len(v), n)
		}
	}
}

// Shutdown ends pending operations.
func TestShutdownReleases(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{Capacity: 1})
	results := make(chan error)
	go func() {
		_, err := c.Recv(patient(t))
		results <- err
	}()
	until(t, "a receiver waits", func() bool { return c.Stats().ReceiversWaiting == 1 })
	leave(t, c)
	if err := <-results; err != ErrShutdown {
		t.Errorf("Recv at Shutdown: %v", err)
	}
	if _, err := c.DeadLetters(t.Context()); err != ErrShutdown {
		t.Errorf("DeadLetters after Shutdown: %v", err)
	}
	c.Close() // does nothing
	if err := c.CloseContext(t.Context()); err != ErrShutdown {
		t.Errorf("CloseContext after Shutdown: %v", err)
	}
}

// Close is for all processes: a receiver that waits in another process gets
// ErrClosed once the channel is drained.
func TestCloseElsewhere(t *testing.T) {
	t.Parallel()
	o := Options[int]{Name: "jobs", Dir: t.TempDir()}
	here, there := open(t, o), open(t, o)
	mustSend(t, here, 1)
	d := mustDeliver(t, there)
	received := make(chan error)
	go func() {
		_, err := here.Recv(patient(t))
		received <- err
	}()
	until(t, "a receiver waits", func() bool { return here.Stats().ReceiversWaiting == 1 })
	there.Close()
	if err := here.Send(patient(t), 2); err != sluice.ErrClosed {
		t.Errorf("Send to a channel closed elsewhere: %v", err)
	}
	if n := here.Stats().ReceiversWaiting; n != 1 {
		t.Error("a receiver returned while a value is in flight")
	}
	if err := d.Ack(); err != nil {
		t.Fatal(err)
	}
	if err := <-received; err != sluice.ErrClosed {
		t.Errorf("Recv after the last acknowledgment: %v", err)
	}
}

// A Close without a connection fails, and can be repeated.
func TestCloseUnconfirmed(t *testing.T) {
	t.Parallel()
	c, p, s := behindProxy(t, Options[string]{Name: "jobs"})
	ready := c.Ready()
	p.cut(true)
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := c.CloseContext(short); err == nil || !strings.Contains(err.Error(), `closing channel "jobs"`) {
		t.Errorf("CloseContext without a connection: %v", err)
	}
	for range ready { // it is closed
	}
	if err := c.Send(t.Context(), "a"); err != sluice.ErrClosed {
		t.Errorf("Send after CloseContext: %v", err)
	}
	p.cut(false)
	if err := c.CloseContext(patient(t)); err != nil {
		t.Errorf("CloseContext: %v", err)
	}
	js, err := natsjs.New(client(t, s.ClientURL()))
	if err != nil {
		t.Fatal(err)
	}
	if stream, err := js.Stream(t.Context(), "jobs"); err != nil || !stream.CachedInfo().Config.Sealed {
		t.Errorf("the stream is not sealed: %v", err)
	}
}
