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
// Each way of asking has a subject of its own; all bring their answers into one Go channel,
// which one goroutine reads: so values come to the inbox in the order in which the servers
// delivered them. A request belongs to the inbox's lock from pull to end. Three ways:
//
//   - Who tries asks for what is there, and is answered at once.
//   - Who waits, while values come seldom, asks for one value, for a long time.
//   - While receivers come back sooner than stale, a request stands: it is for as many
//     values as they are expected to take soon (inbox.depth), and is made before they are
//     wanted, as soon as half of that was taken. So no value waits for a request to make
//     its way to the servers. Two of them overlap: the next one is there before the
//     last one is used up.
//
// A standing request serves whoever stalls, too, who holds what comes. So it ends soon,
// after pullStands, and only a receiver who comes back has the next one made: who stalls
// gets no more than depth, of what is sent within pullStands.
//
// Tried and lost: Fetch of the client library. It has a goroutine for each request, so
// two requests hand over their values in any order.
//
// Tried and lost: requests for all that is there at the first value (NoWait with Expires).
// They end as the first value has come, so the second one waits for the next request: a
// round trip for each value, and a status message. Of values that four senders sent one by
// one through a cluster the median delay was 1.4 of the client's, which has a request for
// 500 stand; it is 1.05 now.
//
// Tried and lost: a depth that follows at once what came in the last request. After a
// pause the next burst begins with requests for one, two, four values, each of which makes
// its way through servers that are busy with the burst.

// A pull is the request under way on one of the subjects, or none.
type pull struct {
	subject string // and a number, of the request
	sub     *nats.Subscription
	id      uint64
	left    int           // values that it may still bring; 0: none is under way
	brought int           // values, so far
	expires time.Duration // how long it is at the servers; 0: it does not wait there
	sign    time.Time     // when the servers were last heard of
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
	// pullWait is how long a request for one value waits at the servers, who say every
	// pullBeat that it does. Without a sign for pullLost, it is made again.
	pullWait = 10 * time.Second
	pullBeat = time.Second
	pullLost = 2500 * time.Millisecond
	// pullStands is how long one for many values stays there. Its end must have come by
	// standsLost.
	pullStands = 100 * time.Millisecond
	standsLost = time.Second
	// noneYet is how long until the next attempt of a request that could not be sent.
	noneYet = 250 * time.Millisecond
	// betweenPulls is about how long it takes until the next request, if one ended
	// badly: all processes see a leader go at once.
	betweenPulls = 50 * time.Millisecond
	// answerWait is the longest that who leaves waits for an answer under way.
	answerWait = 200 * time.Millisecond

	headerStatus  = "Status"
	headerPending = "Nats-Pending-Messages"
)

