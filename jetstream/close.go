package jetstream

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"
)

// sealWait is the longest that Close waits for the servers.
const sealWait = 10 * time.Second

// close seals the stream, and goes on trying if that fails.
func (c *core) close() {
	if c.left.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(c.leaving, sealWait)
	defer cancel()
	err := c.seal(ctx)
	if err == nil || errors.Is(err, ErrDeleted) || c.left.Load() {
		return
	}
	c.closeLater(err)
}

// closeLater goes on with a Close that failed so far.
func (c *core) closeLater(err error) {
	c.warn(warnClose, "Close is not confirmed by the servers yet: others may still send")
	c.log.Error("jetstream: Close is not confirmed, and tried on", "error", err)
	c.task(func() {
		for !c.left.Load() {
			if err := c.seal(c.leaving); err == nil || errors.Is(err, ErrDeleted) {
				c.warn(warnClose, "")
				return
			}
		}
	})
}

// seal makes the servers refuse every further value. From its beginning on, this
// process sends nothing; what it has under way may still be stored.
func (c *core) seal(ctx context.Context) error {
	if c.left.Load() {
		return ErrShutdown
	}
	c.closed.Store(true)
	c.changed()
	for wait := firstPause; ; wait = min(2*wait, lastPause) {
		err := c.sealOnce(ctx)
		if err == nil {
			return c.look(ctx)
		}
		if errors.Is(err, natsjs.ErrStreamNotFound) {
			c.gone.Store(true)
			c.changed()
			return ErrDeleted
		}
		if ctx.Err() != nil || c.pause(ctx, wait) != nil || c.left.Load() {
			return fmt.Errorf("jetstream: closing channel %q: %w", c.config.name, err)
		}
	}
}

// sealOnce is one attempt. A stream that is sealed stays so: there is no way back, so
// two who do it at once do no harm.
func (c *core) sealOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	info, err := c.stream.Info(ctx)
	if err != nil || info.Config.Sealed {
		return err
	}
	config := info.Config
	config.Sealed = true
	_, err = c.link.js.UpdateStream(ctx, config)
	return err
}

// depart leaves the channel: see [Channel.Shutdown].
func (c *core) depart(ctx context.Context) error {
	in := &c.inbox
	in.mu.Lock()
	if c.left.Swap(true) {
		in.mu.Unlock()
		return nil
	}
	in.returned, in.ready = in.ready, nil
	in.stopIdle()
	in.mu.Unlock()
	c.leave()
	c.changed()
	c.tasks.Wait()
	c.returnAll()
	c.stopMarks()
	if c.news != nil {
		_ = c.news.Unsubscribe() // the connection may be closed already
	}
	var err error
	if c.link.nc != nil && c.link.nc.IsConnected() {
		ctx, cancel := context.WithTimeout(ctx, lookWait)
		defer cancel()
		err = c.link.nc.FlushWithContext(ctx)
		c.heard(ctx)
	}
	return errors.Join(err, c.link.close())
}

// returnAll gives back what nobody received. It comes after the end of all requests: one that
// stands would bring the same values again.
func (c *core) returnAll() {
	in := &c.inbox
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, p := range in.returned {
		if !c.overdue(p) {
			c.giveBack(p, 0)
		}
	}
	in.returned = nil
}

// heard waits until the servers have dealt with what they were told of deliveries: they
// have a queue of that, which a server inside that ends forgets. The mark of a delivery
// that there never was changes nothing, and is answered in its turn.
func (c *core) heard(ctx context.Context) {
	if c.stream == nil || c.gone.Load() {
		return // no Open that succeeded; nobody to answer
	}
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	none := fmt.Sprintf("$JS.ACK.%s.%s.1.%d.1.0.0", c.config.name, consumerName, int64(math.MaxInt64))
	_, _ = c.link.nc.RequestWithContext(ctx, none, sayProgress) // what is lost comes again after AckWait
}

// abandon leaves a channel that is garbage. It must not hold up the other cleanups.
func abandon(c *core) {
	if c.left.Load() {
		return
	}
	go func() {
		if err := c.depart(context.Background()); err != nil {
			c.log.Warn("jetstream: leaving a channel that was abandoned", "error", err)
		}
	}()
}

func (c *core) stopMarks() {
	h := &c.held
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.timer != nil {
		h.timer.Stop()
		h.timer = nil
	}
}
