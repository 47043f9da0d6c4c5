package jetstream

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-go/sluice"
)

// headerReason says why a message is a dead letter.
const headerReason = "Sluice-Reason"

// deadLetters is the way to the channel of dead letters. It is made with the first.
type deadLetters struct {
	mu   sync.Mutex
	made bool
}

// deadConfig is the config of the channel of dead letters: one without limits, from
// which nothing goes to further dead letters.
func (c *core) deadConfig() config {
	config := c.config
	config.name += deadSuffix
	config.limit, config.limitBytes = sluice.Unlimited, 0
	config.maxDeliver, config.ordered, config.dead = 0, false, true
	return config
}

// openDead opens the channel of dead letters, over the same connection.
func (c *core) openDead(ctx context.Context) (*core, error) {
	if c.left.Load() || !c.link.share() {
		return nil, ErrShutdown
	}
	return openCore(ctx, c.deadConfig(), c.link)
}

// bury moves p to the dead letters: it is stored there, then acknowledged here. If
// that breaks off in between it happens again, and the identity of the dead letter
// keeps it from being there twice. If it fails, p comes again.
func (c *core) bury(p *parcel, reason string) {
	ctx, cancel := context.WithTimeout(c.leaving, buryWait)
	defer cancel()
	err := c.store(ctx, p, fmt.Sprintf("delivered %d times: %s", p.tries, reason))
	if err == nil {
		err = c.acknowledge(p)
	}
	if err != nil {
		c.log.Error("jetstream: a dead letter cannot be stored, and comes again", "sequence", p.key.seq, "error", err)
		c.giveBack(p, c.config.nackDelay)
		return
	}
	c.tally.dead.Add(1)
	c.log.Warn("jetstream: a value went to the dead letters", "sequence", p.key.seq, "reason", reason, "tries", p.tries)
}

const buryWait = 2 * attempt

// store stores p as a dead letter.
func (c *core) store(ctx context.Context, p *parcel, reason string) error {
	config := c.deadConfig()
	to := newCore(config, c.link)
	if err := c.makeDead(ctx, to); err != nil {
		return err
	}
	m := &nats.Msg{Subject: to.subject, Data: p.data, Header: nats.Header{
		headerReason:       {reason},
		natsjs.MsgIDHeader: {strconv.FormatUint(p.key.seq, 10) + "." + strconv.FormatInt(p.key.time, 10)},
	}}
	_, err := c.link.js.PublishMsg(ctx, m)
	return err
}

// makeDead makes the stream of dead letters, once.
func (c *core) makeDead(ctx context.Context, to *core) error {
	c.dead.mu.Lock()
	defer c.dead.mu.Unlock()
	if c.dead.made {
		return nil
	}
	if err := to.findStream(ctx); err != nil {
		return err
	}
	c.dead.made = true
	return nil
}
