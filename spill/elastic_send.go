package spill

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/age"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
)

// Send sends v. Below the memory limit v stays in memory; beyond it v is written to
// disk. If Capacity or DiskLimit leave no room, Send waits, or does what Overflow of the options
// says; under a policy other than Block it never waits.
//
// Send returns nil once v is accepted, or dropped by DropNewest. It returns [sluice.ErrClosed] if the channel is
// closed, even during the wait; [sluice.ErrTooLarge] if v alone exceeds the memory for
// values (see [ElasticOptions].MemoryLimit), or its record exceeds DiskLimit; and the
// context's error if it would have to wait and ctx is done; and [sluice.ErrFull] under Reject. If v
// has to go to disk, Send
// can also return an error of the codec, or an error that names the file that could not
// be created or written.
//
// After an error v is never delivered. The channel remains usable, and the next Send
// tries again, unless the channel has failed: see [Elastic.Recv]. The context does not
// interrupt a write in progress. Send panics if ctx is nil.
func (c *Elastic[T]) Send(ctx context.Context, v T) error {
	if ctx == nil {
		panic("spill: Send: nil context")
	}
	// Both ways into head are written out here, because one more call costs 10% per
	// value. head rejects values when it is full, so its Send does not wait.
	if c.state.Load()&flags == 0 {
		var err error
		if c.userSize == nil {
			err = c.head.Send(ctx, v)
		} else {
			err = c.sendSized(ctx, v)
		}
		if err == nil {
			return nil
		}
		if err != sluice.ErrFull {
			return c.closedError(err)
		}
	}
	p := c.batches.Get().(*recordBatch[T])
	p.one[0] = v
	_, err := c.sendRecords(ctx, p, p.one[:], method(ctx))
	return err
}

// TrySend sends v if that is possible without waiting for room. Under Block it returns
// [sluice.ErrFull] where Send would wait, and otherwise the same errors as Send. It may
// write a block to disk.
func (c *Elastic[T]) TrySend(v T) error { return c.Send(engine.NoWait{}, v) }

