package segqueue

import (
	"context"

	"github.com/sluice-go/sluice/internal/engine"
)

// Recv implements engine.Engine. This is the fast path: no flag is set, no other receiver holds the
// lock, and a value is queued. A lone waiter parks here, because after a switch of goroutines each
// return to a caller is mispredicted.
func (e *Engine[T]) Recv(ctx context.Context) (v T, err error) {
	if ctx == nil {
		panic(engine.RecvNilContext)
	}
	r := &e.recv
	word := r.word.Load()
	if word&flags == 0 {
		if e.singleReceiver && word != r.bound && (word+one != r.bound || len(r.buf) <= e.keepSlots) {
			v = e.takeSlot(word)
			if !r.word.CompareAndSwap(word, word+one) {
				// Ready or Stats took the lock. They do not move head, but may
				// have set a flag.
				word = r.lock()
				r.unlock(word + one)
				if word&readyInUse != 0 {
					e.received()
				}
			}
			e.wakeSender()
			return v, nil
		}
		if r.word.CompareAndSwap(word, word|locked) {
			if word != r.bound || e.run(word, e.send.word.Load()) {
				v = e.takeSlot(word)
				if word+one == r.bound && len(r.buf) > e.keepSlots {
					e.shrink(word + one)
				}
				r.unlock(word + one)
				e.wakeSender()
				return v, nil
			}
			e.unlockEmpty(ctx, word)
		}
	}
	v, alone, err := e.recvElse(ctx)
	if !alone {
		return v, err
	}
	e.receivers.LoneParker().Wait()
	return e.finishAlone(ctx, nil)
}

// unlockEmpty unlocks the side of a Recv that has found no value.
func (e *Engine[T]) unlockEmpty(ctx context.Context, word uint64) {
	r := &e.recv
	if len(r.buf) > e.keepSlots {
		e.shrink(word)
	}
	if e.settled() && engine.MayWait(ctx) && !r.paysToTry() {
		word |= drained
	}
	r.unlock(word)
}

// recvElse is Recv without a value on the fast path. If the channel is empty, and neither spins nor
// yields pay, it waits alone. If alone is true, its context cannot end: the caller parks until it has
// its token, and calls finishAlone. One in 256 calls finds out whether spins and yields pay again.
func (e *Engine[T]) recvElse(ctx context.Context) (v T, alone bool, err error) {
	r, q := &e.recv, e.receivers
	word := r.word.Load()
	tail := e.send.word.Load()
	empty := tail&closed == 0 && (tail^word)&^flags == 0 && word&(flags&^drained) == 0 // see WouldBlock
	var c call
	if empty && engine.MayWait(ctx) && !r.paysToTry() {
		c.attempt.Tries = oneIn256(tail>>shift + q.HandOffs())
		done := ctx.Done()
		if !c.attempt.Tries && (done == nil || ctx.Err() == nil) && q.WaitAlone() {
			// If the tail is where it was, so is the head.
			now := e.send.word.Load()
			switch {
			case (now&^flags != tail&^flags || now&closed != 0 || !e.isOnly()) && q.Withdraw():
				empty = false
			case done == nil:
				return v, true, nil
			case q.ParkAloneUntil(done):
				v, err = e.finishAlone(ctx, done)
				return v, false, err
			default:
				c.wait.Cancel()
				empty = false
			}
		}
	}
	v, err = e.recvOne(ctx, &c, empty)
	return v, false, err
}

// recvOne is recvSlow for one value.
func (e *Engine[T]) recvOne(ctx context.Context, call *call, empty bool) (T, error) {
	var buf [1]T
	_, err := e.recvSlow(ctx, buf[:], empty, call, nil)
	return buf[0], err
}

// TryRecv implements engine.Engine.
func (e *Engine[T]) TryRecv() (T, error) { return e.Recv(engine.NoWait{}) }

// RecvBatch implements engine.Engine.
func (e *Engine[T]) RecvBatch(ctx context.Context, buf []T) (int, error) {
	return e.recvSlow(ctx, buf, false, new(call), nil)
}

// takeSlot takes the value out of the slot of index.
func (e *Engine[T]) takeSlot(index uint64) T {
	r := &e.recv
	slot := &r.buf[(index>>shift)&uint64(len(r.buf)-1)]
	v := *slot
	if e.clear {
		var zero T
		*slot = zero
	}
	return v
}

// recvSlow moves queued values into buf. It waits until there is at least one; under
// engine.NoWait it never waits. empty is whether the caller has found the channel empty
// and open. If loan is not nil, the values may be lent instead.
func (e *Engine[T]) recvSlow(ctx context.Context, buf []T, empty bool, call *call, loan *engine.Loan[T]) (n int, err error) {
	r := &e.recv
	for {
		if !empty {
			word := r.lock()
			if word&probed != 0 {
				r.probe(word, e.sites.Receive)
				continue
			}
			if r.takeRescued(call) {
				var zero T
				buf[0], *r.rescue = *r.rescue, zero
				r.unlock(word)
				n, err = 1, nil
				break
			}
			if n, err = e.take(word, buf, loan, call); err != engine.ErrEmpty {
				break
			}
		}
		empty, err = false, engine.ErrEmpty
		if !engine.MayWait(ctx) || call.wait.Canceled() {
			break
		}
		if call.moves {
			return 0, call.moved()
		}
		if call.moves = !e.isOnly(); call.moves {
			continue // one more poll, like that of a wait that was canceled
		}
		r.step(ctx, call, &e.send, e.receivers, e.senders, e.spinDelay)
		if call.wait.Queued() && !call.starving && e.isEmpty() {
			call.wait.Step() // the poll would fail
		}
	}
	if call.wait.Leave() && (e.Len() > 0 || !e.isOnly()) {
		e.receivers.Wake()
	}
	if err == engine.ErrEmpty && engine.MayWait(ctx) {
		err = engine.ContextError(ctx)
	}
	return n, err
}

