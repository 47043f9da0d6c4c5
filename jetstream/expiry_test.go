package jetstream

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sluice-go/sluice"
)

// stall makes a fetched message as old as AckWait, as if the process had been
// paused.
func stall[T any](t *testing.T, c *Channel[T]) {
	t.Helper()
	in := &c.core.inbox
	until(t, "a value is fetched", func() bool {
		in.mu.Lock()
		defer in.mu.Unlock()
		if len(in.ready) == 0 {
			return false
		}
		in.ready[0].arrived = in.ready[0].arrived.Add(-c.core.config.ackWait)
		return true
	})
}

// A process that was paused neither hands out nor acknowledges messages that another
// receiver may have: the servers would take it for the acknowledgment of that
// receiver.
func TestOverdue(t *testing.T) {
	t.Parallel()
	s := listening(t, nil)
	c := open(t, Options[string]{Name: "jobs", URL: s.ClientURL(), Replicas: 1, Log: mute()})
	heard := subscribed(t, s, "$JS.ACK.jobs.>")
	c.Ready() // fetches a value
	mustSend(t, c, "a")
	stall(t, c)
	if v, err := c.TryRecv(); err != sluice.ErrEmpty {
		t.Errorf("TryRecv of an overdue message: %q, %v", v, err)
	}
	mustSend(t, c, "b")
	stall(t, c)
	c.core.inbox.returnIdle()
	mustSend(t, c, "c")
	stall(t, c)
	leave(t, c)
	m, err := heard.NextMsgWithContext(patient(t))
	if err != nil || !strings.Contains(m.Subject, fmt.Sprint(int64(math.MaxInt64))) { // awaitAcks
		t.Errorf("acknowledgment of an overdue message: %v, %v", m, err)
	}
}

// A message that waited here for a part of AckWait is extended as it is handed out:
// the next round may be too late.
func TestHandedOutLate(t *testing.T) {
	t.Parallel()
	c := open(t, Options[string]{Log: mute()})
	mustSend(t, c, "a")
	p := mustDeliver(t, c).message
	p.arrived = p.arrived.Add(-c.core.config.ackWait / 2)
	c.core.deliveries.track(p)
	until(t, "the extension is confirmed", func() bool {
		c.core.deliveries.mu.Lock()
		defer c.core.deliveries.mu.Unlock()
		return p.confirmed.After(p.arrived)
	})
}

// A process can be cut off from its servers without an error. Its deliveries expire
// before another receiver gets them, not only when the connection breaks.
func TestCutOff(t *testing.T) {
	t.Parallel()
	c, p, _ := behindProxy(t, Options[string]{Name: "jobs", AckWait: time.Second})
	mustSend(t, c, "a")
	d := mustDeliver(t, c)
	until(t, "an extension is confirmed", func() bool {
		if d.InProgress() == ErrExpired { // this process was paused: it is redelivered
			d = mustDeliver(t, c)
		}
		c.core.deliveries.mu.Lock()
		defer c.core.deliveries.mu.Unlock()
		return d.message.confirmed.After(d.message.arrived)
	})
	p.silence()
	until(t, "it has expired", func() bool { return d.InProgress() == ErrExpired })
	if n := c.core.conn.nc.Reconnects; !c.core.conn.nc.IsConnected() || n > 0 {
		t.Errorf("only when the connection broke, %d times", n)
	}
	p.cut(false)
}

// A message that is ready and is redelivered has the age of the second delivery.
func TestRedeliveredReady(t *testing.T) {
	t.Parallel()
	c := open(t, Options[string]{Log: mute()})
	in := &c.core.inbox
	old := &message{key: key{7, 7}, reply: "old", delivered: 1, arrived: time.Now().Add(-time.Minute)}
	again := &message{key: key{7, 7}, reply: "again", delivered: 2, arrived: time.Now()}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.ready = []*message{old}
	if !c.core.inbox.redelivered(again) || old.arrived != again.arrived || old.reply != "again" || old.delivered != 2 {
		t.Errorf("after the second delivery: %+v", old)
	}
	in.ready = nil
}

// InProgress reports an expired delivery even before the next round does.
func TestInProgressExpired(t *testing.T) {
	t.Parallel()
	c := open(t, Options[string]{Log: mute()})
	mustSend(t, c, "a")
	d := mustDeliver(t, c)
	if err := d.InProgress(); err != nil {
		t.Errorf("InProgress in flight: %v", err)
	}
	c.core.deliveries.mu.Lock()
	d.message.confirmed = d.message.confirmed.Add(-c.core.config.ackWait)
	c.core.deliveries.mu.Unlock()
	if err := d.InProgress(); err != ErrExpired {
		t.Errorf("InProgress after AckWait: %v", err)
	}
}

