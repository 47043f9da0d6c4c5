// Package engine is the contract between the kinds of channels and their engines: the
// interface of an engine, and the types and errors that both use.
//
// Each engine is a package of its own (locked, segqueue, shard) that does not
// depend on kinds. A kind chooses its engine when a channel is made.
package engine

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-go/sluice/internal/age"
	"github.com/sluice-go/sluice/internal/callsite"
)

var (
	ErrClosed   = errors.New("sluice: channel closed")
	ErrFull     = errors.New("sluice: channel full")
	ErrEmpty    = errors.New("sluice: channel empty")
	ErrTooLarge = errors.New("sluice: larger than the limit")
)

// An Engine is a channel that does not check arguments: contexts are not nil,
// batches are not empty.
//
// A type around an engine has it in a named field. Of an embedded one each method is promoted, the
// private ones too, and compiled up to four times more for each element type of each program.
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
	// Snapshot returns Stats and the details behind them, a consistent view. Each
	// list in it has at most n elements.
	Snapshot(n int) Snapshot
	// NewEntry returns an entry for a Select that sends *value or receives into it.
	// It is a HandoffEntry if the engine completes the operations of its waiters.
	NewEntry(value *T, sends bool) Entry
	// Overflow returns the overflow policy.
	Overflow() Overflow
	// Sites returns Config.Sites.
	Sites() *callsite.Sites
	// WouldBlock reports that TrySend(*v), or TryRecv if v is nil, would have failed
	// with ErrFull or ErrEmpty at a moment during the call. If two calls report that
	// with equal marks, it would have failed at every moment between the two calls.
	// The policy of an engine that is asked about a send is Block.
	WouldBlock(v *T) (Mark, bool)
}

// A Mark identifies a state of an engine: see Engine.WouldBlock. It is a sum of counters
// that never fall, so a state has the same mark only if none has changed in between.
type Mark uint64

// A Sender is the sending half of an Engine.
type Sender[T any] interface {
	Send(ctx context.Context, v T) error
	TrySend(v T) error
	SendBatch(ctx context.Context, vs []T) (int, error)
}

// Overflow is the policy for a send without room. Its values equal the public ones.
type Overflow uint8

const (
	Block Overflow = iota
	Reject
	DropNewest
	DropOldest
	DropLeastUrgent
	Evict
)

// Shrink is the policy for freeing memory. Its values equal the public ones.
type Shrink uint8

const (
	ShrinkHalf Shrink = iota
	ShrinkEmpty
	NoShrink
)

// Config configures an engine. Its fields of one byte are together, which saves two words
// in each engine that keeps it.
type Config[T any] struct {
	Name           string
	Limit          int // of queued values
	Elastic        bool
	Overflow       Overflow
	SingleSender   bool
	SingleReceiver bool
	Shrink         Shrink
	SizeIsKnown    bool // Size is the result of KnownSize
	Size           func(T) int
	MaxBytes       int64
	OnDrop         func(T)
	Lanes          int             // 0: adaptive
	Sites          *callsite.Sites // nil without a name
}

// Stats has the fields of the public type in the same order, and converts to it.
type Stats struct {
	Name string
	Len  int
	Cap  int

	Sent     uint64
	Received uint64
	Dropped  uint64
	Rejected uint64

	SendWaits uint64
	RecvWaits uint64

	OldestValue   time.Duration
	OldestAtLeast time.Duration
	OldestAtMost  time.Duration

	HighWater int
	Bytes     int64
	Closed    bool

	SendWaitTime     time.Duration
	RecvWaitTime     time.Duration
	SendersWaiting   int
	ReceiversWaiting int
	OldestSender     time.Duration
	OldestReceiver   time.Duration

	TooOld uint64

	Lanes struct {
		Count  int
		Change string
	}
	Disk struct {
		Bytes   int64
		Warning string
	}
}

// Oldest returns the age of the oldest queued value.
func (s *Stats) Oldest() age.Age {
	return age.Age{Estimate: s.OldestValue, AtLeast: s.OldestAtLeast, AtMost: s.OldestAtMost}
}

// Older makes a the age of the oldest queued value, if that is not older.
func (s *Stats) Older(a age.Age) {
	a = s.Oldest().Older(a)
	s.OldestValue, s.OldestAtLeast, s.OldestAtMost = a.Estimate, a.AtLeast, a.AtMost
}
