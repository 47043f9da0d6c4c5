package spill

import (
	"context"
	"fmt"

	"github.com/sluice-go/sluice"
)

// Send sends v. Below the limit it does what an Elastic does; beyond, v goes to
// disk, and Send waits only for room below the disk limit.
//
// It returns nil once v was accepted; [sluice.ErrClosed] if the channel is closed,
// also when that happens during the wait; [sluice.ErrTooLarge] if v alone is above
// what values may take of the limit (see Options.MemoryLimit); the context's error if it would
// have to wait under a context that is done; and if v has to go to disk, ErrTooLarge if
// its record is above the disk limit, an error of the codec, or one that names the file
// that could not be made or written, and why. After an error v is never delivered, and
// the channel goes on, unless it has failed (see Recv): the next Send tries again. A
// write under way is not cut short by the context. A nil context panics.
func (c *Elastic[T]) Send(ctx context.Context, v T) error {
	if ctx == nil {
		panic("spill: Send: nil context")
	}
	// The two ways of head are written out here, and its Send is taken, which does what
	// its TrySend does: a call more is a tenth of a value.
	if c.state.Load()&flags == 0 {
		var err error
		if c.asked == nil {
			err = c.head.Send(ctx, v)
		} else {
			err = c.sendSized(v, "Send")
		}
		if err == nil {
			return nil
		}
		if err != sluice.ErrFull {
			return c.ended(err)
		}
	}
	return c.sendOne(ctx, v, "Send")
}

// TrySend sends v if that is possible without waiting. It returns nil,
// [sluice.ErrFull] at the disk limit, or what Send does. It may write a block.
func (c *Elastic[T]) TrySend(v T) error {
	if c.state.Load()&flags == 0 {
		if err := c.sendDirect(v); err != sluice.ErrFull {
			return err
		}
	}
	return c.sendOne(nil, v, "TrySend") //nolint:staticcheck // nil: never wait
}

// SendBatch sends the values of vs in order, and returns how many it sent, always a
// prefix of vs; the error is nil only if that is all of them, and otherwise as for
// Send. Values of other senders may come between. vs is not kept.
func (c *Elastic[T]) SendBatch(ctx context.Context, vs []T) (n int, err error) {
	if ctx == nil {
		panic("spill: SendBatch: nil context")
	}
	for n < len(vs) {
		if c.state.Load()&flags == 0 {
			sent, err := c.sendRun(ctx, vs[n:])
			n += sent
			if err == nil {
				continue
			}
			if err != sluice.ErrFull {
				return n, err
			}
		}
		sent, err := c.sendPart(ctx, vs[n:])
		n += sent
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// sendDirect is TrySend to head. The channel was direct.
func (c *Elastic[T]) sendDirect(v T) error {
	if c.asked == nil {
		return c.ended(c.head.TrySend(v))
	}
	return c.sendSized(v, "TrySend")
}

// sendSized adds a value to head whose size a user's code says. method is what the
// user called.
func (c *Elastic[T]) sendSized(v T, method string) error {
	if uint64(c.asked(v)) > uint64(c.config.limit) { // or negative
		return c.refuse(v, method)
	}
	if err := c.head.TrySend(v); err != nil {
		return c.ended(err)
	}
	return nil
}

// refuse is the error of a value that no memory holds.
func (c *Elastic[T]) refuse(v T, method string) error {
	if size := c.asked(v); size < 0 {
		panic(negative(size, method))
	}
	return sluice.ErrTooLarge
}

// negative is what a method panics with if a user's code says that size.
func negative(size int, method string) string {
	return fmt.Sprintf("spill: %s: ElasticOptions.Size returned %d, below 0", method, size)
}

// place adds v to head under the lock. Its size was asked for before: head asks
// again, and a user's code must not end the call now.
func (c *Elastic[T]) place(v T) (err error) {
	if c.size != nil {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("spill: ElasticOptions.Size panicked: %v", p)
			}
		}()
	}
	return c.head.TrySend(v)
}

// runLength is how many values of a batch are admitted at once.
const runLength = 64