// AckSync repeats a request whose answer was lost with the connection.
func TestAckSyncRepeats(t *testing.T) {
	t.Parallel()
	c, p, s := behindProxy(t, Options[string]{Name: "jobs", AckWait: 5 * time.Second})
	mustSend(t, c, "a")
	d := mustDeliver(t, c)
	p.deafen()
	confirmed := make(chan error)
	go func() { confirmed <- d.AckSync(patient(t)) }()
	until(t, "it is acknowledged", func() bool { return storedIn(t, s, "jobs") == 0 })
	p.cut(false)
	if err := <-confirmed; err != nil {
		t.Errorf("AckSync: %v", err)
	}
	mustSend(t, c, "b")
	if err := mustDeliver(t, c).AckSync(canceled()); err != context.Canceled {
		t.Errorf("AckSync with a canceled context: %v", err)
	}
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// Receivers whose context ends do not make requests one after the other to servers
// that do not answer.
func TestCanceledAtOnce(t *testing.T) {
	t.Parallel()
	c, p, _ := behindProxy(t, Options[string]{Name: "jobs"})
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := c.Recv(ctx); err != context.Canceled {
				t.Errorf("Recv: %v", err)
			}
		})
	}
	until(t, "all receivers wait", func() bool { return c.Stats().ReceiversWaiting == 20 })
	p.deafen()
	in := &c.core.inbox
	in.fetcher.trying.Lock() // as a TryRecv holds it while the servers are silent
	cancel()
	all.Wait()
	in.fetcher.trying.Unlock()
	p.cut(false)
	mustSend(t, c, "a") // the connection is back
}

// A channel is not garbage while one of its deliveries is in flight.
func TestDeliveryHoldsChannel(t *testing.T) {
	o := Options[int]{Name: "jobs", Dir: t.TempDir()}
	other := open(t, o)
	d, opened := func() (*Delivery[int], *core) {
		c, err := Open(t.Context(), &o)
		if err != nil {
			t.Fatal(err)
		}
		mustSend(t, c, 1)
		return mustDeliver(t, c), c.core
	}()
	collected := make(chan struct{}) // some other garbage
	runtime.AddCleanup(new(int64), func(struct{}) { close(collected) }, struct{}{})
	until(t, "garbage is collected", func() bool {
		runtime.GC()
		select {
		case <-collected:
			return true
		default:
			return false
		}
	})
	if err := d.AckSync(patient(t)); err != nil {
		t.Errorf("AckSync: %v", err)
	}
	mustHold(t, other, 0)
	until(t, "the channel is shut down", func() bool {
		runtime.GC()
		return opened.life.shutdown.Load() && opened.conn.nc.IsClosed()
	})
	opened.life.tasks.Wait()
}

// DeadLetters during Shutdown does not stop the server of other channels.
func TestDeadLettersAtShutdown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c, other := open(t, Options[int]{Name: "a", Dir: dir}), open(t, Options[int]{Name: "b", Dir: dir})
	leave(t, c)
	c.core.life.shutdown.Store(false) // as DeadLetters saw it before Shutdown
	if _, err := c.DeadLetters(t.Context()); err != ErrShutdown {
		t.Errorf("DeadLetters: %v", err)
	}
	c.core.life.shutdown.Store(true)
	mustSend(t, other, 1)
}

// Messages that are on their way to a process that shuts down are returned too: no
// other process has to wait for AckWait.
func TestShutdownReturnsPending(t *testing.T) {
	t.Parallel()
	o := Options[int]{Name: "jobs", Dir: t.TempDir(), AckWait: 2 * time.Hour}
	other := open(t, o)
	for range 20 {
		c := open(t, o)
		idleRequests(t, other)
		mustSend(t, c, 1, 2, 3, 4, 5, 6, 7, 8)
		mustRecv(t, c, 1, 2, 3) // and requests more
		leave(t, c)
		seen := map[int]bool{}
		for range 5 {
			v, err := other.Recv(patient(t))
			if err != nil {
				t.Fatal(err)
			}
			seen[v] = true
		}
		if len(seen) != 5 {
			t.Errorf("received %v", seen)
		}
	}
}

