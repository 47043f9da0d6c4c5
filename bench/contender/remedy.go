package contender

import (
	"fmt"
	"time"
)

// A Timeout is the way in which a send of a Remedy gives up on a full channel.
type Timeout uint8

const (
	// NoTimeout waits forever.
	NoTimeout Timeout = iota
	// TimeAfter selects on the send and time.After, the common idiom.
	TimeAfter
	// ReusedTimer selects on the send and a timer owned by the sender.
	ReusedTimer
)

// SendTimeout is the timeout of a send of a [Remedy]. It is far above the waits
// of a busy channel: the benchmark measures the price of being able to give up.
const SendTimeout = 100 * time.Millisecond

// A Remedy is one of the measures that G. Stephens, "Go Channel Slowdown with
// more CPU" (2024), tried against contention on one built-in channel, written
// from its description. All fields can be combined. The zero Remedy is one
// built-in channel.
type Remedy struct {
	// Channels is the number of built-in channels, each with receivers of its
	// own. 0 means 1. Each has the full capacity.
	Channels int
	// ByClock picks the channel of each value by the clock: its nanoseconds
	// modulo the number of channels, as published. Otherwise each sender has
	// one channel.
	ByClock bool
	// Scaled starts with one channel and adds one whenever a send finds its
	// channel full. The study does not state its scaling rule.
	Scaled bool
	// Slice, if not 0, is the number of values that each channel's buffer
	// collects, under a mutex, before it sends them as one slice. The mutex is
	// held during the send, so that values stay in order.
	Slice int
	// Timeout bounds each send by SendTimeout, so that one slow channel cannot
	// block the sender: a send that timed out tries the next channel.
	Timeout Timeout
	// Locked runs each sender and each receiver on its own thread, by
	// runtime.LockOSThread.
	Locked bool
}

// Contender returns r as a contender.
func (r Remedy) Contender() Contender {
	r.Channels = max(1, r.Channels)
	c := Contender{
		Name:           fmt.Sprintf("remedy %+v", r),
		AnyOrder:       r.Channels > 1 && (r.ByClock || r.Scaled || r.Timeout != NoTimeout),
		LeastReceivers: r.Channels,
		LoopsOnly:      r.Channels > 1 || r.Slice > 0,
		Make:           func(capacity int) Channel { return newByValue(r, capacity) },
	}
	if r.Slice > 0 {
		c.Make = func(capacity int) Channel { return newBySlice(r, capacity) }
	}
	return c
}
