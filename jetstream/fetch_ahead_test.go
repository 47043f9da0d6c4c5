package jetstream

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
)

// idleRequests waits until no request is under way.
func idleRequests[T any](t *testing.T, c *Channel[T]) {
	t.Helper()
	in := &c.core.inbox
	until(t, "no request is under way", func() bool {
		in.mu.Lock()
		defer in.mu.Unlock()
		return !in.fetcher.waiting()
	})
}

// The next request depends on the receivers that wait, and on how fast messages were
// taken.
func TestNextRequest(t *testing.T) {
	t.Parallel()
	one := pullRequest{Batch: 1, Expires: pullWait, Heartbeat: pullHeartbeat}
	ahead := func(n int) pullRequest { return pullRequest{Batch: n, Expires: pullAhead} }
	for _, test := range []struct {
		name                        string
		waiters, ready, left, depth int
		readable, quiet, soon       bool
		want                        pullRequest
	}{
		{name: "nobody waits", depth: 8},
		{name: "the first one waits", waiters: 1, depth: 1, quiet: true, want: one},
		{name: "Ready waits", readable: true, depth: 1, want: one},
		{name: "Ready waits, and one does", waiters: 1, readable: true, depth: 1, want: one},
		{name: "Ready has one", readable: true, ready: 1, depth: 1},
		{name: "several wait, one is asked for", waiters: 3, left: 1, depth: 1, want: pullRequest{Batch: 2, Expires: pullWait, Heartbeat: pullHeartbeat}},
		{name: "one waits, one is asked for", waiters: 1, left: 1, depth: 1, quiet: true},
		{name: "it was quiet", waiters: 1, depth: 8, quiet: true, want: one},
		{name: "values flow", waiters: 1, depth: 8, want: ahead(8)},
		{name: "more wait than lately took", waiters: 9, depth: 8, want: ahead(9)},
		{name: "all was taken, soon", soon: true, depth: 8, want: ahead(8)},
		{name: "half was taken, soon", soon: true, ready: 1, left: 3, depth: 8, want: ahead(4)},
		{name: "less than half was taken", soon: true, ready: 1, left: 4, depth: 8},
		{name: "all was taken, late", depth: 8},
		{name: "taken one by one", soon: true, depth: 1},
	} {
		in := inbox{waiters: make([]*waiter, test.waiters), ready: make([]*message, test.ready)}
		f := fetcher{inbox: &in, depth: test.depth, quiet: test.quiet}
		if test.readable {
			in.readable = new(engine.Ready)
		}
		if got := f.next(test.soon, test.left); got != test.want {
			t.Errorf("%s: the next request is %+v, want %+v", test.name, got, test.want)
		}
	}
}

// The depth shrinks if fewer than half of a request came.
func TestRequestEnds(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{})
	in := &c.core.inbox
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, test := range []struct {
		left, brought, before, depth int
		quiet                        bool
	}{{1, 15, 16, 16, false}, {8, 8, 16, 16, false}, {9, 7, 16, 8, false}, {16, 0, 16, 8, true}, {1, 0, 1, 1, true}} {
		in.fetcher.depth, in.fetcher.quiet = test.before, false
		p := &in.fetcher.pulls[0]
		p.left, p.brought = test.left, test.brought
		c.core.fetcher.handleStatus(p, "408", nats.Header{headerPending: {"1"}})
		if in.fetcher.depth != test.depth || in.fetcher.quiet != test.quiet || p.left != 0 {
			t.Errorf("after a request that brought %d of %d: depth %d, quiet %v, %d still to come; want depth %d, quiet %v, 0",
				test.brought, test.left+test.brought, in.fetcher.depth, in.fetcher.quiet, p.left, test.depth, test.quiet)
		}
	}
}

