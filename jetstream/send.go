package jetstream

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-go/sluice"
)

// How long a sender waits before it tries again, at random around a time that
// doubles from the first to the last.
const (
	firstPause = time.Millisecond
	lastPause  = 100 * time.Millisecond
)

// jitter returns a random duration about d: from half of it to one and a half.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d) }

// A shipment is something to store, one value or a run, with its identity.
type shipment struct {
	store  func(ctx context.Context) error // one attempt
	values int                             // in it
	// repeating is held by Retry, which anybody may call.
	repeating sync.Mutex
	done      bool // it is known to be stored, and counted
	// first is when the first attempt was made whose outcome is unknown: from then
	// on the outcome of all is, until one is known to have stored it.
	first time.Time
	cause error // of the last such attempt
}

// patience is what a send waits for.
type patience uint8

const (
	never      patience = iota // one attempt
	forServers                 // that are away, or do not answer; not for room
	forRoom                    // too
)

// send stores s: that is, it returns nil if it is known to be stored. It tries as
// long as that is safe, until ctx is done or it is out of patience.
//
// An attempt whose outcome is unknown taints those after it: "closed" then says that
// the repetition was not stored, and nothing of what was sent before. Only ctx, and
// the window in which a repetition is known for one, end the tries then.
func (c *core) send(ctx context.Context, s *shipment, p patience) error {
	for wait := firstPause; ; wait = min(2*wait, lastPause) {
		if err := ctx.Err(); err != nil {
			return c.fail(s, err)
		}
		if err := c.refusesSends(); err != nil {
			return c.fail(s, err)
		}
		if !s.first.IsZero() && time.Since(s.first) > c.config.dedupeWindow/2 {
			return c.fail(s, s.cause)
		}
		begin, err := time.Now(), ErrShutdown
		if !c.link.closed() {
			err = s.store(ctx)
		}
		switch judge(err) {
		case stored:
			s.done = true // nobody sends it again
			c.tally.sent.Add(uint64(s.values))
			return nil
		case sealed:
			c.closed.Store(true)
			c.changed() // who waits here need not have heard of it
			return c.fail(s, sluice.ErrClosed)
		case refused:
			return c.fail(s, refusal(err))
		case full:
			if p < forRoom {
				return c.fail(s, sluice.ErrFull)
			}
		case absent:
			if p == never {
				return c.fail(s, fmt.Errorf("jetstream: nobody stores values now: %w", err))
			}
			if wait == lastPause { // long enough for whoever is just away
				_ = c.look(ctx) // it may be gone for good
			}
		case unknown:
			if s.cause = err; s.first.IsZero() {
				s.first = begin
			}
			if p == never {
				return c.fail(s, err)
			}
		}
		if err := c.waitForRoom(ctx, wait); err != nil {
			return c.fail(s, err)
		}
	}
}

// fail returns err, or what it is if something unknown happened before.
func (c *core) fail(s *shipment, err error) error {
	if s.first.IsZero() {
		return err
	}
	return &UnknownError{
		Cause:  err,
		Values: s.values,
		again: func(ctx context.Context) error {
			s.repeating.Lock()
			defer s.repeating.Unlock()
			if s.done {
				return nil
			}
			if time.Since(s.first) > c.config.dedupeWindow/2 {
				return ErrTooLate
			}
			return c.send(ctx, s, forServers)
		},
	}
}

// waitForRoom is a pause that counts as a wait of a sender.
func (c *core) waitForRoom(ctx context.Context, wait time.Duration) error {
	defer c.tally.sendWait()()
	return c.pause(ctx, wait)
}

// one returns a shipment of one value.
func (c *core) one(form []byte) *shipment {
	m := &nats.Msg{Subject: c.subject, Data: form, Header: nats.Header{natsjs.MsgIDHeader: {c.identity()}}}
	return &shipment{values: 1, store: func(ctx context.Context) error {
		ctx, cancel := c.link.attempt(ctx, attempt)
		defer cancel()
		_, err := c.link.js.PublishMsg(ctx, m, natsjs.WithRetryAttempts(0))
		return err
	}}
}

// sendOne sends one value.
func (c *core) sendOne(ctx context.Context, form []byte, p patience) error {
	if err := c.fits(form); err != nil {
		return err
	}
	return c.send(ctx, c.one(form), p)
}

// overhead is more than the headers of a message of ours take, in bytes.
const overhead = 512

// leastAdded is the least that a server adds to the subject and the form of a value
// that it stores, in bytes: its own figures (30 and 4), and the header with the identity.
const leastAdded = 30 + 4 + 51

// fits refuses what the servers take in no message, and what the channel has no room for
// when it is empty: a sender would wait for ever.
func (c *core) fits(form []byte) error {
	if most := c.link.nc.MaxPayload(); most > 0 && int64(len(form))+overhead > most {
		return fmt.Errorf("jetstream: %w: the value has %d bytes, and the servers take messages of %d, of which %d are for headers (max_payload)",
			sluice.ErrTooLarge, len(form), most, overhead)
	}
	if size := int64(len(form) + len(c.subject) + leastAdded); c.config.limitBytes > 0 && size > c.config.limitBytes {
		return fmt.Errorf("jetstream: %w: the value takes %d bytes, and the channel has LimitBytes of %d",
			sluice.ErrTooLarge, size, c.config.limitBytes)
	}
	return nil
}
