package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/sluice-go/sluice"
)

// A core is a channel of bytes: all of a [Channel] that does not depend on T.
//
// What it knows of the stream it learns from the servers, which have the truth; what
// it remembers may be old. Its facts change in one direction only: open to closed, to
// drained; here to left.
type core struct {
	config config
	log    *slog.Logger
	link   *link
	stream natsjs.Stream
	// subject is what values are published to, sender who it is that sends them;
	// the identity of a value is the sender and sent, its number.
	subject string
	sender  string
	sent    atomic.Uint64
	// batches tells whether the servers store runs as one; inFlight has a place
	// for each run under way.
	batches  bool
	inFlight chan struct{}
	// room has a token if something was acknowledged here: there may be room.
	room chan struct{}

	closed  atomic.Bool // nothing can be sent any more: found out, or done here
	drained atomic.Bool // and nothing is left, for good
	gone    atomic.Bool // the servers have no such stream any more
	left    atomic.Bool
	// leaving ends when the process leaves the channel, with all that this core
	// does on its own.
	leaving context.Context
	leave   context.CancelFunc
	// coming ends when nothing can be received any more: drained, gone, or left.
	coming context.Context
	dry    context.CancelFunc
	tasks  sync.WaitGroup
	news   *nats.Subscription // of changes to the stream

	inbox    inbox
	held     held
	tally    tally
	warnings warnings
	dead     deadLetters
	tries    tries

	asking    sync.Mutex // held while the stream is looked at
	suspected suspicion
	ending    ending
	looked    atomic.Int64 // when it was last looked at, in ns since epoch
}

// What is stored with a stream beside its settings.
const (
	metaCodec   = "sluice.codec"
	metaVersion = "sluice.version"
	version     = "1"

	consumerName = "sluice"
	// advisory is what servers publish when the settings of a stream change, as
	// they do at Close.
	advisory = "$JS.EVENT.ADVISORY.STREAM.UPDATED."
)

// openCore connects and finds or makes the channel.
// Its link is l, which is its own from then on; nil makes a new one.
func openCore(ctx context.Context, config config, l *link) (c *core, err error) {
	if l == nil {
		if l, err = newLink(&config); err != nil {
			return nil, err
		}
	}
	c = newCore(config, l)
	defer func() {
		if err != nil {
			_ = c.depart(context.Background()) // err says it all
			c = nil
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, openWait)
	defer cancel()
	if err := c.insist(ctx, c.findStream); err != nil {
		return c, err
	}
	if err := c.insist(ctx, c.findConsumer); err != nil {
		return c, err
	}
	if err := c.subscribe(); err != nil {
		return c, fmt.Errorf("jetstream: Open: %w", err)
	}
	c.checkSync(ctx)
	c.news, err = l.nc.Subscribe(advisory+config.name, func(*nats.Msg) { c.task(func() { _ = c.look(c.leaving) }) })
	if err != nil {
		return c, fmt.Errorf("jetstream: Open: %w", err)
	}
	return c, c.insist(ctx, c.look)
}

// openWait is the longest that Open waits for servers that are there and elect a
// leader, or are about to be there.
const openWait = 30 * time.Second

// insist calls f until the servers have an answer for it: a cluster that has just
// begun drops questions until it has a leader.
func (c *core) insist(ctx context.Context, f func(ctx context.Context) error) error {
	for wait := firstPause; ; wait = min(2*wait, lastPause) {
		once, cancel := context.WithTimeout(ctx, lookWait)
		err := f(once)
		cancel()
		api := (*natsjs.APIError)(nil)
		away := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrNoResponders) ||
			errors.Is(err, natsjs.ErrJetStreamNotEnabled) || errors.As(err, &api) && api.Code == codeAway
		if !away || ctx.Err() != nil || c.pause(ctx, wait) != nil {
			return err
		}
	}
}

// codeAway is the code of errors that pass: no leader, not enough servers yet.
const codeAway = 503

func newCore(config config, l *link) *core {
	c := &core{
		config: config, link: l,
		log:      config.log.With("channel", config.name),
		subject:  "sluice." + config.name,
		sender:   nuid.Next(),
		inFlight: make(chan struct{}, maxInFlight),
		room:     make(chan struct{}, 1),
	}
	c.leaving, c.leave = context.WithCancel(context.Background())
	c.coming, c.dry = context.WithCancel(c.leaving)
	c.inbox.depth = 1
	c.held.of = map[key]*parcel{}
	c.held.every = config.ackWait / 3
	return c
}

// findStream finds the stream, or makes it. One that is there must agree.
func (c *core) findStream(ctx context.Context) error {
	want := c.streamConfig()
	stream, err := c.link.js.Stream(ctx, want.Name)
	if errors.Is(err, natsjs.ErrStreamNotFound) {
		// Whoever makes it at the same time wants the same, or is told no here.
		stream, err = c.link.js.CreateStream(ctx, want)
	}
	if err != nil {
		return fmt.Errorf("jetstream: Open: channel %q: %w", c.config.name, err)
	}
	got := stream.CachedInfo().Config
	if err := c.disagreement(got, want); err != nil {
		return err
	}
	c.stream = stream
	c.closed.Store(got.Sealed)
	if c.batches = got.AllowAtomicPublish; !c.batches {
		c.warn(warnBatches, "the servers are older than 2.12 and store no runs as one: SendBatch sends one after the other")
	}
	return nil
}