// While messages are taken quickly, two requests overlap; a receiver that stalls
// makes no third one.
func TestFetchAhead(t *testing.T) {
	t.Parallel()
	s := listening(t, nil)
	c := open(t, Options[int]{Name: "jobs", URL: s.ClientURL(), Replicas: 1, Prefetch: 4, Log: mute()})
	witness := client(t, s.ClientURL())
	asked, err := witness.SubscribeSync(c.core.fetcher.requestSubject())
	if err != nil {
		t.Fatal(err)
	}
	if err := witness.Flush(); err != nil { // the server has the subscription
		t.Fatal(err)
	}
	in := &c.core.inbox
	soon := time.Now().Add(time.Hour) // never late
	in.mu.Lock()                      // no request ends meanwhile
	for _, came := range []int{0, 2, 2} {
		in.fetcher.pulls[1].left -= came
		in.ready, in.takenAt = []*message{{arrived: soon}}, soon
		if n, err := c.core.inbox.takeReady(make([]*message, 1), asValues); n != 1 || err != nil {
			t.Error(n, err)
		}
	}
	in.fetcher.pulls[0].brought, in.fetcher.pulls[1].brought = 4, 4 // so that the depth stays
	in.mu.Unlock()
	for _, n := range []int{2, 4, 2} { // all of depth 2, then two of depth 4
		m, err := asked.NextMsgWithContext(patient(t))
		if err != nil {
			t.Fatal(err)
		}
		var r pullRequest
		if err := json.Unmarshal(m.Data, &r); err != nil || r != (pullRequest{Batch: n, Expires: pullAhead}) {
			t.Errorf("request %+v (%v), want one ahead of demand for %d", r, err, n)
		}
	}
	idleRequests(t, c)
	if _, err := c.TryRecv(); err != sluice.ErrEmpty { // makes a request after all others
		t.Errorf("TryRecv: %v", err)
	}
	m, err := asked.NextMsgWithContext(patient(t))
	if err != nil || string(m.Data) != `{"batch":1,"no_wait":true}` {
		t.Errorf("after both ended: request %s, %v", m.Data, err)
	}
}

// A request without a sign of life counts as lost after its deadline, and another
// one can be made.
func TestRequestLost(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{})
	in := &c.core.inbox
	in.mu.Lock()
	defer in.mu.Unlock()
	in.fetcher.pulls[0].left, in.fetcher.pulls[0].sign = 3, time.Now().Add(time.Hour)
	in.fetcher.pulls[1].left, in.fetcher.pulls[1].sign = 4, time.Now().Add(-pullLost)
	if left, free := in.fetcher.outstanding(); left != 3 || free != &in.fetcher.pulls[1] {
		t.Errorf("%d are pending, want 3; free is %+v", left, free)
	}
	in.fetcher.pulls[1].left, in.fetcher.pulls[1].sign = 4, time.Now().Add(time.Hour)
	if left, free := in.fetcher.outstanding(); left != 7 || free != nil {
		t.Errorf("%d are pending, want 7; free is %+v", left, free)
	}
	in.fetcher.pulls[1].expires, in.fetcher.pulls[1].sign = pullAhead, time.Now().Add(-aheadLost)
	if left, free := in.fetcher.outstanding(); left != 3 || free != &in.fetcher.pulls[1] {
		t.Errorf("%d are pending, want 3 without the expired request; free is %+v", left, free)
	}
	in.fetcher.pulls[0].left, in.fetcher.pulls[1].left = 0, 0
	c.core.conn.nc.Close()
	if c.core.fetcher.request(&in.fetcher.pulls[0], pullRequest{Batch: 1}); in.fetcher.pulls[0].left != 0 {
		t.Error("a request that could not be sent is under way")
	}
}

// The watchdog fires when a request counts as lost, not later.
func TestWatchdogTimeout(t *testing.T) {
	t.Parallel()
	long, ahead := pull{left: 1, expires: pullWait}, pull{left: 1, expires: pullAhead}
	f := fetcher{}
	if d := f.timeout(); d != unsentPause {
		t.Errorf("without a request: %v, want %v", d, unsentPause)
	}
	f.pulls[0], f.pulls[0].sign = long, time.Now().Add(time.Hour)
	if d := f.timeout(); d != pullLost {
		t.Errorf("after a sign of life: %v, want %v", d, pullLost)
	}
	f.pulls[1], f.pulls[1].sign = ahead, time.Now()
	if d := f.timeout(); d > aheadLost {
		t.Errorf("with a request ahead of demand: %v, want at most %v", d, aheadLost)
	}
	f.pulls[1], f.pulls[1].sign = long, time.Now().Add(-time.Second)
	if d := f.timeout(); d > pullLost-time.Second {
		t.Errorf("a second after a sign of life: %v, want at most %v", d, pullLost-time.Second)
	}
}

