package segqueue

import (
	"context"

	"github.com/sluice-go/sluice/internal/engine"
)

// Send implements engine.Engine. This is the fast path: no flag is set, no other
// sender holds the lock, and there is room.
func (e *Engine[T]) Send(ctx context.Context, v T) error {
	s := &e.send
	word := s.word.Load()
	if word&flags != 0 {
		return e.sendOne(ctx, v, false)
	}
	if e.receivers.Alone() {
		return e.sendToLone(ctx, word, v)
	}
	if e.singleSender && word != s.bound {
		// No other goroutine moves tail, so the CAS that moves it needs no lock: it
		// fails only if Close, Ready or Stats has set a flag.
		slot := &s.buf[(word>>shift)&uint64(len(s.buf)-1)]
		*slot = v
		if !s.word.CompareAndSwap(word, word+one) {
			var zero T
			*slot = zero
			return e.sendOne(ctx, v, false)
		}
	} else {
		if !s.word.CompareAndSwap(word, word|locked) {
			return e.sendOne(ctx, v, false)
		}
		if word == s.bound && !e.room(word, e.recv.word.Load()) {
			s.unlock(word)
			return e.sendOne(ctx, v, true)
		}
		s.buf[(word>>shift)&uint64(len(s.buf)-1)] = v
		s.unlock(word + one)
	}
	if e.receivers.Waiting() {
		e.receivers.Wake()
	}
	return nil
}

// sendOne is the slow path of Send. full is whether the caller has found no room.
func (e *Engine[T]) sendOne(ctx context.Context, v T, full bool) error {
	vs := [1]T{v}
	_, err := e.sendSlow(ctx, vs[:], full, nil)
	return err
}

// TrySend implements engine.Engine.
func (e *Engine[T]) TrySend(v T) error {
	return e.Send(engine.NoWait{}, v)
}

// SendBatch implements engine.Engine.
func (e *Engine[T]) SendBatch(ctx context.Context, vs []T) (int, error) {
	return e.sendSlow(ctx, vs, false, nil)
}

// sendSlow sends vs and waits for room as often as needed; under engine.NoWait it
// never waits. full is whether the caller has found no room. lending is not nil if vs may be
// lent.
func (e *Engine[T]) sendSlow(ctx context.Context, vs []T, full bool, lending *lendCall[T]) (n int, err error) {
	s := &e.send
	call := call{batch: len(vs) > 1 && engine.MayWait(ctx)}
	if full && e.overflow == engine.Block && engine.MayWait(ctx) {
		s.step(ctx, &call, &e.recv, e.senders, e.receivers, e.spinDelay)
	}
	for {
		word := s.lock()
		if s.takeRescued(&call) {
			n++
		}
		if word&(closed|probed) != 0 { // one test for both: a small batch pays for each
			if word&probed != 0 {
				s.probe(word, e.sites.Send)
				continue
			}
			s.unlock(s.endStarvation(&call, word))
			if n < len(vs) {
				err = engine.ErrClosed
			}
			break
		}
		if s.antiBarging && e.yieldToWaiters(word, &call) {
			// Poll again.
		} else if n += e.put(word, vs[n:], lending, &call); n == len(vs) {
			break
		}
		if e.overflow != engine.Block {
			return e.overflowed(ctx, vs, n)
		}
		if !engine.MayWait(ctx) {
			e.rejected.Add(ctx)
			err = engine.ErrFull
			break
		}
		if call.wait.Canceled() {
			break
		}
		s.step(ctx, &call, &e.recv, e.senders, e.receivers, e.spinDelay)
		if call.wait.Queued() && !call.starving && e.isFull() {
			call.wait.Step() // the poll would fail
		}
	}
	if call.wait.Leave() && e.Len() < int(e.limit) {
		e.senders.Wake()
	}
	if n < len(vs) && err == nil {
		err = engine.ContextError(ctx)
	}
	return n, err
}

