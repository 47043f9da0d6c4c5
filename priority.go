package sluice

import (
	"context"
	"fmt"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/priority"
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
// # Order and limit
//
// The values of one level arrive in the order in which they were sent. The limit is the most
// values that are queued on all levels together. When there is room again, the goroutine that
// has waited longest on the most urgent level is woken, with the same rule for a level that
// was passed over. The methods that every kind has are documented at [Bounded].
type Priority[T any] struct {
	channel[T]
	levels []Level[T]
}

// NewPriority returns an empty Priority with the given number of levels, 1 to 64, that
// queues at most limit values; write [Unlimited] if memory is the only limit. A number out
// of range, and options that make no sense, panic.
//
// A level takes memory as values are queued on it. It keeps up to 1024 slots; of more, it
// gives back what is more than four times its queue.
func NewPriority[T any](levels, limit int, o *PriorityOptions[T]) *Priority[T] {
	const function = "NewPriority"
	if levels < 1 || levels > priority.MaxLevels {
		refuse(function, "levels must be from 1 to %d (got %d)", priority.MaxLevels, levels)
	}
	requireLimit(function, "limit", limit, 1)
	p := &Priority[T]{levels: make([]Level[T], levels)}
	p.channel = newChannel(o.config(limit), o.undelivered(), func(c engine.Config[T]) engine.Engine[T] {
		e := priority.New(o.extend(c, levels))
		for i := range p.levels {
			p.levels[i].engine = priority.LevelAt(e, i)
		}
		return registry.Engine("Priority", c, e)
	})
	return p
}

func (p *Priority[T]) engineOf() (self, engine any) {
	if p == nil {
		return p, nil
	}
	return p, p.engine
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
	engine *priority.Level[T] // nil in a zero value
}

func (l *Level[T]) engineOf() (self, engine any) {
	if l == nil || l.engine == nil {
		return l, nil
	}
	return l, l.engine
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

func (l *Level[T]) made() *priority.Level[T] {
	if l.engine == nil {
		panic(zeroLevel)
	}
	return l.engine
}

// defaultMaxPassed is PriorityOptions.MaxPassed if that is 0.
const defaultMaxPassed = 16

func (o *PriorityOptions[T]) config(limit int) engine.Config[T] {
	if o == nil {
		return engine.Config[T]{Limit: limit}
	}
	const function = "NewPriority"
	drops := o.Overflow == DropNewest || o.Overflow == DropLeastUrgent
	switch {
	case o.Overflow > DropLeastUrgent:
		refuse(function, "unknown policy %v (want Block, Reject, DropNewest or DropLeastUrgent)", o.Overflow)
	case o.Overflow == DropOldest:
		refuse(function, "DropOldest would discard the most urgent value; use DropLeastUrgent")
	case o.OnDrop != nil && !drops:
		refuse(function, "OnDrop requires DropNewest or DropLeastUrgent (got %v, which drops nothing)", o.Overflow)
	case o.MaxPassed < 0:
		refuse(function, "MaxPassed must not be negative (got %d)", o.MaxPassed)
	}
	return withPolicy(function, engine.Config[T]{Name: o.Name, Limit: limit}, o.Overflow, o.OnDrop, o.OnUndelivered)
}

// extend adds what only the engine of a Priority reads.
func (o *PriorityOptions[T]) extend(c engine.Config[T], levels int) priority.Config[T] {
	p := priority.Config[T]{Config: c, Levels: levels, MaxPassed: defaultMaxPassed}
	if o == nil {
		return p
	}
	p.LevelOf = o.LevelOf
	if o.MaxPassed > 0 {
		p.MaxPassed = uint64(o.MaxPassed)
	}
	return p
}
