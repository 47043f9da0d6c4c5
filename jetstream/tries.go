package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"
)

// A try is a delivery that a worker had in hands. What servers count is more than that:
// every delivery, also to a process that fetched a value in advance, and gave it back or
// died before a worker of it saw it. One value that kills its process would take with it all
// that were fetched with it. So tries are noted, in a stream beside that of the channel:
//
//   - a note is a message; the notes of a value have a subject of their own, so the servers
//     know how many there are;
//   - a value is noted before it is handed out, from its second delivery on. A first one
//     that nobody spoke of counts as unseen, and one that was given back is noted then: so
//     values that are done at once, which are most, cost nothing. With a MaxDeliver of 1 the
//     first one is noted, too;
//   - what comes again is handed out one value at a time: of those that lie in hands beside
//     one that kills its process, none was tried;
//   - notes are read when the servers count enough deliveries for a dead letter, and are
//     deleted with their value.
//
// A note that is lost is one more try, and one that may be there is not written twice. So a
// value is not buried that had less than MaxDeliver, and one that had one more is.
//
// Not taken: to fetch nothing in advance where tries count. It takes a round trip for
// each value, and still there are receivers that gave up before their value came.
type tries struct {
	mu    sync.Mutex
	notes natsjs.Stream // nil until the first one, and after what failed
}

const (
	// triesSuffix is what the name of the stream of notes ends with.
	triesSuffix = "-tries"
	// Notes of values that nobody settled as a delivery go at last by age, or number.
	maxNotes   = 1 << 20
	notesStand = 30 * 24 * time.Hour
)

// noteSubject is the subject of the notes of p.
func (c *core) noteSubject(p *parcel) string {
	return c.subject + triesSuffix + "." + strconv.FormatUint(p.key.seq, 10) + "." + strconv.FormatInt(p.key.time, 10)
}

// counts tells whether the next try of p is noted before it is made.
func (c *core) counts(p *parcel) bool {
	most := c.config.maxDeliver
	return most == 1 || most > 1 && p.tries > 1
}

// together returns how many of the parcels may be in hands at once: those before the first one
// whose try is noted, or that one.
func (c *core) together(parcels []*parcel) int {
	for i, p := range parcels {
		if c.counts(p) {
			return max(i, 1)
		}
	}
	return len(parcels)
}

// weigh counts the tries of p, which is about to be handed out, and notes it. What is overdue
// is not handed out.
func (c *core) weigh(p *parcel) {
	if p.had = 1; c.counts(p) && !c.overdue(p) {
		c.try(c.count, p)
	}
}

// try does something with the notes, for as long as an attempt takes. What fails is told in
// Stats until something succeeds.
func (c *core) try(do func(ctx context.Context, notes natsjs.Stream, p *parcel) error, p *parcel) {
	ctx, cancel := context.WithTimeout(c.leaving, min(attempt, c.config.ackWait/2))
	defer cancel()
	notes, err := c.findNotes(ctx)
	if err == nil {
		err = do(ctx, notes, p)
	}
	switch {
	case err == nil:
		c.warn(warnTries, "")
	case !c.left.Load():
		c.loseNotes() // they may have been deleted
		c.warn(warnTries, fmt.Sprintf("tries cannot be counted, so values may be tried more than MaxDeliver: %v", err))
	}
}

// count says in p.had which try is about to be made, if it can be one too many, and notes it.
func (c *core) count(ctx context.Context, notes natsjs.Stream, p *parcel) error {
	if p.tries > 1 && p.tries >= c.config.maxDeliver {
		info, err := notes.Info(ctx, natsjs.WithSubjectFilter(c.noteSubject(p)))
		if err != nil {
			return err
		}
		p.had += int(info.State.Subjects[c.noteSubject(p)])
	}
	return c.note(ctx, notes, p)
}

// note notes a try. Nobody knows then which one it is.
func (c *core) note(ctx context.Context, _ natsjs.Stream, p *parcel) error {
	_, err := c.link.js.Publish(ctx, c.noteSubject(p), nil)
	known := judge(err)
	p.noted = known == stored || known == unknown
	return err
}

// forget deletes the notes of p, which is done. Nobody waits for that.
func (c *core) forget(p *parcel) {
	if p.noted || p.tries > 1 && c.config.maxDeliver > 0 { // what is lost goes by age
		_ = c.link.nc.Publish(natsjs.DefaultAPIPrefix+"STREAM.PURGE."+c.config.name+triesSuffix,
			fmt.Appendf(nil, `{"filter":%q}`, c.noteSubject(p)))
	}
}

// findNotes finds the stream of notes, or makes it. It outlives its channel, so one that is
// there may have other settings.
func (c *core) findNotes(ctx context.Context) (natsjs.Stream, error) {
	t := &c.tries
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.notes != nil {
		return t.notes, nil
	}
	name, subject := c.config.name+triesSuffix, c.subject+triesSuffix+".>"
	notes, err := c.link.js.Stream(ctx, name)
	if errors.Is(err, natsjs.ErrStreamNotFound) {
		notes, err = c.link.js.CreateStream(ctx, natsjs.StreamConfig{
			Name: name, Subjects: []string{subject},
			Description: "tries of a channel of sluice", Storage: natsjs.FileStorage, Replicas: c.config.replicas,
			MaxMsgs: maxNotes, MaxAge: notesStand, Duplicates: c.config.dedupeWindow,
		})
	}
	if err != nil {
		return nil, err
	}
	if !slices.Contains(notes.CachedInfo().Config.Subjects, subject) {
		return nil, fmt.Errorf("the stream %q is another one", name)
	}
	t.notes = notes
	return notes, nil
}

// loseNotes has the stream of notes looked for anew.
func (c *core) loseNotes() {
	c.tries.mu.Lock()
	defer c.tries.mu.Unlock()
	c.tries.notes = nil
}

// again gives p back, as a worker had it and wants it to be tried again; or has it buried.
func (c *core) again(p *parcel) {
	if p.had >= c.config.maxDeliver && c.config.maxDeliver > 0 {
		c.bury(p, "it was given back the last time")
		return
	}
	if c.config.maxDeliver > 0 && !p.noted {
		c.try(c.note, p)
	}
	if time.Since(p.alive) < c.config.ackWait { // or it comes again, and may be somebody's
		c.giveBack(p, c.config.nackDelay)
	}
}

// exhausted tells whether p had all its tries before, and buries it.
func (c *core) exhausted(p *parcel) bool {
	if c.config.maxDeliver == 0 || p.had <= c.config.maxDeliver {
		return false
	}
	c.bury(p, "it was not acknowledged the last time")
	return true
}
