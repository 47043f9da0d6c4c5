package jetstream

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-go/sluice"
)

// An inbox is what was delivered to this process and is in nobody's hands yet, and
// who waits for more. Invariants, while mu is free:
//
//   - who is in line, and so was not woken, sees ready empty, or somebody else was
//     woken for each value in it;
//   - if somebody wants a value, a request that waits is under way, or failing says
//     that the next one is about to be made, or minding runs, which sees to it;
//   - a value in ready belongs to the inbox; take makes it its caller's.
type inbox struct {
	mu       sync.Mutex
	consumer natsjs.Consumer
	ready    []*parcel // in the order of delivery
	line     []*receiver
	waits    [2]pull     // for who waits
	tries    pull        // for who does not
	trying   sync.Mutex  // held by who tries; before mu
	failing  bool        // the next request is about to be made, a little later
	minding  *time.Timer // gives up a request without a sign of life
	// depth is how many values may be here, or asked for, before they are wanted: it
	// doubles when receivers take half of it and come back sooner than stale; it halves
	// when values lie for longer, and when a request ends of which less than half came.
	depth    int
	quiet    bool        // no value came, as long as the last request stood
	taken    uint64      // values, so far
	tookAt   time.Time   // the last ones
	last     bool        // who leaves has asked what is there
	returned []*parcel   // what goes back when nothing can come any more
	idle     *time.Timer // gives back what nobody receives; nil if nothing is here
	// signal is the channel of Ready; nil if nobody called that. If somebody did,
	// one value is to be here, for TryRecv.
	signal   chan struct{}
	signaled bool // it is closed
	watching bool // somebody watches what is closed be drained
}

// use is what values are taken for.
type use uint8

const (
	toKeep use = iota // with being handed out it is done
	toTry             // as a delivery
)

// A receiver waits in line. It is woken once: whoever wakes it takes it out.
type receiver struct{ wake chan struct{} }

const (
	// stale: a value that lay for so long was fetched too early; and to who comes back
	// later than that, a round trip to the servers makes no difference.
	stale = 20 * time.Millisecond
	// idleAfter: what lay for so long goes back, for others.
	idleAfter = time.Second
	// tryWait is the longest that who tries waits for the servers' answer.
	tryWait = time.Second
)

// take receives up to len(buf) values: it waits for one, then takes what is here; of those
// to be tried no more than one whose try is noted. The caller owns them, and must settle each.
//
// Who wants several, and for whom no request is under way, first asks for what is there:
// it comes in one answer. A request for one would bring one, and one for several would be
// answered by the first, with the rest left lying until the next call.
func (c *core) take(ctx context.Context, buf []*parcel, use use) (int, error) {
	in := &c.inbox
	end := func() {}
	defer func() { end() }()
	several, waited := len(buf) > 1, false
	for {
		in.mu.Lock()
		n, err := c.here(buf, use)
		if n > 0 || err != nil {
			in.mu.Unlock()
			return n, err
		}
		if ctx.Err() != nil {
			in.mu.Unlock()
			if waited { // it has waited: what there was would have come
				return 0, contextError(ctx)
			}
			if n, err = c.tryTake(buf, use); err == sluice.ErrEmpty {
				err = contextError(ctx)
			}
			return n, err
		}
		if several && !in.awaits() && in.trying.TryLock() {
			several = false
			in.mu.Unlock()
			patience, cancel := context.WithTimeout(ctx, tryWait)
			n, err = c.tryUntil(patience.Done(), buf, use)
			cancel()
			if in.trying.Unlock(); n > 0 || err != sluice.ErrEmpty {
				return n, err
			}
			continue // something may have come since
		}
		r := &receiver{wake: make(chan struct{})}
		in.line = append(in.line, r)
		c.ask(false)
		c.watchDrain()
		in.mu.Unlock()
		if !waited {
			waited, end = true, c.tally.recvWait()
		}
		select {
		case <-r.wake:
		case <-ctx.Done():
			c.quit(r)
		}
	}
}

// tryTake is take without waiting for a value, only for the servers' answer. That there
// is nothing must be true of one moment, of the servers and of what is here: if others
// took something meanwhile, or it is on its way by a request of ours, it asks again.
func (c *core) tryTake(buf []*parcel, use use) (int, error) {
	in := &c.inbox
	patience, cancel := context.WithTimeout(context.Background(), tryWait) // also with those who try before it
	defer cancel()
	in.trying.Lock()
	defer in.trying.Unlock()
	return c.tryUntil(patience.Done(), buf, use)
}

// tryUntil is tryTake of whoever holds trying, until late.
func (c *core) tryUntil(late <-chan struct{}, buf []*parcel, use use) (int, error) {
	in := &c.inbox
	for {
		in.mu.Lock()
		n, err := c.here(buf, use)
		if n > 0 || err != nil {
			in.mu.Unlock()
			return n, err
		}
		done, taken := make(chan struct{}), in.taken
		in.tries.done = done
		c.request(&in.tries, pullRequest{Batch: min(len(buf), c.config.prefetch), NoWait: true})
		in.mu.Unlock()
		answered := answered(done, late)
		if c.closed.Load() || time.Since(epoch)-time.Duration(c.looked.Load()) >= pullWait {
			// It may be drained. And who only tries has no request that ends, so looks
			// as often: the word of a Close may have been lost.
			_ = c.look(c.leaving)
		}
		in.mu.Lock()
		n, err = c.here(buf, use)
		again := answered && (in.taken != taken || in.tries.crowded && in.awaits())
		in.mu.Unlock()
		if n > 0 || err != nil {
			return n, err
		}
		if !again {
			return 0, sluice.ErrEmpty
		}
	}
}

