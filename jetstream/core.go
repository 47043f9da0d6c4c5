package jetstream

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
)

// A core is a channel of bytes: the part of a [Channel] that does not depend on T. It
// connects the parts and starts and stops them; the work is theirs:
//
//	publisher    sends values, one by one or in atomic batches
//	inbox        keeps the messages that were fetched, and the receivers that wait for them
//	fetcher      requests messages from the servers, for the inbox
//	deliveries   tracks the messages in flight, and acknowledges them
//	attempts     counts how often a worker had a message
//	deadLetters  stores the messages that had too many attempts
//	stream       checks the state of the stream: closed, drained, deleted, damaged
//
// Locks are taken in this order: fetcher.trying, stream.mu, inbox.mu, then one of
// deliveries.mu, lifecycle.mu.
type core struct {
	*session
	publisher  publisher
	inbox      inbox
	fetcher    fetcher
	deliveries deliveries
	attempts   attempts
	dead       deadLetters
	stream     stream
}

// openCore connects, and finds or creates the stream and its consumer. It owns conn;
// nil makes a new connection.
func openCore(ctx context.Context, config config, conn *connection) (c *core, err error) {
	if conn == nil {
		if conn, err = newConnection(&config); err != nil {
			return nil, err
		}
	}
	c = newCore(config, conn)
	defer func() {
		if err != nil {
			_ = c.shutdown(context.Background()) // err is the cause
			c = nil
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if err := c.retryUnavailable(ctx, c.stream.find); err != nil {
		return c, spaceError(conn.explain(err))
	}
	if c.stream.files, err = openFiles(conn.server, config.name); err != nil {
		return c, err
	}
	if err := c.retryUnavailable(ctx, c.stream.findConsumer); err != nil {
		return c, err
	}
	if err := c.fetcher.subscribe(); err != nil {
		return c, fmt.Errorf("jetstream: Open: %w", err)
	}
	if config.streams == 0 { // else openLanes asks once
		c.checkSync(ctx, c.stream.replicas())
	}
	if err := c.stream.subscribe(); err != nil {
		return c, fmt.Errorf("jetstream: Open: %w", err)
	}
	return c, c.retryUnavailable(ctx, c.stream.check)
}

// newCore connects the parts of a channel. It does no I/O.
func newCore(config config, conn *connection) *core {
	c := &core{session: newSession(config, conn)}
	c.stream = stream{session: c.session, onChange: c.inbox.stateChanged}
	c.publisher = newPublisher(c.session, &c.stream)
	c.attempts = attempts{session: c.session}
	c.deliveries = deliveries{
		session: c.session, attempts: &c.attempts,
		inFlight: map[key]*message{}, done: map[key]struct{}{}, interval: config.ackWait / 3,
	}
	c.dead = deadLetters{session: c.session, deliveries: &c.deliveries}
	c.inbox = inbox{session: c.session, fetcher: &c.fetcher, stream: &c.stream, deliveries: &c.deliveries, returnAfter: idleAfter}
	c.fetcher = fetcher{session: c.session, inbox: &c.inbox, stream: &c.stream, depth: 1}
	return c
}

// openTimeout is the longest that Open waits for servers that elect a leader or are
// about to start.
const openTimeout = 30 * time.Second

// retryUnavailable calls f until the servers answer: a cluster that has just started
// drops requests until it has a leader.
func (s *session) retryUnavailable(ctx context.Context, f func(ctx context.Context) error) error {
	for wait := firstPause; ; wait = min(2*wait, lastPause) {
		once, cancel := context.WithTimeout(ctx, checkTimeout)
		err := f(once)
		cancel()
		api := (*natsjs.APIError)(nil)
		away := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrNoResponders) ||
			errors.Is(err, natsjs.ErrJetStreamNotEnabled) || errors.As(err, &api) && api.Code == codeUnavailable
		if !away || ctx.Err() != nil || s.life.pause(ctx, wait) != nil {
			return err
		}
	}
}

// codeUnavailable is the status of temporary errors: no leader, too few servers.
const codeUnavailable = 503

// shutdown implements [Channel.Shutdown]. The fetcher must stop before unreceived
// messages are returned: a pending request would fetch them again.
func (c *core) shutdown(ctx context.Context) error {
	if !c.life.beginShutdown() {
		return nil
	}
	c.inbox.stop()
	c.life.cancel()
	c.inbox.stateChanged()
	c.life.tasks.Wait()
	c.inbox.returnAll()
	c.deliveries.stop()
	c.stream.unsubscribe()
	var err error
	if nc := c.conn.nc; nc != nil && nc.IsConnected() {
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		err = nc.FlushWithContext(ctx)
		c.awaitAcks(ctx)
	}
	c.stream.files.close()
	return errors.Join(err, c.conn.close())
}

// awaitAcks waits until the servers have processed the acknowledgments of this process:
// they queue them, and an embedded server that stops drops its queue. Acknowledging a
// delivery that never existed changes nothing, and is answered in its turn.
func (c *core) awaitAcks(ctx context.Context) {
	if c.stream.handle == nil || c.life.deleted.Load() {
		return // Open failed, or there is no consumer to answer
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	none := fmt.Sprintf("$JS.ACK.%s.%s.1.%d.1.0.0", c.config.name, consumerName, int64(math.MaxInt64))
	_, _ = c.conn.nc.RequestWithContext(ctx, none, ackProgress) // if it is lost, messages are redelivered after AckWait
}

// abandon shuts down a channel that was garbage collected. It runs in a goroutine of its
// own so that other cleanups do not wait for it.
func abandon(c *core) {
	if c.life.shutdown.Load() {
		return
	}
	go func() {
		if err := c.shutdown(context.Background()); err != nil {
			c.log.Warn("jetstream: shutting down a channel that was garbage collected", "error", err)
		}
	}()
}

// openDead opens the channel of dead letters, over the same connection.
func (c *core) openDead(ctx context.Context) (*core, error) {
	if c.life.shutdown.Load() || !c.conn.share() {
		return nil, ErrShutdown
	}
	return openCore(ctx, c.config.deadLetters(), c.conn)
}
