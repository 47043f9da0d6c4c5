package jetstream

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-go/sluice"
)

// tally is what Stats tells: of the stream as it was last seen, and of this process.
type tally struct {
	sent, received, dead atomic.Uint64

	mu                   sync.Mutex
	stored               uint64 // values
	bytes                uint64
	highWater            uint64 // of what was seen
	sendWaits, recvWaits waits
}

// waits are those of one side. A wait under way counts up to now.
type waits struct {
	n       uint64
	now     int
	total   time.Duration // of those that are over
	started time.Duration // sum of the begins of those under way, since epoch
}

// epoch is what begins of waits are counted from.
var epoch = time.Now()

func (t *tally) wait(w *waits) (end func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	begin := time.Since(epoch)
	w.n++
	w.now++
	w.started += begin
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		w.now--
		w.started -= begin
		w.total += time.Since(epoch) - begin
	}
}

func (w *waits) time() time.Duration {
	return w.total + time.Duration(w.now)*time.Since(epoch) - w.started
}

func (t *tally) sendWait() (end func()) { return t.wait(&t.sendWaits) }
func (t *tally) recvWait() (end func()) { return t.wait(&t.recvWaits) }

// see notes how the stream is.
func (t *tally) see(info *natsjs.StreamInfo) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stored, t.bytes = info.State.Msgs, info.State.Bytes
	t.highWater = max(t.highWater, t.stored)
}

// warnings are what endangers the promises, by topic.
type warnings struct {
	mu sync.Mutex
	of map[string]string
}

const (
	warnSync    = "sync"
	warnBatches = "batches"
	warnClose   = "close"
	warnLost    = "lost"
	warnTries   = "tries"
)

// warn logs a warning and keeps it for Stats; an empty text withdraws it.
func (c *core) warn(topic, text string) {
	c.warnings.mu.Lock()
	defer c.warnings.mu.Unlock()
	if text == "" {
		delete(c.warnings.of, topic)
		return
	}
	if c.warnings.of == nil {
		c.warnings.of = map[string]string{}
	}
	if c.warnings.of[topic] != text {
		c.warnings.of[topic] = text
		c.log.Warn("jetstream: " + text)
	}
}

func (w *warnings) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for _, text := range w.of {
		all = append(all, text)
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}

// statsWait is the longest that Len and Stats wait for the servers.
const statsWait = 250 * time.Millisecond

// refresh looks at the stream, unless the process has left.
func (c *core) refresh() {
	if c.left.Load() || c.gone.Load() || c.drained.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(c.leaving, statsWait)
	defer cancel()
	if info, err := c.stream.Info(ctx); err == nil {
		c.tally.see(info)
	}
}

func (c *core) length() int {
	c.refresh()
	c.tally.mu.Lock()
	defer c.tally.mu.Unlock()
	return int(min(c.tally.stored, uint64(sluice.Unlimited)))
}

func (c *core) stats() sluice.Stats {
	c.refresh()
	t := &c.tally
	t.mu.Lock()
	defer t.mu.Unlock()
	return sluice.Stats{
		Name: c.config.name, Cap: c.config.limit, Lanes: 1,
		Len:  int(min(t.stored, uint64(sluice.Unlimited))),
		Sent: t.sent.Load(), Received: t.received.Load(), Dropped: t.dead.Load(),
		SendWaits: t.sendWaits.n, RecvWaits: t.recvWaits.n,
		SendWaitTime: t.sendWaits.time(), RecvWaitTime: t.recvWaits.time(),
		SendersWaiting: t.sendWaits.now, ReceiversWaiting: t.recvWaits.now,
		HighWater:   int(min(t.highWater, uint64(sluice.Unlimited))),
		BytesOnDisk: int64(t.bytes), Closed: c.closed.Load(), Warning: c.warnings.String(),
	}
}
