package jetstream

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/sluice-go/sluice/internal/engine"
)

// An answer confirms the progress acknowledgments sent before its request, for
// messages in flight that did not expire: another receiver may have an expired
// one.
func TestConfirmExtended(t *testing.T) {
	t.Parallel()
	c := open(t, Options[string]{Log: mute()})
	mustSend(t, c, "a")
	p := mustDeliver(t, c).message
	h, now := &c.core.deliveries, time.Now()
	for _, test := range []struct {
		what          string
		marked, alive time.Time
		want          time.Time
	}{
		{"sent before the request", now.Add(-time.Second), now.Add(-5 * time.Second), now.Add(-time.Second)},
		{"sent with the request", now, now.Add(-5 * time.Second), now},
		{"sent after the request", now.Add(time.Second), now.Add(-5 * time.Second), now.Add(-5 * time.Second)},
		{"confirmed already", now.Add(-5 * time.Second), now.Add(-time.Second), now.Add(-time.Second)},
		{"expired", now.Add(-time.Second), now.Add(-time.Hour), now.Add(-time.Hour)},
	} {
		h.mu.Lock()
		p.extended, p.confirmed = test.marked, test.alive
		h.mu.Unlock()
		c.core.deliveries.confirmExtended(p.reply, now)
		h.mu.Lock()
		if !p.confirmed.Equal(test.want) {
			t.Errorf("%s: confirmed %v before now, want %v", test.what, now.Sub(p.confirmed), now.Sub(test.want))
		}
		h.mu.Unlock()
	}
}

// A bounded number of acknowledged messages is remembered, and the oldest is
// forgotten first.
func TestDoneIsBounded(t *testing.T) {
	t.Parallel()
	c := open(t, Options[string]{Log: mute()})
	h := &c.core.deliveries
	for seq := range uint64(remembered + 2) {
		c.core.deliveries.acknowledged(newest(seq + 1))
	}
	if len(h.done) != remembered || len(h.doneRing) != remembered {
		t.Errorf("%d and %d are remembered", len(h.done), len(h.doneRing))
	}
	for seq, want := range map[uint64]bool{1: false, 2: false, 3: true, remembered: true, remembered + 2: true, remembered + 3: false} {
		if got := h.redelivered(newest(seq)); got != want {
			t.Errorf("value %d is remembered: %v, want %v", seq, got, want)
		}
	}
	if h.redelivered(&message{key: key{seq: 3, time: 1}, reply: "nobody"}) {
		t.Error("a value with the same sequence number counts as acknowledged")
	}
}

// After a redelivery of a message in flight, acknowledgments go to the new delivery.
func TestRedelivered(t *testing.T) {
	t.Parallel()
	s := listening(t, nil)
	c := open(t, Options[string]{Name: "jobs", URL: s.ClientURL(), Replicas: 1, Log: mute()})
	heard := subscribed(t, s, "again")
	mustSend(t, c, "a")
	d := mustDeliver(t, c)
	again := &message{key: d.message.key, reply: "again", delivered: 2, arrived: time.Now()}
	if !c.core.deliveries.redelivered(again) {
		t.Error("a message in flight counts as new")
	}
	if err := d.Ack(); err != nil {
		t.Fatal(err)
	}
	if !c.core.deliveries.redelivered(again) {
		t.Error("an acknowledged message counts as new")
	}
	for _, want := range [][]byte{ackProgress, ackDone, ackDone} {
		m, err := heard.NextMsgWithContext(patient(t))
		if err != nil || string(m.Data) != string(want) {
			t.Fatalf("acknowledgment of the second delivery: %v, %v, want %s", m, err, want)
		}
	}
	if d.message.delivered != 2 || d.message.confirmed != again.arrived {
		t.Errorf("after the second delivery: %+v", d.message)
	}
}

// The timer runs only while a message is in flight.
func TestExtendTimer(t *testing.T) {
	t.Parallel()
	c := open(t, Options[string]{Log: mute()})
	h := &c.core.deliveries
	running := func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.timer != nil
	}
	mustSend(t, c, "a", "b", "c")
	a, b := mustDeliver(t, c), mustDeliver(t, c)
	for i, d := range []*Delivery[string]{a, b} {
		if !running() {
			t.Errorf("the timer does not run with %d in flight", 2-i)
		}
		c.core.deliveries.extend()
		if err := d.Ack(); err != nil {
			t.Fatal(err)
		}
	}
	if running() {
		t.Error("the timer runs with nothing in flight")
	}
	c.core.deliveries.extend() // the timer had fired before
	if running() {
		t.Error("the timer runs again with nothing in flight")
	}
	mustDeliver(t, c)
	leave(t, c)
	c.core.deliveries.extend()
	if running() {
		t.Error("the timer runs after Shutdown")
	}
}

