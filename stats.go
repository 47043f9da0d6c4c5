package sluice

import "time"

// Stats is what a channel knows of itself at one moment: all fields are of the
// same moment, so Sent - Received - Dropped == Len for a buffered kind under
// any policy but DropNewest, whose dropped values were never sent.
//
// Counting is free for calls that do not wait.
type Stats struct {
	Name  string // Options.Name
	Len   int    // values queued
	Cap   int    // capacity, or limit; 0 for a Rendezvous; of a Sharded the sum over its lanes
	Lanes int    // 1 but for a Sharded

	Sent     uint64 // values accepted
	Received uint64 // values taken by receivers
	Dropped  uint64 // values discarded by DropNewest or DropOldest

	SendWaits        uint64        // times a sender parked
	RecvWaits        uint64        // times a receiver parked
	SendWaitTime     time.Duration // time senders spent parked (estimated)
	RecvWaitTime     time.Duration // time receivers spent parked (estimated)
	SendersWaiting   int           // senders parked now
	ReceiversWaiting int           // receivers parked now
	OldestSender     time.Duration // for how long the first sender in line has been waiting; 0 without one, or if it is not known
	OldestReceiver   time.Duration // and the first receiver

	// OldestValue is the age of the oldest queued value, a lower bound; 0 if it is
	// unknown or nothing is queued. It is estimated without a time stamp per value:
	// each call of Stats records how many values have been sent by then, and so does
	// a sender to a queue of 64 values or more, once in 256 values. A value is at
	// least as old as the first record that counts it. So the estimate is too low by
	// at most the time between two records, or by about a tenth of the longest wait
	// in the backlog; in a short queue that is inspected for the first time it is 0.
	// Of a Sharded it is the age of the oldest value in any lane.
	OldestValue time.Duration

	HighWater int   // the most values ever queued, of a Sharded in one lane; at most a sixteenth too low
	Bytes     int64 // memory held for queued values and for spare room; with Options.LimitBytes also what Size says
	Closed    bool

	// LaneChange says how the number of lanes changed last, and why; empty if
	// it never did, and for kinds without lanes.
	LaneChange string

	// BytesOnDisk is what a kind that keeps values on a disk uses of it.
	BytesOnDisk int64

	// Warning says what weakens the channel's promises as it is set up, in one
	// sentence; empty if nothing does.
	Warning string
}
