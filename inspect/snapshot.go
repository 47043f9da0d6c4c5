package inspect

import (
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
)

// A Snapshot is the state of a channel at one moment. Its lists have at most 64 entries.
type Snapshot struct {
	Stats sluice.Stats

	// Senders and Receivers are the waits in progress, from the head of the wait queue; in
	// a Sharded or a Priority, whose senders wait in several queues, the longest first. A goroutine that
	// has not parked yet has waited for 0. A batch that was sent or received in part waits
	// from that moment on. A Select has an entry in the queue of each of its cases. Stats
	// has the numbers of waiters.
	Senders, Receivers []time.Duration

	// Ready reports whether Ready was called: goroutines that wait for it in a native
	// select are in no wait queue, and invisible.
	Ready bool

	// Rings are the rings of slots that hold the values, in the order of receiving: one
	// for a Bounded, one or more for an Elastic, none for other kinds.
	Rings []Ring

	// Lanes are the lanes of a Sharded, in the order in which they were added, or the levels
	// of a Priority, the most urgent first.
	Lanes []Lane
}

// A Ring is a circular buffer of slots, counted from 0. Its values are in slots Receive,
// Receive+1, and so on. Slots is a power of two, and may exceed the channel's capacity.
type Ring struct {
	Slots   int
	Len     int // slots with a value
	Send    int // the slot after the last value: the next value is stored there or in the next ring
	Receive int // the slot of the next value to be received
}

// A Lane is one lane of a Sharded, or one level of a Priority.
type Lane struct {
	Private      bool // of a [sluice.Lane]; otherwise shared by all senders
	InUse        bool // false if it is not needed now: only values with keys are added to it; a level: if it is closed
	Len          int  // queued values
	Cap          int  // the limit of a lane, or of all levels together
	HighWater    int  // the maximum of Len
	Senders      int  // parked until this lane has room
	OldestSender time.Duration
}

func newSnapshot(e engine.Snapshot) Snapshot {
	s := Snapshot{
		Stats:     sluice.Stats(e.Stats),
		Senders:   e.Senders,
		Receivers: e.Receivers,
		Ready:     e.Ready,
	}
	for _, r := range e.Rings {
		s.Rings = append(s.Rings, Ring(r))
	}
	for _, l := range e.Lanes {
		s.Lanes = append(s.Lanes, Lane(l))
	}
	return s
}
