// Package reading calls the Stats of all named channels, of which some may block. Stats of
// a channel that is no kind of the root package is user code: it may block, or panic, and
// that must concern no other channel. So each such call has a goroutine, and a channel has
// at most one of a Reader: if it does not return, later rounds do not wait for it.
package reading

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/inspect"
	"github.com/sluice-go/sluice/internal/registry"
)

// maxFailure is the maximum length in bytes of the reason why there are no Stats.
const maxFailure = 1024

// A Reader reads the Stats of channels, in rounds: Begin, the caller's wait for what Begin
// returned, then Stats for each channel. It is not safe for concurrent use.
type Reader struct {
	// Within is how long the caller waits for a round.
	Within time.Duration

	open map[uint64]*call // the calls that have begun, by ID
}

// A call belongs to its goroutine until returned is true.
type call struct {
	returned atomic.Bool // publishes the fields below
	stats    sluice.Stats
	ok       bool
	failure  string
}

// A round is what the calls that began together share.
type round struct {
	left     atomic.Int64 // calls under way, and one for Begin
	answered chan struct{}
}

func (r *round) done() {
	if r.left.Add(-1) == 0 {
		close(r.answered)
	}
}

// Begin calls the Stats of the foreign channels among channels, except for those with a call
// under way. It returns a channel that is closed once all of the new calls have returned, or
// nil without a new call. channels are in ascending order of ID.
func (r *Reader) Begin(channels []inspect.Channel) (answered <-chan struct{}) {
	maps.DeleteFunc(r.open, func(_ uint64, c *call) bool { return c.returned.Load() })
	if len(channels) == 0 {
		return nil
	}
	var now *round
	entries := registry.Channels()
	for _, c := range channels {
		at, found := slices.BinarySearchFunc(entries, c.ID, func(e registry.Entry, id uint64) int { return cmp.Compare(e.ID, id) })
		if !found || entries[at].Snapshot != nil || r.open[c.ID] != nil {
			continue
		}
		if r.open == nil {
			r.open = make(map[uint64]*call)
		}
		if now == nil {
			now = &round{answered: make(chan struct{})}
			now.left.Store(1)
		}
		made := new(call)
		r.open[c.ID] = made
		now.left.Add(1)
		go made.run(c, now)
	}
	if now == nil {
		return nil
	}
	now.done()
	return now.answered
}

// run makes the call.
func (c *call) run(channel inspect.Channel, in *round) {
	defer in.done()
	defer c.returned.Store(true)
	defer func() {
		if p := recover(); p != nil {
			c.ok, c.failure = true, registry.Short(fmt.Sprint("Stats panicked: ", p), maxFailure)
		}
	}()
	c.stats, c.ok = channel.Stats()
}

// Stats returns the Stats of one of the channels of Begin, and ok as [inspect.Channel.Stats]
// does. If failure is not empty, it is the reason why stats are zero. It does not wait for
// the Stats of foreign channels.
func (r *Reader) Stats(c inspect.Channel) (stats sluice.Stats, ok bool, failure string) {
	made := r.open[c.ID]
	switch {
	case made == nil:
		stats, ok = c.Stats()
		return stats, ok, ""
	case !made.returned.Load():
		return stats, true, fmt.Sprintf("Stats did not return within %v", r.Within)
	}
	return made.stats, made.ok, made.failure
}
