package sluice

import (
	"fmt"
	"slices"
	"strings"
)

// Overflow is what a send does when there is no room for its value: it waits ([Block]), fails
// ([Reject]), discards the new value ([DropNewest]), the oldest ([DropOldest]) or the least urgent
// one ([DropLeastUrgent], only in a [Priority]), or ends the subscription of package hub that is too
// slow ([Evict]).
type Overflow uint8

const (
	// Block waits for room. TrySend fails with ErrFull.
	Block Overflow = iota
	// Reject fails with ErrFull immediately.
	Reject
	// DropNewest discards the value being sent. The send succeeds.
	DropNewest
	// DropOldest discards the value that would have been received next, and queues the new
	// value. The send succeeds. With capacity 1 the channel holds the latest value.
	DropOldest
	// DropLeastUrgent discards the value that would be received last: the newest one of the
	// least urgent level, which may be the one being sent. The send succeeds. Only a
	// [Priority] has it.
	DropLeastUrgent
	// Evict ends the subscription that has no room. The send succeeds. Only a subscription of
	// package hub has it.
	Evict
)

var overflowNames = [...]string{"Block", "Reject", "DropNewest", "DropOldest", "DropLeastUrgent", "Evict"}

// String returns the name of the policy.
func (o Overflow) String() string {
	if int(o) < len(overflowNames) {
		return overflowNames[o]
	}
	return fmt.Sprintf("Overflow(%d)", uint8(o))
}

// ShrinkMode is when an [Elastic], or a lane of a [Sharded], gives memory back that it
// does not need now. A [Bounded] keeps its slots.
type ShrinkMode uint8

const (
	// ShrinkHalf keeps at most as much spare memory as the queued values occupy, except
	// for the first few KiB: at least half of the memory held is in use. A queue that
	// swings between empty and more than a few KiB allocates again each time; NoShrink
	// avoids it.
	ShrinkHalf ShrinkMode = iota
	// ShrinkEmpty keeps all memory until the channel is empty.
	ShrinkEmpty
	// NoShrink keeps all memory as long as the channel lives.
	NoShrink
)

var shrinkNames = [...]string{"ShrinkHalf", "ShrinkEmpty", "NoShrink"}

// String returns the name of the mode.
func (m ShrinkMode) String() string {
	if int(m) < len(shrinkNames) {
		return shrinkNames[m]
	}
	return fmt.Sprintf("ShrinkMode(%d)", uint8(m))
}

// refuse panics on behalf of a constructor that was given what makes no sense.
func refuse(function, format string, args ...any) {
	panic("sluice: " + function + ": " + fmt.Sprintf(format, args...))
}

// requireOverflow panics if the kind has no policy o. Each kind has Block and Reject; drops are
// its other ones.
func requireOverflow(function string, o Overflow, drops ...Overflow) {
	if o == Block || o == Reject || slices.Contains(drops, o) {
		return
	}
	names := []string{Block.String(), Reject.String()}
	for _, d := range drops {
		names = append(names, d.String())
	}
	last := len(names) - 1
	refuse(function, "Overflow must be %s or %s (got %v)", strings.Join(names[:last], ", "), names[last], o)
}

func requireShrink(function string, m ShrinkMode) {
	if int(m) >= len(shrinkNames) {
		refuse(function, "Shrink must be ShrinkHalf, ShrinkEmpty or NoShrink (got %v)", m)
	}
}

// requireCapacity panics if capacity is below least.
func requireCapacity(function string, capacity, least int) {
	if capacity < least {
		refuse(function, "capacity must be at least %d (got %d)", least, capacity)
	}
}
