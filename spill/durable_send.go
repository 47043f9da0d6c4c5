package spill

import (
	"container/heap"
	"context"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/spill/internal/logstore"
)

// A commit is a change that is written at once: see the comment in durable.go.
type commit struct {
	payloads [][]byte // owned by the members; nil if withdrawn
	deletion
	damage    *readError // a member asks for the store to be opened again
	epoch     uint64     // in which the leader took it
	members   int
	lead      chan struct{} // carries the token to lead; has a buffer of 1
	done      chan struct{} // closed after the result is published
	err       error         // for members that send
	deleteErr error         // for members that acknowledge
	admission               // of payloads that have no reserved room
}

// A deletion is the stored records that a commit deletes, other than those that it replaces.
type deletion struct {
	deletes []uint64 // acknowledged, or too old
	old     []uint64 // those of deletes that receivers found too old
	freed   amount   // of deletes
	acks    amount   // of deletes, what was in flight
}

func (d *deletion) delete(seq uint64, cost int64) {
	d.deletes = append(d.deletes, seq)
	d.freed.add(one(cost))
}

// Send stores v on disk, with an fsync, and returns nil once v is stored. If Capacity or
// DiskLimit leaves no room, it follows [DurableOptions].Overflow: by default it waits.
// Concurrent senders share writes, so a Send is cheap when
// there are many, and costs an fsync when it is alone.
//
// Send returns [sluice.ErrClosed] if the channel is closed, [sluice.ErrTooLarge] if the
// record exceeds DiskLimit, [sluice.ErrFull] under Reject, the context's error if ctx is
// done during the wait, an error of the codec, or an error that names the file that could
// not be written. In all of these cases v was not stored, and will not be, and the caller
// may try again. On a full disk [IsDiskFull] returns true, and a Send succeeds again when
// values were acknowledged or the disk has room. The exception is an error that is
// [ErrFailed]: the channel has failed, and v may be there when the queue is opened again,
// unless an earlier call has returned such an error. The context does not interrupt a write
// in progress. Send panics if ctx is nil.
func (c *Durable[T]) Send(ctx context.Context, v T) error {
	notNil(ctx, "Send")
	return c.sendOne(ctx, v)
}

// TrySend is like Send, but returns [sluice.ErrFull] instead of waiting for room. It
// does wait for the write.
func (c *Durable[T]) TrySend(v T) error {
	return c.sendOne(engine.NoWait{}, v)
}