// subscribe makes the subjects of pulls, and reads what comes.
func (c *core) subscribe() error {
	in := &c.inbox
	// What can come: three full requests, and what statuses there are beside them. What
	// does not fit is lost, and comes again after AckWait.
	arrivals := make(chan *nats.Msg, 3*c.config.prefetch+1024)
	for _, p := range in.pulls() {
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

// unsubscribe ends the pulls. What is on its way to a subject that is gone may be nobody's
// until AckWait: so what is about to come is waited for, the servers are told not to send
// more, and what they sent before they heard of it comes before their answer to the ping of
// the flush.
func (c *core) unsubscribe(arrivals <-chan *nats.Msg) {
	in := &c.inbox
	ctx, cancel := context.WithTimeout(context.Background(), answerWait)
	defer cancel()
	for c.expects() && ctx.Err() == nil && c.link.nc.IsConnected() {
		select {
		case m := <-arrivals:
			c.arrive(m)
		case <-ctx.Done():
		}
	}
	for _, p := range in.pulls() {
		_ = p.sub.Drain() // the connection may be closed already
	}
	if c.link.nc.IsConnected() {
		flush, cancel := context.WithTimeout(context.Background(), lookWait)
		defer cancel()
		_ = c.link.nc.FlushWithContext(flush) // if it is lost, it comes after AckWait
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, p := range in.pulls() {
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

// expects tells, as nobody will receive any more, whether something is about to come: the
// answer to who tries, or what a request of who waits brings. That is known when a request
// of what is there is answered after it: that nothing is there, but not that what is there
// is for requests before it.
func (c *core) expects() bool {
	in := &c.inbox
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.tries.left == 0 && c.left.Load() && in.awaits() && (!in.last || in.tries.crowded) {
		in.last = true
		c.request(&in.tries, pullRequest{Batch: 1, NoWait: true})
	}
	return in.tries.left > 0
}

// pulls are all requests.
func (in *inbox) pulls() []*pull { return []*pull{&in.waits[0], &in.waits[1], &in.tries} }

// deadline is when the request counts as lost, if there is no sign of it until then.
func (p *pull) deadline() time.Time {
	if p.expires == pullStands {
		return p.sign.Add(standsLost)
	}
	return p.sign.Add(pullLost)
}

// underWay returns how many values the requests of who waits may still bring, and one that
// is not under way, or nil. What counts as lost is given up. The lock is held.
func (in *inbox) underWay() (left int, free *pull) {
	for i := range in.waits {
		p := &in.waits[i]
		if p.left > 0 && time.Until(p.deadline()) <= 0 {
			p.end()
		}
		if left += p.left; p.left == 0 {
			free = p
		}
	}
	return left, free
}

// request sends a request. The lock is held, and no other is under way on p.
func (c *core) request(p *pull, r pullRequest) {
	p.id++
	p.left, p.brought, p.expires, p.sign, p.crowded = r.Batch, 0, r.Expires, time.Now(), false
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
	p := &in.tries
	for i := range in.waits {
		if m.Sub == in.waits[i].sub {
			p = &in.waits[i]
		}
	}
	p.sign = time.Now()
	if status := m.Header.Get(headerStatus); status != "" && len(m.Data) == 0 {
		if m.Subject == p.subject+strconv.FormatUint(p.id, 10) {
			c.told(p, status, m.Header)
		}
		return
	}
	p.brought++
	if p.left--; p.left <= 0 {
		p.end()
	}
	c.deliver(m)
	c.ask(false)
}

// told deals with a status. The lock is held.
func (c *core) told(p *pull, status string, header nats.Header) {
	in := &c.inbox
	switch status {
	case "100": // a sign of life
	case "404": // nothing there
		p.end()
	case "408": // it has waited long enough; or what is there is for others before it
		p.crowded = header.Get(headerPending) == ""
		if p != &in.tries {
			if p.left > p.brought {
				in.depth = max(1, in.depth/2)
			}
			in.quiet = in.quiet || p.brought == 0
		}
		if p.expires == pullWait {
			// The word of a Close may have been lost. Who waits has one of these requests
			// made sooner or later, as those that stand bring nothing more then.
			c.tasks.Go(func() { _ = c.look(c.leaving) })
		}
		p.end()
		c.ask(false)
	default: // 409, 503 and others: a leader gone, the consumer gone
		p.end()
		c.failed(status + " " + header.Get("Description"))
	}
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
		c.ask(false)
	})
}

// mind makes sure that a request is looked after as long as somebody waits for what
// it brings: one without a sign of life is given up. The lock is held.
func (c *core) mind() {
	in := &c.inbox
	if in.minding != nil || !in.wants() || c.ended() != nil {
		return
	}
	in.minding = time.AfterFunc(in.patience(), func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		in.minding = nil
		if left, _ := in.underWay(); left == 0 && in.wants() && !in.failing && c.ended() == nil {
			// Servers that have just lost a leader may deliver values before they can
			// tell how the stream is: who waits does not wait for that, too.
			c.tasks.Go(func() { _ = c.look(c.leaving) })
			c.ask(false)
		}
		c.mind()
	})
}

// patience is how long until a request that is under way now counts as lost. The lock is held.
func (in *inbox) patience() time.Duration {
	if !in.awaits() {
		return noneYet
	}
	soonest := pullLost
	for i := range in.waits {
		if p := &in.waits[i]; p.left > 0 {
			soonest = min(soonest, time.Until(p.deadline()))
		}
	}
	return soonest
}
