package sluice

import "time"

// Stats are the counters of a channel, consistent at one moment: for every kind with a
// buffer Sent - Received - Dropped == Len, except under DropNewest, where Sent does not
// count the values that the policy dropped, so Sent - Received - TooOld == Len. Counting is
// free for calls that do not wait.
type Stats struct {
	Name string // the name in the options
	Len  int    // queued values
	Cap  int    // capacity; 0 for a Rendezvous; for a Sharded the sum over its lanes

	Sent     uint64 // values accepted
	Received uint64 // values received, canceled, or removed by Discard
	Dropped  uint64 // values discarded by DropNewest, DropOldest or DropLeastUrgent, and TooOld
	Rejected uint64 // calls of TrySend, and under Reject of Send and SendBatch, that failed with ErrFull

	SendWaits uint64 // times a sender parked
	RecvWaits uint64 // times a receiver parked

	// OldestValue is the age of the oldest queued value; it is exact in an Aged. It is 0 if
	// nothing is queued, and if the age is unknown: then OldestAtMost is not 0.
	//
	// The other kinds keep no time per value. There the age is between OldestAtLeast and
	// OldestAtMost, which is math.MaxInt64 without a bound. They are apart by the time between
	// two calls of Stats, or a tenth of the age. OldestValue is an estimate between them, for
	// a steady rate of sends. It is unknown if they differ by more than a factor of two and
	// fewer values were received in the last two minutes than are queued.
	OldestValue   time.Duration
	OldestAtLeast time.Duration
	OldestAtMost  time.Duration

	HighWater int // high-water mark of Len, at most 1/16 too low; for a Sharded, the maximum of any one lane

	// Bytes is the memory of the slots, used and spare. With MaxBytes, and values that differ in
	// size, the sizes are added. A Size function includes the values in the slots, so
	// Bytes may be above MaxBytes by the memory of the slots.
	Bytes int64

	Closed bool

	// More about waits.
	SendWaitTime     time.Duration // total time senders spent parked, estimated
	RecvWaitTime     time.Duration // total time receivers spent parked, estimated
	SendersWaiting   int           // senders parked now
	ReceiversWaiting int           // receivers parked now
	OldestSender     time.Duration // wait of the sender at the head of the wait queue; a lower bound; 0 if none or unknown
	OldestReceiver   time.Duration // wait of the receiver at the head of the wait queue; 0 if none; in a channel without a name, a wait under way at the first call counts from that call

	TooOld uint64 // values that were older than MaxAge

	// Lanes is about the lanes of a Sharded.
	Lanes struct {
		Count  int    // 0 for kinds without lanes
		Change string // the last change of Count, and its reason; empty if there was none
	}

	// Disk is about kinds that keep values outside the process: on disk, or on servers.
	Disk struct {
		Bytes   int64  // the space in use
		Warning string // one sentence about what weakens the guarantees now; empty if nothing does
	}
}