// Shutdown returns each value once: if a pending request fetched it again, it would
// lose an attempt each time.
func TestShutdownReturnsOnce(t *testing.T) {
	t.Parallel()
	o := Options[int]{Name: "jobs", Dir: t.TempDir(), AckWait: 2 * time.Hour}
	other := open(t, o)
	for range 20 {
		c := open(t, o)
		idleRequests(t, other)
		c.core.fetcher.depth = 32
		c.core.inbox.returnAfter = time.Hour // not before Shutdown
		mustSend(t, c, 1, 2, 3, 4, 5, 6, 7, 8)
		mustRecv(t, c, 1) // and requests more than there are
		until(t, "all values are fetched", func() bool {
			c.core.inbox.mu.Lock()
			defer c.core.inbox.mu.Unlock()
			return len(c.core.inbox.ready) == 7
		})
		leave(t, c)
		for range 7 {
			d := mustDeliver(t, other)
			if d.Attempt > 2 {
				t.Errorf("value %d was delivered %d times", d.Value, d.Attempt)
			}
			if err := d.Ack(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// When a request ends while a receiver waits, the next one is made at once, even if
// the message was acknowledged here before; after a failure, once the stream was
// checked.
func TestNextRequestAtOnce(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{Log: mute()})
	in := &c.core.inbox
	c.core.deliveries.acknowledged(&message{key: key{1, 1}})
	for _, code := range []string{"408", "409", ""} {
		in.mu.Lock()
		in.waiters = []*waiter{{make(chan struct{})}}
		p := &in.fetcher.pulls[0]
		p.left, p.sign = 1, time.Now().Add(time.Hour)
		m := status(p, code)
		if code == "" {
			m = &nats.Msg{Sub: p.sub, Reply: "$JS.ACK.s.c.2.1.1.1.0"} // its second delivery
		}
		in.mu.Unlock()
		c.core.fetcher.arrive(m)
		until(t, "the next request is made", func() bool {
			in.mu.Lock()
			defer in.mu.Unlock()
			if in.fetcher.retrying {
				return false
			}
			if in.fetcher.pulls[0].left+in.fetcher.pulls[1].left == 0 { // even if it counts as lost by now
				t.Errorf("after %q no request is under way", code)
			}
			in.waiters = nil
			in.fetcher.pulls[0].end()
			in.fetcher.pulls[1].end()
			return true
		})
	}
}

// While a receiver waits and no request is under way, the watchdog makes one and
// checks the stream, but not while the next request is already scheduled.
func TestWatchdog(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{Log: mute()})
	in := &c.core.inbox
	in.mu.Lock()
	in.waiters, in.fetcher.retrying = []*waiter{{make(chan struct{})}}, true
	c.core.fetcher.startWatchdog()
	first := in.fetcher.watchdog
	in.mu.Unlock()
	until(t, "the watchdog runs again", func() bool {
		in.mu.Lock()
		defer in.mu.Unlock()
		if in.fetcher.waiting() {
			t.Error("a second request was made")
		}
		return in.fetcher.watchdog != nil && in.fetcher.watchdog != first
	})
	c.core.stream.checkedAt.Store(0)
	in.mu.Lock()
	in.fetcher.retrying = false
	in.mu.Unlock()
	until(t, "a request is under way, and the stream was checked", func() bool {
		in.mu.Lock()
		defer in.mu.Unlock()
		return in.fetcher.waiting() && c.core.stream.checkedAt.Load() != 0
	})
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.fetcher.quiet {
		t.Error("the stream was checked only after the request expired")
	}
	in.waiters = nil
}

// Shutdown asks once whether pending requests will bring a message, and again only
// if the servers did not know; it keeps what arrives meanwhile.
func TestExpecting(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{Log: mute()})
	in := &c.core.inbox
	for _, test := range []struct {
		what                         string
		left, awaits, crowded, again bool
		want                         bool
	}{
		{what: "not shut down", awaits: true},
		{what: "no request", left: true},
		{what: "a request", left: true, awaits: true, want: true},
		{what: "a request, answered", left: true, awaits: true, again: true},
		{what: "a request, crowded", left: true, awaits: true, again: true, crowded: true, want: true},
	} {
		in.mu.Lock()
		in.fetcher.try.end()
		if in.fetcher.pulls[0].left = 0; test.awaits {
			in.fetcher.pulls[0].left, in.fetcher.pulls[0].sign = 1, time.Now().Add(time.Hour)
		}
		in.fetcher.lastTry, in.fetcher.try.crowded = test.again, test.crowded
		in.mu.Unlock()
		c.core.life.shutdown.Store(test.left)
		if got := c.core.fetcher.expecting(); got != test.want || got && !in.fetcher.lastTry {
			t.Errorf("%s: expecting %v, lastTry %v", test.what, got, in.fetcher.lastTry)
		}
		c.core.life.shutdown.Store(false)
	}
	in.mu.Lock()
	in.fetcher.try.id++ // statuses of earlier requests do not count
	in.fetcher.try.left = 1
	in.mu.Unlock()
	c.core.life.shutdown.Store(true)
	arrivals := make(chan *nats.Msg, 1)
	arrivals <- &nats.Msg{Sub: in.fetcher.try.sub, Reply: "$JS.ACK.s.c.1.1.1.1.0"}
	c.core.fetcher.unsubscribe(arrivals)
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.returned) != 1 || in.fetcher.waiting() || in.fetcher.try.left != 0 {
		t.Errorf("%d messages will be returned, want 1: %+v", len(in.returned), in.fetcher.try)
	}
	c.core.life.shutdown.Store(false)
}
