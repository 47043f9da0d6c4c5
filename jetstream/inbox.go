package jetstream

import (
	"context"
	"errors"
	"sync"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-go/sluice"
)

// An inbox is what was delivered to this process and is in nobody's hands yet, and
// who waits for more. Invariants, while mu is free:
//
//   - somebody who waits in line and was not woken sees ready empty;
//   - asked is what requests under way may still bring. If somebody waits, it is
//     above 0, or a request just ended and is about to be followed by the next;
//   - a value in ready belongs to the inbox; take makes it its caller's.
//
// A request is a Fetch of the client: for those who wait, one that waits too; for
// those who will likely come, one that takes what is there (depth). None is broken
// off: the servers would count what it brings as delivered, and wait for AckWait.
type inbox struct {
	mu       sync.Mutex
	consumer natsjs.Consumer
	ready    []*parcel // in the order of the stream
	line     []*receiver
	asked    int
	filling  bool // a request that takes what is there is under way
	// depth is how many values may be here before they are wanted: it doubles when
	// receivers outrun it, and halves when values lie for longer than stale.
	depth   int
	pending uint64      // how many more there were for us at the last delivery
	idle    *time.Timer // gives back what nobody receives; nil if nothing is here
	// signal is the channel of Ready; nil if nobody called that. If somebody did,
	// one value is to be here, for TryRecv.
	signal   chan struct{}
	signaled bool // it is closed
	watching bool // somebody watches what is closed be drained
}

// A receiver waits in line. It is woken once: whoever wakes it takes it out.
type receiver struct{ wake chan struct{} }

const (
	// stale: a value that lay for so long was fetched too early.
	stale = 20 * time.Millisecond
	// idleAfter: what lay for so long goes back, for others.
	idleAfter = time.Second
	// fetchWait is how long a request waits at the servers, who say every
	// fetchBeat that it does: without that it is made again.
	fetchWait = 5 * time.Second
	fetchBeat = time.Second
)

// take receives up to len(buf) values: it waits for one, then takes what is here. The
// caller owns them, and must settle each.
func (c *core) take(ctx context.Context, buf []*parcel) (int, error) {
	in := &c.inbox
	var tally func()
	defer func() {
		if tally != nil {
			tally()
		}
	}()
	for {
		in.mu.Lock()
		if n := c.pop(buf); n > 0 {
			in.mu.Unlock()
			return n, nil
		}
		if err := c.ended(); err != nil {
			in.mu.Unlock()
			return 0, err
		}
		if ctx.Err() != nil {
			in.mu.Unlock()
			n, err := c.tryTake(buf)
			if err == sluice.ErrEmpty {
				err = contextError(ctx)
			}
			return n, err
		}
		r := &receiver{wake: make(chan struct{})}
		in.line = append(in.line, r)
		c.ask()
		c.watchDrain()
		in.mu.Unlock()
		if tally == nil {
			tally = c.tally.recvWait()
		}
		select {
		case <-r.wake:
		case <-ctx.Done():
			c.quit(r)
		}
	}
}