// SendBatch sends the values of vs in order. It returns the number of values sent,
// always a prefix of vs, and an error as for Send unless that is all of them. Values of
// other senders may come between them. SendBatch does not keep vs.
func (c *Elastic[T]) SendBatch(ctx context.Context, vs []T) (n int, err error) {
	notNil(ctx, "SendBatch")
	for n < len(vs) {
		sent, err := 0, sluice.ErrFull
		if c.state.Load()&flags == 0 {
			sent, err = c.sendRun(ctx, vs[n:])
			n += sent
		}
		if err == sluice.ErrFull {
			sent, err = c.sendRecords(ctx, c.batches.Get().(*recordBatch[T]), vs[n:], "SendBatch")
			n += sent
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// sendSized tries to add v, whose size user code reports, to head.
func (c *Elastic[T]) sendSized(ctx context.Context, v T) error {
	if size := c.userSize(v); uint64(size) > uint64(c.config.limit) { // or negative
		return c.config.checkSize(size, method(ctx))
	}
	return c.head.TrySend(v)
}

// method returns the name of the method for one value that the user called.
func method(ctx context.Context) string {
	if engine.MayWait(ctx) {
		return "Send"
	}
	return "TrySend"
}

// addToHead tries to add values to head under the lock, and returns how many it added; it returns
// an error if it added none. head calls Size again, and a panic of user code must not end the call
// here.
func (c *Elastic[T]) addToHead(vs []T) (n int, err error) {
	if c.config.size != nil {
		defer sizePanicked(&err)
	}
	if len(vs) > 1 {
		return c.head.SendBatch(engine.NoWait{}, vs)
	}
	if err = c.head.TrySend(vs[0]); err == nil {
		n = 1
	}
	return n, err
}

// sizePanicked is deferred around calls of Size with the lock held: a panic becomes an error.
func sizePanicked(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("spill: ElasticOptions.Size panicked: %v", p)
	}
}

// runLength is the number of values of a batch whose sizes are checked at once.
const runLength = 64

// sendRun adds the first values of vs to head. It returns ErrFull if head has no room
// for the first value that it did not add.
func (c *Elastic[T]) sendRun(ctx context.Context, vs []T) (n int, err error) {
	if c.userSize == nil {
		n, err = c.head.SendBatch(ctx, vs)
		return n, c.closedError(err)
	}
	for vs = vs[:min(len(vs), runLength)]; n < len(vs); n++ {
		size := c.userSize(vs[n])
		if fits := uint64(size) <= uint64(c.config.limit); !fits && n == 0 {
			return 0, c.config.checkSize(size, "SendBatch")
		} else if !fits {
			break
		}
	}
	n, err = c.head.SendBatch(ctx, vs[:n])
	return n, c.closedError(err)
}

// sendRecords puts the first values of vs into p, takes the lock once, and sends them to head or to
// the backlog: at least one, unless it returns an error. If all senders take the lock, it encodes them
// only when one of them needs a record. Then it gives the values that it dropped to the hook, and
// releases p.
func (c *Elastic[T]) sendRecords(ctx context.Context, p *recordBatch[T], vs []T, method string) (n int, err error) {
	defer p.release(&c.batches)
	state := c.state.Load()
	if state&closed != 0 {
		return 0, c.finalError()
	}
	if err := p.fill(&c.config, state&exclusive == 0, vs, method); err != nil {
		return 0, err
	}
	defer p.losses.report(&c.config)
	var lazy lazyContext
	c.mu.Lock()
	for n < len(p.values) && err == nil {
		var sent int
		if sent, err = c.sendNext(p, n); sent == 0 && err == nil {
			sent, err = c.overflow(ctx, p, n, &lazy)
		}
		n += sent
		switch {
		case err == errNeedsRecord && n > 0: // the next call encodes it
			p.values, err = p.values[:n], nil
		case err == errNeedsRecord: // user code runs without the lock; then try again
			if c.isLow() { // sendNext may have removed values, and the codec may panic
				c.advance()
			}
			c.mu.Unlock()
			err = p.fill(&c.config, true, vs, method)
			c.mu.Lock()
		}
	}
	c.expire(2*n, &p.losses)
	if c.state.Load()&spilling != 0 && (c.isLow() || c.senders.Len() > 0) {
		c.advance()
	}
	c.mu.Unlock()
	return n, err
}

// fits reports whether there is room for record on disk.
func (c *Elastic[T]) fits(record []byte) bool {
	return int64(len(record)) <= c.config.diskLimit-c.backlog.bytes
}

// append adds a record to the backlog. The caller then checks whether head is low.
func (c *Elastic[T]) append(record []byte) error {
	if c.aged != nil {
		binary.LittleEndian.PutUint64(record[header:], uint64(park.Now()))
	}
	if err := c.backlog.append(record); err != nil {
		return err
	}
	c.set(spilling, 0)
	if (c.moved+uint64(c.backlog.records))%age.Every == 1 {
		s := c.head.Stats()
		tail := s.Sent + uint64(c.backlog.records)
		c.ages.Observe(tail-uint64(s.Len+c.backlog.records), tail)
	}
	c.high = max(c.high, c.head.Len()+c.backlog.records)
	return nil
}

// waitForRoom waits until another goroutine has appended record n of p. The caller holds mu,
// which is released during the wait.
func (c *Elastic[T]) waitForRoom(ctx context.Context, lazy *lazyContext, p *recordBatch[T], n int) error {
	w := c.senders.Get()
	w.Value.record.Payload = p.record(n)
	w.Value.removeOld = func() bool { return c.removeOld(&p.losses) }
	c.senders.push(w, false)
	c.set(spilling|blocked, 0)
	c.advance() // try again, now that blocked is set
	if c.senders.await(&c.mu, w, lazy) {
		return w.Value.err
	}
	c.advance() // the next waiter's record may be smaller, and fit
	c.mu.Unlock()
	err := engine.ContextError(ctx) // user code
	c.mu.Lock()
	return err
}
