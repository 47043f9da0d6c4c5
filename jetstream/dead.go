package jetstream

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-go/sluice"
)

// headerReason is the header with the reason of a dead letter.
const headerReason = "Sluice-Reason"

// deadLetters moves messages to the channel of dead letters, whose stream is created
// with the first one.
type deadLetters struct {
	*session
	deliveries *deliveries

	mu    sync.Mutex
	ready bool // the stream exists
}

// deadLetters returns the config of the channel of dead letters: it has no limits, and
// no dead letters of its own.
func (c config) deadLetters() config {
	c.name = cmp.Or(c.deadName, c.name+deadSuffix)
	c.streams = 0
	c.capacity, c.maxBytes = sluice.Unlimited, 0
	c.maxDeliver, c.ordered, c.dead = 0, false, true
	return c
}

// retry returns m for another attempt after Nack, or moves it to the dead letters.
func (d *deadLetters) retry(m *message) {
	if m.attempt >= d.config.maxDeliver && d.config.maxDeliver > 0 {
		d.move(m, "Nack in the last attempt")
		return
	}
	if d.config.maxDeliver > 0 && !m.recorded {
		d.deliveries.attempts.withRecords(d.deliveries.attempts.record, m)
	}
	if time.Since(m.confirmed) < d.config.ackWait { // else the servers redeliver it anyway
		d.nak(m, d.config.nackDelay)
	}
}

// exhausted reports whether m had all its attempts before this delivery, and moves it to
// the dead letters if so.
func (d *deadLetters) exhausted(m *message) bool {
	if d.config.maxDeliver == 0 || m.attempt <= d.config.maxDeliver {
		return false
	}
	d.move(m, "no acknowledgment in the last attempt")
	return true
}

// move stores m as a dead letter, then acknowledges it. If the process dies in between,
// both happen again, and the identity of the dead letter prevents a duplicate. If storing
// fails, m is redelivered.
func (d *deadLetters) move(m *message, reason string) {
	ctx, cancel := context.WithTimeout(d.life.ctx, moveTimeout)
	defer cancel()
	err := d.store(ctx, m, fmt.Sprintf("delivered %d times: %s", m.delivered, reason))
	if err == nil {
		err = d.deliveries.ack(m)
	}
	if err != nil {
		d.log.Error("jetstream: storing a dead letter failed, the value will be redelivered", "sequence", m.key.seq, "error", err)
		d.nak(m, d.config.nackDelay)
		return
	}
	d.counters.dead.Add(1)
	d.log.Warn("jetstream: a value was moved to the dead letters", "sequence", m.key.seq, "reason", reason, "delivered", m.delivered)
}

const moveTimeout = 2 * attemptTimeout

// store stores m as a dead letter.
func (d *deadLetters) store(ctx context.Context, m *message, reason string) error {
	to := newSession(d.config.deadLetters(), d.conn)
	if err := d.open(ctx, to); err != nil {
		return err
	}
	msg := &nats.Msg{Subject: to.subject, Data: m.data, Header: nats.Header{
		headerReason:       {reason},
		natsjs.MsgIDHeader: {d.deadPrefix() + m.key.String()},
	}}
	_, err := d.conn.js.PublishMsg(ctx, msg)
	return err
}

// deadPrefix tells apart the identities of values of several streams.
func (d *deadLetters) deadPrefix() string {
	if d.config.deadName == "" {
		return ""
	}
	return d.config.name + "."
}

// open finds or creates the stream of dead letters, once.
func (d *deadLetters) open(ctx context.Context, to *session) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ready {
		return nil
	}
	if err := (&stream{session: to}).find(ctx); err != nil {
		return err
	}
	d.ready = true
	return nil
}
