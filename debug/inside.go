package debug

import "time"

// An Inside is what one channel looks like inside. Each list has at most 64 entries.
type Inside struct {
	// Senders and Receivers are for how many seconds each of those in line has waited,
	// the first in line first; of a Sharded, whose senders wait in several lines, the
	// oldest first. Channel says how many there are.
	Senders   []float64 `json:"senders"`
	Receivers []float64 `json:"receivers"`
	// Ready says that somebody has called Ready: those who wait for it in a native
	// select are in no line.
	Ready bool `json:"ready"`
	// Rings are what values lie in, the one that is received from first: one for a
	// Bounded, one or more for an Elastic, none for others.
	Rings []Ring `json:"rings"`
	// Lanes are those of a Sharded, in the order in which they were opened.
	Lanes []Lane `json:"lanes"`
}

// A Ring is a circle of slots, counted from 0. There may be more of them than the
// capacity of the channel: they are a power of two.
type Ring struct {
	Slots   int `json:"slots"`
	Len     int `json:"len"`     // slots with a value
	Send    int `json:"send"`    // the slot after the last value
	Receive int `json:"receive"` // the slot of the next value received
}

// A Lane is one lane of a Sharded.
type Lane struct {
	Private      bool    `json:"private"` // of a handle; otherwise it is shared
	InUse        bool    `json:"inUse"`   // false if it was not needed lately
	Len          int     `json:"len"`
	Cap          *int    `json:"cap"` // null if unlimited
	HighWater    int     `json:"highWater"`
	Senders      int     `json:"senders"`      // parked until there is room in this lane and no other
	OldestSender float64 `json:"oldestSender"` // seconds
}

// inside looks into the channel, now. If it cannot, it tells what was seen in the last
// look.
func (s *sighting) inside(last time.Time) (at time.Time, c Channel) {
	at = time.Now()
	in, ok := s.Inside()
	if !ok {
		return last, s.channel()
	}
	now := *s
	now.stats = in.Stats
	c = now.channel()
	c.Inside = &Inside{
		Senders:   inSeconds(in.Senders),
		Receivers: inSeconds(in.Receivers),
		Ready:     in.Ready,
		Rings:     make([]Ring, 0, len(in.Rings)),
		Lanes:     make([]Lane, 0, len(in.Lanes)),
	}
	for _, r := range in.Rings {
		c.Inside.Rings = append(c.Inside.Rings, Ring(r))
	}
	for _, l := range in.Lanes {
		c.Inside.Lanes = append(c.Inside.Lanes, Lane{
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
