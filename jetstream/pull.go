package jetstream

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
)

// Pulls are requests for values, in the protocol of JetStream's pull consumers (NATS
// ADR-13): a message that says how many and for how long, whose answers are the values
// themselves, and a status message at an end that is not that all of them came.
//
// There are two, each with a subject of its own: one for those who wait, one for those
// who try. Both bring their answers into one Go channel, which one goroutine reads: so
// values come to the inbox in the order in which the servers delivered them. A request
// belongs to the inbox's lock from pull to end.
//
// Tried and lost: Fetch of the client library. It has a goroutine for each request, so
// two requests hand over their values in any order; and it cannot ask for what will be
// there at the first value, only for a number that it then waits for.

// A pull is the request under way on one of the two subjects, or none.
type pull struct {
	subject string // and a number, of the request
	sub     *nats.Subscription
	id      uint64
	left    int       // values that it may still bring; 0: none is under way
	sign    time.Time // when the servers were last heard of
	done    chan struct{}
	// crowded: the servers refused it, as requests before it will take what is there.
	crowded bool
}

// pullRequest is what servers are sent.
type pullRequest struct {
	Batch     int           `json:"batch"`
	Expires   time.Duration `json:"expires,omitempty"`
	NoWait    bool          `json:"no_wait,omitempty"`
	Heartbeat time.Duration `json:"idle_heartbeat,omitempty"`
}

const (
	// pullWait is how long a request waits at the servers, who say every pullBeat
	// that it does. Without a sign for pullLost, it is made again.
	pullWait = 10 * time.Second
	pullBeat = time.Second
	pullLost = 2500 * time.Millisecond
	// betweenPulls is about how long it takes until the next request, if one ended
	// badly: all processes see a leader go at once.
	betweenPulls = 50 * time.Millisecond
	// crowded is the same if others' requests had been made before.
	crowded = 5 * time.Millisecond

	headerStatus  = "Status"
	headerPending = "Nats-Pending-Messages"
)

// subscribe makes the subjects of pulls, and reads what comes.
func (c *core) subscribe() error {
	in := &c.inbox
	// What can come: two full requests, and what statuses there are beside them. What
	// does not fit is lost, and comes again after AckWait.
	arrivals := make(chan *nats.Msg, 3*c.config.prefetch+1024)
	for _, p := range []*pull{&in.waits, &in.tries} {
		p.subject = c.link.nc.NewRespInbox() + "."
		sub, err := c.link.nc.ChanSubscribe(p.subject+"*", arrivals)
		if err != nil {
			return err
		}
		p.sub = sub
	}
	c.task(func() {
		for {
			select {
			case m := <-arrivals:
				c.arrive(m)
			case <-c.coming.Done():
				c.unsubscribe(arrivals)
				return
			}
		}
	})
	return nil
}

// unsubscribe ends the pulls, and gives back what they brought and nobody took.
func (c *core) unsubscribe(arrivals <-chan *nats.Msg) {
	in := &c.inbox
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, p := range []*pull{&in.waits, &in.tries} {
		if p.sub != nil {
			_ = p.sub.Unsubscribe() // the connection may be closed already
		}
		p.end()
	}
	for {
		select {
		case m := <-arrivals:
			if m.Header.Get(headerStatus) == "" {
				_ = m.Nak()
			}
		default:
			return
		}
	}
}

// request sends a request. The lock is held, and no other is under way on p.
func (c *core) request(p *pull, r pullRequest) {
	p.id++
	p.left, p.sign, p.crowded = r.Batch, time.Now(), false
	body, err := json.Marshal(r)
	if err == nil {
		err = c.link.nc.PublishRequest(c.pullSubject(), p.subject+strconv.FormatUint(p.id, 10), body)
	}
	if err != nil {
		p.end() // no connection: whoever waits is looked after by mind
	}
}

func (c *core) pullSubject() string {
	return natsjs.DefaultAPIPrefix + "CONSUMER.MSG.NEXT." + c.config.name + "." + consumerName
}

// end says that the request is not under way any more. The lock is held.
func (p *pull) end() {
	p.left = 0
	if p.done != nil {
		close(p.done)
		p.done = nil
	}
}

// arrive takes what a request brought.
func (c *core) arrive(m *nats.Msg) {
	in := &c.inbox
	in.mu.Lock()
	defer in.mu.Unlock()
	p := &in.waits
	if m.Sub == in.tries.sub {
		p = &in.tries
	}
	p.sign = time.Now()
	if status := m.Header.Get(headerStatus); status != "" && len(m.Data) == 0 {
		if m.Subject == p.subject+strconv.FormatUint(p.id, 10) {
			c.told(p, status, m.Header)
		}
		return
	}
	if p.left--; p.left <= 0 {
		p.end()
	}
	c.deliver(m)
	c.ask()
}

// told deals with a status. The lock is held.
func (c *core) told(p *pull, status string, header nats.Header) {
	switch status {
	case "100": // a sign of life
		return
	case "404": // nothing there, or nothing more
		c.inbox.pending = 0
	case "408": // it has waited long enough; or what is there is for others before it
		if header.Get(headerPending) == "" {
			p.crowded = true
			p.end()
			if p == &c.inbox.waits {
				c.askLater(crowded)
			}
			return
		}
	default: // 409, 503 and others: a leader gone, the consumer gone
		p.end()
		c.failed(status + " " + header.Get("Description"))
		return
	}
	p.end()
	c.ask()
}

// failed has the stream looked at before the next request. The lock is held.
func (c *core) failed(why string) {
	in := &c.inbox
	if in.failing || c.left.Load() {
		return
	}
	in.failing = true
	c.log.Debug("jetstream: a request for values ended", "because", why)
	c.tasks.Go(func() {
		_ = c.look(c.leaving)
		_ = c.pause(c.coming, betweenPulls)
		in.mu.Lock()
		defer in.mu.Unlock()
		in.failing = false
		c.ask()
	})
}

// askLater asks again after about d. The lock is held.
func (c *core) askLater(d time.Duration) {
	in := &c.inbox
	if in.failing || c.left.Load() {
		return
	}
	in.failing = true
	c.tasks.Go(func() {
		_ = wait(c.coming, jitter(d))
		in.mu.Lock()
		defer in.mu.Unlock()
		in.failing = false
		c.ask()
	})
}

// mind makes sure that a request is looked after as long as somebody waits for what
// it brings: one without a sign of life is given up. The lock is held.
func (c *core) mind() {
	in := &c.inbox
	if in.minding != nil || !in.wants() || c.ended() != nil {
		return
	}
	in.minding = time.AfterFunc(pullLost, func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		in.minding = nil
		if in.waits.left > 0 && time.Since(in.waits.sign) >= pullLost {
			in.waits.end()
		}
		if in.waits.left == 0 && in.wants() {
			c.failed("no sign of it")
		}
		c.mind()
	})
}
