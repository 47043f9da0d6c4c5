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
	key     key
	reply   string // where to tell the servers what became of it; guarded by held.mu in hand
	data    []byte
	reason  string // why it is a dead letter
	tries   int    // deliveries so far, with this one
	pending uint64 // values behind it that nobody has yet
	came    time.Time
	// alive is when the servers were last told that it is worked on, until when
	// they will be.
	alive, until time.Time
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
		tries: int(min(meta.NumDelivered, 1<<30)), pending: meta.NumPending, came: time.Now(),
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
// hear of it in time: it lapses when they did not.
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
	defer h.mu.Unlock()
	now := time.Now()
	p.alive, p.until = p.came, now.Add(c.config.maxWork)
	h.of[p.key] = p
	if now.Sub(p.came) > h.every { // it lay here; the next mark may be too late
		_ = h.progress(p, c.link.nc)
	}
	if h.timer == nil {
		h.timer = time.AfterFunc(h.every, c.mark)
	}
}

// mark marks what is in hand as in progress, and forgets what has lapsed.
func (c *core) mark() {
	h := &c.held
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	for key, p := range h.of {
		if c.lapsed(p, now) {
			delete(h.of, key)
			c.log.Warn("jetstream: a delivery has lapsed, others may get it",
				"sequence", key.seq, "since", now.Sub(p.came).Round(time.Second))
		} else {
			h.progress(p, c.link.nc)
		}
	}
	if h.timer = nil; len(h.of) > 0 && !c.left.Load() {
		h.timer = time.AfterFunc(h.every, c.mark)
	}
}

// progress tells the servers that p is worked on. The lock is held.
func (h *held) progress(p *parcel, nc *nats.Conn) (err error) {
	now := time.Now()
	if err = nc.Publish(p.reply, sayProgress); err == nil {
		p.alive = now
	}
	return err
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
		return ErrLapsed
	}
	delete(h.of, p.key)
	if len(h.of) == 0 && h.timer != nil {
		h.timer.Stop()
		h.timer = nil
	}
	if c.lapsed(p, time.Now()) {
		return ErrLapsed
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
	mine.reply, mine.tries = p.reply, p.tries
	_ = h.progress(mine, nc) // it lapses if that is lost
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
			return ErrLeft
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
