package sluice

import (
	"cmp"
	"context"
	"fmt"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/locked"
	"github.com/sluice-go/sluice/internal/registry"
)

// A Priority is a queue with levels of urgency. Level 0 is the most urgent. A receive takes
// the oldest value of the most urgent level that has one:
//
//	jobs := sluice.NewPriority[Job](3, 1024, nil)
//	err := jobs.Level(0).Send(ctx, job) // ahead of levels 1 and 2
//	next, err := jobs.Recv(ctx)
//
// Send, TrySend and SendBatch of the Priority itself send on the level that
// [PriorityOptions.LevelOf] returns, or else on the last, least urgent level. Level returns
// the sending end of one level, which is a [Sender] of its own.
//
// # Starvation
//
// No value waits forever behind more urgent ones: a level that has values is passed over at
// most n = MaxPassed + levels - 1 times in a row, whatever is sent on other levels, and then
// its oldest value is received. MaxPassed is an option, 16 if it is not set. So a value with p
// values ahead of it on its own level is received after at most p + (p+1)*n others. And so
// urgent values have to share: of MaxPassed+1 receives in a row, at most one takes from each
// other level out of turn.
//
// # Order and capacity
//
// The values of one level arrive in the order in which they were sent. The capacity is the
// most values that are queued on all levels together. When there is room again, the goroutine that
// has waited longest on the most urgent level is woken, with the same rule for a level that
// was passed over. The methods that every kind has are documented at [Bounded].
type Priority[T any] struct {
	channel[T]
	levels []Level[T]
}

// defaultMaxPassed is PriorityOptions.MaxPassed if that is 0.
const defaultMaxPassed = 16

// PriorityOptions are the optional settings of a [Priority]. Nil selects the defaults. The
// constructor copies them.
type PriorityOptions[T any] struct {
	// Name is reported by Stats, and registers the channel with package inspect. It
	// need not be unique. A channel without a name is not registered.
	Name string

	// Overflow is what a send does while the channel is full: Block (the default),
	// Reject, DropNewest or DropLeastUrgent. DropOldest panics: the value that would be
	// received next is an urgent one.
	Overflow Overflow

	// OnUndelivered is called exactly once with each value that no receiver will get, and the
	// reason: see [Reason].
	OnUndelivered func(v T, why Reason)

	// LevelOf returns the level on which Send, TrySend and SendBatch of the Priority send v,
	// from 0, the most urgent. If it is nil, they send on the last level. The sender calls it
	// before it sends, and a Select when it tries and before it waits; any other result panics. The
	// methods of a Level do not call it.
	LevelOf func(v T) int

	// MaxPassed is how often a level that has values may be passed over before it is due.
	// With 0 it is 16. The smaller it is, the sooner less urgent values are received, and the
	// more urgent ones they delay. With [Unlimited], less urgent values may wait forever.
	MaxPassed int
}

// NewPriority returns an empty Priority with the given number of levels, 1 to 64, that
// queues at most capacity values; write [Unlimited] if memory is the only limit. A number out
// of range, and options that make no sense, panic.
//
// A level takes memory as values are queued on it. It keeps up to 1024 slots; of more, it
// gives back what is more than four times its queue.
func NewPriority[T any](levels, capacity int, o *PriorityOptions[T]) *Priority[T] {
	const function = "NewPriority"
	if levels < 1 || levels > locked.MaxLevels {
		refuse(function, "levels must be from 1 to %d (got %d)", locked.MaxLevels, levels)
	}
	requireCapacity(function, capacity, 1)
	if o == nil {
		o = new(PriorityOptions[T])
	}
	requireOverflow(function, o.Overflow, DropNewest, DropLeastUrgent)
	if o.MaxPassed < 0 {
		refuse(function, "MaxPassed must not be negative (got %d)", o.MaxPassed)
	}
	maxPassed, levelOf := uint64(cmp.Or(o.MaxPassed, defaultMaxPassed)), o.LevelOf
	p := &Priority[T]{levels: make([]Level[T], levels)}
	p.open(p, o.OnUndelivered, engine.Config[T]{
		Name: o.Name, Limit: capacity, Overflow: engine.Overflow(o.Overflow),
	}, func(c engine.Config[T]) engine.Engine[T] {
		e := locked.NewPriority(c, locked.Urgency[T]{Levels: levels, MaxPassed: maxPassed, LevelOf: levelOf})
		for i := range p.levels {
			l := &p.levels[i]
			l.engine = locked.LevelAt(e, i)
			engine.Own(&l.owner, l, l.engine)
		}
		return registry.Engine("Priority", c, e)
	})
	return p
}

// Level returns the sending end of level i, from 0, the most urgent, to the number of levels
// less 1. It always returns the same Level for the same i, and panics if there is no such
// level.
func (p *Priority[T]) Level(i int) *Level[T] {
	p.made()
	if i < 0 || i >= len(p.levels) {
		panic(fmt.Sprintf("sluice: Level: no level %d in a Priority with levels 0 to %d", i, len(p.levels)-1))
	}
	return &p.levels[i]
}

// Levels returns the number of levels.
func (p *Priority[T]) Levels() int { return len(p.levels) }

// A Level is a [BatchSender] into one level of a [Priority]. Any number of goroutines may
// use it. [OnSend] accepts it.
type Level[T any] struct {
	engine *locked.Level[T] // nil in a zero value
	owner
}

// Send sends v on this level, like [Bounded.Send].
func (l *Level[T]) Send(ctx context.Context, v T) error {
	if ctx == nil {
		panic("sluice: Send: nil context")
	}
	if l.engine == nil {
		panic(zeroLevel)
	}
	return l.engine.Send(ctx, v)
}

// TrySend sends v if it can do so without waiting. Otherwise it fails with [ErrFull] or
// [ErrClosed].
func (l *Level[T]) TrySend(v T) error {
	if l.engine == nil {
		panic(zeroLevel)
	}
	return l.engine.TrySend(v)
}

// SendBatch sends the values of vs on this level, in order, like [Bounded.SendBatch].
func (l *Level[T]) SendBatch(ctx context.Context, vs []T) (n int, err error) {
	if ctx == nil {
		panic("sluice: SendBatch: nil context")
	}
	if len(vs) == 0 {
		return 0, nil
	}
	return l.made().SendBatch(ctx, vs)
}

// Len returns the number of values queued on this level, exact at one moment during the call.
func (l *Level[T]) Len() int { return l.made().Len() }

// Close closes this level: sends on it fail, waiting ones included, and what was sent can
// still be received. The other levels stay open; with the last one the Priority is closed.
// Close of the Priority closes all levels. Close is idempotent.
func (l *Level[T]) Close() { l.made().Close() }

// zeroLevel is the panic of a Level that no Priority has made.
const zeroLevel = "sluice: the Level is a zero value; get it from Priority.Level"

func (l *Level[T]) made() *locked.Level[T] {
	if l.engine == nil {
		panic(zeroLevel)
	}
	return l.engine
}
