package jetstream

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
)

// A request is made for the messages that receivers wait for or will probably take
// soon, and no more.
func TestFetch(t *testing.T) {
	t.Parallel()
	s := listening(t, nil)
	c := open(t, Options[int]{Name: "jobs", URL: s.ClientURL(), Replicas: 1, Log: mute()})
	heard := make(chan *nats.Msg, 16)
	nc := client(t, s.ClientURL())
	for _, subject := range []string{c.core.fetcher.requestSubject(), "end"} {
		if _, err := nc.ChanSubscribe(subject, heard); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	waits := func(n int) pullRequest { return pullRequest{Batch: n, Expires: pullWait, Heartbeat: pullHeartbeat} }
	ahead := func(n int) pullRequest { return pullRequest{Batch: n, Expires: pullAhead} }
	in := &c.core.inbox
	for _, test := range []struct {
		what           string
		waiters, ready int
		readable       bool
		depth          int
		left           [2]int // messages that the two requests may still bring
		soon           bool
		retrying       bool
		want           pullRequest
	}{
		{what: "none is wanted", depth: 1},
		{what: "one receiver waits", waiters: 1, depth: 1, want: waits(1)},
		{what: "three receivers wait", waiters: 3, depth: 1, want: waits(3)},
		{what: "one receiver waits, and depth is 8", waiters: 1, depth: 8, want: ahead(8)},
		{what: "Ready", readable: true, depth: 1, want: waits(1)},
		{what: "Ready, and a message is ready", readable: true, ready: 1, depth: 1},
		{what: "half of depth is ready, soon", soon: true, ready: 4, depth: 8, want: ahead(4)},
		{what: "half of depth is ready, late", ready: 4, depth: 8},
		{what: "a request for all is under way", waiters: 1, depth: 1, left: [2]int{1, 0}},
		{what: "a request for fewer is under way", waiters: 3, depth: 1, left: [2]int{1, 0}, want: waits(2)},
		{what: "the other request is under way", waiters: 3, depth: 1, left: [2]int{0, 1}, want: waits(2)},
		{what: "both requests are under way", waiters: 3, depth: 1, left: [2]int{1, 1}},
		{what: "a request is about to be made", waiters: 1, depth: 1, retrying: true},
	} {
		in.mu.Lock()
		in.waiters, in.ready = make([]*waiter, test.waiters), make([]*message, test.ready)
		if in.readable = nil; test.readable {
			in.readable = new(engine.Ready)
		}
		in.fetcher.depth, in.fetcher.retrying = test.depth, test.retrying
		for i, left := range test.left {
			in.fetcher.pulls[i].left, in.fetcher.pulls[i].sign = left, time.Now().Add(time.Hour) // it does not count as lost
		}
		c.core.fetcher.fetch(test.soon)
		if left, _ := in.fetcher.outstanding(); left != test.left[0]+test.left[1]+test.want.Batch {
			t.Errorf("%s: %d messages requested, %v before; want %d more", test.what, left, test.left, test.want.Batch)
		}
		if runs := in.fetcher.watchdog != nil; runs && !in.wanted() {
			t.Errorf("%s: the watchdog runs, and no message is wanted", test.what)
		} else if in.fetcher.watchdog != nil {
			in.fetcher.watchdog.Stop()
			in.fetcher.watchdog = nil
		} else if in.wanted() && !test.retrying {
			t.Errorf("%s: the watchdog does not run", test.what)
		}
		in.waiters, in.ready, in.readable, in.fetcher.retrying = nil, nil, nil, false
		in.fetcher.pulls[0].end()
		in.fetcher.pulls[1].end()
		in.mu.Unlock()
		if err := c.core.conn.nc.Publish("end", nil); err != nil { // after the request
			t.Fatal(err)
		}
		var got pullRequest
		for m := range heard {
			if m.Subject == "end" {
				break
			}
			if err := json.Unmarshal(m.Data, &got); err != nil {
				t.Fatal(err)
			}
		}
		if got != test.want {
			t.Errorf("%s: asked for %+v, want %+v", test.what, got, test.want)
		}
	}
}

// Each status has its effect on the request that it is about, and none on other
// requests.
func TestHandleStatus(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{Log: mute()})
	in := &c.core.inbox
	for i, test := range []struct {
		status, pending string
		ofTries         bool
		left            int
		crowded, later  bool
	}{
		{status: "100", left: 5},
		{status: "404"},
		{status: "404", ofTries: true},
		{status: "408", pending: "5"},
		{status: "408", crowded: true},
		{status: "408", ofTries: true, crowded: true},
		{status: "409", later: true},
		{status: "503", later: true},
	} {
		in.mu.Lock()
		p, other := &in.fetcher.pulls[i%2], &in.fetcher.try
		if test.ofTries {
			p, other = other, p
		}
		p.left, other.left, p.crowded = 5, 5, false
		p.sign, in.fetcher.depth, in.fetcher.quiet = time.Time{}, 8, false
		done := make(chan struct{})
		p.done = done
		before := status(p, test.status)
		m := status(p, test.status)
		if m.Header.Set(headerPending, test.pending); test.pending == "" {
			m.Header.Del(headerPending)
		}
		before.Subject += "0" // of another request
		in.mu.Unlock()
		c.core.fetcher.arrive(before)
		in.mu.Lock()
		if p.left != 5 || in.fetcher.retrying {
			t.Errorf("%+v: the status of another request had an effect", test)
		}
		if p.sign.IsZero() {
			t.Errorf("%+v: the status is not a sign of life", test)
		}
		in.mu.Unlock()
		c.core.stream.mu.Lock() // no check of the stream succeeds, so retrying stays
		c.core.fetcher.arrive(m)
		in.mu.Lock()
		if p.left != test.left || other.left != 5 || p.crowded != test.crowded || in.fetcher.retrying != test.later {
			t.Errorf("%+v: left %d, of the other %d, crowded %v, retrying %v", test, p.left, other.left, p.crowded, in.fetcher.retrying)
		}
		if test.ofTries && (in.fetcher.depth != 8 || in.fetcher.quiet) {
			t.Errorf("%+v: the answer to TryRecv changed the depth to %d, quiet to %v", test, in.fetcher.depth, in.fetcher.quiet)
		}
		select {
		case <-done:
			if test.left > 0 {
				t.Errorf("%+v: a request under way has ended", test)
			}
		default:
			if test.left == 0 {
				t.Errorf("%+v: the request is still under way", test)
			}
		}
		p.done = nil
		p.left, other.left = 0, 0
		in.mu.Unlock()
		c.core.stream.mu.Unlock()
		until(t, "the next request is made", func() bool {
			in.mu.Lock()
			defer in.mu.Unlock()
			return !in.fetcher.retrying
		})
	}
}

