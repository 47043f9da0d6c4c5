package jetstream

import (
	"context"
	"strings"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-go/sluice"
)

// returnUnseen fetches n values without a receiver, and returns them as idle, as c does with no others.
func returnUnseen[T any](t *testing.T, c *Channel[T], n int) {
	t.Helper()
	in := &c.core.inbox
	in.mu.Lock()
	in.returnAfter = time.Hour // only below, however long the test pauses
	_, free := in.fetcher.outstanding()
	c.core.fetcher.request(free, pullRequest{Batch: n, Expires: pullAhead})
	in.mu.Unlock()
	until(t, "they are fetched", func() bool {
		in.mu.Lock()
		defer in.mu.Unlock()
		return len(in.ready) == n
	})
	in.mu.Lock()
	in.returnAfter = 0
	in.mu.Unlock()
	in.returnIdle()
	in.mu.Lock()
	in.returnAfter = time.Hour
	in.mu.Unlock()
}

// silent ends a delivery without a Nack, as when its process dies, and has it
// redelivered.
func silent[T any](t *testing.T, d *Delivery[T]) {
	t.Helper()
	d.channel.core.nak(d.message, 0) // as the servers do after AckWait
	if err := d.channel.core.deliveries.untrack(d.message); err != nil {
		t.Fatal(err)
	}
}

// Only deliveries that a receiver got are attempts. A value that other processes
// fetched and returned keeps all of its attempts, and no records remain.
func TestAttemptsCount(t *testing.T) {
	t.Parallel()
	for most := 1; most <= 3; most++ {
		dir := t.TempDir()
		c := open(t, Options[int]{Name: "jobs", Dir: dir, Prefetch: 1, NackDelay: -1, MaxDeliver: most, Log: mute()})
		stalls := open(t, Options[int]{Name: "jobs", Dir: dir, NackDelay: -1, MaxDeliver: most, Log: mute()})
		mustSend(t, c, 1, 2)
		for try := range most {
			for range 3 {
				returnUnseen(t, stalls, 2)
			}
			if n := c.Stats().Dropped; n != 0 {
				t.Fatalf("MaxDeliver %d: %d dead letters after %d attempts", most, n, try)
			}
			for range 2 {
				if d := mustDeliver(t, c); d.Value == 2 && try == most-1 {
					if err := d.Ack(); err != nil {
						t.Error(err)
					}
				} else if err := d.Nack(); err != nil {
					t.Error(err)
				}
			}
		}
		until(t, "one value is a dead letter, the other acknowledged", func() bool { return c.Stats().Dropped == 1 && c.Len() == 0 })
		until(t, "the records are deleted", func() bool { return records(t, c) == 0 })
	}
}

// A value whose process dies without Ack or Nack is moved to the dead letters after
// MaxDeliver + 1 attempts, as the first one is not recorded; with MaxDeliver 1 after
// one.
func TestDeadLetterAfterDeaths(t *testing.T) {
	t.Parallel()
	for most, want := range map[int]int{1: 1, 2: 3, 3: 4} {
		c := open(t, Options[int]{NackDelay: -1, MaxDeliver: most, Log: mute()})
		mustSend(t, c, 1)
		for range want {
			silent(t, mustDeliver(t, c))
		}
		ctx, cancel := withCancel(t)
		go func() {
			until(t, "it is a dead letter", func() bool { return c.Stats().Dropped == 1 })
			cancel()
		}()
		if d, err := c.Deliveries().Recv(ctx); err == nil {
			t.Errorf("MaxDeliver %d: attempt %d: %+v", most, want+1, d)
		}
		dead, err := c.DeadLetters(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer leave(t, dead)
		if d := mustDeliver(t, dead); !strings.HasSuffix(d.Reason, " times: no acknowledgment in the last attempt") {
			t.Errorf("reason: %q", d.Reason)
		}
		if n := c.Stats().Received; n != uint64(want) {
			t.Errorf("MaxDeliver %d: Stats.Received is %d", most, n)
		}
		until(t, "the records are deleted", func() bool { return records(t, c) == 0 })
	}
}

// Receivers of values acknowledge as they receive, so no value runs out of attempts.
func TestAttemptsOfValues(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{MaxDeliver: 1})
	mustSend(t, c, 1, 2, 3)
	for range 3 {
		returnUnseen(t, c, 3)
	}
	mustRecv(t, c, 1, 2, 3)
	if s := c.Stats(); s.Dropped != 0 || s.Disk.Warning != "" {
		t.Errorf("%+v", s)
	}
}

