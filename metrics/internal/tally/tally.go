// Package tally adds up the statistics of the named channels of a program, by name and
// kind, for metrics systems that collect them from time to time. It contains what is
// common to all metrics systems: the instruments, and how series are added up. The
// modules beside this directory contain what is specific to one of them.
//
// # Counters never fall
//
// A metrics system takes a falling counter for a restarted process, and counts all of it
// again. So a counter cannot be the sum over the channels that are alive, which falls
// when a channel becomes garbage. Instead:
//
//   - A series adds up increments. Each collection adds what a channel has counted since
//     the previous collection to the series of its name; the first collection that sees a
//     channel adds all that it has counted. The sum stays when the channel becomes
//     garbage. Memory is proportional to the number of channels in the last collection,
//     plus the number of series.
//   - An increment is never negative. IDs of channels are not reused, so a count below the
//     previous one is an error of the channel, and later increments are relative to the
//     highest count.
//   - Collections are serialized by a lock, so a later collection reports at least as much
//     as an earlier one.
//   - Gauges cover the channels that are alive during the collection. They rise and fall.
//
// # Channels that do not answer
//
// Stats of a channel of another package may block. A collection waits a second for all
// such channels together, and later collections do not wait for a call that is still under
// way, of which each channel has one at most. Until it answers, a channel is counted as
// unanswered. The sums of gauges over its name lack a part then, so they are missing: see
// [Instrument.Missing]. Counters stay, as they are sums of what was seen; they catch up when
// the channel answers.
//
// The counts between the last collection and the death of a channel are lost. A finalizer
// could read them, but would keep a channel alive that holds a reference to itself.
//
// # Limited number of series
//
// At most limit names of a kind have series of their own, first come, first served. The
// channels of all other names are added up in the series [Other]. So a program that names
// a channel after each connection creates no more series than that.
//
//   - A name keeps its series after its last channel is garbage, so that the last increment
//     remains visible, until another name needs the place. The name that has had no channel
//     for the longest time goes first. Its counts are dropped: added to the other names,
//     they would look like current events.
//   - A name does not change series while it has a channel, because its counts would be
//     split between two series.
//   - A name that comes back after it was removed begins at zero. To the metrics system this
//     is a restart, which it handles correctly.
package tally

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/sluice-go/sluice/inspect"
	"github.com/sluice-go/sluice/internal/age"
	"github.com/sluice-go/sluice/internal/reading"
)

// answerWithin is how long a collection waits for the Stats of channels that may block, all
// of them together. It is long enough for a channel that asks its servers, and short
// compared to the timeout of a scrape.
const answerWithin = time.Second

// DefaultLimit is the default limit on names with series of their own.
const DefaultLimit = 100

// Other is the name, and the kind, of the series for all names without series of their
// own. A channel with this name is added to it too, so that no series appears twice.
const Other = "_OTHER"

// Infinite is the capacity of a name with a channel without a limit.
const Infinite = math.MaxInt64

// A Series is the sum over the channels of one name and kind.
type Series struct {
	Name, Kind string // safe to display, see [safe]

	Open, Closed int64 // channels
	Warned       int64 // channels with a warning
	Unanswered   int64 // channels whose Stats did not return in time, or panicked

	// Counters.
	Sent, Received             int64
	Overflowed, TooOld         int64 // values dropped
	Rejected                   int64 // sends
	SendWaits, RecvWaits       int64
	SendWaitTime, RecvWaitTime time.Duration

	// Gauges.
	Senders, Receivers int64 // waiting
	Queued             int64
	Capacity           int64   // Infinite if one channel has no limit
	HighWater          int64   // the largest of the channels
	Oldest             age.Age // the oldest of the channels
	Lanes              int64
	Memory, Disk       int64 // bytes
}