// A receiver that waits longer than its request, or whose request failed, makes
// another one.
func TestFetchAgain(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{Log: mute()})
	in := &c.core.inbox
	for i, code := range []string{"408", "409"} {
		received := make(chan int)
		go func() {
			v, err := c.Recv(patient(t))
			if err != nil {
				t.Error(err)
			}
			received <- v
		}()
		var over *nats.Msg
		made := func() (n uint64) { return in.fetcher.pulls[0].id + in.fetcher.pulls[1].id }
		before := uint64(0)
		until(t, "a request is under way", func() bool {
			in.mu.Lock()
			defer in.mu.Unlock()
			for i := range in.fetcher.pulls {
				if p := &in.fetcher.pulls[i]; p.left > 0 {
					over, before = status(p, code), made()
				}
			}
			return over != nil
		})
		c.core.fetcher.arrive(over)
		until(t, "the next request is under way", func() bool {
			in.mu.Lock()
			defer in.mu.Unlock()
			return made() > before && in.fetcher.waiting() // and another one after it, if that was lost
		})
		mustSend(t, c, i)
		if v := <-received; v != i {
			t.Errorf("received %d, want %d", v, i)
		}
	}
}

// A request that is lost without an error is repeated.
func TestRequestLostRepeats(t *testing.T) {
	t.Parallel()
	c, p, _ := behindProxy(t, Options[string]{Name: "jobs"})
	p.silence()
	c.core.stream.mu.Lock() // no check of the stream succeeds
	received := make(chan error)
	go func() {
		_, err := c.Recv(patient(t))
		received <- err
	}()
	in := &c.core.inbox
	id := uint64(0)
	for _, what := range []string{"a request is under way", "another request is under way"} {
		until(t, what, func() bool {
			in.mu.Lock()
			defer in.mu.Unlock()
			made := in.fetcher.pulls[0].id + in.fetcher.pulls[1].id
			if made == id || !in.fetcher.waiting() {
				return false
			}
			id = made
			return true
		})
	}
	c.core.stream.mu.Unlock()
	p.cut(false)
	mustSend(t, c, "a")
	if err := <-received; err != nil {
		t.Errorf("Recv: %v", err)
	}
}

