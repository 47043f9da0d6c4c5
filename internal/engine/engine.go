// Package engine is the contract between a kind of channel and the machinery
// behind it: what a kind asks of an engine, and the words both use.
//
// An engine lives in a package of its own (handoff, chain) and knows nothing of
// kinds; a kind chooses an engine when it is made. Nothing else belongs here.
package engine

import (
	"cmp"
	"context"
	"errors"
	"time"
)

var (
	ErrClosed   = errors.New("sluice: channel closed")
	ErrFull     = errors.New("sluice: channel full")
	ErrEmpty    = errors.New("sluice: channel empty")
	ErrTooLarge = errors.New("sluice: value larger than the byte limit")
)

// ContextError is the error of a context whose Done channel is closed: never nil,
// whatever the context of a user says.
func ContextError(ctx context.Context) error { return cmp.Or(ctx.Err(), context.Canceled) }

// An Engine is a channel without its checks of arguments: contexts are not nil,
// batches are not empty.
type Engine[T any] interface {
	Sender[T]
	Recv(ctx context.Context) (T, error)
	TryRecv() (T, error)
	RecvBatch(ctx context.Context, buf []T) (int, error)
	Ready() <-chan struct{}
	Close()
	Len() int
	Cap() int
	Stats() Stats
	// Inside is Stats and what that adds up, of one moment. Each list in it has at
	// most so many entries.
	Snapshot(most int) Snapshot
	// NewEntry returns a place for a Select that sends *value, or receives
	// into it. It is a Counter if the engine serves its waiters.
	NewEntry(value *T, sends bool) Entry
	// Blocks reports whether the overflow policy is Block.
	Blocks() bool
	// Idle reports that TrySend would have failed with ErrFull, or TryRecv
	// with ErrEmpty, at a moment during the call. It costs two loads, and
	// says false where that does not tell.
	WouldBlock(sends bool) bool
}

// A Sender is the sending half of an Engine.
type Sender[T any] interface {
	Send(ctx context.Context, v T) error
	TrySend(v T) error
	SendBatch(ctx context.Context, vs []T) (int, error)
}

// Overflow is what a send does that finds no room; the values are those of the
// public type.
type Overflow uint8

const (
	Block Overflow = iota
	Reject
	DropNewest
	DropOldest
)

// Shrink is when memory is given back; the values are those of the public type.
type Shrink uint8

const (
	ShrinkHalf Shrink = iota
	ShrinkEmpty
	NoShrink
)

// Config is what a kind tells its engine.
type Config[T any] struct {
	Name           string
	Limit          int // most values queued
	Elastic        bool
	Overflow       Overflow
	OnDrop         func(T)
	SingleSender   bool
	SingleReceiver bool
	Shrink         Shrink
	LimitBytes     int64
	Size           func(T) int
	SizeIsKnown    bool // Size is that of KnownSize
	NoHandOff      bool
	Lanes          int // 0: as many as are needed
}

// Stats has the fields of the public type, in its order, and converts to it.
type Stats struct {
	Name  string
	Len   int
	Cap   int
	Lanes int

	Sent     uint64
	Received uint64
	Dropped  uint64

	SendWaits        uint64
	RecvWaits        uint64
	SendWaitTime     time.Duration
	RecvWaitTime     time.Duration
	SendersWaiting   int
	ReceiversWaiting int

	OldestSender   time.Duration
	OldestReceiver time.Duration
	OldestValue    time.Duration

	HighWater int
	Bytes     int64
	Closed    bool

	LaneChange string

	BytesOnDisk int64
	Warning     string
}
