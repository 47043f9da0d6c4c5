package jetstream

import (
	"context"
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
//
// Tried and lost: a request of 16 that stays at the servers after its first value, so that
// the next ones come without being asked for. Measured in turn, against the client doing
// the same: the median delay of a value sent one by one was 1.0 to 1.9 of the client's
// without it, and 0.7 to 1.8 with it; better in a cluster at 1 KiB, worse inside. That is
// not worth 16 values that come to whoever stalls.

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
	atOnce  bool // it is answered at once, by what is there or by a status
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
	// answerWait is the longest that who leaves waits for such an answer.
	answerWait = 200 * time.Millisecond
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

// unsubscribe ends the pulls, and gives back what they brought and nobody took. What is on
// its way to a subject that is gone would be nobody's until AckWait: so what is about to
// be answered is waited for, the servers are told not to send more, and what they sent
// before they heard of it comes before their answer to the ping of the flush.
func (c *core) unsubscribe(arrivals <-chan *nats.Msg) {
	in := &c.inbox
	ctx, cancel := context.WithTimeout(context.Background(), answerWait)
	defer cancel()
	for in.answering() && ctx.Err() == nil && c.link.nc.IsConnected() {
		select {
		case m := <-arrivals:
			c.arrive(m)
		case <-ctx.Done():
		}
	}
	for _, p := range []*pull{&in.waits, &in.tries} {
		_ = p.sub.Drain() // the connection may be closed already
	}
	if c.link.nc.IsConnected() {
		flush, cancel := context.WithTimeout(context.Background(), lookWait)
		defer cancel()
		_ = c.link.nc.FlushWithContext(flush) // if it is lost, it comes after AckWait
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, p := range []*pull{&in.waits, &in.tries} {
		_ = p.sub.Unsubscribe() // it may be done already
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

// answering tells whether a request is under way that the servers answer at once.
func (in *inbox) answering() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.tries.left > 0 || in.waits.left > 0 && in.waits.atOnce
}

// request sends a request. The lock is held, and no other is under way on p.
func (c *core) request(p *pull, r pullRequest) {
	p.id++
	p.left, p.sign, p.crowded, p.atOnce = r.Batch, time.Now(), false, r.NoWait && r.Expires == 0
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
		c.tasks.Go(func() { _ = c.look(c.leaving) }) // the word of a Close may have been lost
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
