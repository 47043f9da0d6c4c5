package sluice

import (
	"time"

	"github.com/sluice-go/sluice/internal/engine"
)

// An Inside is what a channel looks like inside at one moment: what its [Stats] add
// up. A list in it has at most 64 entries.
type Inside struct {
	Stats Stats

	// Senders and Receivers are for how long each of those in line has been waiting,
	// the first in line first; of a Sharded, whose senders wait in several lines, the
	// oldest first. One who has just come has been waiting for 0. Who got a part of a
	// batch through waits for the rest from then on. A Select waits in the line of each
	// of its cases. Stats says how many there are.
	Senders, Receivers []time.Duration

	// Ready says that somebody has called Ready: those who wait at what it returned,
	// in a native select, are in no line and are not seen.
	Ready bool

	// Rings are the rings of slots that values lie in, the one that is received from
	// first: one for a Bounded, none for a Rendezvous and a Sharded; of an Elastic one
	// or more, as it is long.
	Rings []Ring

	// Lanes are those of a Sharded, in the order in which they were opened. Other kinds
	// have none.
	Lanes []LaneInside
}

// A Ring is a circle of slots, counted from 0. The values in it are in slots Receive,
// Receive+1, and so on. That many slots are a power of two, and may be more than the
// capacity of the channel.
type Ring struct {
	Slots   int
	Len     int // slots with a value
	Send    int // the slot after the last value: the next one sent goes there, or into the ring after this
	Receive int // the slot of the next value received
}

// A LaneInside is what one lane of a Sharded looks like.
type LaneInside struct {
	Private      bool // of a [Lane]; otherwise it is shared by all who send without
	InUse        bool // false if it was not needed lately: no new values but those of keys come to it
	Len          int  // values queued
	Cap          int  // the limit of a lane
	HighWater    int  // the most values ever queued
	Senders      int  // parked until there is room in this lane and no other
	OldestSender time.Duration
}

// Inside is that of the channel. It holds up senders and receivers for as long as
// Stats does, and a little longer where many wait. ok is false if the channel is
// garbage by now, for the zero Named, and for a channel that [Enlist] listed: of
// those there are only [Named.Stats].
func (n Named) Inside() (inside Inside, ok bool) {
	if n.inside == nil {
		return Inside{}, false
	}
	return n.inside()
}

// most is how many entries a list of an Inside has at most.
const most = 64

func insideOf(e engine.Snapshot) Inside {
	out := Inside{
		Stats:     Stats(e.Stats),
		Senders:   e.Senders,
		Receivers: e.Receivers,
		Ready:     e.Ready,
	}
	for _, r := range e.Rings {
		out.Rings = append(out.Rings, Ring(r))
	}
	for _, l := range e.Lanes {
		out.Lanes = append(out.Lanes, LaneInside(l))
	}
	return out
}
