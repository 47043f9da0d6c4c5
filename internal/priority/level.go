package priority

import (
	"context"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/waitq"
)

// A Level is the engine as one of its levels sees it: what it sends, it sends there. It is
// an engine.Engine, so that a Select can wait for it.
type Level[T any] struct {
	*Engine[T]
	index int
}

// LevelAt returns the level of e with that index. It is a function because the methods of
// Engine are compiled for each element type of each kind, and with them what they return.
func LevelAt[T any](e *Engine[T], i int) *Level[T] { return &Level[T]{e, i} }

// Send implements engine.Engine.
func (l *Level[T]) Send(ctx context.Context, v T) error { return l.send(ctx, l.index, v) }

// TrySend implements engine.Engine.
func (l *Level[T]) TrySend(v T) error { return l.send(engine.NoWait{}, l.index, v) }

// SendBatch implements engine.Engine.
func (l *Level[T]) SendBatch(ctx context.Context, vs []T) (int, error) {
	t := turn[T]{level: l.index}
	return l.sendBatch(ctx, &t, vs)
}

// Len returns the number of values queued on the level.
func (l *Level[T]) Len() int {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.levels[l.index].values.Len()
}

// Close closes the level, and the channel if no other level is open.
func (l *Level[T]) Close() { l.shutLevels(1 << l.index) }

// NewEntry implements engine.Engine.
func (l *Level[T]) NewEntry(value *T, sends bool) engine.Entry {
	if !sends {
		return l.Engine.NewEntry(value, false)
	}
	return &entry[T]{e: l.Engine, level: l.index}
}

// WouldBlock implements engine.Engine.
func (l *Level[T]) WouldBlock(v *T) (engine.Mark, bool) {
	if v == nil {
		return l.Engine.WouldBlock(nil)
	}
	return l.wouldBlock(l.index)
}

// NewEntry implements engine.Engine.
func (e *Engine[T]) NewEntry(value *T, sends bool) engine.Entry {
	if !sends {
		return waitq.NewEntry(&e.receivers, e.isAble)
	}
	return &entry[T]{e: e, value: value, level: len(e.levels) - 1}
}

// WouldBlock implements engine.Engine. The mark is the number of values received: it stays
// the same only while the channel stays empty, or full.
func (e *Engine[T]) WouldBlock(v *T) (engine.Mark, bool) {
	if v != nil {
		return e.wouldBlock(e.levelOf(*v, "Select"))
	}
	e.lock.Lock()
	defer e.lock.Unlock()
	return engine.Mark(e.turns.count), !e.able() && (e.n > 0 || !e.closed())
}

// wouldBlock is WouldBlock for a send on level i.
func (e *Engine[T]) wouldBlock(i int) (engine.Mark, bool) {
	e.lock.Lock()
	defer e.lock.Unlock()
	return engine.Mark(e.turns.count), e.n == e.limit && !e.isShut(i)
}
