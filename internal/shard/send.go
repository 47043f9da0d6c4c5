package shard

import (
	"context"
	"math/bits"
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/engine"
)

// Send implements engine.Engine. This is the fast path: the lane of the hint has
// room.
func (e *Engine[T]) Send(ctx context.Context, v T) error {
	s := e.set.Load()
	hint := &e.sending[hintIndex()]
	if number := hint.Load() & numberMask; number < uint32(len(s.to)) {
		l := s.to[number]
		if l.TrySend(v) == nil {
			if n, _ := l.Tail(); n%checkEvery == 0 {
				e.checkHint(s, s.shared[number], hint)
			}
			return nil
		}
	}
	vs := [1]T{v}
	_, err := e.sendSlow(ctx, hint, vs[:])
	return err
}

// TrySend implements engine.Engine.
func (e *Engine[T]) TrySend(v T) error {
	return e.Send(engine.NoWait{}, v)
}

// SendBatch implements engine.Engine.
func (e *Engine[T]) SendBatch(ctx context.Context, vs []T) (n int, err error) {
	hint := &e.sending[hintIndex()]
	if e.config.Overflow != engine.DropOldest || e.config.OnDrop == nil {
		return e.sendSlow(ctx, hint, vs)
	}
	s := e.set.Load()
	t := sending[T]{hint: hint, home: e.home(s, hint)}
	if n = e.place(s, &t, vs, 1); n == len(vs) {
		return n, nil
	}
	rest, err := engine.SendEach(vs[n:], nil, func(v T, _ struct{}) error {
		one := [1]T{v}
		_, err := e.sendSlow(ctx, hint, one[:])
		return err
	})
	return n + rest, err
}

// SendKey sends v in the lane of key, so values with the same key stay in order.
func (e *Engine[T]) SendKey(ctx context.Context, key uint64, v T) error {
	if s := e.set.Load(); s.starvingSender != nil {
		e.rescue(s.starvingSender)
	}
	l := e.open(laneOf(key, e.max))
	if l == nil {
		return engine.ErrClosed
	}
	if e.config.Overflow == engine.Block {
		return l.Send(ctx, v)
	}
	vs := [1]T{v}
	_, err := e.sendIn(ctx, l, e.config.OnDrop, vs[:])
	return err
}

// laneOf maps a key to a number below n: it multiplies the key by 2^64 over the
// golden ratio (Knuth, TAOCP 3, 6.4), and returns the upper half of the product
// with n.
func laneOf(key uint64, n int) int {
	high, _ := bits.Mul64(key*0x9e3779b97f4a7c15, uint64(n))
	return int(high)
}

// sendIn sends vs in l only.
func (e *Engine[T]) sendIn(ctx context.Context, l *lane[T], onDrop func(T), vs []T) (int, error) {
	if e.config.Overflow == engine.Block {
		return l.SendBatch(ctx, vs)
	}
	n, err := l.SendBatch(engine.NoWait{}, vs)
	if err != engine.ErrFull {
		return n, err
	}
	return e.overflowed(l, onDrop, vs, n)
}

// sendSlow sends vs in any shared lanes and waits for room as often as needed; under
// engine.NoWait it never waits.
func (e *Engine[T]) sendSlow(ctx context.Context, hint *atomic.Uint32, vs []T) (n int, err error) {
	t := sending[T]{hint: hint, home: e.home(e.set.Load(), hint)}
	for {
		s := e.set.Load()
		least := 1
		if !t.eager && !t.wait.Canceled() && engine.MayWait(ctx) && e.config.Overflow == engine.Block {
			least = e.ampleRoom()
		}
		n += e.place(s, &t, vs[n:], least)
		if n == len(vs) {
			break
		}
		if s.closed {
			err = engine.ErrClosed
			break
		}
		// A call that will wait need not know whether the channel is full, because
		// each receive checks the wait queue. A call that ends here must know.
		if e.config.Overflow != engine.Block || !engine.MayWait(ctx) || t.wait.Canceled() {
			if _, full := e.full(s); !full {
				continue
			}
			switch e.config.Overflow {
			case engine.Block:
				err = engine.ErrFull
			case engine.DropOldest: // drop one value; then there may be room again
				n, err = e.overflowed(e.open(t.home), e.config.OnDrop, vs[:n+1], n)
				if err == nil && n < len(vs) {
					continue
				}
			default:
				return e.overflowed(nil, e.config.OnDrop, vs, n)
			}
			break
		}
		e.recordLoss(&t.turn, &t.starvation, &vs[n])
		t.step(ctx, &e.senders, e.spinForRoom)
	}
	e.leave(&t.starvation)
	if t.wait.Leave() && e.anyRoom() {
		e.senders.Wake()
	}
	switch {
	case n == len(vs):
		err = nil
	case err == engine.ErrFull && engine.MayWait(ctx):
		err = engine.ContextError(ctx)
	}
	return n, err
}

// spread sends a prefix of vs, as long as shared lanes have room for at least the
// given number of values. It tries home first, then other open lanes, then lanes to
// be opened. last is the lane of the last value.
func (e *Engine[T]) spread(s *set[T], home int, vs []T, least int) (n, last int) {
	for _, opening := range [2]bool{false, true} {
		for i := range e.max {
			number := (home + i) % e.max
			l := s.shared[number]
			if l == nil && opening {
				l = e.open(number)
			}
			if l == nil || !l.hasRoom(least) {
				continue
			}
			m, _ := l.SendBatch(engine.NoWait{}, vs[n:])
			if m > 0 {
				last = number
			}
			if n += m; n == len(vs) {
				return n, last
			}
		}
		if s.closed {
			break
		}
	}
	return n, last
}

// ampleRoom is the room in another lane that makes a sender leave its own lane
// rather than spin.
func (e *Engine[T]) ampleRoom() int { return max(1, e.config.Limit/4) }

// full reports whether all shared lanes were full and the channel was open at one
// moment: see the package comment. It returns the sum of all heads at that moment.
func (e *Engine[T]) full(s *set[T]) (heads uint64, full bool) {
	var again uint64
	for _, l := range s.shared {
		if l == nil {
			return heads, false
		}
		if heads += l.Head(); l.hasRoom(1) {
			return heads, false
		}
	}
	for _, l := range s.shared {
		again += l.Head()
	}
	return heads, heads == again && e.set.Load() == s
}

// anyRoom reports whether a shared lane has room, or could be opened.
func (e *Engine[T]) anyRoom() bool {
	for _, l := range e.set.Load().shared {
		if l == nil || l.hasRoom(1) {
			return true
		}
	}
	return false
}

// overflowed applies the overflow policy to vs[n:], for which there is no room.
// DropOldest drops values of l.
func (e *Engine[T]) overflowed(l *lane[T], onDrop func(T), vs []T, n int) (int, error) {
	switch e.config.Overflow {
	case engine.DropNewest:
		e.dropped.Add(uint64(len(vs) - n))
		if onDrop != nil {
			engine.CallEach(onDrop, vs[n:])
		}
		return len(vs), nil
	case engine.DropOldest:
		if l == nil {
			return n, engine.ErrClosed
		}
		sent, err := engine.SendEach(vs[n:], nil, func(v T, _ struct{}) error {
			old, dropped, err := l.Replace(v)
			if dropped && onDrop != nil {
				onDrop(old)
			}
			return err
		})
		return n + sent, err
	default:
		return n, engine.ErrFull
	}
}
