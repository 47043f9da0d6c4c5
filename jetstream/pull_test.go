package jetstream

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sluice-go/sluice"
)

// Who waits has a request made for what is needed, and what is soon wanted; and no more.
func TestAsk(t *testing.T) {
	t.Parallel()
	s := listening(t, nil)
	c := open(t, Options[int]{Name: "jobs", URL: s.ClientURL(), Replicas: 1, Log: mute()})
	heard := make(chan *nats.Msg, 16)
	nc := client(t, s.ClientURL())
	for _, subject := range []string{c.core.pullSubject(), "end"} {
		if _, err := nc.ChanSubscribe(subject, heard); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	waits := func(n int) pullRequest { return pullRequest{Batch: n, Expires: pullWait, Heartbeat: pullBeat} }
	waitsForAll := func(n int) pullRequest {
		return pullRequest{Batch: n, NoWait: true, Expires: pullWait, Heartbeat: pullBeat}
	}
	in := &c.core.inbox
	for _, test := range []struct {
		what        string
		line, ready int
		signal      bool
		depth       int
		pending     uint64
		left        int
		failing     bool
		want        pullRequest
	}{
		{what: "nobody wants any", depth: 1},
		{what: "one waits", line: 1, depth: 1, want: waits(1)},
		{what: "three wait", line: 3, depth: 1, want: waits(3)},
		{what: "one for each is here", line: 2, ready: 2, depth: 1},
		{what: "one for two is here", line: 2, ready: 1, depth: 1, want: waits(1)},
		{what: "one waits, and others will come", line: 1, depth: 8, want: waitsForAll(8)},
		{what: "more wait than will come", line: 10, depth: 8, want: waitsForAll(10)},
		{what: "Ready", signal: true, depth: 1, want: waits(1)},
		{what: "Ready, and one waits", signal: true, line: 1, depth: 1, want: waits(1)},
		{what: "Ready, and a value is here", signal: true, ready: 1, depth: 1},
		{what: "half of what is soon wanted is here", ready: 4, depth: 8, pending: 5, want: pullRequest{Batch: 4, NoWait: true}},
		{what: "more than half of it is", ready: 5, depth: 8, pending: 5},
		{what: "there is no more", depth: 8},
		{what: "nothing is soon wanted", depth: 1, pending: 5},
		{what: "a request is under way", line: 1, depth: 1, left: 1},
		{what: "one is about to be made", line: 1, depth: 1, failing: true},
	} {
		in.mu.Lock()
		in.line, in.ready = make([]*receiver, test.line), make([]*parcel, test.ready)
		if in.signal = nil; test.signal {
			in.signal = make(chan struct{}, 1)
		}
		in.depth, in.pending, in.waits.left, in.failing = test.depth, test.pending, test.left, test.failing
		c.core.ask()
		if asked := in.waits.left; asked != max(test.left, test.want.Batch) {
			t.Errorf("%s: %d may be on their way, want %d", test.what, asked, test.want.Batch)
		}
		if mindful := in.minding != nil; mindful && !in.wants() {
			t.Errorf("%s: a request is minded that nobody waits for", test.what)
		} else if in.minding != nil {
			in.minding.Stop()
			in.minding = nil
		} else if test.want.Expires > 0 {
			t.Errorf("%s: nobody minds whether the request is lost", test.what)
		}
		in.line, in.ready, in.signal, in.failing, in.pending = nil, nil, nil, false, 0
		in.waits.end()
		in.mu.Unlock()
		if err := c.core.link.nc.Publish("end", nil); err != nil { // after what was asked
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

// Each status says something else of the request that it is about, and nothing of others.
func TestTold(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{Log: mute()})
	in := &c.core.inbox
	for _, test := range []struct {
		status, pending string
		ofTries         bool
		left            int
		crowded, later  bool
		nothing         bool // is there any more
	}{
		{status: "100", left: 5},
		{status: "404", nothing: true},
		{status: "404", ofTries: true, nothing: true},
		{status: "408", pending: "5"},
		{status: "408", crowded: true, later: true},
		{status: "408", ofTries: true, crowded: true},
		{status: "409", later: true},
		{status: "503", later: true},
	} {
		in.mu.Lock()
		p, other := &in.waits, &in.tries
		if test.ofTries {
			p, other = other, p
		}
		in.pending, p.left, other.left, p.crowded = 7, 5, 5, false
		p.sign = time.Time{}
		done := make(chan struct{})
		p.done = done
		before := status(p, test.status)
		m := status(p, test.status)
		if m.Header.Set(headerPending, test.pending); test.pending == "" {
			m.Header.Del(headerPending)
		}
		before.Subject += "0" // of another request
		in.mu.Unlock()
		c.core.arrive(before)
		in.mu.Lock()
		if p.left != 5 || in.failing {
			t.Errorf("%+v: the status of another request is taken for its own", test)
		}
		if p.sign.IsZero() {
			t.Errorf("%+v: it is no sign of life", test)
		}
		in.mu.Unlock()
		c.core.arrive(m)
		in.mu.Lock()
		if p.left != test.left || other.left != 5 || p.crowded != test.crowded || in.failing != test.later || (in.pending == 0) != test.nothing {
			t.Errorf("%+v: left %d, of the other %d, crowded %v, failing %v, pending %d", test, p.left, other.left, p.crowded, in.failing, in.pending)
		}
		select {
		case <-done:
			if test.left > 0 {
				t.Errorf("%+v: a request under way is said to be over", test)
			}
		default:
			if test.left == 0 {
				t.Errorf("%+v: who tries is not told that it is over", test)
			}
		}
		p.done = nil
		p.left, other.left = 0, 0
		in.mu.Unlock()
		until(t, "what was put off is done", func() bool {
			in.mu.Lock()
			defer in.mu.Unlock()
			return !in.failing
		})
	}
}

// A waiter that was refused for a crowd, or whose request broke, asks again.
func TestAsksAgain(t *testing.T) {
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
		var refused *nats.Msg
		until(t, "a request is under way", func() bool {
			in.mu.Lock()
			defer in.mu.Unlock()
			refused = status(&in.waits, code)
			return in.waits.left > 0
		})
		c.core.arrive(refused)
		until(t, "the next one is", func() bool {
			in.mu.Lock()
			defer in.mu.Unlock()
			return in.waits.left > 0 && status(&in.waits, code).Subject != refused.Subject
		})
		mustSend(t, c, i)
		if v := <-received; v != i {
			t.Errorf("received %d, want %d", v, i)
		}
	}
}

// A request that got lost, with no sign of that, is made again.
func TestRequestLost(t *testing.T) {
	t.Parallel()
	c, p, _ := behindProxy(t, Options[string]{Name: "jobs"})
	p.silence()
	received := make(chan error)
	go func() {
		_, err := c.Recv(patient(t))
		received <- err
	}()
	in := &c.core.inbox
	id := uint64(0)
	until(t, "a request is under way", func() bool {
		in.mu.Lock()
		defer in.mu.Unlock()
		id = in.waits.id
		return in.waits.left > 0
	})
	until(t, "another one is", func() bool {
		in.mu.Lock()
		defer in.mu.Unlock()
		return in.waits.id > id
	})
	p.cut(false)
	mustSend(t, c, "a")
	if err := <-received; err != nil {
		t.Errorf("Recv: %v", err)
	}
}

// That there is nothing must be true of one moment: what another here took meanwhile, or
// what is on its way by the request of who waits, makes who tries ask again.
func TestTryAsksAgain(t *testing.T) {
	t.Parallel()
	c := open(t, Options[int]{Log: mute()})
	in := &c.core.inbox
	for what, meanwhile := range map[string]func(){
		"another took one":    func() { in.taken++ },
		"one is on its way":   func() { in.tries.crowded, in.waits.left = true, 1 },
		"the servers say so":  nil,
		"crowded, but no one": func() { in.tries.crowded = true },
	} {
		in.trying.Lock() // who tries comes to us first
		result := make(chan error, 1)
		in.mu.Lock()
		id := in.tries.id
		in.mu.Unlock()
		go func() {
			_, err := c.TryRecv()
			result <- err
		}()
		silent := make(chan *nats.Msg, 8) // answers go here, and we say what they are
		sub, err := c.core.link.nc.ChanSubscribe(c.core.link.nc.NewRespInbox()+".*", silent)
		if err != nil {
			t.Fatal(err)
		}
		in.mu.Lock()
		subject := in.tries.subject
		in.tries.subject = sub.Subject[:len(sub.Subject)-1]
		in.mu.Unlock()
		in.trying.Unlock()
		<-silent
		in.mu.Lock() // what follows happens before who tries sees the answer
		c.core.told(&in.tries, "404", nil)
		if meanwhile != nil {
			meanwhile()
		}
		in.mu.Unlock()
		again := what == "another took one" || what == "one is on its way"
		if again {
			<-silent
			in.mu.Lock()
			in.waits.left = 0
			c.core.told(&in.tries, "404", nil)
			in.mu.Unlock()
		}
		if err := <-result; err != sluice.ErrEmpty {
			t.Errorf("%s: TryRecv: %v", what, err)
		}
		in.mu.Lock()
		if asked := in.tries.id - id; asked != 1 && !again || again && asked != 2 {
			t.Errorf("%s: asked %d times", what, asked)
		}
		in.tries.subject = subject
		in.mu.Unlock()
		if err := sub.Unsubscribe(); err != nil {
			t.Fatal(err)
		}
	}
}
