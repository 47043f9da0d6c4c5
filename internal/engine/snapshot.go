package engine

import (
	"cmp"
	"slices"
	"time"
)

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

// The senders of a channel may wait in several queues. To keep the longest waits among all of them, a
// slice has room for twice the result: the ages of one more queue go into its spare
// half, and then the older half of all is kept.

// SpareHalf returns the spare half, for the ages of another queue.
func SpareHalf(kept []time.Duration) []time.Duration {
	return kept[len(kept) : len(kept) : len(kept)+cap(kept)/2]
}

// Longest keeps the older half of kept and more, which is in the spare half.
func Longest(kept, more []time.Duration) []time.Duration {
	if len(more) == 0 {
		return kept
	}
	all := kept[:len(kept)+len(more)]
	slices.SortFunc(all, func(a, b time.Duration) int { return cmp.Compare(b, a) })
	return all[:min(len(all), cap(all)/2)]
}
