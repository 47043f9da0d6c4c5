package livepage

import "time"

// A Snapshot lists the details of one channel: its waiters, rings and lanes. Each
// list has at most 64 entries.
type Snapshot struct {
	// Senders and Receivers list how long each waiter has waited, in seconds,
	// the head of the queue first. The senders of a Sharded or a Priority wait
	// in several queues and are sorted by age. Channel reports the total number.
	Senders   []float64 `json:"senders"`
	Receivers []float64 `json:"receivers"`
	// Ready reports whether Ready has been called. Goroutines that wait for it
	// in a native select are in no queue.
	Ready bool `json:"ready"`
	// Rings lists the rings that hold values, the one received from first: one
	// for a Bounded, one or more for an Elastic, none for other kinds.
	Rings []Ring `json:"rings"`
	// Lanes lists the lanes of a Sharded in the order in which they were
	// opened, or the levels of a Priority, the most urgent first.
	Lanes []Lane `json:"lanes"`
}

// A Ring is a circular buffer; slots count from 0. The number of slots is a
// power of two and may exceed the channel's capacity.
type Ring struct {
	Slots   int `json:"slots"`
	Len     int `json:"len"`     // slots with a value
	Send    int `json:"send"`    // the slot after the last value
	Receive int `json:"receive"` // the slot of the next value received
}

// A Lane is one lane of a Sharded, or one level of a Priority.
type Lane struct {
	Private      bool    `json:"private"` // belongs to one handle; other lanes are shared
	InUse        bool    `json:"inUse"`   // false if it was not needed lately; a level: if it is closed
	Len          int     `json:"len"`
	Cap          *int    `json:"cap"` // null if unlimited
	HighWater    int     `json:"highWater"`
	Senders      int     `json:"senders"`      // senders parked for room in this lane
	OldestSender float64 `json:"oldestSender"` // seconds
}

// snapshot takes a snapshot of the channel now. If the channel is gone or does
// not support it, snapshot returns the figures of the last reading.
func (s *sighting) snapshot(last time.Time) (at time.Time, c Channel) {
	at = time.Now()
	in, ok := s.Snapshot()
	if !ok {
		return last, s.channel()
	}
	now := *s
	now.stats = in.Stats
	c = now.channel()
	c.Snapshot = &Snapshot{
		Senders:   inSeconds(in.Senders),
		Receivers: inSeconds(in.Receivers),
		Ready:     in.Ready,
		Rings:     make([]Ring, 0, len(in.Rings)),
		Lanes:     make([]Lane, 0, len(in.Lanes)),
	}
	for _, r := range in.Rings {
		c.Snapshot.Rings = append(c.Snapshot.Rings, Ring(r))
	}
	for _, l := range in.Lanes {
		c.Snapshot.Lanes = append(c.Snapshot.Lanes, Lane{
			Private: l.Private, InUse: l.InUse, Len: l.Len, Cap: limit(l.Cap), HighWater: l.HighWater,
			Senders: l.Senders, OldestSender: l.OldestSender.Seconds(),
		})
	}
	return at, c
}

func inSeconds(ages []time.Duration) []float64 {
	out := make([]float64, len(ages))
	for i, age := range ages {
		out[i] = age.Seconds()
	}
	return out
}
