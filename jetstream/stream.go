package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
)

// A stream is the channel as the servers store it: one stream, whose limits are the
// channel's, and one consumer that all receivers share. It finds out whether the
// channel is closed, drained (drained.go) or deleted, and repairs the consumer after
// the servers lost values (repair.go).
type stream struct {
	*session
	onChange func() // called after a flag of lifecycle was set

	handle   natsjs.Stream // set by find
	batches  bool          // the servers have atomic batches; set by find
	files    *files        // of the embedded server, or nil; set by openCore
	updates  *nats.Subscription
	consumer natsjs.Consumer // set by findConsumer; guarded by mu once the stream is checked

	mu        sync.Mutex // held during a check; guards the fields below
	suspicion suspicion
	checkDue  bool // checkAfter waits
	sealedBy  sealedBy
	checkedAt atomic.Int64 // when the last check began, in ns since epoch
}

// Metadata of the stream, and names.
const (
	metaCodec   = "sluice.codec"
	metaVersion = "sluice.version"
	metaStreams = "sluice.streams" // of a channel by key
	version     = "1"

	consumerName = "sluice"
	// updateAdvisory is published by the servers when the settings of a stream
	// change, as they do at Close.
	updateAdvisory = "$JS.EVENT.ADVISORY.STREAM.UPDATED."

	// maxInFlight is the most messages in flight at all receivers together, unless
	// Options.Ordered is set.
	maxInFlight = 1 << 16

	// checkTimeout is the longest that a check of the stream waits for an answer.
	checkTimeout = 2 * time.Second
)

// find finds the stream, or creates it. An existing one must have the same settings.
func (s *stream) find(ctx context.Context) error {
	want := s.config.stream()
	handle, err := s.conn.js.Stream(ctx, want.Name)
	if errors.Is(err, natsjs.ErrStreamNotFound) {
		// If another process creates it at the same time, this succeeds if its
		// settings are the same, and fails otherwise.
		handle, err = s.conn.js.CreateStream(ctx, want)
	}
	if err != nil {
		return fmt.Errorf("jetstream: Open: channel %q: %w", s.config.name, err)
	}
	got := handle.CachedInfo().Config
	if err := s.config.compare(got, want); err != nil {
		return err
	}
	s.handle = handle
	s.life.closed.Store(got.Sealed)
	if s.batches = got.AllowAtomicPublish; !s.batches {
		s.warn(warnBatches, "the servers are older than 2.12 and have no atomic batches: SendBatch sends the values one by one")
	}
	return nil
}

// stream returns the settings of the stream of a channel.
func (c *config) stream() natsjs.StreamConfig {
	maxBytes := int64(-1)
	if c.maxBytes > 0 {
		maxBytes = c.maxBytes
	}
	config := natsjs.StreamConfig{
		Name: c.name, Subjects: []string{"sluice." + c.name},
		Description: "a sluice channel",
		Retention:   natsjs.WorkQueuePolicy, Storage: natsjs.FileStorage, Replicas: c.replicas,
		Discard: natsjs.DiscardNew, MaxMsgs: c.serverCapacity(), MaxBytes: maxBytes,
		Duplicates: c.dedupeWindow, AllowAtomicPublish: true,
		Metadata: map[string]string{metaCodec: c.codec, metaVersion: version},
	}
	if c.streams > 0 {
		config.Metadata[metaStreams] = strconv.Itoa(c.streams)
	}
	return config
}

// compare returns an error if an existing stream differs from the wanted one.
func (c *config) compare(got, want natsjs.StreamConfig) error {
	if got.Metadata[metaVersion] != version {
		return fmt.Errorf("jetstream: Open: stream %q exists and is not a channel of this version (%s is %q, want %q)",
			c.name, metaVersion, got.Metadata[metaVersion], version)
	}
	for _, setting := range []struct {
		name      string
		got, want any
	}{
		{"number of streams", cmp.Or(got.Metadata[metaStreams], "1"), cmp.Or(want.Metadata[metaStreams], "1")},
		{"Codec", got.Metadata[metaCodec], want.Metadata[metaCodec]},
		{"Capacity", got.MaxMsgs, want.MaxMsgs},
		{"MaxBytes", got.MaxBytes, want.MaxBytes},
		{"Replicas", got.Replicas, want.Replicas},
		{"DedupeWindow", got.Duplicates, want.Duplicates},
	} {
		if setting.got != setting.want {
			return c.mismatch(setting.name, setting.got, setting.want)
		}
	}
	return nil
}

func (c *config) mismatch(setting string, got, want any) error {
	return fmt.Errorf("jetstream: Open: channel %q exists with another %s: %v (want %v)", c.name, setting, got, want)
}

// findConsumer finds the consumer that all receivers share, or creates it.
func (s *stream) findConsumer(ctx context.Context) error {
	want := natsjs.ConsumerConfig{
		Durable: consumerName, AckPolicy: natsjs.AckExplicitPolicy, DeliverPolicy: natsjs.DeliverAllPolicy,
		AckWait: s.config.ackWait, MaxDeliver: -1, MaxAckPending: maxInFlight,
	}
	if s.config.ordered {
		want.MaxAckPending = 1
	}
	consumer, err := s.handle.Consumer(ctx, consumerName)
	if errors.Is(err, natsjs.ErrConsumerNotFound) {
		consumer, err = s.handle.CreateConsumer(ctx, want)
	}
	if err != nil {
		return fmt.Errorf("jetstream: channel %q: finding its consumer: %w", s.config.name, err)
	}
	got := consumer.CachedInfo().Config
	switch {
	case got.AckWait != want.AckWait:
		return s.config.mismatch("AckWait", got.AckWait, want.AckWait)
	case got.MaxAckPending != want.MaxAckPending:
		return s.config.mismatch("Ordered", got.MaxAckPending == 1, s.config.ordered)
	}
	s.consumer = consumer
	return nil
}

// subscribe has the stream checked when the servers publish that its settings changed.
func (s *stream) subscribe() (err error) {
	s.updates, err = s.conn.nc.Subscribe(updateAdvisory+s.config.name, func(*nats.Msg) { s.checkLater() })
	return err
}

func (s *stream) unsubscribe() {
	if s.updates != nil {
		_ = s.updates.Unsubscribe() // the connection may be closed already
	}
}

// checkLater checks the stream in the background.
func (s *stream) checkLater() {
	s.life.start(func() { _ = s.check(s.life.ctx) })
}

// check asks the servers for the state of the stream, and acts on it: it sets the flags
// of lifecycle, and repairs the consumer if it is ahead of the stream.
func (s *stream) check(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	asked := time.Now()
	info, err := s.handle.Info(ctx)
	if err != nil {
		s.sealedBy = sealedBy{}
		if errors.Is(err, natsjs.ErrStreamNotFound) {
			return s.setDeleted()
		}
		return err
	}
	s.checkedAt.Store(int64(asked.Sub(epoch)))
	s.counters.observe(info)
	if info.Config.Sealed {
		s.life.closed.Store(true)
		if s.isDrained(info, asked, time.Now()) {
			s.life.drained.Store(true)
		}
		s.onChange()
	} else {
		s.sealedBy = sealedBy{}
	}
	return s.repair(ctx, info)
}

// setDeleted records that the stream no longer exists.
func (s *stream) setDeleted() error {
	s.life.deleted.Store(true)
	s.onChange()
	return ErrDeleted
}

// sinceCheck returns how long ago the last check began.
func (s *stream) sinceCheck() time.Duration {
	return time.Since(epoch) - time.Duration(s.checkedAt.Load())
}
