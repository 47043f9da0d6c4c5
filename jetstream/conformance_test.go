package jetstream

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/ramdir"
	"github.com/sluice-go/sluice/internal/suite"
	"github.com/sluice-go/sluice/sluicetest"
)

// made counts channels, for unique names.
var made atomic.Int64

// opener returns a function that opens a new channel each time, all with one
// embedded server.
func opener[T any](t *testing.T, dir string, o Options[T]) func() certain[T] {
	return func() certain[T] {
		return certainly(t, dir, o, func(o *Options[T]) (*Channel[T], error) { return Open(context.Background(), o) })
	}
}

// certainly opens a new channel by open, with a unique name. What a receiver fetched stays with it,
// however long the test pauses: redelivered, it would come out of order.
func certainly[T any](t *testing.T, dir string, o Options[T], open func(*Options[T]) (*Channel[T], error)) certain[T] {
	o.Dir, o.Name, o.DedupeWindow, o.AckWait = dir, fmt.Sprint("channel-", made.Add(1)), retryWindow, retryWindow
	c, err := open(&o)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range c.lanes.all {
		one.inbox.returnAfter = retryWindow
	}
	t.Cleanup(func() {
		if err := c.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return certain[T]{c}
}

// suiteTimeout is the longest that a test of the suite may take. Retries of a send are safe
// for half of retryWindow, which is longer: so no load on the machine makes it too late for
// a retry while the test still runs.
const (
	suiteTimeout = 5 * time.Minute
	retryWindow  = 3 * suiteTimeout
)

// A certain channel retries sends with an unknown outcome, as a careful sender does:
// a server may take longer to answer than an attempt waits, with many senders and a
// slow disk.
type certain[T any] struct{ *Channel[T] }

func (c certain[T]) Send(ctx context.Context, v T) error {
	_, err := resolve(c.Channel.Send(ctx, v))
	return err
}

func (c certain[T]) TrySend(v T) error {
	_, err := resolve(c.Channel.TrySend(v))
	return err
}

func (c certain[T]) SendBatch(ctx context.Context, vs []T) (n int, err error) {
	for {
		sent, failure := c.Channel.SendBatch(ctx, vs[n:])
		more, err := resolve(failure)
		if n += sent + more; err != nil || more == 0 {
			return n, err
		}
	}
}

// resolve returns how many values are stored after retries, and the error if it is
// not an UnknownError.
func resolve(err error) (stored int, _ error) {
	for unknown := (*UnknownError)(nil); errors.As(err, &unknown); time.Sleep(time.Millisecond) {
		if err = unknown.Retry(context.Background()); err == nil {
			return unknown.Values, nil
		}
	}
	return 0, err
}

// noAnswer reports whether err, of a send to a full channel, is that of an attempt without an answer in
// time, and after, its resolved outcome, is that there was no room.
func noAnswer(err, after error) bool { return errors.Is(err, ErrUnknown) && after == sluice.ErrFull }

// The channel passes the conformance suite, except for the parts that need one
// process: see Kind.Remote.
func TestConformance(t *testing.T) {
	suite.Needs(t, "a NATS server")
	t.Parallel()
	for _, capacity := range []int{2, 16} {
		t.Run(fmt.Sprint("capacity ", capacity), func(t *testing.T) {
			t.Parallel()
			dir := ramdir.New(t)
			sluicetest.Run(t, elements(sluicetest.Kind{
				Capacity: capacity, Order: sluicetest.PerSender, MaxBypass: sluicetest.NoBound,
				Allocates: true, Remote: true, Timeout: suiteTimeout,
				Numbers: func(func(uint64)) sluicetest.Channel[uint64] {
					return opener(t, dir, Options[uint64]{Capacity: capacity})()
				},
			}, func(int) sluicetest.Channel[[]byte] {
				return opener(t, dir, Options[[]byte]{Capacity: capacity})()
			}))
		})
	}
}

// elements returns k with makers for elements other than numbers. Of a Parcel, the suite checks the ID.
func elements(k sluicetest.Kind, open func(int) sluicetest.Channel[[]byte]) sluicetest.Kind {
	k.Pointers = func() sluicetest.Channel[*sluicetest.Parcel] {
		return sluicetest.Encoded(open(8), func(p *sluicetest.Parcel) []byte {
			if p == nil {
				return nil
			}
			return binary.BigEndian.AppendUint64(nil, p.ID)
		}, func(b []byte) *sluicetest.Parcel {
			if len(b) == 0 {
				return nil
			}
			return &sluicetest.Parcel{ID: binary.BigEndian.Uint64(b)}
		})
	}
	return k.OverBytes(open)
}

// A oneKey is a channel by key whose values all have one key, so that one of its streams has
// all of them.
type oneKey[T any] struct{ certain[T] }

const oneKeyStreams = 3

func (c oneKey[T]) Cap() int { return c.certain.Cap() / oneKeyStreams }

func (c oneKey[T]) Stats() sluice.Stats {
	s := c.certain.Stats()
	s.Cap /= oneKeyStreams
	return s
}

func keyedOpener[T any](t *testing.T, dir string, o Options[T]) func() oneKey[T] {
	return func() oneKey[T] {
		return oneKey[T]{certainly(t, dir, o, func(o *Options[T]) (*Channel[T], error) {
			return OpenKeyed(context.Background(), oneKeyStreams, func(T) string { return "" }, o)
		})}
	}
}

// A channel by key passes the suite for the values of one key.
func TestKeyedConformance(t *testing.T) {
	suite.Needs(t, "a NATS server")
	t.Parallel()
	const capacity = 16
	dir := ramdir.New(t)
	sluicetest.Run(t, elements(sluicetest.Kind{
		Capacity: capacity, Order: sluicetest.PerSender, MaxBypass: sluicetest.NoBound,
		Allocates: true, Remote: true, Variant: true, Timeout: suiteTimeout,
		Numbers: func(func(uint64)) sluicetest.Channel[uint64] {
			return keyedOpener(t, dir, Options[uint64]{Capacity: capacity})()
		},
	}, func(int) sluicetest.Channel[[]byte] {
		return keyedOpener(t, dir, Options[[]byte]{Capacity: capacity})()
	}))
}
