package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/sluice-go/sluice"
)

// A publisher sends values: one message each, or several in an atomic batch. Every
// message or batch has an identity, so that the servers recognize a retry of it.
type publisher struct {
	*session
	stream *stream

	sender  string        // unique
	counter atomic.Uint64 // the identities given so far
	slots   chan struct{} // one for each atomic batch under way
}

func newPublisher(s *session, stream *stream) publisher {
	return publisher{session: s, stream: stream, sender: nuid.Next(), slots: make(chan struct{}, maxBatches)}
}

// identity returns a unique identity for a message or a batch.
func (p *publisher) identity() string {
	return p.sender + "." + strconv.FormatUint(p.counter.Add(1), 10)
}

// Retries back off from the first pause to the last one, doubling, with jitter.
const (
	firstPause = time.Millisecond
	lastPause  = 100 * time.Millisecond
)

// jitter returns a random duration between d/2 and 3*d/2.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d) }

// A publication is one message or one atomic batch, with its identity.
type publication struct {
	store  func(ctx context.Context) error // one attempt
	values int                             // in it
	bytes  int                             // of their payloads

	retry sync.Mutex // held by UnknownError.Retry; guards the fields below
	done  bool       // it is known to be stored, and counted
	// unknownSince is when the first attempt with an unknown outcome began. From then
	// on the outcome of the whole is unknown, until an attempt is known to succeed.
	unknownSince time.Time
	cause        error // of the last attempt with an unknown outcome
	// reconnects is how often the connection had been made again before that first attempt.
	reconnects uint64
}

// A waitPolicy is what a send waits for.
type waitPolicy uint8

const (
	waitNever   waitPolicy = iota // one attempt
	waitServers                   // for servers that are unavailable or do not answer; not for room
	waitRoom                      // for both
)

// send returns nil once p is known to be stored. It retries as long as that is safe,
// until ctx is done or policy forbids it.
//
// After an attempt with an unknown outcome, an answer such as "closed" is about the retry
// only, not about the value: then only ctx and the dedupe window end the retries. An
// exception is "full" from the embedded server: see provesUnstored.
func (p *publisher) send(ctx context.Context, pub *publication, policy waitPolicy) error {
	for wait := firstPause; ; wait = min(2*wait, lastPause) {
		if err := cmp.Or(ctx.Err(), p.life.sendErr()); err != nil {
			return p.sendError(pub, err)
		}
		if !pub.unknownSince.IsZero() && time.Since(pub.unknownSince) > p.config.dedupeWindow/2 {
			return p.sendError(pub, pub.cause)
		}
		if err := p.stream.checkLock(); err != nil {
			return p.sendError(pub, err)
		}
		begin, reconnects, err := time.Now(), p.conn.reconnects(), ErrShutdown
		if !p.conn.closed() {
			err = pub.store(ctx)
		}
		outcome := classify(err)
		if outcome == unknown {
			if pub.cause = err; pub.unknownSince.IsZero() {
				pub.unknownSince, pub.reconnects = begin, reconnects
			}
		}
		if outcome == full && p.provesUnstored(pub) {
			pub.unknownSince, pub.cause = time.Time{}, nil
		}
		if outcome == unknown || outcome == unavailable && (wait == firstPause || wait == lastPause) {
			if fault := p.stream.fault(ctx, pub.bytes); fault != nil {
				return p.sendError(pub, fault)
			}
		}
		switch outcome {
		case stored:
			if err := p.stream.checkFiles(); err != nil {
				return p.sendError(pub, err)
			}
			p.warn(warnSpace, "")
			pub.done = true // Retry does not send it again
			p.counters.sent.Add(uint64(pub.values))
			return nil
		case sealed:
			p.life.closed.Store(true)
			p.stream.onChange() // receivers here may not know yet
			return p.sendError(pub, sluice.ErrClosed)
		case rejected:
			return p.sendError(pub, rejection(err))
		case full:
			if policy < waitRoom {
				if policy == waitNever {
					p.counters.rejected.Add(1)
				}
				return p.sendError(pub, sluice.ErrFull)
			}
		case noSpace:
			// In a cluster, a leader without space lets another server lead.
			if policy == waitNever || wait == lastPause || p.config.replicas == 1 {
				return p.sendError(pub, spaceError(err))
			}
		case unavailable:
			if policy == waitNever {
				return p.sendError(pub, fmt.Errorf("jetstream: no server is available to store the value: %w", err))
			}
			if wait == lastPause { // too long for a restart or an election
				_ = p.stream.check(ctx) // the stream may have been deleted
			}
		case unknown:
			if policy == waitNever {
				return p.sendError(pub, err)
			}
		}
		if err := p.pause(ctx, wait); err != nil {
			return p.sendError(pub, err)
		}
	}
}

