package segqueue

import (
	"context"

	"github.com/sluice-go/sluice/internal/engine"
)

// Recv implements engine.Engine. It is the fast path, for when nothing is in
// the way: no flag, no other receiver, a value.
func (e *Engine[T]) Recv(ctx context.Context) (v T, err error) {
	if ctx == nil {
		panic(engine.RecvNilContext)
	}
	r := &e.recv
	word := r.word.Load()
	if word&flags != 0 {
		return e.recvOne(ctx)
	}
	if e.singleReceiver {
		if word == r.bound || word+one == r.bound && len(r.buf) > e.keepSlots {
			return e.recvOne(ctx)
		}
		v = e.empty(word)
		if !r.word.CompareAndSwap(word, word+one) {
			// Ready or Stats got in between. They do not move the head, but
			// may leave a flag.
			word = r.lock()
			r.unlock(word + one)
			if word&observed != 0 {
				e.received()
			}
		}
	} else {
		if !r.word.CompareAndSwap(word, word|locked) {
			return e.recvOne(ctx)
		}
		if word == r.bound && !e.run(word, e.send.word.Load()) {
			r.unlock(word)
			return e.recvOne(ctx)
		}
		v = e.empty(word)
		if word+one == r.bound && len(r.buf) > e.keepSlots {
			e.shed(word + one)
		}
		r.unlock(word + one)
	}
	e.wakeSender()
	return v, nil
}

// recvOne is the slow path of Recv.
func (e *Engine[T]) recvOne(ctx context.Context) (T, error) {
	var buf [1]T
	_, err := e.recvSlow(ctx, buf[:])
	return buf[0], err
}

// TryRecv implements engine.Engine.
func (e *Engine[T]) TryRecv() (T, error) {
	return e.Recv(engine.NoWait{})
}

// RecvBatch implements engine.Engine.
func (e *Engine[T]) RecvBatch(ctx context.Context, buf []T) (int, error) {
	return e.recvSlow(ctx, buf)
}

// empty takes the value out of the slot of index.
func (e *Engine[T]) empty(index uint64) T {
	r := &e.recv
	slot := &r.buf[(index>>shift)&uint64(len(r.buf)-1)]
	v := *slot
	if e.clear {
		var zero T
		*slot = zero
	}
	return v
}

// recvSlow fills buf with what there is, at least one value, and waits for that
// as long as needed; under engine.NoWait it never waits.
func (e *Engine[T]) recvSlow(ctx context.Context, buf []T) (n int, err error) {
	r := &e.recv
	var turn turn
	for {
		word := r.lock()
		if r.collect(&turn) {
			var zero T
			buf[0], *r.debt = *r.debt, zero
			r.unlock(word)
			n, err = 1, nil
			break
		}
		n, err = e.take(word, buf, &turn)
		if err != engine.ErrEmpty || !engine.MayWait(ctx) || turn.stay.Canceled() {
			break
		}
		r.wait(ctx, &turn, &e.send, e.receivers, e.senders, e.pause)
	}
	if turn.stay.Leave() && e.Len() > 0 {
		e.receivers.Wake()
	}
	if err == engine.ErrEmpty && engine.MayWait(ctx) {
		err = engine.ContextError(ctx)
	}
	return n, err
}

// take moves values into buf, as many as there are, and returns how many that
// was; if none, ErrEmpty or ErrClosed. The caller holds the lock and got word
// with it; take releases it.
func (e *Engine[T]) take(word uint64, buf []T, turn *turn) (n int, err error) {
	r := &e.recv
	start := word
	word = e.recvForStarving(turn, word)
	paid := word != start
	index := word &^ flags
	for n < len(buf) {
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
		word = r.sated(turn, word)
	case err == engine.ErrClosed:
		word = r.sated(turn, word)
	default:
		word = r.lost(turn, word, nil)
	}
	if index == r.bound && len(r.buf) > e.keepSlots {
		e.shed(index)
	}
	if n == 0 && !paid {
		r.unlock(word)
		return 0, err
	}
	r.unlock(index | word&flags)
	e.wakeSender()
	if word&observed != 0 {
		e.received()
	}
	return n, err
}

// wakeSender tells those who wait that there is room, after the head moved.
func (e *Engine[T]) wakeSender() {
	if e.senders.Waiting() {
		e.senders.Wake()
	}
	if e.others != nil && e.others.Waiting() {
		e.others.Wake()
	}
}

// received posts a token if there is more to receive.
func (e *Engine[T]) received() {
	if e.Len() > 0 {
		e.ready.Load().Post()
	}
}

// run moves recv.bound past index, to the end of the values in its segment, and
// reports false if there is none. The caller owns the receive side; tail is the
// send word.
func (e *Engine[T]) run(index, tail uint64) bool {
	r := &e.recv
	tail &^= flags
	queued := (tail - index) >> shift
	// A segment is sealed before the tail moves past its end: if next is not
	// seen, all values up to tail are in this segment.
	next := e.follow(index, queued)
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
	return true
}

// follow goes on to the next segment if the receivers have come to the end of
// theirs, and gives that back. It returns the segment after the one they are in,
// nil if they are in the last one. The caller owns the receive side.
func (e *Engine[T]) follow(index, queued uint64) *segment[T] {
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

// shed gives memory back if the channel is empty now that the receivers have come
// to index: spare segments, and a large ring in exchange for a small one. The
// latter needs the senders to stand still: if one is at work, the channel is not
// idle, and there will be a next time. The caller owns the receive side.
func (e *Engine[T]) shed(index uint64) {
	s, r := &e.send, &e.recv
	word := s.word.Load()
	if word&^flags != index {
		return
	}
	e.follow(index, 0)
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
