package jetstream

import (
	"context"
	"strings"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-go/sluice"
)

// unseen has n values fetched that nobody waits for, and given back as they lay too long.
func unseen[T any](t *testing.T, c *Channel[T], n int) {
	t.Helper()
	in := &c.core.inbox
	in.mu.Lock()
	_, free := in.fetcher.outstanding()
	c.core.fetcher.request(free, pullRequest{Batch: n, Expires: pullAhead})
	in.mu.Unlock()
	until(t, "they came", func() bool {
		in.mu.Lock()
		defer in.mu.Unlock()
		return len(in.ready) == n
	})
	in.mu.Lock()
	for _, p := range in.ready {
		p.arrived = p.arrived.Add(-idleAfter)
	}
	in.mu.Unlock()
	c.core.inbox.returnIdle()
}

// silent ends a delivery as those do whose process dies: without a word, it comes again.
func silent[T any](t *testing.T, d *Delivery[T]) {
	t.Helper()
	d.channel.core.nak(d.message, 0) // as the servers do after AckWait
	if err := d.channel.core.deliveries.untrack(d.message); err != nil {
		t.Fatal(err)
	}
}

// A try is a delivery that a worker had in hands. What was fetched and given back unseen, by
// whatever process, however often, has all of its tries left; and nothing is kept of them.
func TestTriesInHand(t *testing.T) {
	t.Parallel()
	for most := 1; most <= 3; most++ {
		dir := t.TempDir()
		c := open(t, Options[int]{Name: "jobs", Dir: dir, Prefetch: 1, NackDelay: -1, MaxDeliver: most, Log: mute()})
		stalls := open(t, Options[int]{Name: "jobs", Dir: dir, NackDelay: -1, MaxDeliver: most, Log: mute()})
		mustSend(t, c, 1, 2)
		for try := range most {
			for range 3 {
				unseen(t, stalls, 2)
			}
			if n := c.Stats().Dropped; n != 0 {
				t.Fatalf("MaxDeliver %d: %d are dead after %d tries", most, n, try)
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
		until(t, "one is dead, one is done", func() bool { return c.Stats().Dropped == 1 && c.Len() == 0 })
		until(t, "no notes are left", func() bool { return noted(t, c) == 0 })
	}
}

// Who dies with a value in hand, again and again, says nothing: it is dead all the same, with
// one try more than MaxDeliver, as the first may have been another one's. Not so with one.
func TestDeadLetterOfTheSilent(t *testing.T) {
	t.Parallel()
	for most, want := range map[int]int{1: 1, 2: 3, 3: 4} {
		c := open(t, Options[int]{NackDelay: -1, MaxDeliver: most, Log: mute()})
		mustSend(t, c, 1)
		for range want {
			silent(t, mustDeliver(t, c))
		}
		ctx, cancel := withCancel(t)
		go func() {
			until(t, "it is dead", func() bool { return c.Stats().Dropped == 1 })
			cancel()
		}()
		if d, err := c.Deliveries().Recv(ctx); err == nil {
			t.Errorf("MaxDeliver %d: try %d: %+v", most, want+1, d)
		}
		dead, err := c.DeadLetters(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer leave(t, dead)
		if d := mustDeliver(t, dead); !strings.HasSuffix(d.Reason, " times: no acknowledgment in the last attempt") {
			t.Errorf("its reason: %q", d.Reason)
		}
		if n := c.Stats().Received; n != uint64(want) {
			t.Errorf("MaxDeliver %d: %d were handed out, one of them dead", most, n)
		}
		until(t, "no notes are left", func() bool { return noted(t, c) == 0 })
	}
}

// Who receives values has them once they are handed out: no try is one too many.
func TestTriesOfValues(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{MaxDeliver: 1})
	mustSend(t, c, 1, 2, 3)
	for range 3 {
		unseen(t, c, 3)
	}
	mustRecv(t, c, 1, 2, 3)
	if s := c.Stats(); s.Dropped != 0 || s.Warning != "" {
		t.Errorf("%+v", s)
	}
}

// Who waits for a note still has the value in time, whatever AckWait is.
func TestTryInTime(t *testing.T) {
	t.Parallel()
	for ackWait, most := range map[time.Duration]time.Duration{time.Second: time.Second / 2, time.Hour: attemptTimeout} {
		c := open(t, Options[int]{AckWait: ackWait})
		asked := false
		c.core.attempts.withRecords(func(ctx context.Context, _ natsjs.Stream, _ *message) error {
			deadline, ok := ctx.Deadline()
			if asked = true; !ok || time.Until(deadline) > most {
				t.Errorf("AckWait %v: a note may take until %v", ackWait, deadline)
			}
			return nil
		}, newest(1))
		if !asked {
			t.Error("nothing was done")
		}
	}
}

// Who stood still has a value that is somebody else's by now: it is not handed out, so that is
// no try.
func TestTriesOverdue(t *testing.T) {
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
	until(t, "it came again", func() bool {
		in.mu.Lock()
		defer in.mu.Unlock()
		for _, p := range in.ready {
			p.arrived = time.Now().Add(-2 * time.Hour)
		}
		return len(in.ready) == 1
	})
	if d, err := c.Deliveries().TryRecv(); err != sluice.ErrEmpty {
		t.Errorf("TryRecv of what may be somebody else's: %+v, %v", d, err)
	}
	if n := noted(t, c); n != 1 {
		t.Errorf("%d notes of one try", n)
	}
}

// A note whose answer is lost may be there: another one of the same try would bury the value
// Notes outlive their channel, which may be made anew with other settings; and somebody may
// How many of what is here a worker may have in hands at once, by how often each was delivered.
func TestTogether(t *testing.T) {
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
		var parcels []*message
		for _, n := range test.deliveries {
			parcels = append(parcels, &message{delivered: n})
		}
		if n := alone(config{maxDeliver: test.maxDeliver}).config.handOut(parcels); n != test.want {
			t.Errorf("MaxDeliver %d, delivered %v times: %d at once, want %d", test.maxDeliver, test.deliveries, n, test.want)
		}
	}
}

// Who receives values has as many as are here, however often they were delivered.
func TestTogetherToKeep(t *testing.T) {
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

// Values that lie in hands beside one that kills its process were not tried: of those that
// come again a worker has one at a time.
func TestTriesOfBatch(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{MaxDeliver: 2})
	mustSend(t, c, 1, 2, 3, 4)
	unseen(t, c, 4)
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
				t.Errorf("value %d, which comes again, is one of %d", d.Value, n)
			}
		}
		total += n
		if got := noted(t, c); got > total {
			t.Errorf("%d notes of %d tries", got, total)
		}
	}
}
