package jetstream

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// A parcel is a delivered message. It is in the inbox, then in somebody's hands until
// that one settles it.
type parcel struct {
	key    key
	reply  string // where to tell the servers what became of it; guarded by held.mu in hand
	data   []byte
	reason string // why it is a dead letter
	tries  int    // deliveries so far, with this one
	had    int    // tries so far, with this one; 1 if they cannot be too many
	noted  bool   // this one is
	came   time.Time
	// In hand, guarded by held.mu: marked is when it was last marked as in progress, alive
	// the same of a mark that the servers are known to have heard, until when it will be.
	marked, alive, until time.Time
}

// A key is which message of a stream it is. The time tells apart two that have one
// sequence, after a power loss in which the servers forgot the first.
type key struct {
	seq  uint64
	time int64 // ns
}

func newParcel(m *nats.Msg) (*parcel, error) {
	meta, err := m.Metadata()
	if err != nil {
		return nil, err
	}
	return &parcel{
		key:   key{meta.Sequence.Stream, meta.Timestamp.UnixNano()},
		reply: m.Reply, data: m.Data, reason: m.Header.Get(headerReason),
		tries: int(min(meta.NumDelivered, 1<<30)), came: time.Now(),
	}, nil
}

// What the servers are told of a delivery.
var (
	sayAck      = []byte("+ACK")
	sayNack     = []byte("-NAK")
	sayProgress = []byte("+WPI")
)

// giveBack tells the servers to deliver p again, after a while, to anybody. If that
// does not arrive they do it after AckWait.
func (c *core) giveBack(p *parcel, after time.Duration) {
	say := sayNack
	if after > 0 {
		say = fmt.Appendf(nil, `%s {"delay": %d}`, sayNack, after)
	}
	_ = c.link.nc.Publish(p.reply, say)
}

// held are the parcels in hand, and what became of the last ones. In hand a parcel
// is marked as in progress, so that nobody else gets it, for as long as the servers
// hear of it in time: it lapses when they may not have. A mark that was sent may have
// gone nowhere, while the connection is not known to be broken. So the last one of each
// round is a request: its answer says that all before it were heard.
type held struct {
	mu sync.Mutex
	of map[key]*parcel
	// settled are the last ones acknowledged here, in a circle. The word of it may
	// be lost with a connection: then they come again, and are not handed out.
	settled map[key]struct{}
	circle  []key
	next    int
	timer   *time.Timer // of the next marks; nil if nothing is in hand
	every   time.Duration
}

// remembered is how many acknowledged values are known again: some 2 MB.
const remembered = 1 << 14

// hold puts p in hand.
func (c *core) hold(p *parcel) {
	h := &c.held
	h.mu.Lock()
	now := time.Now()
	p.alive, p.until = p.came, now.Add(c.config.maxInProgress)
	h.of[p.key] = p
	late := now.Sub(p.came) > h.every // it lay here; the next mark may be too late
	if late {
		p.marked = now
	}
	if h.timer == nil {
		h.timer = time.AfterFunc(h.every, c.mark)
	}
	reply := p.reply
	h.mu.Unlock()
	if late {
		c.task(func() { c.vouch(reply, now) })
	}
}

// mark marks what is in hand as in progress, and forgets what has lapsed.
func (c *core) mark() {
	h := &c.held
	h.mu.Lock()
	now, last := time.Now(), ""
	for key, p := range h.of {
		if c.lapsed(p, now) {
			delete(h.of, key)
			c.log.Warn("jetstream: a delivery has lapsed, others may get it",
				"sequence", key.seq, "since", now.Sub(p.came).Round(time.Second))
		} else if c.link.nc.Publish(p.reply, sayProgress) == nil {
			p.marked, last = now, p.reply
		}
	}
	if h.timer = nil; len(h.of) > 0 && !c.left.Load() {
		h.timer = time.AfterFunc(h.every, c.mark)
	}
	h.mu.Unlock()
	if last != "" {
		c.task(func() { c.vouch(last, now) })
	}
}

