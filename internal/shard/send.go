package shard

import (
	"context"
	"math/bits"

	"github.com/sluice-go/sluice/internal/engine"
)

// Send implements engine.Engine. This is the fast path: the only active lane, or that of
// the hint, has room. If there can be only one lane, Send is its own.
func (e *Engine[T]) Send(ctx context.Context, v T) error {
	s := e.set.Load()
	if l := s.sole; l != nil {
		if e.senders == nil && e.config.Overflow == engine.Block {
			return l.Send(ctx, v)
		}
		if l.Send(engine.Poll{}, v) == nil {
			if tail, _ := l.Tail(); s.shared[0].due(tail) {
				e.adapt(s, s.shared[0])
			}
			return nil
		}
	} else {
		hint := &e.sending[hintIndex()]
		if number := hint.Load(); number < uint32(len(s.to)) {
			if l := s.to[number]; l != nil && l.queue.Send(engine.Poll{}, v) == nil {
				if tail, _ := l.queue.Tail(); l.due(tail) {
					e.checkHint(s, l, hint)
				}
				return nil
			}
		}
	}
	vs := [1]T{v}
	_, err := e.sendSlow(ctx, vs[:])
	return err
}

// TrySend implements engine.Engine.
func (e *Engine[T]) TrySend(v T) error {
	return e.Send(engine.NoWait{}, v)
}

// SendBatch implements engine.Engine.
func (e *Engine[T]) SendBatch(ctx context.Context, vs []T) (int, error) {
	return e.sendSlow(ctx, vs)
}

// SendKey sends v in the lane of key, so values with the same key stay in order.
func (e *Engine[T]) SendKey(ctx context.Context, key uint64, v T) (err error) {
	number := laneOf(key, e.max)
	for {
		s := e.set.Load()
		if r := s.starving[sends]; r != nil {
			e.rescue(r, sends)
		}
		l := s.shared[number]
		if l == nil {
			if l = e.open(number); l == nil {
				return engine.ErrClosed
			}
		}
		if e.config.Overflow == engine.Block {
			err = l.queue.Send(ctx, v)
		} else {
			vs := [1]T{v}
			_, err = e.sendIn(ctx, l, e.config.OnDrop, vs[:])
		}
		if err != engine.ErrClosed || e.set.Load().closed { // otherwise the lane was removed
			return err
		}
	}
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
		return l.queue.SendBatch(ctx, vs)
	}
	n, err := l.queue.SendBatch(engine.Poll{}, vs)
	if err != engine.ErrFull {
		return n, err
	}
	return e.overflowed(l, nil, onDrop, vs, n)
}

// sendSlow sends vs in any shared lanes and waits for room as often as needed; under
// engine.NoWait it never waits.
func (e *Engine[T]) sendSlow(ctx context.Context, vs []T) (n int, err error) {
	s := e.set.Load()
	if e.senders == nil {
		return e.sendIn(ctx, s.all[0], e.config.OnDrop, vs)
	}
	hint := &e.sending[hintIndex()]
	t := turn[T]{hint: hint, home: e.home(s, hint)}
	if e.config.Overflow != engine.Block {
		if n, err = e.sendNow(&t, vs); err == engine.ErrFull {
			return e.overflowed(nil, &t, e.config.OnDrop, vs, n)
		}
		return n, err
	}
	for engine.MayWait(ctx) && !t.wait.Canceled() {
		// It need not know whether the channel is full, because each receive checks the
		// wait queue.
		s = e.set.Load()
		if n += e.place(s, &t, vs[n:], t.eager); n == len(vs) || s.closed {
			break
		}
		e.recordLoss(&t, sends, vs[n])
		e.step(ctx, &t, sends)
	}
	if n < len(vs) {
		var last int
		last, err = e.sendNow(&t, vs[n:])
		n += last
	}
	if e.endStarvation(&t, sends) {
		n++
	}
	if t.wait.Leave() && e.anyAble(sends) {
		e.senders.Wake()
	}
	switch {
	case n == len(vs):
		err = nil
	case err == engine.ErrFull && engine.MayWait(ctx):
		err = engine.ContextError(ctx)
	case err == engine.ErrFull:
		e.rejected.Add(ctx)
	}
	return n, err
}

// sendNow sends vs in any shared lanes without waiting. Without room for all it returns
// ErrFull, or ErrClosed, and the length of the prefix that it has sent.
func (e *Engine[T]) sendNow(t *turn[T], vs []T) (n int, err error) {
	for {
		s := e.set.Load()
		if n += e.place(s, t, vs[n:], true); n == len(vs) {
			return n, nil
		}
		if s.closed {
			return n, engine.ErrClosed
		}
		if _, full := e.stuck(s, sends); full {
			return n, engine.ErrFull
		}
	}
}

// place sends a prefix of vs and returns its length. If eager is false, it leaves lanes
// alone that have little room, or are not open.
func (e *Engine[T]) place(s *set[T], t *turn[T], vs []T, eager bool) (n int) {
	if r := s.starving[sends]; r != nil {
		if !e.rescue(r, sends) {
			return 0
		}
		if e.endStarvation(t, sends) {
			n = 1
		}
	}
	least := e.ampleRoom()
	if eager {
		least = 1
	}
	m, last := e.spread(s, t.home, vs[n:], least, eager)
	if m > 0 && last != t.home {
		t.hint.Store(uint32(last)) // that lane has more room
	}
	if n += m; n > 0 {
		t.wait.Progress()
		t.losses = 0
	}
	return n
}

// spread sends a prefix of vs, as long as shared lanes have room for at least the
// given number of values. It tries home first, then other open lanes, then, if it may,
// lanes to be opened. last is the lane of the last value.
func (e *Engine[T]) spread(s *set[T], home int, vs []T, least int, mayOpen bool) (n, last int) {
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
			m, _ := l.queue.SendBatch(engine.Poll{}, vs[n:])
			if m > 0 {
				last = number
			}
			if n += m; n == len(vs) {
				return n, last
			}
		}
		if s.closed || !mayOpen {
			break
		}
	}
	return n, last
}

// ampleRoom is the room in another lane that makes a sender leave its own lane
// rather than spin.
func (e *Engine[T]) ampleRoom() int { return max(1, e.config.Limit/4) }

// overflowed applies the overflow policy to vs[n:], for which there is no room in l, or
// in any shared lane if l is nil. Then DropOldest drops one value in the lane after the one that
// the turn tries first, if there is still no room for the next one of vs.
func (e *Engine[T]) overflowed(l *lane[T], t *turn[T], onDrop func(T), vs []T, n int) (int, error) {
	switch e.config.Overflow {
	case engine.DropNewest:
		e.dropped.Add(uint64(len(vs) - n))
		if onDrop != nil {
			engine.CallEach(onDrop, vs[n:])
		}
		return len(vs), nil
	case engine.DropOldest:
		sent, err := engine.SendEach(vs[n:], nil, func(v T, _ struct{}) error {
			in := l
			if in == nil {
				if _, err := e.sendNow(t, []T{v}); err != engine.ErrFull {
					return err
				}
				// The lanes take turns, so that none keeps old values.
				t.home = (t.home + 1) % e.max
				if in = e.open(t.home); in == nil {
					return engine.ErrClosed
				}
				t.hint.Store(uint32(t.home))
			}
			old, dropped, err := in.queue.Replace(v)
			if dropped && onDrop != nil {
				onDrop(old)
			}
			return err
		})
		return n + sent, err
	default:
		e.rejected.Add(engine.NoWait{}) // under Reject no send is a Poll
		return n, engine.ErrFull
	}
}
