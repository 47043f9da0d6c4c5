package sluice

import (
	"fmt"

	"github.com/sluice-go/sluice/internal/engine"
)

// Options are the choices that have a default. A nil *Options means all
// defaults. The constructors copy what they need: an Options value may be
// changed and used again. A combination that makes no sense for the kind panics
// in the constructor.
type Options[T any] struct {
	// Name is shown in Stats, and has [Channels] list the channel. It need not
	// be unique. Empty is no name.
	Name string

	// Overflow says what a send does that finds no room. The default is Block.
	Overflow Overflow

	// OnDrop, if set, is called exactly once with each value that DropNewest
	// or DropOldest discards, by the goroutine whose Send discarded it, before
	// that Send returns and with no lock held: it may use the channel. If it
	// panics, so does the Send; what that call had yet to report stays unseen.
	OnDrop func(v T)

	// SingleSender promises that at no time two goroutines send at once
	// (Send, TrySend and SendBatch together; Close is free). SingleReceiver
	// promises the same of receiving. The promises make the channel cheaper.
	// A program built with -race or -tags sluicecheck panics when it breaks
	// one; otherwise a broken promise loses or duplicates values.
	SingleSender   bool
	SingleReceiver bool

	// Shrink says when an Elastic, or a lane of a Sharded, gives memory back. The default is ShrinkHalf.
	Shrink ShrinkMode

	// LimitBytes bounds the sum of Size over the values queued in an Elastic,
	// besides its limit in values. 0 means no such bound. Size must be set with
	// it; it is called once a value, by the sender (a Select that does not
	// send at once calls it again), and must not be negative nor use the
	// channel. Only for []byte and string it may be nil, which costs less than a
	// call: then they count what they hold, capacity or length, and what points to
	// it; a slice that is above the limit by its capacity alone counts as the limit.
	// With Reject the limit is cheap, and a value may be refused that would have
	// left up to a 256th of LimitBytes free.
	LimitBytes int64
	Size       func(v T) int

	// Lanes is the number of lanes of a Sharded. 0 stands for as many as are
	// needed: one, and more while senders get into each other's way, up to the
	// GOMAXPROCS at the time it is made.
	Lanes int

	// NoHandOff makes a Rendezvous or a small Bounded wake a waiting goroutine
	// and let it look again, instead of handing the value over directly. It is
	// there to measure what the hand-off is worth, and costs speed.
	NoHandOff bool
}

// Overflow is what a send does that finds no room.
type Overflow uint8

const (
	// Block waits for room. TrySend fails with ErrFull.
	Block Overflow = iota
	// Reject fails with ErrFull at once.
	Reject
	// DropNewest discards the value being sent. The send succeeds.
	DropNewest
	// DropOldest discards the value that would have been received next, and
	// sends in its place. The send succeeds. With capacity 1 this makes a
	// mailbox that holds the freshest value.
	DropOldest
)

var overflowNames = [...]string{"Block", "Reject", "DropNewest", "DropOldest"}

func (o Overflow) String() string {
	if int(o) < len(overflowNames) {
		return overflowNames[o]
	}
	return fmt.Sprintf("Overflow(%d)", uint8(o))
}

// ShrinkMode is when an Elastic gives back memory that it does not need now.
type ShrinkMode uint8

const (
	// ShrinkHalf keeps at most as much spare memory as the queued values
	// occupy, so that at least half of what is held is in use, but for a
	// first few KiB. A queue that goes from empty to more than that and back
	// takes the memory anew each time: NoShrink spares it that.
	ShrinkHalf ShrinkMode = iota
	// ShrinkEmpty keeps all memory until the channel is empty.
	ShrinkEmpty
	// NoShrink keeps all memory as long as the channel lives.
	NoShrink
)

var shrinkNames = [...]string{"ShrinkHalf", "ShrinkEmpty", "NoShrink"}

func (m ShrinkMode) String() string {
	if int(m) < len(shrinkNames) {
		return shrinkNames[m]
	}
	return fmt.Sprintf("ShrinkMode(%d)", uint8(m))
}

// config checks o for the kind that the constructor named function makes, and
// turns it into what an engine reads.
func (o *Options[T]) config(function string, limit int) engine.Config[T] {
	if o == nil {
		return engine.Config[T]{Limit: limit}
	}
	refuse := func(format string, args ...any) {
		panic("sluice: " + function + ": " + fmt.Sprintf(format, args...))
	}
	elastic := function == "NewElastic"
	sharded := function == "NewSharded"
	size := o.Size
	if o.LimitBytes > 0 && size == nil {
		size = engine.KnownSize[T](o.LimitBytes)
	}
	switch {
	case int(o.Overflow) >= len(overflowNames):
		refuse("Overflow is %v, which is no policy", o.Overflow)
	case int(o.Shrink) >= len(shrinkNames):
		refuse("Shrink is %v, which is no mode", o.Shrink)
	case limit == 0 && o.Overflow == DropOldest:
		refuse("Overflow is DropOldest, but there is no buffer to drop from")
	case o.OnDrop != nil && o.Overflow != DropNewest && o.Overflow != DropOldest:
		refuse("OnDrop is set, but Overflow is %v, which drops nothing", o.Overflow)
	case !elastic && !sharded && o.Shrink != ShrinkHalf:
		refuse("Shrink is %v, but only an Elastic and the lanes of a Sharded shrink", o.Shrink)
	case !elastic && o.LimitBytes != 0:
		refuse("LimitBytes is %d, but only an Elastic has a limit in bytes", o.LimitBytes)
	case !elastic && o.Size != nil:
		refuse("Size is set, but only an Elastic has a limit in bytes")
	case o.LimitBytes < 0:
		refuse("LimitBytes is %d, below 1", o.LimitBytes)
	case o.LimitBytes > 0 && size == nil:
		refuse("LimitBytes is %d, but Size is nil, and the values are neither []byte nor string", o.LimitBytes)
	case o.LimitBytes == 0 && o.Size != nil:
		refuse("Size is set, but LimitBytes is 0")
	case (elastic || sharded) && o.NoHandOff:
		refuse("NoHandOff is set, but there is no hand-off to leave out")
	case !sharded && o.Lanes != 0:
		refuse("Lanes is %d, but only a Sharded has lanes", o.Lanes)
	case o.Lanes < 0 || o.Lanes > maxLanes:
		refuse("Lanes is %d, not from 0 to %d", o.Lanes, maxLanes)
	case sharded && o.SingleSender:
		refuse("SingleSender is set, but many senders are what lanes are for")
	}
	return engine.Config[T]{
		Name:           o.Name,
		Limit:          limit,
		Elastic:        elastic,
		Overflow:       engine.Overflow(o.Overflow),
		OnDrop:         o.OnDrop,
		SingleSender:   o.SingleSender,
		SingleReceiver: o.SingleReceiver,
		Shrink:         engine.Shrink(o.Shrink),
		LimitBytes:     o.LimitBytes,
		Size:           size,
		SizeIsKnown:    o.LimitBytes > 0 && o.Size == nil,
		NoHandOff:      o.NoHandOff,
		Lanes:          o.Lanes,
	}
}

// requirePositive panics, in the name of function, if value is below 1.
func requirePositive(function, what string, value int) {
	if value < 1 {
		panic(fmt.Sprintf("sluice: %s: %s is %d, below 1", function, what, value))
	}
}
