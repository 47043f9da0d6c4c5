// Package tally adds up what the named channels of a program report, by name and
// kind, for a metrics system that asks from time to time. What is common to all
// such systems lives here: which figures there are, and how they are added up. What
// is particular to one lives in a module of its own beside this folder.
//
// # A sum that must not fall
//
// A metrics system takes a counter that falls for a process that started again, and
// counts all of it anew. So the sum over the channels that are alive will not do: it
// falls when one of them is garbage. These hold instead:
//
//   - A series counts steps. Each look adds what a channel counted since the look
//     before to the series of its name; the first look at a channel adds all that it
//     counted so far. What a channel has added stays when it is garbage, and nothing
//     of it has to be kept for that: memory is that of the channels seen by the last
//     look and of the series.
//   - A step is never negative. The ID of a channel is never used again, so a count
//     below the last one is no new beginning, it is a mistake: the highest one seen is
//     what later steps are counted from.
//   - Looks follow each other under one lock, so of two that overlap none undoes the
//     other, and who asks later is told at least as much.
//   - Gauges are of the channels alive at the look. They rise and fall.
//
// What a channel counts after the last look that found it is lost when it becomes
// garbage, and one that lives and dies between two looks is never seen: nothing can be
// read of garbage. A finalizer could, but a channel that has one and holds a value that
// leads back to it would never be garbage.
//
// # A bound on the number of series
//
// At most limit names of a kind have series of their own, first come, first served.
// The channels of all others are counted together, as those of the series [Other]. So
// a program that names a channel after each connection makes no more series than that.
//
//   - A name keeps its series after its last channel is garbage, so that the last step
//     can be seen, until another name needs the place. The one that has been without
//     channels for longest goes first. Its counts go with it: added to the others they
//     would look like something that happens now.
//   - A name does not change series while it has a channel. Otherwise half its counts
//     would be in one, half in the other.
//   - A name that comes back after it went begins at zero, which is a restart to the
//     metrics system, and counted rightly by it.
package tally

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/sluice-go/sluice/inspect"
)

// DefaultLimit is how many names of a kind have series of their own if the user does
// not say.
const DefaultLimit = 100

// Other stands for the name, and for the kind, of the channels of names without series
// of their own. A channel that is called this itself is one of them, so no series is
// there twice.
const Other = "_OTHER"

// Infinite is the capacity of a name that has a channel without a limit.
const Infinite = math.MaxInt64

// A Series is the sum over the channels of one name and kind.
type Series struct {
	Name, Kind string // fit to be shown, see [safe]

	Open, Closed int64 // channels
	Warned       int64 // channels with a warning

	// Counters.
	Sent, Received, Dropped    int64
	SendWaits, RecvWaits       int64
	SendWaitTime, RecvWaitTime time.Duration

	// Gauges.
	Senders, Receivers int64 // that wait now
	Queued             int64
	Capacity           int64 // Infinite if that of one channel is
	HighWater          int64 // of one channel, the largest
	Lanes              int64
	Memory, Disk       int64 // bytes
}

// A Tally looks at all named channels. Its methods may be called concurrently.
type Tally struct {
	limit    int
	channels func() []inspect.Channel // inspect.Channels, but for tests

	mu     sync.Mutex
	looks  uint64
	newest uint64     // the highest ID of a channel that was listed
	last   []sighting // of the last look, by ascending ID, as Channels lists them
	groups map[key]*group
	own    []*group // of groups, those with series of their own, oldest first
	full   uint64   // the last look in which each of own had channels, and there were as many as may be
	other  group    // of all the others
}

type key struct{ name, kind string }

func keyOf(c inspect.Channel) key { return key{safe(c.Name), safe(c.Kind)} }

// A group is the channels of one name and kind. It is in the map while one of them is
// alive or it has a series of its own.
type group struct {
	key      key
	series   *Series // its own, or that of all the others
	channels int     // alive at the last look
	seen     uint64  // the last look that found one, or that is about to
}

// A sighting is a channel as the last look found it.
type sighting struct {
	id    uint64
	group *group
	past  counts
}

// New returns a Tally of at most limit series, and one more for all other names.
// A limit of 0 stands for the default; one below makes no sense, and panics in the
// name of the function of the user's that it was given to.
func New(function string, limit int) *Tally {
	if limit < 0 {
		panic(fmt.Sprintf("sluice: %s: MaxNames is %d, below 0", function, limit))
	}
	return &Tally{
		limit:    cmp.Or(limit, DefaultLimit),
		channels: inspect.Channels,
		groups:   map[key]*group{},
		other:    group{series: &Series{Name: Other, Kind: Other}},
	}
}

// A Look is what one look at all channels came to.
type Look struct {
	Series []Series
	// OtherNames is how many names, of a kind each, are counted together now because
	// there is no place for them. Their series is the last one from the moment there
	// first was one.
	OtherNames int64
}

// Look looks at all named channels. It costs a Stats of each.
func (t *Tally) Look() Look {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.looks++
	for _, g := range t.own {
		g.series.clearGauges()
	}
	t.other.series.clearGauges()

	listed := t.channels()
	fresh, _ := slices.BinarySearchFunc(listed, t.newest+1, func(n inspect.Channel, id uint64) int { return cmp.Compare(n.ID, id) })
	past := t.last
	t.last = make([]sighting, 0, len(listed))
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
	// Whoever left has made room, and no name of those that come may lose its series to
	// one that comes with it.
	for _, c := range listed[fresh:] {
		if g := t.groups[keyOf(c)]; g != nil {
			g.seen = t.looks
		}
	}
	for _, c := range listed[fresh:] {
		t.newest = c.ID
		t.see(c, sighting{id: c.ID})
	}
	return t.snapshot()
}

// see adds a channel to its series and to what this look found, unless it is garbage
// since it was listed. It gets a group if it has none.
func (t *Tally) see(c inspect.Channel, s sighting) (alive bool) {
	stats, alive := c.Stats()
	if !alive {
		return false
	}
	if s.group == nil {
		s.group = t.join(keyOf(c))
	}
	s.group.seen = t.looks
	s.group.series.add(&stats, &s.past)
	t.last = append(t.last, s)
	return true
}

func (t *Tally) snapshot() Look {
	out := Look{Series: make([]Series, 0, len(t.own)+1)}
	for _, g := range t.own {
		out.Series = append(out.Series, *g.series)
	}
	out.OtherNames = int64(len(t.groups) - len(t.own))
	if t.other.seen > 0 {
		out.Series = append(out.Series, *t.other.series)
	}
	return out
}