// Recording an attempt takes less time than AckWait.
func TestRecordInTime(t *testing.T) {
	t.Parallel()
	for ackWait, most := range map[time.Duration]time.Duration{time.Second: time.Second / 2, time.Hour: attemptTimeout} {
		c := open(t, Options[int]{AckWait: ackWait})
		asked := false
		c.core.attempts.withRecords(func(ctx context.Context, _ natsjs.Stream, _ *message) error {
			deadline, ok := ctx.Deadline()
			if asked = true; !ok || time.Until(deadline) > most {
				t.Errorf("AckWait %v: recording may take until %v", ackWait, deadline)
			}
			return nil
		}, newest(1))
		if !asked {
			t.Error("f was not called")
		}
	}
}

// A process that was paused does not hand out a message that another receiver may
// have, so it makes no attempt.
func TestAttemptOverdue(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{AckWait: 2 * time.Hour, MaxDeliver: 2, NackDelay: -1})
	mustSend(t, c, 1)
	if err := mustDeliver(t, c).Nack(); err != nil {
		t.Fatal(err)
	}
	in := &c.core.inbox
	in.mu.Lock()
	_, free := in.fetcher.outstanding()
	c.core.fetcher.request(free, pullRequest{Batch: 1, Expires: pullAhead})
	in.mu.Unlock()
	until(t, "it is redelivered", func() bool {
		in.mu.Lock()
		defer in.mu.Unlock()
		for _, p := range in.ready {
			p.arrived = time.Now().Add(-2 * time.Hour)
		}
		return len(in.ready) == 1
	})
	if d, err := c.Deliveries().TryRecv(); err != sluice.ErrEmpty {
		t.Errorf("TryRecv of an overdue message: %+v, %v", d, err)
	}
	if n := records(t, c); n != 1 {
		t.Errorf("%d records of one attempt", n)
	}
}

// How many messages are handed out at once depends on how often each was delivered.
func TestHandOut(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		maxDeliver, want int
		deliveries       []int
	}{
		{2, 0, nil},
		{2, 3, []int{1, 1, 1}},
		{2, 2, []int{1, 1, 2, 2}},
		{2, 1, []int{2, 1, 1}},
		{1, 1, []int{1, 1}},
		{0, 3, []int{1, 2, 3}},
	} {
		var messages []*message
		for _, n := range test.deliveries {
			messages = append(messages, &message{delivered: n})
		}
		if n := alone(config{maxDeliver: test.maxDeliver}).config.handOut(messages); n != test.want {
			t.Errorf("MaxDeliver %d, delivered %v times: %d at once, want %d", test.maxDeliver, test.deliveries, n, test.want)
		}
	}
}

// Receivers of values get all that is ready, however often it was delivered.
func TestHandOutValues(t *testing.T) {
	t.Parallel()
	for mode, want := range map[recvMode]int{asValues: 3, asDeliveries: 1} {
		c := alone(config{maxDeliver: 1, prefetch: 8})
		in := &c.inbox
		in.mu.Lock()
		in.ready = []*message{newest(1), newest(2), newest(3)}
		n, err := in.takeReady(make([]*message, 8), mode)
		if n != want || err != nil || len(in.ready) != 3-want {
			t.Errorf("%d, %v, and %d are left; want %d", n, err, len(in.ready), want)
		}
		in.mu.Unlock()
	}
}

// Redelivered values are handed out one at a time, so that one that kills its
// process costs the others no attempt.
func TestAttemptsOfBatch(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{MaxDeliver: 2})
	mustSend(t, c, 1, 2, 3, 4)
	returnUnseen(t, c, 4)
	mustSend(t, c, 5)
	buf := make([]*Delivery[int], 8)
	total := 0
	for total < 5 {
		n, err := c.Deliveries().RecvBatch(patient(t), buf)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range buf[:n] {
			if d.Attempt > 1 && n > 1 {
				t.Errorf("redelivered value %d is one of %d", d.Value, n)
			}
		}
		total += n
		if got := records(t, c); got > total {
			t.Errorf("%d records of %d attempts", got, total)
		}
	}
}