// sendRun adds the first values of vs to head. It returns ErrFull if the first one
// that it did not add finds no room.
func (c *Elastic[T]) sendRun(ctx context.Context, vs []T) (n int, err error) {
	if c.asked == nil {
		n, err = c.head.SendBatch(ctx, vs)
		return n, c.ended(err)
	}
	vs = vs[:min(len(vs), runLength)]
	for _, v := range vs {
		if uint64(c.asked(v)) > uint64(c.config.limit) {
			break
		}
		n++
	}
	if n == 0 {
		return 0, c.refuse(vs[0], "SendBatch")
	}
	n, err = c.head.SendBatch(ctx, vs[:n])
	return n, c.ended(err)
}

// sendOne is sendPart of one value.
func (c *Elastic[T]) sendOne(ctx context.Context, v T, method string) error {
	p := c.parcels.Get().(*parcel[T])
	defer p.release(&c.parcels)
	p.one[0] = v
	_, err := c.sendParcel(ctx, p, p.one[:], method)
	return err
}

// sendPart sends some of the first values of vs, at least one if err is nil.
func (c *Elastic[T]) sendPart(ctx context.Context, vs []T) (n int, err error) {
	p := c.parcels.Get().(*parcel[T])
	defer p.release(&c.parcels)
	return c.sendParcel(ctx, p, vs, "SendBatch")
}

// sendParcel sends the first values of vs, by way of p, wherever there is room for
// them: as many as it takes to make the lock cheap. With a nil ctx it does not wait.
func (c *Elastic[T]) sendParcel(ctx context.Context, p *parcel[T], vs []T, method string) (n int, err error) {
	if c.state.Load()&closed != 0 {
		return 0, c.end()
	}
	if err := p.fill(&c.config, c.size, vs, method); err != nil {
		return 0, err
	}
	var turn turn
	c.mu.Lock()
	for n < len(p.ends) && err == nil {
		var waits bool
		if waits, err = c.sendNext(p, n); !waits {
			if err == nil {
				n++
			}
			continue
		}
		switch {
		case ctx == nil:
			err = sluice.ErrFull
		case turn.over != nil:
			err = turn.over
		case !turn.asked: // a user's code: without the lock, then look again
			c.mu.Unlock()
			turn.ask(ctx)
			c.mu.Lock()
		default:
			if err = c.wait(ctx, &turn, p.record(n)); err == nil {
				n++
			}
		}
	}
	if c.isLow() || c.line.n > 0 {
		c.settle()
	}
	c.mu.Unlock()
	return n, err
}

// sendNext sends value n of p, or says that there is no room on disk. The lock is
// held.
func (c *Elastic[T]) sendNext(p *parcel[T], n int) (waits bool, err error) {
	state := c.state.Load()
	switch {
	case state&failed != 0:
		return false, c.failure
	case state&closed != 0:
		return false, sluice.ErrClosed
	case state&spilling == 0:
		if err := c.place(p.values[n]); err != sluice.ErrFull {
			return false, err
		}
		c.isFull()
	}
	record := p.record(n)
	if c.line.n > 0 || !c.fits(record) {
		c.settle()
		switch {
		case c.state.Load()&failed != 0: // by what was read: there is room, for nothing
			return false, c.failure
		case c.line.n > 0 || !c.fits(record):
			return true, nil
		}
	}
	return false, c.append(record)
}

// fits reports whether there is room for record on disk.
func (c *Elastic[T]) fits(record []byte) bool {
	return int64(len(record)) <= c.config.diskLimit-c.backlog.bytes
}

// append adds a record to the backlog. Whoever calls it looks at head afterwards.
func (c *Elastic[T]) append(record []byte) error {
	if err := c.backlog.append(record); err != nil {
		return err
	}
	c.set(spilling, 0)
	c.high = max(c.high, c.head.Len()+c.backlog.records)
	return nil
}

// wait has record appended by somebody else. The lock is held, but for the wait.
func (c *Elastic[T]) wait(ctx context.Context, turn *turn, record []byte) error {
	w := &waiter{record: stored{form: record}, served: make(chan struct{})}
	c.line.push(w)
	c.set(spilling|pressed, 0)
	c.settle() // since pressed is set
	if c.line.await(&c.mu, w, turn) {
		return w.err
	}
	c.line.remove(w)
	c.settle() // the one behind may be smaller, and fit
	c.mu.Unlock()
	err := contextError(ctx) // a user's code, again
	c.mu.Lock()
	return err
}
