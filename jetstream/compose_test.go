package jetstream

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/fan"
	"github.com/sluice-go/sluice/workers"
)

var (
	_ sluice.TryReceiver[int]                       = (*Channel[int])(nil)
	_ sluice.TryReceiver[*Delivery[int]]            = Deliveries[int]{}
	_ sluice.BatchSender[int]                       = (*Channel[int])(nil)
	_ interface{ TryRecvBatch([]int) (int, error) } = (*Channel[int])(nil)
)

// A Select waits for values of a channel, for deliveries and for a Bounded at once, and
// learns that each is closed.
func TestSelectRecv(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	values, jobs := open(t, Options[string]{Dir: dir}), open(t, Options[int]{Dir: dir})
	local := sluice.NewBounded[int](1, nil)
	onValue, onJob, onLocal := sluice.OnRecv(values), sluice.OnRecv(jobs.Deliveries()), sluice.OnRecv(local)
	go func() {
		for i := range 5 {
			if err := errors.Join(values.Send(patient(t), "a"), jobs.Send(patient(t), i), local.Send(patient(t), i)); err != nil {
				t.Errorf("Send: %v", err)
			}
		}
		values.Close()
		jobs.Close()
		local.Close()
	}()
	received := map[sluice.Case]int{}
	for open := []sluice.Case{onValue, onJob, onLocal}; len(open) > 0; {
		chosen, err := sluice.Select(patient(t), open...)
		if err != nil {
			if chosen == nil || err != sluice.ErrClosed {
				t.Fatalf("Select: %v, %v", chosen, err)
			}
			open = slices.DeleteFunc(open, func(c sluice.Case) bool { return c == chosen })
			continue
		}
		received[chosen]++
		if chosen == onJob {
			if err := onJob.Value.Ack(); err != nil {
				t.Error(err)
			}
		}
	}
	if received[onValue] != 5 || received[onJob] != 5 || received[onLocal] != 5 {
		t.Errorf("received %d values, %d jobs, %d from the Bounded, want 5 of each", received[onValue], received[onJob], received[onLocal])
	}
}

// A Select sends to a channel once there is room.
func TestSelectSend(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{Capacity: 1})
	local := sluice.NewBounded[int](1, nil)
	mustSend(t, c, 1)
	send, recv := sluice.OnSend(c, 2), sluice.OnRecv(local)
	selected := make(chan sluice.Case)
	go func() {
		chosen, err := sluice.Select(patient(t), send, recv)
		if err != nil {
			t.Errorf("Select: %v", err)
		}
		selected <- chosen
	}()
	mustRecv(t, c, 1)
	if chosen := <-selected; chosen != send {
		t.Errorf("selected %v, want the send", chosen)
	}
	mustRecv(t, c, 2)
}

// fan.In moves the values of a channel and of a Bounded into another channel.
func TestFan(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in, merged := open(t, Options[int]{Dir: dir}), open(t, Options[int]{Dir: dir})
	local := sluice.NewBounded[int](10, nil)
	const each = 10
	for i := range each {
		mustSend(t, in, i)
		if err := local.TrySend(each + i); err != nil {
			t.Fatal(err)
		}
	}
	in.Close()
	local.Close()
	if unsent, err := fan.In[int](patient(t), merged, in, local); len(unsent) > 0 || err != nil {
		t.Errorf("fan.In: %v, %v", unsent, err)
	}
	sum := 0
	for range 2 * each {
		v, err := merged.Recv(patient(t))
		if err != nil {
			t.Fatal(err)
		}
		sum += v
	}
	if want := 2 * each * (2*each - 1) / 2; sum != want {
		t.Errorf("the sum of the values is %d, want %d", sum, want)
	}
}

// A stage that ends early does not close the channel, which other processes use too.
func TestStagesLeaveOpen(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{NackDelay: -1})
	mustSend(t, c, 1, 2)
	failed := errors.New("failed")
	err := workers.Run(patient(t), c.Deliveries(), 2, func(_ context.Context, d *Delivery[int]) error {
		_ = d.Nack()
		return failed
	}, &workers.RunOptions[*Delivery[int]]{OnUnprocessed: func(d *Delivery[int]) { _ = d.Nack() }})
	if err != failed {
		t.Errorf("workers.Run of deliveries: %v", err)
	}
	err = workers.Run[int](patient(t), c, 2, func(context.Context, int) error { return failed }, nil)
	if err != failed {
		t.Errorf("workers.Run of values: %v", err)
	}
	if _, err := fan.In[int](canceled(), sluice.NewBounded[int](1, nil), c); err != context.Canceled {
		t.Errorf("fan.In with a canceled context: %v", err)
	}
	if err := c.Send(patient(t), 3); err != nil {
		t.Errorf("Send after an early end: %v", err)
	}
}

// TryRecvBatch gets what the servers have, and Drain what was stored when it began.
func TestTryRecvBatch(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{})
	if n, err := c.TryRecvBatch(make([]int, 4)); n != 0 || err != sluice.ErrEmpty {
		t.Errorf("TryRecvBatch of an empty channel: %d, %v", n, err)
	}
	mustSend(t, c, 1, 2, 3, 4, 5)
	buf := make([]int, 3)
	until(t, "the consumer has them", func() bool { return consumerOf(t, c).NumPending == 5 })
	if n, err := c.TryRecvBatch(buf); n < 1 || err != nil || buf[0] != 1 {
		t.Fatalf("TryRecvBatch: %d, %v, %v", n, buf, err)
	} else if d, err := c.Deliveries().Recv(patient(t)); err != nil || d.Value != n+1 {
		t.Errorf("Recv after TryRecvBatch of %d: %+v, %v", n, d, err)
	} else if err := d.AckSync(patient(t)); err != nil {
		t.Error(err)
	}
	if n := len(slices.Collect(c.Drain())); n < 1 {
		t.Errorf("Drain yielded %d values", n)
	}
	c.Close()
	values := c.Values(patient(t))
	for range values.All() {
	}
	if err := values.Err(); err != nil || c.Len() != 0 {
		t.Errorf("Values: %v, and %d values are left", err, c.Len())
	}
}
