// Package inspect lists the named channels of a program, and reads their counters and wait
// queues:
//
//	for _, c := range inspect.Channels() {
//		if stats, ok := c.Stats(); ok {
//			fmt.Println(c.Name, stats.Len, stats.OldestValue)
//		}
//	}
//
// A channel made with a name in its options is listed until it is garbage-collected;
// packages spill and jetstream register theirs, and [Register] adds a channel type of
// your own. Package livepage shows them on a live page, and the metrics modules export
// their figures.
package inspect

import (
	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/registry"
)

// A Channel is a named channel of this program. It does not keep the channel alive.
type Channel struct {
	ID   uint64 // counts named channels from 1; names need not be unique
	Name string // at most 256 bytes: a longer name is cut, and ends in "…"
	Kind string // "Rendezvous", "Bounded", "Elastic", "Aged", "Sharded", "Priority", "Delay", or what [Register] was given

	stats    func() (engine.Stats, bool)
	snapshot func() (engine.Snapshot, bool) // nil if it was registered with Register
}

// Channels returns the named channels in the order in which they were made or
// registered, closed ones included, until they are garbage-collected. It calls no
// method of any channel. It allocates. A name costs nothing measurable after the
// construction of the channel, and about a kilobyte of memory.
func Channels() []Channel {
	entries := registry.Channels()
	channels := make([]Channel, len(entries))
	for i, e := range entries {
		channels[i] = Channel{e.ID, e.Name, e.Kind, e.Stats, e.Snapshot}
	}
	return channels
}

// Register lists c under a name, as a channel of the given kind. The list refers to c
// weakly. Its method Stats may be called at any time by any goroutine, and should not block:
// until it returns, the page of package livepage shows the figures of its last answer, and the
// metrics modules count the channel as unanswered. An empty name registers nothing. A name or a kind above 256 bytes is cut. A nil c panics.
func Register[C any, P interface {
	*C
	Stats() sluice.Stats
}](name, kind string, c P) {
	if c == nil {
		panic("inspect: Register: nil channel")
	}
	registry.Foreign(name, kind, (*C)(c), func(c *C) engine.Stats { return engine.Stats(P(c).Stats()) }, nil)
}

// Stats returns the channel's Stats. It reports false if the channel was
// garbage-collected, and for the zero Channel. Like every Stats it briefly blocks
// senders and receivers. For a channel that was listed by [Register] it takes as long as the
// channel's own method, and panics if that does.
func (c Channel) Stats() (stats sluice.Stats, ok bool) {
	if c.stats == nil {
		return sluice.Stats{}, false
	}
	s, ok := c.stats()
	return sluice.Stats(s), ok
}

// Snapshot returns a consistent view of the channel: its Stats and the details behind
// them. It blocks senders and receivers as long as Stats does, and a little longer
// where many wait. It reports false if the channel was garbage-collected, for the zero
// Channel, and for a channel that was listed by [Register], which has only Stats.
func (c Channel) Snapshot() (snapshot Snapshot, ok bool) {
	if c.snapshot == nil {
		return Snapshot{}, false
	}
	s, ok := c.snapshot()
	if !ok {
		return Snapshot{}, false
	}
	return newSnapshot(s), true
}
