package engine

import "time"

// A Snapshot describes a channel at one moment: Stats and the details behind them.
// The fields are documented at the public type.
type Snapshot struct {
	Stats              Stats
	Senders, Receivers []time.Duration
	Ready              bool
	Rings              []Ring
	Lanes              []Lane
}

// NewSnapshot returns a Snapshot with room for n waiters on either side.
func NewSnapshot(n int) Snapshot {
	return Snapshot{Senders: make([]time.Duration, 0, n), Receivers: make([]time.Duration, 0, n)}
}

// A Ring has the fields of the public type in the same order, and converts to it.
type Ring struct{ Slots, Len, Send, Receive int }

// A Lane has the fields of the public type in the same order, and converts to it.
type Lane struct {
	Private, InUse bool
	Len, Cap       int
	HighWater      int
	Senders        int
	OldestSender   time.Duration
}