// listen returns the messages published to subjects, in order, as "subject body".
func listen(t *testing.T, s *server.Server, subjects ...string) (next func() string) {
	t.Helper()
	nc, heard := client(t, s.ClientURL()), make(chan *nats.Msg, 64)
	for _, subject := range subjects {
		if _, err := nc.ChanSubscribe(subject, heard); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	return func() string {
		t.Helper()
		select {
		case m := <-heard:
			return m.Subject + " " + string(m.Data)
		case <-patient(t).Done():
			t.Fatal("no message was published")
			return ""
		}
	}
}

// The servers delay a redelivery by NackDelay after Nack, and not at all for
// messages that no receiver got.
func TestNackDelay(t *testing.T) {
	t.Parallel()
	s := listening(t, nil)
	c := open(t, Options[string]{Name: "jobs", URL: s.ClientURL(), Replicas: 1, NackDelay: time.Minute, MaxDeliver: -1, Log: mute()})
	mustSend(t, c, "a")
	d := mustDeliver(t, c)
	next := listen(t, s, d.message.reply, "unseen")
	if err := d.Nack(); err != nil {
		t.Fatal(err)
	}
	c.core.nak(&message{reply: "unseen"}, 0)
	for _, want := range []string{d.message.reply + ` -NAK {"delay": 60000000000}`, "unseen -NAK"} {
		if got := next(); got != want {
			t.Errorf("published %q, want %q", got, want)
		}
	}
}

// Messages that are not received for a while are returned. One stays for Ready, and
// is extended: otherwise the servers would count a delivery each time.
func TestReturnIdle(t *testing.T) {
	t.Parallel()
	s := listening(t, nil)
	c := open(t, Options[string]{Name: "jobs", URL: s.ClientURL(), Replicas: 1, Log: mute()})
	next := listen(t, s, "old.*", "end")
	in := &c.core.inbox
	third := c.core.config.ackWait / 3
	const fresh = -time.Hour // however long the test is paused
	for _, test := range []struct {
		what      string
		readable  bool
		ages      []time.Duration
		kept      int
		published []string
	}{
		{"fresh", false, []time.Duration{fresh, fresh}, 2, nil},
		{"stale", false, []time.Duration{2 * idleAfter, 2 * idleAfter, fresh}, 1, []string{"old.0 -NAK", "old.1 -NAK"}},
		{"overdue", false, []time.Duration{4 * third, fresh}, 1, nil},
		{"for Ready", true, []time.Duration{2 * idleAfter, 2 * idleAfter, fresh}, 2, []string{"old.1 -NAK"}},
		{"for Ready, for long", true, []time.Duration{third + idleAfter}, 1, []string{"old.0 +WPI"}},
	} {
		in.mu.Lock()
		if in.readable = nil; test.readable {
			in.readable = new(engine.Ready)
		}
		now := time.Now()
		for i, age := range test.ages {
			p := newest(uint64(i))
			p.reply, p.arrived = fmt.Sprint("old.", i), now.Add(-age)
			in.ready = append(in.ready, p)
		}
		in.fetcher.depth = 8
		in.mu.Unlock()
		c.core.inbox.returnIdle()
		in.mu.Lock()
		if len(in.ready) != test.kept || (in.idle == nil) != (test.kept == 0) {
			t.Errorf("%s: %d are kept, want %d; %v", test.what, len(in.ready), test.kept, in.idle)
		}
		if shrunk := test.kept < len(test.ages); (in.fetcher.depth == 1) != shrunk {
			t.Errorf("%s: the depth is %d", test.what, in.fetcher.depth)
		}
		if p := in.ready[0]; test.readable && now.Sub(p.arrived) > third {
			t.Errorf("%s: the message for Ready was not extended", test.what)
		}
		in.ready, in.readable = nil, nil
		stopTimer(&in.idle)
		in.mu.Unlock()
		if err := c.core.conn.nc.Publish("end", nil); err != nil {
			t.Fatal(err)
		}
		for _, want := range append(test.published, "end ") {
			if got := next(); got != want {
				t.Errorf("%s: published %q, want %q", test.what, got, want)
			}
		}
	}
}

// Only the tracked delivery of a value can be untracked.
func TestUntrackOther(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{Log: mute()})
	mine, other := newest(7), newest(7)
	c.core.deliveries.track(mine)
	other.confirmed, other.deadline = mine.confirmed, mine.deadline // not expired
	if err := c.core.deliveries.untrack(other); err != ErrExpired {
		t.Errorf("untrack of another delivery: %v", err)
	}
	if err := c.core.deliveries.untrack(mine); err != nil {
		t.Errorf("untrack: %v", err)
	}
}

// AckSync remembers the message, and stops retrying after Shutdown.
func TestAckSync(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{Log: mute()})
	mustSend(t, c, 1)
	d := mustDeliver(t, c)
	if err := d.AckSync(patient(t)); err != nil {
		t.Fatal(err)
	}
	again := *d.message
	if again.delivered++; !c.core.deliveries.redelivered(&again) {
		t.Error("the acknowledged message is not remembered")
	}
	leave(t, c)
	p := newest(8)
	if p.confirmed = time.Now().Add(time.Hour); c.core.deliveries.ackSync(patient(t), p) != ErrShutdown {
		t.Error("ackSync continues after Shutdown")
	}
}