// put sends a prefix of vs, as long as there is room, and returns its length. lending is as for
// sendSlow. The caller has locked the side and got word; put releases the lock.
func (e *Engine[T]) put(word uint64, vs []T, lending *lendCall[T], call *call) (n int) {
	s := &e.send
	start := word
	word = e.rescueSender(call, word)
	rescued := word != start
	index := word &^ flags
	if lending != nil {
		if wait := e.lend(index, len(vs), lending, call); lending.given {
			n = len(vs)
			index += uint64(n) << shift
		} else if wait {
			vs = nil
		}
	}
	for n < len(vs) && (index != s.bound || e.room(index, e.recv.word.Load())) {
		at := (index >> shift) & uint64(len(s.buf)-1)
		end := min(at+(s.bound-index)>>shift, uint64(len(s.buf)))
		moved := copy(s.buf[at:end], vs[n:])
		n += moved
		index += uint64(moved) << shift
	}
	switch {
	case n > 0:
		if call.wait.Woken() {
			s.recordServed(call, index)
		}
		call.progress()
		word = s.endStarvation(call, word)
	case len(vs) > 0:
		word = s.recordLoss(call, word, &vs[0])
	}
	s.unlock(index | word&flags)
	if n == 0 && !rescued {
		return 0
	}
	if e.receivers.Waiting() {
		e.receivers.Wake()
	}
	if word&readyInUse != 0 {
		e.ready.Post()
	}
	return n
}

// room moves send.bound past index. It reports false if the channel is full. The
// caller owns the send side; head is the receive word.
func (e *Engine[T]) room(index, head uint64) bool {
	s := &e.send
	head &^= flags
	queued := (index - head) >> shift
	if queued >= e.limit {
		return false
	}
	seg := s.seg
	// Values with an index below seg.base are in earlier segments.
	free := uint64(len(seg.buf)) - min(queued, (index-seg.base)>>shift)
	if free == 0 {
		next := e.elastic.get(queued)
		next.base = index
		seg.end = index
		seg.next.Store(next) // publishes end and next.base
		s.seg, s.buf = next, next.buf
		free = uint64(len(next.buf))
	}
	// The high-water mark is updated only here and in run, so it may be too low by a
	// sixteenth: the bound is at most that far above it.
	s.high = max(s.high, queued+1)
	free = min(free, e.limit-queued, max(s.high-queued, 1+queued/16))
	s.bound = index + free<<shift
	if e.ages.Due(head, index, one) {
		e.send.queue.Tally().Sample(e.ages.Observe(head, index))
	}
	return true
}

// overflowed applies the overflow policy to vs[n:], for which there is no room.
func (e *Engine[T]) overflowed(ctx context.Context, vs []T, n int) (int, error) {
	switch e.overflow {
	case engine.DropNewest:
		e.dropped.Add(uint64(len(vs) - n))
		if e.onDrop != nil {
			engine.CallEach(e.onDrop, vs[n:])
		}
		return len(vs), nil
	case engine.DropOldest:
		sent, err := engine.SendEach(vs[n:], nil, func(v T, _ struct{}) error { return e.sendDroppingOldest(v) })
		return n + sent, err
	default:
		e.rejected.Add(ctx)
		return n, engine.ErrFull
	}
}

// sendDroppingOldest sends v, and drops the oldest value if there is no room.
func (e *Engine[T]) sendDroppingOldest(v T) error {
	old, dropped, err := e.Replace(v)
	if dropped && e.onDrop != nil {
		e.onDrop(old)
	}
	return err
}

// Replace sends v. If there is no room, it drops the oldest value and returns it.
// It holds both locks meanwhile, so no goroutine sees the channel with neither of
// the two values, or with both.
func (e *Engine[T]) Replace(v T) (old T, dropped bool, err error) {
	s, r := &e.send, &e.recv
	word := s.lock()
	if word&closed != 0 {
		s.unlock(word)
		return old, false, engine.ErrClosed
	}
	index, keep := word&^flags, word&flags
	if index != s.bound || e.room(index, r.word.Load()) {
		e.put(word, []T{v}, nil, &call{})
		return old, false, nil
	}
	rword := e.rescueReceiver(&call{}, r.lock())
	head := rword &^ flags
	if e.room(index, head) { // a receiver was faster, or was rescued
		r.unlock(rword)
		e.put(word, []T{v}, nil, &call{})
		return old, false, nil
	}
	if head == r.bound {
		e.run(head, index)
	}
	old = e.takeSlot(head)
	head += one
	e.room(index, head)
	s.buf[(index>>shift)&uint64(len(s.buf)-1)] = v
	e.dropped.Add(1)
	s.unlock((index + one) | keep) // before the head moves: see queued
	r.unlock(head | rword&flags)
	return old, true, nil
}