// TryRecv returns ErrEmpty only if there was a moment without a message: if another
// receiver took one meanwhile, or a request of a waiting receiver will bring one, it
// asks again.
func TestTryAgain(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{Log: mute()})
	in := &c.core.inbox
	for what, meanwhile := range map[string]func(){
		"another receiver took one": func() { in.taken++ },
		"one is pending": func() {
			in.fetcher.try.crowded, in.fetcher.pulls[0].left, in.fetcher.pulls[0].sign = true, 1, time.Now().Add(time.Hour)
		},
		"no message":                   nil,
		"crowded, but none is pending": func() { in.fetcher.try.crowded = true },
	} {
		in.fetcher.trying.Lock() // as tryTake does
		result := make(chan error, 1)
		in.mu.Lock()
		id := in.fetcher.try.id
		in.mu.Unlock()
		silent := make(chan *nats.Msg, 8) // replies go here; the test plays the server
		sub, err := c.core.conn.nc.ChanSubscribe(c.core.conn.nc.NewRespInbox()+".*", silent)
		if err != nil {
			t.Fatal(err)
		}
		in.mu.Lock()
		subject := in.fetcher.try.subject
		in.fetcher.try.subject = sub.Subject[:len(sub.Subject)-1]
		in.mu.Unlock()
		go func() {
			buf := make([]*message, 1)
			_, err := in.askUntil(nil, 1, func() (int, error) { return in.takeReady(buf, asValues) }) // no timeout
			result <- err
		}()
		asks := func() {
			select {
			case <-silent:
			case err := <-result:
				t.Fatalf("%s: askUntil returned %v without a request", what, err)
			}
		}
		asks()
		in.mu.Lock() // before askUntil sees the answer
		c.core.fetcher.handleStatus(&in.fetcher.try, "404", nil)
		if meanwhile != nil {
			meanwhile()
		}
		in.mu.Unlock()
		again := what == "another receiver took one" || what == "one is pending"
		if again {
			asks()
			in.mu.Lock()
			in.fetcher.pulls[0].left = 0
			c.core.fetcher.handleStatus(&in.fetcher.try, "404", nil)
			in.mu.Unlock()
		}
		if err := <-result; err != sluice.ErrEmpty {
			t.Errorf("%s: askUntil: %v", what, err)
		}
		in.fetcher.trying.Unlock()
		in.mu.Lock()
		if asked := in.fetcher.try.id - id; asked != 1 && !again || again && asked != 2 {
			t.Errorf("%s: %d requests", what, asked)
		}
		in.fetcher.try.subject = subject
		in.mu.Unlock()
		if err := sub.Unsubscribe(); err != nil {
			t.Fatal(err)
		}
	}
}