// provesUnstored reports whether the answer "full" to the last attempt proves that the
// attempts before it, whose outcome is unknown, have stored nothing: if they used the same
// connection to the embedded server. That handles the messages of one connection in order,
// and recognizes a retry before it looks for room. In a cluster, an earlier attempt may
// still be on its way, through another server or leader.
func (p *publisher) provesUnstored(pub *publication) bool {
	return p.conn.server != nil && p.conn.reconnects() == pub.reconnects
}

// sendError returns err, or an UnknownError if an attempt had an unknown outcome: except
// for ErrRemoved, which is about all of them.
func (p *publisher) sendError(pub *publication, err error) error {
	if errors.Is(err, ErrNoSpace) {
		p.warn(warnSpace, strings.TrimPrefix(err.Error(), "jetstream: "))
	}
	if pub.unknownSince.IsZero() || errors.Is(err, ErrRemoved) {
		return err
	}
	return &UnknownError{
		Cause:  err,
		Values: pub.values,
		retry: func(ctx context.Context) error {
			pub.retry.Lock()
			defer pub.retry.Unlock()
			if pub.done {
				return nil
			}
			if time.Since(pub.unknownSince) > p.config.dedupeWindow/2 {
				return ErrTooLate
			}
			return p.send(ctx, pub, waitServers)
		},
	}
}

// pause is a pause that counts as the wait of a sender.
func (p *publisher) pause(ctx context.Context, d time.Duration) error {
	defer p.counters.wait(&p.counters.sendWaits)()
	return p.life.pause(ctx, d)
}

// sendOne sends one value.
func (p *publisher) sendOne(ctx context.Context, payload []byte, policy waitPolicy) error {
	if err := p.checkSize(payload); err != nil {
		return err
	}
	return p.send(ctx, p.single(payload), policy)
}

// single returns the publication of one value.
func (p *publisher) single(payload []byte) *publication {
	m := &nats.Msg{Subject: p.subject, Data: payload, Header: nats.Header{natsjs.MsgIDHeader: {p.identity()}}}
	return &publication{values: 1, bytes: len(payload), store: func(ctx context.Context) error {
		ctx, cancel := p.conn.attempt(ctx, attemptTimeout)
		defer cancel()
		_, err := p.conn.js.PublishMsg(ctx, m, natsjs.WithRetryAttempts(0))
		return err
	}}
}

const (
	// maxHeaders is an upper bound for the headers of one message, in bytes.
	maxHeaders = 512
	// minOverhead is the least that a server stores besides subject and payload, in
	// bytes: its own data (30 and 4), and the header with the identity.
	minOverhead = 30 + 4 + 51
)

// checkSize rejects a value that is too large for a message, or for the channel even
// when it is empty: its sender would wait forever.
func (p *publisher) checkSize(payload []byte) error {
	if most := p.conn.nc.MaxPayload(); most > 0 && int64(len(payload))+maxHeaders > most {
		return fmt.Errorf("jetstream: %w: the value has %d bytes, max_payload of the servers is %d, of which %d are reserved for headers",
			sluice.ErrTooLarge, len(payload), most, maxHeaders)
	}
	if size := int64(len(payload) + len(p.subject) + minOverhead); p.config.maxBytes > 0 && size > p.config.maxBytes {
		return fmt.Errorf("jetstream: %w: the value takes %d bytes, MaxBytes is %d", sluice.ErrTooLarge, size, p.config.maxBytes)
	}
	return nil
}