// A Tally collects the statistics of all named channels. It is safe for concurrent use.
type Tally struct {
	limit    int
	channels func() []inspect.Channel // inspect.Channels; tests replace it

	mu     sync.Mutex
	reader reading.Reader
	count  uint64        // of collections
	newest uint64        // the highest ID of a channel so far
	last   []observation // of the last collection, by ascending ID, as Channels returns them
	groups map[key]*group
	own    []*group // the groups with series of their own, oldest first
	full   uint64   // the last collection in which own was full, and each of own had channels
	other  group    // of all other names
}

type key struct{ name, kind string }

func keyOf(c inspect.Channel) key { return key{safe(c.Name), safe(c.Kind)} }

// A group is the set of channels of one name and kind. It is in the map while one of them
// is alive or it has a series of its own.
type group struct {
	key      key
	series   *Series // its own, or the series of all other names
	channels int     // alive during the last collection
	seen     uint64  // the last collection that found a channel, or that will find one
}

// An observation is the state of a channel during the last collection.
type observation struct {
	id    uint64
	group *group
	past  counts
}

// New returns a Tally with at most limit series, and one more for all other names. A limit
// of 0 selects the default. A negative limit panics, on behalf of function.
func New(function string, limit int) *Tally {
	if limit < 0 {
		panic(fmt.Sprintf("sluice: %s: MaxNames is %d, want at least 0", function, limit))
	}
	return &Tally{
		limit:    cmp.Or(limit, DefaultLimit),
		channels: inspect.Channels,
		groups:   map[key]*group{},
		other:    group{series: &Series{Name: Other, Kind: Other}},
	}
}

// A Snapshot is the result of a collection.
type Snapshot struct {
	Series []Series
	// OtherNames is the number of pairs of name and kind that have no series of their
	// own because the limit is reached. Their common series is the last one. It exists
	// once there has been such a name.
	OtherNames int64
}

// Collect reads the Stats of all named channels. If one of them blocks, it waits for up to a
// second, once.
func (t *Tally) Collect() Snapshot {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count++
	for _, g := range t.own {
		g.series.clearGauges()
	}
	t.other.series.clearGauges()

	listed := t.channels()
	t.reader.Begin(listed, answerWithin)
	fresh, _ := slices.BinarySearchFunc(listed, t.newest+1, func(n inspect.Channel, id uint64) int { return cmp.Compare(n.ID, id) })
	past := t.last
	t.last = make([]observation, 0, len(listed))
	for _, c := range listed[:fresh] {
		for len(past) > 0 && past[0].id < c.ID {
			t.leave(past[0].group)
			past = past[1:]
		}
		if len(past) > 0 && past[0].id == c.ID && t.see(c, past[0]) {
			past = past[1:]
		}
	}
	for _, s := range past {
		t.leave(s.group)
	}
	// The channels that are garbage have made room. No name of a new channel may lose its
	// series to the name of another new channel.
	for _, c := range listed[fresh:] {
		if g := t.groups[keyOf(c)]; g != nil {
			g.seen = t.count
		}
	}
	for _, c := range listed[fresh:] {
		t.newest = c.ID
		t.see(c, observation{id: c.ID})
	}
	return t.snapshot()
}

// see adds a channel to its series and to the observations of this collection, unless it
// has become garbage since it was listed. A channel without a group joins one.
func (t *Tally) see(c inspect.Channel, s observation) (alive bool) {
	stats, alive, failure := t.reader.Stats(c)
	if !alive {
		return false
	}
	if s.group == nil {
		s.group = t.join(keyOf(c))
	}
	s.group.seen = t.count
	if failure == "" {
		s.group.series.add(&stats, &s.past)
	} else {
		s.group.series.Unanswered++
	}
	t.last = append(t.last, s)
	return true
}

func (t *Tally) snapshot() Snapshot {
	out := Snapshot{Series: make([]Series, 0, len(t.own)+1)}
	for _, g := range t.own {
		out.Series = append(out.Series, *g.series)
	}
	out.OtherNames = int64(len(t.groups) - len(t.own))
	if t.other.seen > 0 {
		out.Series = append(out.Series, *t.other.series)
	}
	return out
}