// SendBatch stores the values of vs in order, in few writes. It returns the number of
// values stored, always a prefix of vs, and an error as for Send unless that is all of
// them. With DropNewest and DropOldest, values that were dropped count as stored. Values of other senders may come between them. SendBatch does not keep vs.
func (c *Durable[T]) SendBatch(ctx context.Context, vs []T) (n int, err error) {
	notNil(ctx, "SendBatch")
	p := c.batches.Get().(*recordBatch[T])
	defer p.release(&c.batches)
	for n < len(vs) {
		sent, err := c.sendRecords(ctx, p, vs[n:])
		n += sent
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

func (c *Durable[T]) sendOne(ctx context.Context, v T) error {
	p := c.batches.Get().(*recordBatch[T])
	defer p.release(&c.batches)
	p.one[0] = v
	_, err := c.sendRecords(ctx, p, p.one[:])
	return err
}

// sendRecords encodes the first values of vs into p and stores them: at least one,
// unless it returns an error. A nil ctx means that it does not wait for room.
func (c *Durable[T]) sendRecords(ctx context.Context, p *recordBatch[T], vs []T) (n int, err error) {
	if err := p.fill(&c.config, true, vs, ""); err != nil {
		return 0, err
	}
	if c.cost(p, 0) > c.config.diskLimit {
		return 0, sluice.ErrTooLarge
	}
	// A context may be user code: read it without the lock.
	var lazy lazyContext
	if engine.MayWait(ctx) {
		lazy.load(ctx)
	}
	reopened := false
	for again := false; ; again = true {
		c.mu.Lock()
		g, err := c.reserve(ctx, p, &lazy, again)
		if g.n == 0 {
			c.mu.Unlock()
			return 0, err
		}
		if g.drops {
			c.dropped += uint64(g.n)
			c.mu.Unlock()
			c.config.giveAll(sluice.Overflowed, p.values[:g.n]...)
			return g.n, nil
		}
		b, leads := c.join()
		at := len(b.payloads)
		for i := range g.n {
			b.payloads = append(b.payloads, p.payload(i))
		}
		if g.loose {
			b.loose = append(b.loose, run{at, at + g.n})
			c.promised += g.n
		}
		c.adding += g.n
		c.mu.Unlock()
		if err := c.await(ctx, &lazy, b, leads, at, g); err != nil {
			return 0, err
		}
		if n = c.settleDrops(b, at, g, p.values); n > 0 {
			return n, nil
		}
		if damage, ok := b.readErr.(*readError); ok && !reopened {
			reopened = true // once for each call: it may not help
			c.reopenAfter(damage)
		} else if b.readErr != nil {
			return 0, unmarked(b.readErr)
		}
	}
}

// A grant is what reserve returns: n records may join the pending commit, without reserved
// room if they are loose; or they are dropped.
type grant struct {
	n            int
	loose, drops bool
}

// reserve reserves room for the first records of p, at least one, and waits for it. A
// sender that calls it again has found that there is no room, and goes before others. The
// caller holds mu.
func (c *Durable[T]) reserve(ctx context.Context, p *recordBatch[T], lazy *lazyContext, again bool) (g grant, err error) {
	var w *waiter
	for {
		if err := c.sendError(); err != nil {
			return g, err
		}
		if c.senders.Len() == 0 || again {
			g = c.grant(p)
		}
		switch {
		case g.n > 0:
			return g, nil
		case c.config.overflow == sluice.DropNewest:
			for g.n < len(p.ends) && !c.fits(c.cost(p, g.n)) {
				g.n++
			}
			g.drops = true
			return g, nil
		case !engine.MayWait(ctx) || c.config.overflow == sluice.Reject:
			c.rejected++
			return g, sluice.ErrFull
		case lazy.err != nil:
			return g, lazy.err
		}
		if w == nil {
			w = c.senders.Get()
			w.Value.need = c.cost(p, 0)
		}
		c.senders.push(w, again)
		c.watchAge()
		if !c.senders.await(&c.mu, w, lazy) {
			break
		}
		switch {
		case w.Value.err == errRetry:
			c.retrying--
			again = true
		case w.Value.err != nil:
			return g, w.Value.err
		case c.sendError() != nil:
			c.sub(one(w.Value.need))
			return g, c.sendError()
		default:
			return grant{n: 1}, nil
		}
	}
	c.serveWaiters() // the next waiter's record may be smaller, and fit
	c.mu.Unlock()
	err = engine.ContextError(ctx) // user code
	c.mu.Lock()
	return g, err
}

// grant reserves room for the first records of p, or has a commit make some. It returns 0 if
// there is none. The caller holds mu.
func (c *Durable[T]) grant(p *recordBatch[T]) (g grant) {
	if c.config.overflow != sluice.DropOldest {
		for g.n < len(p.ends) && c.fits(c.cost(p, g.n)) {
			c.add(one(c.cost(p, g.n)))
			g.n++
		}
	}
	if g.n == 0 {
		g.n = c.spare(len(p.ends), c.cost(p, 0))
		g.loose = g.n > 0
	}
	return g
}

func (c *Durable[T]) cost(p *recordBatch[T], i int) int64 { return c.costOf(p.payload(i)) }

// costOf returns what DiskLimit counts for a payload.
func (c *Durable[T]) costOf(payload []byte) int64 {
	return diskCost(logstore.Record{Payload: payload, Time: int64(c.config.maxAge)}) // with MaxAge, it has a time
}

// join makes the caller a member of the pending commit, and its leader if no goroutine
// leads. The caller holds mu.
func (c *Durable[T]) join() (b *commit, leads bool) {
	if c.pending == nil {
		c.pending = &commit{lead: make(chan struct{}, 1), done: make(chan struct{})}
	}
	leads, c.leading = !c.leading, true
	c.pending.members++
	return c.pending, leads
}

// await waits until b is published, and writes b if the caller leads it. If the context
// is done first, it withdraws g.n payloads, beginning at index at.
func (c *Durable[T]) await(ctx context.Context, lazy *lazyContext, b *commit, leads bool, at int, g grant) error {
	if leads {
		c.write(b)
	} else {
		select {
		case <-b.done:
		case <-b.lead:
			c.write(b)
		case <-lazy.done:
			if c.withdraw(b, at, g) {
				return engine.ContextError(ctx)
			}
			<-b.done // the write has begun
		}
	}
	if g.n > 0 {
		return b.err
	}
	return b.deleteErr
}

// withdraw removes the caller and its payloads from b. It returns false if the leader
// has taken b.
func (c *Durable[T]) withdraw(b *commit, at int, g grant) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending != b {
		return false
	}
	for i := at; i < at+g.n; i++ {
		if !g.loose {
			c.sub(one(c.costOf(b.payloads[i])))
		}
		b.payloads[i] = nil
	}
	if g.loose {
		c.promised -= g.n
	}
	c.adding -= g.n
	b.members--
	if b.members == 0 {
		c.pending = nil
		select {
		case <-b.lead: // the token had no other taker
			c.endLead()
		default:
		}
	}
	c.serveWaiters()
	return true
}

// write writes b, publishes the result, and passes leadership on.
func (c *Durable[T]) write(b *commit) {
	c.mu.Lock()
	c.pending = nil
	c.promised = 0
	if b.loose != nil || c.config.maxAge > 0 {
		c.admit(b)
	}
	payloads := b.payloads[:0]
	for _, payload := range b.payloads {
		if payload != nil {
			payloads = append(payloads, payload)
		}
	}
	b.epoch = c.epoch
	if b.damage != nil && b.damage.epoch != c.epoch {
		b.damage = nil // the store was opened again since
	}
	failure := c.failure
	c.mu.Unlock()

	counted := false
	if b.err, b.deleteErr = failure, failure; failure == nil { // after a failure the content of the file is unknown
		counted, failure = c.writeCommit(b, payloads)
	}

	c.mu.Lock()
	c.publish(b, payloads, counted)
	if failure != nil {
		c.fail(failure)
	}
	reopened, repair := b.epoch != c.epoch, c.repair
	if c.pending != nil {
		c.pending.lead <- struct{}{} // does not block: the commit had no token yet
	} else {
		c.endLead()
	}
	c.mu.Unlock()
	close(b.done)
	if reopened {
		c.logRepair("a queue was opened again, because its files had failed (counts since OpenDurable)", repair)
	}
}

// endLead ends leadership: there is no commit to write.
func (c *Durable[T]) endLead() {
	c.leading = false
	if c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
}

// publish applies the result of b to the queue, which may have counted the records already. The
// caller holds mu.
func (c *Durable[T]) publish(b *commit, payloads [][]byte, counted bool) {
	c.adding -= len(payloads)
	if len(payloads) > 0 {
		c.sendErr = b.err
	}
	switch {
	case counted:
	case b.err == nil:
		c.extend(payloads, b.at)
		c.stored += c.amountOf(payloads).bytes
		c.sent += uint64(len(payloads))
		c.high = max(c.high, c.queued())
	default:
		c.sub(c.amountOf(payloads))
	}
	if !counted {
		c.publishDrops(b)
	}
	c.acking.sub(b.acks)
	if b.deleteErr == nil {
		c.sub(b.freed)
		c.stored -= b.freed.bytes
		c.flight.sub(b.acks)
		c.forget(b.deletes)
		c.countDropped(len(b.old), sluice.TooOld)
	} else { // at once: until then no commit could drop them to make room
		for _, seq := range b.old {
			heap.Push(&c.requeued, seq)
		}
	}
	c.dropping -= len(b.old)
	c.serveWaiters()
}
