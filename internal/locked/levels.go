package locked

import (
	"context"
	"fmt"
	"math/bits"
	"time"

	"github.com/sluice-go/sluice/internal/age"
	"github.com/sluice-go/sluice/internal/callsite"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/ring"
)

const (
	// MaxLevels is the number of bits of a set of levels.
	MaxLevels = 64
	// keptSlots is the number of slots up to which a level, or a schedule, keeps its memory.
	keptSlots = 1024
)

// A levels is a store with levels of urgency, which are the keys. Bit i of present is set if and
// only if level i has values.
type levels[T any] struct {
	present uint64
	turns   turns // of the levels with values
	of      []level[T]
	config  *engine.Config[T]

	senders []queue[T] // that wait for room on each level
	wakes   turns      // of the levels with senders
}

// A level is a FIFO.
type level[T any] struct {
	values ring.Ring[T]
	since  uint64 // see turns
	sent   uint64 // the index of the next value to be sent
	high   int
	ages   age.Log
	woken  uint64 // since, of its senders
}

// Urgency is what levels depend on. LevelOf may be nil: then what names no level has the last one.
type Urgency[T any] struct {
	Levels    int
	MaxPassed uint64
	LevelOf   func(T) int
}

// NewPriority returns an engine whose values have a level.
func NewPriority[T any](config engine.Config[T], u Urgency[T]) *Engine[T] {
	l := &levels[T]{of: make([]level[T], u.Levels), senders: make([]queue[T], u.Levels), config: &config}
	l.turns.maxPassed, l.wakes.maxPassed = u.MaxPassed, u.MaxPassed
	e := build[T](config, l)
	e.levels = l
	for i := range l.senders {
		l.senders[i].total = &e.offers
		if config.Sites != nil {
			l.senders[i].waits.Watch(config.Sites.Send)
		}
	}
	if e.base = int64(u.Levels - 1); u.LevelOf == nil {
		return e
	}
	e.key = func(v T, method string) (int64, error) {
		i := u.LevelOf(v)
		if i < 0 || i >= u.Levels {
			panic(fmt.Sprintf("sluice: %s: PriorityOptions.LevelOf returned %d (want 0 to %d)", method, i, u.Levels-1))
		}
		return int64(i), nil
	}
	return e
}

func (s *levels[T]) fits(int64) bool { return true }
func (s *levels[T]) over(n int) bool { return true }

func (s *levels[T]) push(v T, key int64) (t Ticket) {
	l := &s.of[key]
	n := l.values.Len() + 1
	if n == 1 {
		s.present |= 1 << uint(key)
		s.turns.begin(&l.since)
	}
	l.values.Push(v)
	l.sent++
	l.high = max(l.high, n)
	observe(&l.ages, n, l.sent, s.config)
	return t
}

func (s *levels[T]) able() bool { return s.present != 0 }

func (s *levels[T]) pop() T {
	i := bits.TrailingZeros64(s.present)
	if s.turns.count >= s.turns.due {
		i = s.turns.next(s.present, func(i int) uint64 { return s.of[i].since })
	}
	l := &s.of[i]
	v := l.values.Pop()
	s.turns.served(&l.since)
	if l.values.Len() == 0 {
		s.present &^= 1 << i
	}
	if l.values.Size() > keptSlots {
		l.values.Shrink(keptSlots)
	}
	return v
}

// evict removes the newest value of the least urgent level, if that is less urgent than key.
func (s *levels[T]) evict(key int64) (v T, ok bool) {
	least := bits.Len64(s.present) - 1
	if least <= int(key) {
		return v, false
	}
	l := &s.of[least]
	v = l.values.PopLast()
	l.sent--
	l.ages.Truncate(l.sent)
	if l.values.Len() == 0 {
		s.present &^= 1 << least
	}
	return v, true
}

// A level with senders waits for its turn, as one with values does: see turns.

// queues records that a sender is about to be queued on a level.
func (s *levels[T]) queues(key int64) {
	if s.senders[key].First() == nil {
		s.wakes.begin(&s.of[key].woken)
	}
}

// next returns the level of the sender that is served next. There is one.
func (s *levels[T]) next() int64 {
	set := uint64(0)
	for i := range s.senders {
		if s.senders[i].First() != nil {
			set |= 1 << i
		}
	}
	return int64(s.wakes.next(set, func(i int) uint64 { return s.of[i].woken }))
}

// served records that a sender was served.
func (s *levels[T]) served(key int64) { s.wakes.served(&s.of[key].woken) }

func (s *levels[T]) describe(now time.Duration, _ uint64, in *engine.Snapshot) {
	for i := range s.of {
		l := &s.of[i]
		in.Stats.Older(l.ages.Inspect(now, l.sent-uint64(l.values.Len()), l.sent, 1))
		in.Stats.Bytes += int64(l.values.Size()) * int64(engine.SizeOf[T]())
		if i < cap(in.Lanes) {
			in.Lanes = append(in.Lanes, engine.Lane{Len: l.values.Len(), HighWater: l.high})
		}
	}
}

// A Level is a sending end of the engine: what it sends, it sends on one level. Its methods are those of
// engine.Engine that a sender needs. A Select can wait for it.
type Level[T any] struct {
	e     *Engine[T]
	index int64
}

// LevelAt returns the level of e with that index. It is a function because the methods of
// Engine are compiled for each element type of each kind, and with them what they return.
func LevelAt[T any](e *Engine[T], i int) *Level[T] { return &Level[T]{e, int64(i)} }

// Send is that of engine.Engine.
func (l *Level[T]) Send(ctx context.Context, v T) error {
	_, p, err := l.e.send(ctx, v, l.index)
	if p.w != nil {
		_, _, err = l.e.await(ctx, p)
	}
	return err
}

// TrySend is that of engine.Engine.
func (l *Level[T]) TrySend(v T) error { return l.Send(engine.NoWait{}, v) }

// SendBatch is that of engine.Engine.
func (l *Level[T]) SendBatch(ctx context.Context, vs []T) (int, error) {
	return l.e.sendBatch(ctx, vs, nil, l.index)
}

// Len returns the number of values queued on the level.
func (l *Level[T]) Len() int {
	l.e.lock.Lock()
	defer l.e.lock.Unlock()
	return l.e.levels.of[l.index].values.Len()
}

// Close closes the level, and the channel if no other level is open.
func (l *Level[T]) Close() { l.e.shutLevels(1 << uint(l.index)) }

// NewEntry is that of engine.Engine.
func (l *Level[T]) NewEntry(value *T, sends bool) engine.Entry {
	p := l.e.newEntry(value, sends)
	if sends {
		p.setKey(l.index)
	}
	return p
}

// Overflow is that of engine.Engine.
func (l *Level[T]) Overflow() engine.Overflow { return l.e.Overflow() }

// WouldBlock is that of engine.Engine.
func (l *Level[T]) WouldBlock(v *T) (engine.Mark, bool) { return l.e.wouldBlock(v, l.index) }

// Sites are those of the channel.
func (l *Level[T]) Sites() *callsite.Sites { return l.e.Sites() }
