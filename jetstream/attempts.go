package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"
)

// attempts counts how often a worker had each value as a Delivery. The servers count
// deliveries, which is more: a process may fetch a value in advance and return it, or die
// before a worker gets it. With the servers' count, one value that kills its process would
// take with it to the dead letters all values that were fetched with it. So attempts are
// recorded in a second stream:
//
//   - A record is a message without data. All records of one value have a subject of their
//     own, so the servers know how many there are.
//   - From the second delivery on, an attempt is recorded before the value is handed out.
//     The first attempt is recorded at Nack only, so a value that is acknowledged at once,
//     as most are, costs nothing. With a MaxDeliver of 1 the first one is recorded before.
//   - Values whose attempts are recorded are handed out one at a time: otherwise a value
//     that kills its process would cost the others in flight there an attempt.
//   - Records are read when the servers count enough deliveries for a dead letter, and
//     deleted when the value is acknowledged.
//
// Invariant: records <= attempts. A lost record costs one more attempt, and a record that
// may exist is not written again, so a value has at least MaxDeliver attempts.
type attempts struct {
	*session
	mu      sync.Mutex
	records natsjs.Stream // nil before the first record, and after an error
}

const (
	// attemptsSuffix ends the name of the stream of records.
	attemptsSuffix = "-attempts"
	// Records that were not deleted go by number or age.
	maxRecords   = 1 << 20
	maxRecordAge = 30 * 24 * time.Hour
)

// recordSubject is the subject of the records of m.
func (a *attempts) recordSubject(m *message) string {
	return a.subject + attemptsSuffix + "." + m.key.String()
}

// recordsFirst reports whether the next attempt of m is recorded before it is made.
func (c *config) recordsFirst(m *message) bool {
	return c.maxDeliver == 1 || c.maxDeliver > 1 && m.delivered > 1
}

// handOut returns how many of the messages may be handed out together: all before the
// first one whose attempt is recorded first, or that one alone.
func (c *config) handOut(messages []*message) int {
	for i, m := range messages {
		if c.recordsFirst(m) {
			return max(i, 1)
		}
	}
	return len(messages)
}

// begin counts the attempts of m, which is about to be handed out, and records this one.
// An overdue message will not be handed out.
func (a *attempts) begin(m *message) {
	if m.attempt = 1; a.config.recordsFirst(m) && !a.overdue(m) {
		a.withRecords(a.count, m)
	}
}

// withRecords calls f with the stream of records. Stats report an error until a later
// call succeeds.
func (a *attempts) withRecords(f func(ctx context.Context, records natsjs.Stream, m *message) error, m *message) {
	ctx, cancel := context.WithTimeout(a.life.ctx, min(attemptTimeout, a.config.ackWait/2))
	defer cancel()
	records, err := a.open(ctx)
	if err == nil {
		err = f(ctx, records, m)
	}
	switch {
	case err == nil:
		a.warn(warnAttempts, "")
	case !a.life.shutdown.Load():
		a.reset() // the stream may have been deleted
		a.warn(warnAttempts, fmt.Sprintf("attempts cannot be counted, so values may get more than MaxDeliver: %v", err))
	}
}

// count sets m.attempt if it may be more than MaxDeliver, and records the attempt.
func (a *attempts) count(ctx context.Context, records natsjs.Stream, m *message) error {
	if m.delivered > 1 && m.delivered >= a.config.maxDeliver {
		info, err := records.Info(ctx, natsjs.WithSubjectFilter(a.recordSubject(m)))
		if err != nil {
			return err
		}
		m.attempt += int(info.State.Subjects[a.recordSubject(m)])
	}
	return a.record(ctx, records, m)
}

// record records an attempt.
func (a *attempts) record(ctx context.Context, _ natsjs.Stream, m *message) error {
	_, err := a.conn.js.Publish(ctx, a.recordSubject(m), nil)
	outcome := classify(err)
	m.recorded = outcome == stored || outcome == unknown
	return err
}

// forget deletes the records of m, which is acknowledged. It does not wait for the servers.
func (a *attempts) forget(m *message) {
	if m.recorded || m.delivered > 1 && a.config.maxDeliver > 0 { // a record that stays is deleted by age
		_ = a.conn.nc.Publish(natsjs.DefaultAPIPrefix+"STREAM.PURGE."+a.config.name+attemptsSuffix,
			fmt.Appendf(nil, `{"filter":%q}`, a.recordSubject(m)))
	}
}

// open finds the stream of records, or creates it. It outlives its channel, so an existing
// one may have other settings.
func (a *attempts) open(ctx context.Context) (natsjs.Stream, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.records != nil {
		return a.records, nil
	}
	name, subject := a.config.name+attemptsSuffix, a.subject+attemptsSuffix+".>"
	records, err := a.conn.js.Stream(ctx, name)
	if errors.Is(err, natsjs.ErrStreamNotFound) {
		records, err = a.conn.js.CreateStream(ctx, natsjs.StreamConfig{
			Name: name, Subjects: []string{subject},
			Description: "attempts of a sluice channel", Storage: natsjs.FileStorage, Replicas: a.config.replicas,
			MaxMsgs: maxRecords, MaxAge: maxRecordAge, Duplicates: a.config.dedupeWindow,
		})
	}
	if err != nil {
		return nil, err
	}
	if !slices.Contains(records.CachedInfo().Config.Subjects, subject) {
		return nil, fmt.Errorf("stream %q exists and does not have subject %q", name, subject)
	}
	a.records = records
	return records, nil
}

// reset makes the next call find the stream of records again.
func (a *attempts) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.records = nil
}