// vouch marks once more, by a request. Its answer says that the marks made by then were
// heard; of what lapsed before the answer it says nothing, as somebody else may have got
// it before they were.
func (c *core) vouch(reply string, made time.Time) {
	ctx, cancel := c.link.attempt(c.leaving, attempt)
	defer cancel()
	defer context.AfterFunc(c.leaving, cancel)() // who leaves does not wait for it
	if _, err := c.link.nc.RequestWithContext(ctx, reply, sayProgress); err != nil {
		return // the next one may be heard
	}
	h := &c.held
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	for _, p := range h.of {
		if p.marked.After(p.alive) && !p.marked.After(made) && !c.lapsed(p, now) {
			p.alive = p.marked
		}
	}
}

// lapsed tells whether somebody else may have p. The servers count from when they
// heard of it, which is later than here.
func (c *core) lapsed(p *parcel, now time.Time) bool {
	return now.Sub(p.alive) >= c.config.ackWait || now.After(p.until)
}

// overdue tells whether somebody else may have p, which is in nobody's hands here. Nothing
// may be said of it then: the servers would take it for a word of that one.
func (c *core) overdue(p *parcel) bool { return time.Since(p.came) >= c.config.ackWait }

// release takes p out of hand. It fails if it is not there, or has lapsed.
func (c *core) release(p *parcel) error {
	h := &c.held
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.of[p.key] != p {
		return ErrExpired
	}
	delete(h.of, p.key)
	if len(h.of) == 0 && h.timer != nil {
		h.timer.Stop()
		h.timer = nil
	}
	if c.lapsed(p, time.Now()) {
		return ErrExpired
	}
	return nil
}

// acknowledge tells the servers that p is done, and remembers that.
func (c *core) acknowledge(p *parcel) error {
	if err := c.link.nc.Publish(p.reply, sayAck); err != nil {
		return err
	}
	c.acknowledged(p)
	return nil
}

func (c *core) acknowledged(p *parcel) {
	h := &c.held
	h.mu.Lock()
	if h.settled == nil {
		h.settled = make(map[key]struct{})
	}
	if len(h.circle) < remembered {
		h.circle = append(h.circle, p.key)
	} else {
		delete(h.settled, h.circle[h.next])
		h.circle[h.next] = p.key
		h.next = (h.next + 1) % remembered
	}
	h.settled[p.key] = struct{}{}
	h.mu.Unlock()
	c.forget(p)
	select {
	case c.room <- struct{}{}:
	default:
	}
}

// renew deals with a redelivery of what is in hand, or was acknowledged, and says so:
// the servers did not hear of it in time.
func (h *held) renew(p *parcel, nc *nats.Conn) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.settled[p.key]; ok {
		_ = nc.Publish(p.reply, sayAck) // lost again, it comes again
		return true
	}
	mine := h.of[p.key]
	if mine == nil {
		return false
	}
	mine.reply, mine.tries, mine.alive = p.reply, p.tries, p.came
	_ = nc.Publish(mine.reply, sayProgress) // and again with the next round
	return true
}

// confirm tells the servers that p is done, and waits until they know. An answer may be
// lost with its connection: it says so again then, until somebody else may have p.
func (c *core) confirm(ctx context.Context, p *parcel) error {
	for wait := firstPause; ; wait = min(2*wait, lastPause) {
		err := c.confirmOnce(ctx, p)
		if err == nil {
			c.acknowledged(p)
			return nil
		}
		switch {
		case c.left.Load():
			return ErrShutdown
		case ctx.Err() != nil:
			return contextError(ctx)
		case time.Since(p.alive) >= c.config.ackWait:
			return err
		}
		_ = c.pause(ctx, wait) // the next attempt tells what ended it
	}
}

func (c *core) confirmOnce(ctx context.Context, p *parcel) error {
	once, cancel := c.link.attempt(ctx, attempt)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)() // unlike a Send, it can be left open
	_, err := c.link.nc.RequestWithContext(once, p.reply, sayAck)
	return err
}
