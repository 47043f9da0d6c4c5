// Package reading calls the Stats of all named channels, of which some may block. Stats of
// a channel that is not a kind of the root package is user code: it may block, or panic, and
// that must concern no other channel. So each such call has a goroutine, and a channel has
// at most one of a Reader: if it does not return, later rounds do not wait for it.
package reading

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/inspect"
	"github.com/sluice-go/sluice/internal/registry"
)

// maxFailure is the maximum length in bytes of the reason why there are no Stats.
const maxFailure = 1024

// A Reader reads the Stats of channels, in rounds: Begin, then Stats for each channel. The
// zero value is ready to use. It is not safe for concurrent use.
type Reader struct {
	within time.Duration    // of the last Begin
	open   map[uint64]*call // the calls that have begun, by ID
}

// A call belongs to its goroutine until ended is closed.
type call struct {
	ended   chan struct{}
	stats   sluice.Stats
	ok      bool
	failure string
}

func (c *call) hasEnded() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// Begin calls the Stats of the foreign channels among channels, except for those with a call
// under way, and waits until all of the new calls have returned, but not longer than within.
// channels are in ascending order of ID.
func (r *Reader) Begin(channels []inspect.Channel, within time.Duration) {
	r.within = within
	maps.DeleteFunc(r.open, func(_ uint64, c *call) bool { return c.hasEnded() })
	if len(channels) == 0 {
		return
	}
	var begun []*call
	entries := registry.Channels()
	for _, c := range channels {
		at, found := slices.BinarySearchFunc(entries, c.ID, func(e registry.Entry, id uint64) int { return cmp.Compare(e.ID, id) })
		if !found || entries[at].Snapshot != nil || r.open[c.ID] != nil {
			continue
		}
		if r.open == nil {
			r.open = make(map[uint64]*call)
		}
		made := &call{ended: make(chan struct{})}
		r.open[c.ID], begun = made, append(begun, made)
		go made.run(c)
	}
	if len(begun) == 0 {
		return
	}
	late := time.NewTimer(within)
	defer late.Stop()
	for _, c := range begun {
		select {
		case <-c.ended:
		case <-late.C:
			return
		}
	}
}

// run makes the call.
func (c *call) run(channel inspect.Channel) {
	defer close(c.ended)
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
	case !made.hasEnded():
		return stats, true, fmt.Sprintf("Stats did not return within %v", r.within)
	}
	return made.stats, made.ok, made.failure
}
