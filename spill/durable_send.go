package spill

import (
	"context"
	"errors"

	"github.com/sluice-go/sluice"
)

// A commit is what is written at once: see the comment of durable.go.
type commit struct {
	forms   [][]byte // the members' own; nil if withdrawn
	drops   []uint64
	freed   int64 // bytes of the disk limit that drops give back
	members int
	lead    chan struct{} // the token to lead; has room for it
	done    chan struct{} // closed when it was published
	err     error         // of those who send
	dropErr error         // of those who acknowledge
}

// result is what became of b for a member.
func (b *commit) result(sends bool) error {
	if sends {
		return b.err
	}
	return b.dropErr
}

// Send stores v, and waits for room below the disk limit, and until v is on disk for
// good: many senders share one write, so a Send costs little when there are many, and
// an fsync when it is alone.
//
// It returns nil once v is stored. With [sluice.ErrClosed], [sluice.ErrTooLarge] (the
// record is above the disk limit), the context's error, an error of the codec, or one
// that names the file that could not be written and why, v was not stored and will not
// be; only one that says that the outcome is unknown, after which the channel
// has failed, leaves that open. A write under way is not cut short by the context. A
// nil context panics.
func (c *Durable[T]) Send(ctx context.Context, v T) error {
	if ctx == nil {
		panic("spill: Send: nil context")
	}
	return c.sendOne(ctx, v)
}

// TrySend is Send, but for that it returns [sluice.ErrFull] if there is no room. It
// does wait for the disk.
func (c *Durable[T]) TrySend(v T) error {
	return c.sendOne(nil, v) //nolint:staticcheck // nil: never wait
}

