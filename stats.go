package sluice

import "time"

// Stats are the counters of a channel, consistent at one moment: for every kind with a
// buffer Sent - Received - Dropped == Len, except under DropNewest, where Sent does not
// count the values that the policy dropped, so Sent - Received - TooOld == Len. Counting is
// free for calls that do not wait.
type Stats struct {
	Name  string // the name in the options
	Len   int    // queued values
	Cap   int    // capacity or limit; 0 for a Rendezvous; for a Sharded the sum over its lanes
	Lanes int    // 1, except for a Sharded

	Sent     uint64 // values accepted
	Received uint64 // values received, canceled, or removed by Discard
	Dropped  uint64 // values discarded by DropNewest, DropOldest or DropLeastUrgent, and TooOld; sends that failed are not counted
	TooOld   uint64 // values dropped because they were older than MaxAge

	SendWaits        uint64        // times a sender parked
	RecvWaits        uint64        // times a receiver parked
	SendWaitTime     time.Duration // total time senders spent parked, estimated
	RecvWaitTime     time.Duration // total time receivers spent parked, estimated
	SendersWaiting   int           // senders parked now
	ReceiversWaiting int           // receivers parked now
	OldestSender     time.Duration // wait of the sender at the head of the wait queue; 0 if none or unknown; may be too low, as below
	OldestReceiver   time.Duration // wait of the receiver at the head of the wait queue; 0 if none; in a channel without a name, a wait under way at the first call counts from that call

	// OldestValue is the age of the oldest queued value, estimated and never too high.
	// It is 0 if nothing is queued. The first call of Stats may return 0 for fewer than
	// 320 values, and for more is too low by up to about a tenth of the longest wait.
	// Called once per second, it is too low by at most about a second. For a Sharded it
	// is the maximum over its lanes, for a Priority over its levels. With MaxAge or StaleAfter it
	// is exact.
	OldestValue time.Duration

	HighWater int // high-water mark of Len, at most 1/16 too low; for a Sharded, the maximum of any one lane

	// Bytes is the memory of the slots, used and spare. With LimitBytes, and values that differ in
	// size, the sizes are added: those of a Size function include the values in the slots, so
	// Bytes may be above LimitBytes by the memory of the slots.
	Bytes int64

	Closed bool

	// LaneChange is the last change of the number of lanes, and its reason. It is empty if
	// there was none, and for kinds without lanes.
	LaneChange string

	// BytesOnDisk is the disk space in use, for kinds that keep values on disk.
	BytesOnDisk int64

	// Warning is one sentence about what weakens the channel's guarantees as it is now
	// configured; empty if nothing does.
	Warning string
}