// A receiver that gives up after it was woken passes the wake-up on.
func TestCancelPassesWakeUp(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{})
	in := &c.core.inbox
	first, second := newWaiter(), newWaiter()
	in.mu.Lock()
	in.waiters = []*waiter{first, second}
	in.ready = []*message{{arrived: time.Now()}}
	in.wakeOne()
	in.mu.Unlock()
	c.core.inbox.cancelWait(first)
	select {
	case <-second.wake:
	case <-patient(t).Done():
		t.Error("the other receiver was not woken")
	}
	in.mu.Lock()
	in.ready = nil // it was not a real one
	in.mu.Unlock()
}

// The depth follows the speed of the receivers, within its bounds.
func TestDepth(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{Prefetch: 8})
	in := &c.core.inbox
	in.mu.Lock()
	defer in.mu.Unlock()
	for i, step := range []struct {
		late, old  bool // the receiver came late; the message waited for long
		left, want int
	}{
		{true, false, 0, 1}, {false, false, 0, 2}, {false, false, 1, 4}, {false, false, 3, 4}, {true, false, 0, 4},
		{false, false, 0, 8}, {false, false, 0, 8}, {false, true, 0, 4}, {false, true, 0, 2}, {false, true, 0, 1}, {false, true, 0, 1},
	} {
		at := map[bool]time.Time{true: time.Now().Add(-2 * staleAfter), false: time.Now().Add(time.Hour)} // however long the test takes
		in.ready, in.takenAt = []*message{{arrived: at[step.old]}}, at[step.late]
		in.fetcher.pulls[0].left, in.fetcher.pulls[1].left, in.fetcher.pulls[0].sign = step.left, 0, at[false]
		if n, err := c.core.inbox.takeReady(make([]*message, 1), asValues); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		if in.taken != uint64(i+1) {
			t.Errorf("step %d: %d taken", i, in.taken)
		}
		if in.fetcher.depth != step.want {
			t.Errorf("step %d: the depth is %d, want %d", i, in.fetcher.depth, step.want)
		}
	}
}

// A request that brought all of its messages is over, and TryRecv is notified.
func TestRequestOver(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{})
	in := &c.core.inbox
	in.mu.Lock()
	in.fetcher.depth, in.fetcher.pulls[1].left, in.fetcher.pulls[1].sign = 8, 2, time.Now()
	in.mu.Unlock()
	for _, left := range []int{1, 0} {
		c.core.fetcher.arrive(&nats.Msg{Sub: in.fetcher.pulls[1].sub, Reply: "$JS.ACK.s.c.1.1.1.1.0"})
		in.mu.Lock()
		if p := in.fetcher.pulls[1]; p.left != left || p.brought != 2-left {
			t.Errorf("%d missing and %d received, want %d of 2 missing", p.left, p.brought, left)
		}
		if in.fetcher.pulls[0].left > 0 {
			t.Error("another request was made without a receiver")
		}
		clear(in.ready)
		in.ready = nil
		in.mu.Unlock()
	}
	done := make(chan struct{})
	in.mu.Lock()
	in.fetcher.try.left, in.fetcher.try.done = 1, done
	in.mu.Unlock()
	c.core.fetcher.arrive(&nats.Msg{Sub: in.fetcher.try.sub, Reply: "$JS.ACK.s.c.1.2.2.1.0"})
	select {
	case <-done:
	default:
		t.Error("the request of TryRecv is still under way")
	}
	in.mu.Lock()
	in.ready = nil
	in.mu.Unlock()
}

// A receiver that is woken for a message that another one took waits again; Stats
// count one wait.
func TestWaitsOn(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{})
	received := make(chan int, 1)
	go func() {
		v, err := c.Recv(patient(t))
		if err != nil {
			t.Error(err)
		}
		received <- v
	}()
	in := &c.core.inbox
	for range 3 {
		until(t, "the receiver waits", func() bool {
			in.mu.Lock()
			defer in.mu.Unlock()
			if len(in.waiters) == 0 {
				return false
			}
			in.wakeOne()
			return true
		})
	}
	mustSend(t, c, 7)
	if v := <-received; v != 7 {
		t.Errorf("received %d", v)
	}
	if s := c.Stats(); s.RecvWaits != 1 || s.ReceiversWaiting != 0 {
		t.Errorf("%d waits, %d receivers waiting", s.RecvWaits, s.ReceiversWaiting)
	}
}
