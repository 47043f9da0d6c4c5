package jetstream

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-go/sluice"
)

// counters are the figures of Stats: of the stream when it was last observed, and of this
// process.
type counters struct {
	sent, received, dead, rejected atomic.Uint64

	mu                   sync.Mutex
	stored               uint64 // values
	bytes                uint64
	highWater            uint64        // of stored
	oldest               time.Duration // age of the oldest stored value
	sendWaits, recvWaits waits
}

// waits are the waits of the senders or of the receivers.
type waits struct {
	n       uint64        // including those under way
	now     int           // under way
	total   time.Duration // of those that ended
	started time.Duration // sum of the start times of those under way, since epoch
}

// epoch is the zero of start times.
var epoch = time.Now()

// wait counts a wait, until end is called.
func (c *counters) wait(w *waits) (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	begin := time.Since(epoch)
	w.n++
	w.now++
	w.started += begin
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		w.now--
		w.started -= begin
		w.total += time.Since(epoch) - begin
	}
}

// time returns the total time of all waits, including those under way.
func (w *waits) time() time.Duration {
	return w.total + time.Duration(w.now)*time.Since(epoch) - w.started
}

// observe records the state of the stream.
func (c *counters) observe(info *natsjs.StreamInfo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stored, c.bytes = info.State.Msgs, info.State.Bytes
	c.highWater = max(c.highWater, c.stored)
	if c.oldest = 0; c.stored > 0 && !info.TimeStamp.IsZero() { // both times are the servers'
		c.oldest = max(0, info.TimeStamp.Sub(info.State.FirstTime))
	}
}

// warnings are the conditions that put the promises at risk, by topic.
type warnings struct {
	mu   sync.Mutex
	text map[string]string
}

const (
	warnSync     = "sync"
	warnBatches  = "batches"
	warnClose    = "close"
	warnLost     = "lost"
	warnSkipped  = "skipped"
	warnAttempts = "attempts"
	warnFiles    = "files"
	warnSpace    = "space"
)

// warn logs a warning and keeps it for Stats; an empty text withdraws it.
func (s *session) warn(topic, text string) {
	w := &s.warnings
	w.mu.Lock()
	defer w.mu.Unlock()
	if text == "" {
		delete(w.text, topic)
		return
	}
	if w.text == nil {
		w.text = map[string]string{}
	}
	if w.text[topic] != text {
		w.text[topic] = text
		s.log.Warn("jetstream: " + text)
	}
}

func (w *warnings) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(slices.Sorted(maps.Values(w.text)), "; ")
}

// statsTimeout is the longest that Len and Stats wait for the servers.
const statsTimeout = 250 * time.Millisecond

// observe asks the servers for the state of the stream, unless it cannot change anymore.
func (s *stream) observe() {
	if s.life.shutdown.Load() || s.life.deleted.Load() || s.life.drained.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(s.life.ctx, statsTimeout)
	defer cancel()
	if info, err := s.handle.Info(ctx); err == nil {
		s.counters.observe(info)
	}
}

func (s *stream) stats() sluice.Stats {
	s.observe()
	_ = s.checkFiles() // it warns
	c := &s.counters
	c.mu.Lock()
	defer c.mu.Unlock()
	stats := sluice.Stats{
		Name: s.config.name, Cap: s.config.capacity,
		Len:  int(min(c.stored, uint64(sluice.Unlimited))),
		Sent: c.sent.Load(), Received: c.received.Load(), Dropped: c.dead.Load(), Rejected: c.rejected.Load(),
		SendWaits: c.sendWaits.n, RecvWaits: c.recvWaits.n,
		SendWaitTime: c.sendWaits.time(), RecvWaitTime: c.recvWaits.time(),
		SendersWaiting: c.sendWaits.now, ReceiversWaiting: c.recvWaits.now,
		OldestValue: c.oldest,
		HighWater:   int(min(c.highWater, uint64(sluice.Unlimited))),
		Closed:      s.life.closed.Load(),
	}
	stats.Disk.Bytes, stats.Disk.Warning = int64(c.bytes), s.warnings.String()
	return stats
}