// answered waits until done, or as long as who tries waits.
func answered(done, late <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-late: // empty, as far as can be known without the servers
		return false
	}
}

// here takes what is here, or tells why nothing will ever be. The lock is held.
func (c *core) here(buf []*parcel, use use) (int, error) {
	in := &c.inbox
	n := min(len(buf), len(in.ready))
	if use == toTry {
		n = c.together(in.ready[:n])
	}
	copy(buf, in.ready[:n])
	if n == 0 {
		return 0, c.ended()
	}
	clear(in.ready[:n])
	in.ready = in.ready[n:]
	in.taken += uint64(n)
	now := time.Now()
	left, _ := in.underWay()
	soon := now.Sub(in.tookAt) < stale
	switch here := len(in.ready) + left; {
	case now.Sub(buf[n-1].came) > stale:
		in.depth = max(1, in.depth/2)
	case soon && 2*here <= in.depth:
		in.depth = min(2*in.depth, c.config.prefetch)
	}
	in.tookAt = now
	if len(in.ready) == 0 {
		in.ready = nil
		in.stopIdle()
	}
	c.announce()
	c.ask(soon)
	return n, nil
}

// wants tells whether somebody waits for a value. The lock is held.
func (in *inbox) wants() bool {
	return len(in.line) > 0 || in.signal != nil && len(in.ready) == 0
}

// awaits tells whether a request of who waits is under way. The lock is held.
func (in *inbox) awaits() bool {
	left, _ := in.underWay()
	return left > 0
}

// ask makes the next request, if it is time. The lock is held.
func (c *core) ask(soon bool) {
	in := &c.inbox
	if in.failing || c.ended() != nil {
		return
	}
	left, free := in.underWay()
	if r := in.next(soon, left); r.Batch > 0 && free != nil {
		c.request(free, r)
	}
	c.mind()
}

// next returns the next request, if those under way bring left values more: one is needed if
// somebody waits for a value that they will not bring; or, when something was taken and soon
// after that something else, if they and what is here are half of what receivers will soon
// want, at most. The lock is held.
func (in *inbox) next(soon bool, left int) pullRequest {
	need := len(in.line)
	if in.signal != nil {
		need = max(need, 1)
	}
	need -= len(in.ready) + left
	ahead := in.depth - len(in.ready) - left
	switch {
	case need > 0 && (in.quiet || in.depth == 1):
		return pullRequest{Batch: need, Expires: pullWait, Heartbeat: pullBeat}
	case need > 0, soon && in.depth > 1 && 2*ahead >= in.depth:
		return pullRequest{Batch: max(need, ahead), Expires: pullStands}
	}
	return pullRequest{}
}

// deliver puts a message into ready, and wakes the first in line. The lock is held.
func (c *core) deliver(m *nats.Msg) {
	in := &c.inbox
	p, err := newParcel(m)
	if err != nil {
		c.log.Warn("jetstream: a message that is no delivery", "error", err)
		return
	}
	in.quiet = false
	if c.left.Load() {
		in.returned = append(in.returned, p)
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
	if in.minding != nil {
		in.minding.Stop()
		in.minding = nil
	}
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
			mine.reply, mine.came, mine.tries = p.reply, p.came, p.tries
			return true
		}
	}
	return c.held.renew(p, c.link.nc)
}

// ended tells why nothing will be received any more, if that is so.
func (c *core) ended() error {
	switch {
	case c.left.Load():
		return ErrShutdown
	case c.drained.Load():
		return sluice.ErrClosed
	case c.gone.Load():
		return ErrDeleted
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

// idled gives back what has been here for too long. One value stays for Ready, marked
// as in progress: given back again and again, it would run out of tries.
func (c *core) idled() {
	in := &c.inbox
	in.mu.Lock()
	defer in.mu.Unlock()
	now, kept := time.Now(), 0
	for _, p := range in.ready {
		if c.overdue(p) {
			continue
		}
		forReady := in.signal != nil && kept == 0
		if forReady && now.Sub(p.came) > c.config.ackWait/3 && c.link.nc.Publish(p.reply, sayProgress) == nil {
			p.came = now
		}
		if now.Sub(p.came) < idleAfter || forReady && now.Sub(p.came) < c.config.ackWait/2 {
			in.ready[kept] = p
			kept++
			continue
		}
		c.giveBack(p, 0)
	}
	if kept < len(in.ready) {
		clear(in.ready[kept:])
		in.depth = 1
	}
	in.ready = in.ready[:kept]
	if in.idle = nil; kept > 0 {
		c.startIdle()
	}
	c.ask(false)
}
