package debug

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

// answerWithin is how long a look waits for the Stats of foreign channels, all of them
// together.
const answerWithin = period / 4

// calls are calls of the Stats of foreign channels, by ID. Such a method is user code: it may
// block, or panic, and that must concern no row but its own. So each call has a goroutine.
// A channel has at most one call at a time: if it does not return, later looks do not wait
// for it. The lock of the monitor guards calls.
type calls struct {
	open     map[uint64]*call
	deadline <-chan time.Time // of the look in progress
}

// A call belongs to its goroutine until done is closed.
type call struct {
	done    chan struct{}
	began   time.Time
	waited  bool // a look has waited for it in vain
	stats   sluice.Stats
	ok      bool
	failure string
}

// begin calls the Stats of the foreign channels among channels, which are in ascending order
// of ID.
func (cs *calls) begin(channels []inspect.Channel) {
	maps.DeleteFunc(cs.open, func(_ uint64, c *call) bool { return c.returned() })
	if cs.deadline = nil; len(channels) == 0 {
		return
	}
	entries := registry.Channels()
	for _, c := range channels {
		at, found := slices.BinarySearchFunc(entries, c.ID, func(e registry.Entry, id uint64) int { return cmp.Compare(e.ID, id) })
		if !found || entries[at].Snapshot != nil || cs.open[c.ID] != nil {
			continue
		}
		if cs.open == nil {
			cs.open = make(map[uint64]*call)
		}
		if cs.deadline == nil {
			cs.deadline = time.After(answerWithin)
		}
		call := &call{done: make(chan struct{}), began: time.Now()}
		cs.open[c.ID] = call
		go call.run(c)
	}
}

// run makes the call.
func (c *call) run(channel inspect.Channel) {
	defer close(c.done)
	defer func() {
		if p := recover(); p != nil {
			c.ok, c.failure = true, registry.Short(fmt.Sprint("Stats panicked: ", p), maxWarning)
		}
	}()
	c.stats, c.ok = channel.Stats()
}

// returned reports whether the call has returned.
func (c *call) returned() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// stats returns the Stats of a channel, and ok as [inspect.Channel.Stats] does. If
// unanswered is not empty, it is the reason why there are none.
func (cs *calls) stats(c inspect.Channel) (stats sluice.Stats, ok bool, unanswered string) {
	call := cs.open[c.ID]
	if call == nil {
		stats, ok = c.Stats()
		return stats, ok, ""
	}
	if !call.waited && !call.returned() {
		select {
		case <-call.done:
		case <-cs.deadline:
			cs.deadline = passed
		}
	}
	if !call.returned() {
		call.waited = true
		return stats, true, fmt.Sprintf("Stats did not return within %v", answerWithin)
	}
	return call.stats, call.ok, call.failure
}

// passed is a deadline that has passed.
var passed = func() <-chan time.Time {
	c := make(chan time.Time)
	close(c)
	return c
}()
