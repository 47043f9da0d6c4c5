package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-go/sluice"
)

// A record has the streams of a Keyed. It is the last message of a small stream, the
// control stream, and is changed by compare-and-swap only: the servers store a record if
// no other one was stored since its writer read the last one. A process that reads an old
// record does no harm: it cannot replace a newer one, and the streams of an old record are
// sealed.
//
//	planned -> current -> prior -> removed
//
// A generation's streams are created while it is planned, by the one process that planned
// it, and never again: their names have a random part. They are sealed once the generation
// is prior, and deleted once they are drained.
type record struct {
	Version int          `json:"version"`
	Closed  bool         `json:"closed,omitempty"`
	Current generation   `json:"current"`
	Prior   []generation `json:"prior,omitempty"`   // oldest first
	Planned []generation `json:"planned,omitempty"` // may have streams, and never a value
}

// A generation is a set of streams that divide all keys among them.
type generation struct {
	ID      string `json:"id"`
	Streams int    `json:"streams"`
	// Settled, of a prior generation: no Send to its streams will return nil.
	Settled bool `json:"settled,omitempty"`
	// Planned is when it was planned, in seconds since 1970. Abandoned: it must not
	// become current, as its streams are being deleted.
	Planned   int64 `json:"planned,omitempty"`
	Abandoned bool  `json:"abandoned,omitempty"`
}

const (
	recordVersion = 1
	keyedSuffix   = "-keyed"
	// planLife is how long a plan is left alone: the process that made it may live.
	planLife = 10 * time.Minute
)

// find returns the index of the generation with the ID, or -1.
func find(in []generation, id string) int {
	for i, g := range in {
		if g.ID == id {
			return i
		}
	}
	return -1
}

// has reports whether the generation is or was current.
func (r *record) has(id string) bool { return r.Current.ID == id || find(r.Prior, id) >= 0 }

// A recordStore is the control stream.
type recordStore struct {
	*session // with the name of the control stream
	handle   natsjs.Stream
}

// open finds the control stream, or creates it.
func (r *recordStore) open(ctx context.Context) error {
	handle, err := r.conn.js.Stream(ctx, r.config.name)
	if errors.Is(err, natsjs.ErrStreamNotFound) {
		handle, err = r.conn.js.CreateStream(ctx, natsjs.StreamConfig{
			Name: r.config.name, Subjects: []string{r.subject}, Description: "the streams of a sluice channel by key",
			Storage: natsjs.FileStorage, Replicas: r.config.replicas, MaxMsgsPerSubject: 1,
		})
	}
	if err != nil {
		return fmt.Errorf("jetstream: OpenKeyed: channel %q: %w", r.config.name, err)
	}
	r.handle = handle
	return nil
}

// read returns the last record and its revision, which is 0 before the first one.
func (r *recordStore) read(ctx context.Context) (last record, revision uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	m, err := r.handle.GetLastMsgForSubject(ctx, r.subject)
	switch {
	case errors.Is(err, natsjs.ErrMsgNotFound):
		return record{}, 0, nil
	case errors.Is(err, natsjs.ErrStreamNotFound):
		return record{}, 0, ErrDeleted
	case err != nil:
		return record{}, 0, err
	}
	last, err = decodeRecord(m.Data)
	return last, m.Sequence, err
}

func decodeRecord(data []byte) (r record, err error) {
	if err = json.Unmarshal(data, &r); err == nil && r.Version != recordVersion {
		err = fmt.Errorf("jetstream: the channel has a record of version %d (want %d)", r.Version, recordVersion)
	}
	return r, err
}

// errNoChange ends an update without one.
var errNoChange = errors.New("no change")

// update changes the record, and returns the one that is stored. change is called again
// whenever the outcome is not known to be a success, with what is stored then: it returns
// errNoChange if its effect is there already.
func (r *recordStore) update(ctx context.Context, change func(*record) error) (record, uint64, error) {
	for wait := firstPause; ; wait = min(2*wait, lastPause) {
		last, revision, err := r.read(ctx)
		if err == nil {
			if err := change(&last); err != nil {
				if err == errNoChange {
					err = nil
				}
				return last, revision, err
			}
			last.Version = recordVersion
			var stored uint64
			if stored, err = r.swap(ctx, &last, revision); err == nil {
				return last, stored, nil
			}
			r.log.Debug("jetstream: the record was not stored", "error", err)
		}
		if errors.Is(err, ErrDeleted) {
			return record{}, 0, err
		}
		if ctx.Err() != nil || r.life.pause(ctx, wait) != nil || r.life.shutdown.Load() {
			return record{}, 0, fmt.Errorf("jetstream: changing the record of %q: %w", r.config.name, err)
		}
	}
}

// swap stores a record if the last one has the revision.
func (r *recordStore) swap(ctx context.Context, next *record, revision uint64) (uint64, error) {
	data, err := json.Marshal(next)
	if err != nil {
		return 0, err
	}
	ctx, cancel := r.conn.attempt(ctx, attemptTimeout)
	defer cancel()
	ack, err := r.conn.js.PublishMsg(ctx, &nats.Msg{Subject: r.subject, Data: data},
		natsjs.WithExpectLastSequencePerSubject(revision), natsjs.WithRetryAttempts(0))
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

// plan adds a generation to the record, unless it is closed.
func (r *record) plan(g generation) error {
	switch {
	case r.has(g.ID), find(r.Planned, g.ID) >= 0:
		return errNoChange
	case r.Closed:
		return sluice.ErrClosed
	}
	r.Planned = append(r.Planned, g)
	return nil
}

// commit makes a planned generation current, if the current one is base.
func (r *record) commit(id, base string) error {
	i := find(r.Planned, id)
	switch {
	case r.has(id):
		return errNoChange
	case r.Closed:
		return sluice.ErrClosed
	case i < 0 || r.Planned[i].Abandoned || r.Current.ID != base:
		return errOvertaken
	}
	if base != "" {
		r.Prior = append(r.Prior, r.Current)
	}
	r.Current = generation{ID: id, Streams: r.Planned[i].Streams}
	r.Planned = append(r.Planned[:i:i], r.Planned[i+1:]...)
	return nil
}

// errOvertaken means that another process changed the generation first.
var errOvertaken = errors.New("jetstream: another process has resized the channel meanwhile")

// abandon marks a plan, so that its streams can be deleted.
func (r *record) abandon(id string) error {
	i := find(r.Planned, id)
	if i < 0 || r.Planned[i].Abandoned {
		return errNoChange
	}
	r.Planned[i].Abandoned = true
	return nil
}

// forget removes an abandoned plan, or a prior generation, whose streams are deleted.
func (r *record) forget(id string) error {
	for _, list := range []*[]generation{&r.Planned, &r.Prior} {
		if i := find(*list, id); i >= 0 {
			*list = append((*list)[:i:i], (*list)[i+1:]...)
			return nil
		}
	}
	return errNoChange
}

// settle marks prior generations whose streams are settled.
func (r *record) settle(ids []string) error {
	err := errNoChange
	for _, id := range ids {
		if i := find(r.Prior, id); i >= 0 && !r.Prior[i].Settled {
			r.Prior[i].Settled, err = true, nil
		}
	}
	return err
}