// SendBatch stores the values of vs in order, in as few writes as they fit into, and
// returns how many it stored, always a prefix of vs; the error is nil only if that is
// all of them, and otherwise as for Send. Values of other senders may come between.
// vs is not kept.
func (c *Durable[T]) SendBatch(ctx context.Context, vs []T) (n int, err error) {
	if ctx == nil {
		panic("spill: SendBatch: nil context")
	}
	p := c.parcels.Get().(*parcel[T])
	defer p.release(&c.parcels)
	for n < len(vs) {
		sent, err := c.sendParcel(ctx, p, vs[n:])
		n += sent
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

func (c *Durable[T]) sendOne(ctx context.Context, v T) error {
	p := c.parcels.Get().(*parcel[T])
	defer p.release(&c.parcels)
	p.one[0] = v
	_, err := c.sendParcel(ctx, p, p.one[:])
	return err
}

// sendParcel stores the first values of vs, by way of p: at least one if err is nil.
// With a nil ctx it does not wait for room, nor give up.
func (c *Durable[T]) sendParcel(ctx context.Context, p *parcel[T], vs []T) (n int, err error) {
	if err := p.fill(&c.config, nil, vs, ""); err != nil {
		return 0, err
	}
	if c.config.diskLimit-recordCost < int64(len(p.form(0))) {
		return 0, sluice.ErrTooLarge
	}
	// The context is a user's code: it is asked while nothing of ours depends on it.
	var turn turn
	if ctx != nil {
		turn.ask(ctx)
	}
	c.mu.Lock()
	n, err = c.reserve(ctx, p, &turn)
	if err != nil {
		c.mu.Unlock()
		return 0, err
	}
	b, leads := c.join()
	at := len(b.forms)
	for i := range n {
		b.forms = append(b.forms, p.form(i))
	}
	c.adding += n
	c.mu.Unlock()
	if err := c.await(ctx, &turn, b, leads, at, n); err != nil {
		return 0, err
	}
	return n, nil
}

// reserve takes room for the first values of p, at least one, and waits for it. The
// lock is held.
func (c *Durable[T]) reserve(ctx context.Context, p *parcel[T], turn *turn) (n int, err error) {
	if err := c.refused(); err != nil {
		return 0, err
	}
	for n < len(p.ends) && c.senders.n == 0 && c.fits(c.cost(p, n)) {
		c.bytes += c.cost(p, n)
		n++
	}
	switch {
	case n > 0:
		return n, nil
	case ctx == nil:
		return 0, sluice.ErrFull
	case turn.over != nil:
		return 0, turn.over
	}
	w := &waiter{need: c.cost(p, 0), served: make(chan struct{})}
	c.senders.push(w)
	if c.senders.await(&c.mu, w, turn) {
		if w.err == nil && c.refused() != nil {
			c.bytes -= w.need
			return 0, c.refused()
		}
		return 1, w.err
	}
	c.senders.remove(w)
	c.settle() // the one behind may be smaller, and fit
	c.mu.Unlock()
	err = contextError(ctx) // a user's code, again
	c.mu.Lock()
	return 0, err
}

func (c *Durable[T]) cost(p *parcel[T], i int) int64 {
	return int64(len(p.form(i))) + recordCost
}

// join makes the caller a member of the commit that gathers, and its leader if there
// is none. The lock is held.
func (c *Durable[T]) join() (b *commit, leads bool) {
	if c.pending == nil {
		c.pending = &commit{lead: make(chan struct{}, 1), done: make(chan struct{})}
	}
	leads, c.leading = !c.leading, true
	c.pending.members++
	return c.pending, leads
}

// await waits until b is published, and writes it if the caller is to lead. If
// the turn is over first, n forms from at on are withdrawn.
func (c *Durable[T]) await(ctx context.Context, turn *turn, b *commit, leads bool, at, n int) error {
	sends := n > 0
	if leads {
		c.write(b)
		return b.result(sends)
	}
	select {
	case <-b.done:
		return b.result(sends)
	case <-b.lead:
		c.write(b)
		return b.result(sends)
	case <-turn.done:
	}
	if !c.withdraw(b, at, n) { // too late
		<-b.done
		return b.result(sends)
	}
	return contextError(ctx)
}

// withdraw takes the caller and its forms out of b, if it was not taken yet.
func (c *Durable[T]) withdraw(b *commit, at, n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending != b {
		return false
	}
	for i := at; i < at+n; i++ {
		c.bytes -= int64(len(b.forms[i])) + recordCost
		b.forms[i] = nil
	}
	c.adding -= n
	b.members--
	if b.members == 0 {
		c.pending = nil
		select {
		case <-b.lead: // it was for us
			c.rest()
		default:
		}
	}
	c.settle()
	return true
}

// write is what the leader of b does.
func (c *Durable[T]) write(b *commit) {
	c.mu.Lock()
	c.pending = nil
	forms := b.forms[:0]
	for _, form := range b.forms {
		if form != nil {
			forms = append(forms, form)
		}
	}
	first, failure := c.tail, c.failure
	c.mu.Unlock()

	// What failed may be there. To go on from there would be to guess.
	if b.err = failure; failure == nil && len(forms)+len(b.drops) > 0 {
		b.err = c.store.write(first, forms, b.drops)
	}
	b.dropErr = b.err
	if b.err != nil && failure == nil && len(forms) > 0 && len(b.drops) > 0 && !errors.Is(b.err, errUnknown) {
		b.dropErr = c.store.write(first, nil, b.drops) // on a full disk there may be room for that
	}

	c.mu.Lock()
	c.publish(b, forms)
	if c.pending != nil {
		c.pending.lead <- struct{}{} // there is room: it had none yet
	} else {
		c.rest()
	}
	c.mu.Unlock()
	close(b.done)
}

// rest ends leadership: nothing is to be written.
func (c *Durable[T]) rest() {
	c.leading = false
	if c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
}

// publish makes known what came of b. The lock is held.
func (c *Durable[T]) publish(b *commit, forms [][]byte) {
	c.adding -= len(forms)
	if b.err == nil {
		c.admit(forms)
		c.sent += uint64(len(forms))
		c.queued += len(forms)
		c.high = max(c.high, c.queued)
	} else {
		for _, form := range forms {
			c.bytes -= int64(len(form)) + recordCost
		}
	}
	if b.dropErr == nil {
		c.bytes -= b.freed
		c.unsettled -= len(b.drops)
		for _, n := range b.drops {
			delete(c.tries, n)
		}
	}
	for _, err := range []error{b.err, b.dropErr} {
		if errors.Is(err, errUnknown) {
			c.fail(err)
		}
	}
	c.settle()
}

// admit counts records that were stored, and keeps copies in memory if they are the
// next to come there and there is room.
func (c *Durable[T]) admit(forms [][]byte) {
	first := c.tail
	c.tail += uint64(len(forms))
	if c.upto != first {
		return
	}
	total, n := 0, 0
	for _, form := range forms {
		size := stored{form: form}.size()
		if c.inWindow+size > c.config.limit {
			break
		}
		c.inWindow += size
		total += len(form)
		n++
	}
	block := make([]byte, 0, total) // one for all: they go together
	for i, form := range forms[:n] {
		start := len(block)
		block = append(block, form...)
		c.window.push(stored{number: first + uint64(i), form: block[start:len(block):len(block)]})
	}
	c.upto += uint64(n)
}
