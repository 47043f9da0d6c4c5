package engine

import "time"

// An Inside is what a channel holds, and who waits for it, at one moment: what Stats
// adds up. What its fields mean is told at the public type.
type Snapshot struct {
	Stats              Stats
	Senders, Receivers []time.Duration
	Ready              bool
	Rings              []Ring
	Lanes              []Lane
}

// NewInside returns one with room for so many waiters on either side.
func NewSnapshot(most int) Snapshot {
	return Snapshot{Senders: make([]time.Duration, 0, most), Receivers: make([]time.Duration, 0, most)}
}

// A Ring has the fields of the public type, in its order, and converts to it.
type Ring struct{ Slots, Len, Send, Receive int }

// A Lane has the fields of the public type, in its order, and converts to it.
type Lane struct {
	Private, InUse bool
	Len, Cap       int
	HighWater      int
	Senders        int
	OldestSender   time.Duration
}
