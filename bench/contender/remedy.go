package contender

import (
	"fmt"
	"strings"
	"time"
)

// A Timeout is how a send of a Remedy gives up on a full channel.
type Timeout uint8

const (
	// NoTimeout waits for ever.
	NoTimeout Timeout = iota
	// TimeAfter selects on the send and time.After, as most people write it.
	TimeAfter
	// ReusedTimer selects on the send and a timer that each sender has.
	ReusedTimer
)

// SendTimeout is when a send of a [Remedy] with a Timeout gives up. It is far above the
// waits of a busy channel: what is measured is the price of being able to give up.
const SendTimeout = 100 * time.Millisecond

// A Remedy is what G. Stephens, "Go Channel Slowdown with more CPU" (2024), tried
// against contention on one built-in channel, written from its description. All
// parts go together. The zero Remedy is one built-in channel.
type Remedy struct {
	// Channels is how many built-in channels there are, each with receivers of
	// its own. 0 means 1. Each has the whole capacity.
	Channels int
	// ByClock picks the channel of each value by the clock: its nanoseconds modulo the
	// number of channels, as published. Without it each sender has one channel.
	ByClock bool
	// Scaled uses one channel at first, and one more whenever a send finds its
	// channel full. The study does not say by which rule it scales.
	Scaled bool
	// Slice, if not 0, is how many values each channel's buffer collects, under a
	// mutex, before it sends them as one slice. The mutex is held meanwhile, so
	// that values stay in order.
	Slice int
	// Timeout bounds each send by SendTimeout, so that one slow channel cannot hold
	// everything up: a send that gave up goes on with the next channel.
	Timeout Timeout
	// Locked has each sender and each receiver on a thread of its own, by
	// runtime.LockOSThread.
	Locked bool
}

// String lists the parts: "4 channels by clock, slices of 64".
func (r Remedy) String() string {
	parts := []string{"1 channel"}
	if r.Channels > 1 {
		parts[0] = fmt.Sprintf("%d channels", r.Channels)
		if r.Scaled {
			parts[0] = fmt.Sprintf("up to %d channels", r.Channels)
		}
		if r.ByClock {
			parts[0] += " by clock"
		}
	}
	if r.Slice > 0 {
		parts = append(parts, fmt.Sprintf("slices of %d", r.Slice))
	}
	switch r.Timeout {
	case TimeAfter:
		parts = append(parts, "time.After")
	case ReusedTimer:
		parts = append(parts, "reused timer")
	}
	if r.Locked {
		parts = append(parts, "locked threads")
	}
	return strings.Join(parts, ", ")
}

// Contender returns r as a contender.
func (r Remedy) Contender() Contender {
	r.Channels = max(1, r.Channels)
	c := Contender{
		Name:           "remedy: " + r.String(),
		AnyOrder:       r.Channels > 1 && (r.ByClock || r.Scaled || r.Timeout != NoTimeout),
		LeastReceivers: r.Channels,
		Make:           func(capacity int) Channel { return newByValue(r, capacity) },
	}
	if r.Slice > 0 {
		c.Note = fmt.Sprintf("one slot for each %d values of the capacity", r.Slice)
		c.Make = func(capacity int) Channel { return newBySlice(r, capacity) }
	}
	return c
}