func (c *core) streamConfig() natsjs.StreamConfig {
	limitBytes := int64(-1)
	if c.config.limitBytes > 0 {
		limitBytes = c.config.limitBytes
	}
	return natsjs.StreamConfig{
		Name: c.config.name, Subjects: []string{c.subject},
		Description: "a channel of sluice",
		Retention:   natsjs.WorkQueuePolicy, Storage: natsjs.FileStorage, Replicas: c.config.replicas,
		Discard: natsjs.DiscardNew, MaxMsgs: c.config.serverLimit(), MaxBytes: limitBytes,
		Duplicates: c.config.dedupeWindow, AllowAtomicPublish: true,
		Metadata: map[string]string{metaCodec: c.config.codec, metaVersion: version},
	}
}

// disagreement says in what the stream that is there is not the one wanted.
func (c *core) disagreement(got, want natsjs.StreamConfig) error {
	if got.Metadata[metaVersion] != version {
		return fmt.Errorf("jetstream: Open: there is a stream %q that is no channel of this version (%s is %q, not %q)",
			c.config.name, metaVersion, got.Metadata[metaVersion], version)
	}
	for _, property := range []struct {
		name      string
		got, want any
	}{
		{"the codec", got.Metadata[metaCodec], want.Metadata[metaCodec]},
		{"Limit", got.MaxMsgs, want.MaxMsgs},
		{"LimitBytes", got.MaxBytes, want.MaxBytes},
		{"Replicas", got.Replicas, want.Replicas},
		{"DedupeWindow", got.Duplicates, want.Duplicates},
	} {
		if property.got != property.want {
			return c.disagree(property.name, property.got, property.want)
		}
	}
	return nil
}

func (c *core) disagree(property string, got, want any) error {
	return fmt.Errorf("jetstream: Open: channel %q is there with another setting: %s is %v, not %v",
		c.config.name, property, got, want)
}

// findConsumer finds the consumer that all receivers share, or makes it.
func (c *core) findConsumer(ctx context.Context) error {
	want := natsjs.ConsumerConfig{
		Durable: consumerName, AckPolicy: natsjs.AckExplicitPolicy, DeliverPolicy: natsjs.DeliverAllPolicy,
		AckWait: c.config.ackWait, MaxDeliver: -1, MaxAckPending: maxOut,
	}
	if c.config.ordered {
		want.MaxAckPending = 1
	}
	consumer, err := c.stream.Consumer(ctx, consumerName)
	if errors.Is(err, natsjs.ErrConsumerNotFound) {
		consumer, err = c.stream.CreateConsumer(ctx, want)
	}
	if err != nil {
		return fmt.Errorf("jetstream: channel %q: its consumer: %w", c.config.name, err)
	}
	got := consumer.CachedInfo().Config
	switch {
	case got.AckWait != want.AckWait:
		return c.disagree("AckWait", got.AckWait, want.AckWait)
	case got.MaxAckPending != want.MaxAckPending:
		return c.disagree("Ordered", got.MaxAckPending == 1, c.config.ordered)
	}
	c.inbox.mu.Lock()
	c.inbox.consumer = consumer
	c.inbox.mu.Unlock()
	return nil
}

// maxOut is the most values that may be in the hands of all receivers together,
// unless the order is to be strict.
const maxOut = 1 << 16

// identity returns one for a value, or a run of them, that no other has.
func (c *core) identity() string {
	return c.sender + "." + strconv.FormatUint(c.sent.Add(1), 10)
}

// task runs f in a goroutine that is waited for when the process leaves.
func (c *core) task(f func()) {
	c.inbox.mu.Lock()
	defer c.inbox.mu.Unlock()
	if !c.left.Load() {
		c.tasks.Go(f)
	}
}

// look asks the servers how the stream is, and acts on it: it finds out that the
// channel is closed, drained or gone, and that the consumer is ahead of the stream.
func (c *core) look(ctx context.Context) error {
	c.asking.Lock()
	defer c.asking.Unlock()
	ctx, cancel := context.WithTimeout(ctx, lookWait)
	defer cancel()
	asked := time.Now()
	info, err := c.stream.Info(ctx)
	if err != nil {
		c.ending = ending{}
		if errors.Is(err, natsjs.ErrStreamNotFound) {
			c.gone.Store(true)
			c.changed()
			return ErrDeleted
		}
		return err
	}
	c.looked.Store(int64(asked.Sub(epoch)))
	c.tally.see(info)
	if info.Config.Sealed {
		c.closed.Store(true)
		if c.over(info, asked, time.Now()) {
			c.drained.Store(true)
		}
		c.changed()
	} else {
		c.ending = ending{}
	}
	return c.repair(ctx, info)
}

// lookWait is the longest that a question about the stream waits for its answer.
const lookWait = 2 * time.Second

// pause waits a random time about d, for a token of room, or until ctx is done.
func (c *core) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(jitter(d))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.room:
	case <-c.leaving.Done():
	case <-ctx.Done():
		return contextError(ctx)
	}
	return nil
}

// refusesSends tells why nothing can be sent, if that is so.
func (c *core) refusesSends() error {
	switch {
	case c.left.Load():
		return ErrShutdown
	case c.closed.Load():
		return sluice.ErrClosed
	case c.gone.Load():
		return ErrDeleted
	}
	return nil
}