// take moves queued values into buf, or lends them if loan is not nil, and returns their
// number. Without any it returns ErrEmpty or ErrClosed. The caller has locked the side and
// got word; take releases the lock.
func (e *Engine[T]) take(word uint64, buf []T, loan *engine.Loan[T], call *call) (n int, err error) {
	r := &e.recv
	start := word
	word = e.rescueReceiver(call, word)
	rescued := word != start
	index := word &^ flags
	if loan != nil && index == r.bound {
		n = e.takeLent(index, len(buf), loan)
		index += uint64(n) << shift
	}
	for n < len(buf) && (loan == nil || loan.Values == nil) {
		if index == r.bound {
			tail := e.send.word.Load()
			if !e.run(index, tail) {
				if tail&closed != 0 {
					err = engine.ErrClosed
				} else {
					err = engine.ErrEmpty
				}
				break
			}
		}
		at := (index >> shift) & uint64(len(r.buf)-1)
		end := min(at+(r.bound-index)>>shift, uint64(len(r.buf)))
		moved := copy(buf[n:], r.buf[at:end])
		if e.clear {
			clear(r.buf[at : at+uint64(moved)])
		}
		n += moved
		index += uint64(moved) << shift
	}
	switch {
	case n > 0:
		err = nil
		word = r.endStarvation(call, word)
	case err == engine.ErrClosed:
		word = r.endStarvation(call, word)
	default:
		word = r.recordLoss(call, word, nil)
	}
	if index == r.bound && len(r.buf) > e.keepSlots {
		e.shrink(index)
	}
	if n == 0 && !rescued {
		r.unlock(word)
		return 0, err
	}
	r.unlock(index | word&(flags&^drained))
	e.wakeSender()
	if word&readyInUse != 0 {
		e.received()
	}
	return n, err
}

// wakeSender wakes a waiting sender, after head has moved.
func (e *Engine[T]) wakeSender() {
	if e.senders.Waiting() {
		e.senders.Wake()
	}
	if l := e.lane; l != nil && l.anySenders != nil && l.anySenders.Waiting() {
		l.anySenders.Wake()
	}
}

// received posts a token for Ready if values are left.
func (e *Engine[T]) received() {
	if e.Len() > 0 {
		e.ready.Post()
	}
}

// run moves recv.bound from index to the end of the values in its segment. It
// reports false if the channel is empty. The caller owns the receive side; tail is
// the send word.
func (e *Engine[T]) run(index, tail uint64) bool {
	r := &e.recv
	tail &^= flags
	queued := (tail - index) >> shift
	// A segment is sealed before tail moves past its end. So if next is nil, all
	// values up to tail are in this segment.
	next := e.advance(index, queued)
	if queued == 0 {
		if e.elastic != nil {
			e.elastic.trim(0)
		}
		return false
	}
	r.high = max(r.high, queued)
	r.bound = tail
	if next != nil && r.seg.end-index < tail-index {
		r.bound = r.seg.end
	}
	if l := r.seg.lent.Load(); l != nil {
		e.boundAtLent(l, index)
	}
	return true
}

// advance moves the receivers to the next segment if index is at the end of theirs,
// and returns the emptied one to the pool. Its result is the segment after the
// current one, or nil. The caller owns the receive side.
func (e *Engine[T]) advance(index, queued uint64) *segment[T] {
	r := &e.recv
	next := r.seg.next.Load()
	if next != nil && r.seg.end == index {
		emptied := r.seg
		r.seg, r.buf, r.bound = next, next.buf, index
		e.elastic.put(emptied, queued)
		next = r.seg.next.Load()
	}
	return next
}

// settled reports whether an empty channel needs no shrink. The caller owns the receive side.
func (e *Engine[T]) settled() bool {
	slots := len(e.recv.buf)
	return slots <= e.keepSlots || slots <= e.elastic.small.slots
}

// shrink frees memory if the channel is empty at index: it drops spare segments,
// and replaces a large segment by a small one. The latter needs the send lock. If a
// sender holds it, the channel is not idle, and shrink will be called again. The
// caller owns the receive side.
func (e *Engine[T]) shrink(index uint64) {
	s, r := &e.send, &e.recv
	word := s.word.Load()
	if word&^flags != index {
		return
	}
	e.advance(index, 0)
	e.elastic.trim(0)
	if len(r.buf) <= e.elastic.small.slots || word&locked != 0 || !s.word.CompareAndSwap(word, word|locked) {
		return
	}
	if large := r.seg; large == s.seg {
		small := e.elastic.get(0)
		small.base = index
		for _, side := range []*side[T]{s, r} {
			side.seg, side.buf, side.bound = small, small.buf, index
		}
		e.elastic.put(large, 0)
		e.elastic.trim(0)
	}
	s.unlock(word)
}