// tryTake is take without waiting for a value, only for the servers' answer.
func (c *core) tryTake(buf []*parcel) (int, error) {
	in := &c.inbox
	in.mu.Lock()
	n, err, consumer := c.pop(buf), c.ended(), in.consumer
	in.mu.Unlock()
	if n > 0 || err != nil {
		return n, err
	}
	batch, err := consumer.FetchNoWait(len(buf))
	if err != nil {
		return 0, sluice.ErrEmpty // as far as can be known without a connection
	}
	for m := range batch.Messages() {
		c.arrive(m)
	}
	in.mu.Lock()
	n = c.pop(buf)
	in.mu.Unlock()
	if n > 0 {
		return n, nil
	}
	if c.closed.Load() {
		_ = c.look(c.leaving)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if err := c.ended(); err != nil {
		return 0, err
	}
	return 0, sluice.ErrEmpty
}

// pop moves values from ready to buf, and has more fetched if receivers outrun what
// is here. The lock is held.
func (c *core) pop(buf []*parcel) int {
	in := &c.inbox
	n := copy(buf, in.ready)
	if n == 0 {
		return 0
	}
	clear(in.ready[:n])
	in.ready = in.ready[n:]
	now := time.Now()
	if now.Sub(buf[n-1].came) > stale {
		in.depth = max(1, in.depth/2)
	} else if len(in.ready) == 0 {
		in.depth = min(2*in.depth, c.config.prefetch)
	}
	if len(in.ready) == 0 {
		in.ready = nil
		in.stopIdle()
	}
	c.announce()
	c.fill()
	c.ask()
	return n
}

// fill requests what is there, up to depth, if less than half of that is here. The
// lock is held.
func (c *core) fill() {
	in := &c.inbox
	here := len(in.ready) + in.asked
	if in.filling || in.pending == 0 || 2*here > in.depth || c.ended() != nil {
		return
	}
	in.filling = true
	c.request(in.depth-here, true)
}

// ask makes sure that there is a value on the way to each who waits. The lock is held.
func (c *core) ask() {
	in := &c.inbox
	need := len(in.line)
	if in.signal != nil && len(in.ready) == 0 {
		need = max(need, 1)
	}
	if need <= in.asked || c.ended() != nil {
		return
	}
	c.request(need-in.asked, false)
}

// request makes a request for n values in a goroutine of its own: for what is there,
// to fill up, or one that waits. The lock is held.
func (c *core) request(n int, filling bool) {
	in := &c.inbox
	if c.left.Load() {
		return
	}
	in.asked += n
	consumer := in.consumer
	c.tasks.Go(func() {
		left := n
		batch, err := c.fetch(consumer, n, filling)
		if err == nil {
			for m := range batch.Messages() {
				left--
				in.mu.Lock()
				in.asked--
				in.mu.Unlock()
				c.arrive(m)
			}
			err = batch.Error()
		}
		c.requestEnded(left, filling, err)
	})
}

func (c *core) fetch(consumer natsjs.Consumer, n int, filling bool) (natsjs.MessageBatch, error) {
	if filling {
		return consumer.FetchNoWait(n)
	}
	// Until nothing can come any more.
	ctx, cancel := context.WithTimeout(c.coming, fetchWait)
	context.AfterFunc(ctx, cancel)
	return consumer.Fetch(n, natsjs.FetchContext(ctx), natsjs.FetchHeartbeat(fetchBeat))
}

// requestEnded accounts for what a request did not bring, and asks again for those
// who wait.
func (c *core) requestEnded(left int, filling bool, err error) {
	in := &c.inbox
	if err != nil && !errors.Is(err, context.DeadlineExceeded) && c.open() {
		// A leader gone, a connection lost, the consumer gone. How things are must
		// be known before the next request, which comes after a random pause: all
		// clients see this at once.
		if errors.Is(err, natsjs.ErrConsumerDeleted) {
			c.restore(c.leaving, "somebody deleted its consumer")
		}
		_ = c.look(c.leaving)
		_ = c.pause(c.coming, betweenRequests)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.asked -= left
	if filling {
		in.filling = false
	}
	if left > 0 && err == nil {
		in.pending = 0
	}
	c.ask()
}

const betweenRequests = 50 * time.Millisecond

// open tells whether values may still come.
func (c *core) open() bool {
	c.inbox.mu.Lock()
	defer c.inbox.mu.Unlock()
	return c.ended() == nil
}

// arrive puts a message into ready, and wakes the first in line.
func (c *core) arrive(m natsjs.Msg) {
	p, err := newParcel(m)
	if err != nil {
		c.log.Warn("jetstream: a message that is no delivery", "error", err)
		return
	}
	in := &c.inbox
	in.mu.Lock()
	defer in.mu.Unlock()
	in.pending = p.pending
	if c.left.Load() {
		c.giveBack(p, 0)
		return
	}
	if p.tries > 1 && c.known(p) {
		return
	}
	in.ready = append(in.ready, p)
	c.startIdle()
	c.announce()
	in.wakeOne()
}

// wakeOne wakes the first in line. The lock is held.
func (in *inbox) wakeOne() {
	if len(in.line) > 0 {
		close(in.line[0].wake)
		in.line = in.line[1:]
	}
}

// changed tells everybody that the channel is closed, drained, gone or left.
func (c *core) changed() {
	in := &c.inbox
	in.mu.Lock()
	defer in.mu.Unlock()
	c.announce()
	c.watchDrain()
	if c.ended() == nil {
		return
	}
	c.dry()
	for len(in.line) > 0 {
		in.wakeOne()
	}
}

// quit takes r, which does not wait any longer, out of the line. If it was woken, the
// wake-up is for the next.
func (c *core) quit(r *receiver) {
	in := &c.inbox
	in.mu.Lock()
	defer in.mu.Unlock()
	for i, other := range in.line {
		if other == r {
			in.line = append(in.line[:i:i], in.line[i+1:]...)
			return
		}
	}
	if len(in.ready) > 0 {
		in.wakeOne()
	}
}

// known deals with a redelivery of what is here already, or was settled here, and
// says so. The lock is held.
func (c *core) known(p *parcel) bool {
	for _, mine := range c.inbox.ready {
		if mine.key == p.key {
			mine.reply = p.reply
			return true
		}
	}
	return c.held.renew(p, c.link.nc)
}

// ended tells why nothing will be received any more, if that is so.
func (c *core) ended() error {
	switch {
	case c.left.Load():
		return ErrLeft
	case c.drained.Load():
		return sluice.ErrClosed
	case c.gone.Load():
		return ErrGone
	}
	return nil
}

// startIdle sees to it that what nobody receives is given back. The lock is held.
func (c *core) startIdle() {
	in := &c.inbox
	if in.idle == nil {
		in.idle = time.AfterFunc(idleAfter, c.idled)
	}
}

func (in *inbox) stopIdle() {
	if in.idle != nil {
		in.idle.Stop()
		in.idle = nil
	}
}

// idled gives back what has been here for too long; one value stays for Ready.
func (c *core) idled() {
	in := &c.inbox
	in.mu.Lock()
	defer in.mu.Unlock()
	now, kept := time.Now(), 0
	for _, p := range in.ready {
		if now.Sub(p.came) < idleAfter || in.signal != nil && kept == 0 && now.Sub(p.came) < c.config.ackWait/2 {
			in.ready[kept] = p
			kept++
			continue
		}
		c.giveBack(p, 0)
	}
	clear(in.ready[kept:])
	in.ready = in.ready[:kept]
	in.depth = 1
	if in.idle = nil; kept > 0 {
		c.startIdle()
	}
}
