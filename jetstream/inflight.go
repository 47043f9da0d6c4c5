package jetstream

import (
	"context"
	"sync"
	"time"

	"github.com/sluice-go/sluice/internal/engine"
)

// deliveries tracks the messages in flight, and acknowledges them.
//
// The servers redeliver a message without an acknowledgment after AckWait, so every
// third of that a progress acknowledgment extends each message in flight. One that was
// sent may be lost before the connection is known to be broken, so the last one of each
// round is a request: its answer confirms all before it. A message expires when none was
// confirmed for AckWait.
//
// It also remembers the last messages acknowledged here. If an acknowledgment is lost
// with the connection, the message is redelivered; it is acknowledged again and not
// handed out twice.
type deliveries struct {
	*session
	attempts *attempts
	interval time.Duration // between progress acknowledgments

	mu       sync.Mutex
	inFlight map[key]*message
	timer    *time.Timer // of the next progress acknowledgments; nil if nothing is in flight
	done     map[key]struct{}
	doneRing []key // the keys of done, oldest at doneNext
	doneNext int
}

// remembered is how many acknowledged messages are remembered: about 2 MB.
const remembered = 1 << 14

// track puts m in flight.
func (d *deliveries) track(m *message) {
	d.mu.Lock()
	now := time.Now()
	m.confirmed, m.deadline = m.arrived, now.Add(d.config.maxInProgress)
	d.inFlight[m.key] = m
	late := now.Sub(m.arrived) > d.interval // it waited in the inbox: the next round may be too late
	if late {
		m.extended = now
	}
	startTimer(&d.timer, d.interval, d.extend)
	reply := m.reply
	d.mu.Unlock()
	if late {
		d.life.start(func() { d.confirmExtended(reply, now) })
	}
}

// extend sends a progress acknowledgment for each message in flight, and drops those
// that have expired.
func (d *deliveries) extend() {
	d.mu.Lock()
	now, last := time.Now(), ""
	for key, m := range d.inFlight {
		if d.expired(m, now) {
			delete(d.inFlight, key)
			d.log.Warn("jetstream: a delivery expired, another receiver may get the value",
				"sequence", key.seq, "after", now.Sub(m.arrived).Round(time.Second))
		} else if d.conn.nc.Publish(m.reply, ackProgress) == nil {
			m.extended, last = now, m.reply
		}
	}
	if d.timer = nil; len(d.inFlight) > 0 && !d.life.shutdown.Load() {
		d.timer = time.AfterFunc(d.interval, d.extend)
	}
	d.mu.Unlock()
	if last != "" {
		d.life.start(func() { d.confirmExtended(last, now) })
	}
}

// confirmExtended sends one more progress acknowledgment, as a request. The answer
// confirms those sent until sent. It does not help a message that expired before the
// answer: another receiver may have it already.
func (d *deliveries) confirmExtended(reply string, sent time.Time) {
	ctx, cancel := d.conn.attempt(d.life.ctx, attemptTimeout)
	defer cancel()
	defer context.AfterFunc(d.life.ctx, cancel)() // Shutdown does not wait for it
	if _, err := d.conn.nc.RequestWithContext(ctx, reply, ackProgress); err != nil {
		return // the next round may succeed
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	for _, m := range d.inFlight {
		if m.extended.After(m.confirmed) && !m.extended.After(sent) && !d.expired(m, now) {
			m.confirmed = m.extended
		}
	}
}

// untrack ends the flight of m. It fails if m is not in flight, or has expired.
func (d *deliveries) untrack(m *message) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.inFlight[m.key] != m {
		return ErrExpired
	}
	delete(d.inFlight, m.key)
	if len(d.inFlight) == 0 {
		stopTimer(&d.timer)
	}
	if d.expired(m, time.Now()) {
		return ErrExpired
	}
	return nil
}

// inProgress sends a progress acknowledgment for m.
func (d *deliveries) inProgress(m *message) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.inFlight[m.key] != m || d.expired(m, time.Now()) {
		return ErrExpired
	}
	return d.conn.nc.Publish(m.reply, ackProgress)
}

// ack acknowledges m, without waiting for the servers.
func (d *deliveries) ack(m *message) error {
	if err := d.conn.nc.Publish(m.reply, ackDone); err != nil {
		return err
	}
	d.acknowledged(m)
	return nil
}

// ackSync acknowledges m, and waits until the servers confirm it. It retries if the
// answer is lost with the connection, until another receiver may have m.
func (d *deliveries) ackSync(ctx context.Context, m *message) error {
	for wait := firstPause; ; wait = min(2*wait, lastPause) {
		err := d.ackSyncOnce(ctx, m)
		if err == nil {
			d.acknowledged(m)
			return nil
		}
		switch {
		case d.life.shutdown.Load():
			return ErrShutdown
		case ctx.Err() != nil:
			return engine.ContextError(ctx)
		case time.Since(m.confirmed) >= d.config.ackWait:
			return err
		}
		_ = d.life.pause(ctx, wait) // the next attempt reports why it ended
	}
}

func (d *deliveries) ackSyncOnce(ctx context.Context, m *message) error {
	once, cancel := d.conn.attempt(ctx, attemptTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)() // unlike a Send, it may end with an unknown outcome
	_, err := d.conn.nc.RequestWithContext(once, m.reply, ackDone)
	return err
}

// acknowledged remembers m, and deletes the records of its attempts.
func (d *deliveries) acknowledged(m *message) {
	d.mu.Lock()
	if len(d.doneRing) < remembered {
		d.doneRing = append(d.doneRing, m.key)
	} else {
		delete(d.done, d.doneRing[d.doneNext])
		d.doneRing[d.doneNext] = m.key
		d.doneNext = (d.doneNext + 1) % remembered
	}
	d.done[m.key] = struct{}{}
	d.mu.Unlock()
	d.attempts.forget(m)
	d.life.signalAcked()
}

// redelivered handles a message that is in flight here, or was acknowledged here: the
// servers did not receive the acknowledgment in time. It reports false for any other.
func (d *deliveries) redelivered(m *message) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.done[m.key]; ok {
		_ = d.conn.nc.Publish(m.reply, ackDone) // if that is lost, it is redelivered again
		return true
	}
	mine := d.inFlight[m.key]
	if mine == nil {
		return false
	}
	mine.reply, mine.delivered, mine.confirmed = m.reply, m.delivered, m.arrived
	_ = d.conn.nc.Publish(mine.reply, ackProgress) // the next round repeats it
	return true
}

// stop stops the progress acknowledgments.
func (d *deliveries) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	stopTimer(&d.timer)
}
