package chain

import (
	"context"

	"github.com/sluice-go/sluice/internal/engine"
)

// Recv implements engine.Engine. It is the fast path, for when nothing is in
// the way: no flag, no other receiver, a value.
func (e *Engine[T]) Recv(ctx context.Context) (v T, err error) {
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
	if e.send.line.Waiting() {
		e.send.line.Wake()
	}
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
	return e.Recv(nil) //nolint:staticcheck // nil: never wait
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
// as long as needed; with a nil ctx it never waits.
func (e *Engine[T]) recvSlow(ctx context.Context, buf []T) (n int, err error) {
	r := &e.recv
	var turn turn[T]
	var ended error // of the context
	for {
		word := r.lock()
		if turn.barred(word) && !e.spareValue(ctx, word) {
			r.unlock(word)
			err = engine.ErrEmpty
		} else {
			n, err = e.take(word, buf, &turn)
		}
		if err != engine.ErrEmpty || ctx == nil {
			break
		}
		if ended != nil {
			err = ended
			break
		}
		ended = turn.wait(ctx, r, &e.send, e.pause)
		if ended != nil && !turn.starving {
			err = ended
			break
		}
	}
	if turn.leave(r) && e.Len() > 0 {
		r.line.Wake()
	}
	return n, err
}

// spareValue reports whether a call may receive although its side is starving:
// one that does not wait may, unless it would take the last value; and once the
// channel is closed nobody starves.
func (e *Engine[T]) spareValue(ctx context.Context, word uint64) bool {
	tail := e.send.word.Load()
	return tail&closed != 0 || ctx == nil && e.between(tail, word) > 1
}

// take moves values into buf, as many as there are, and returns how many that
// was; if none, ErrEmpty or ErrClosed. The caller holds the lock and got word
// with it; take releases it.
func (e *Engine[T]) take(word uint64, buf []T, turn *turn[T]) (n int, err error) {
	r := &e.recv
	index, keep := word&^flags, word&(starving|observed)
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
	if n == 0 {
		if err == engine.ErrEmpty {
			word = turn.lost(word)
		}
		r.unlock(word)
		return 0, err
	}
	if index == r.bound && len(r.buf) > e.keepSlots {
		e.shed(index)
	}
	r.unlock(index | keep)
	if e.send.line.Waiting() {
		e.send.line.Wake()
	}
	if keep&observed != 0 {
		e.received()
	}
	return n, nil
}

// received posts a token if there is more to receive.
func (e *Engine[T]) received() {
	if e.Len() > 0 {
		e.ready.Load().post()
	}
}

// run moves recv.bound past index, to the end of the values in its segment, and
// reports false if there is none. The caller owns the receive side; tail is the
// send word.
func (e *Engine[T]) run(index, tail uint64) bool {
	r := &e.recv
	tail &^= flags
	if tail == index {
		if e.elastic != nil {
			e.elastic.trim(0)
		}
		return false
	}
	queued := (tail - index) >> shift
	r.high = max(r.high, queued)
	// A segment is sealed before the tail moves past its end: if next is not
	// seen, all values up to tail are in this segment.
	next := r.seg.next.Load()
	if next != nil && r.seg.end == index {
		emptied := r.seg
		r.seg, r.buf = next, next.buf
		e.elastic.put(emptied, queued)
		next = r.seg.next.Load()
	}
	r.bound = tail
	if next != nil && r.seg.end-index < tail-index {
		r.bound = r.seg.end
	}
	return true
}

// shed exchanges a large ring for a small one if the channel is empty, now that
// the receivers have come to index, and no sender is at work: if one is, the
// channel is not idle, and there will be a next time. The caller owns the
// receive side.
func (e *Engine[T]) shed(index uint64) {
	s, r := &e.send, &e.recv
	word := s.word.Load()
	if word&^flags != index || word&locked != 0 || !s.word.CompareAndSwap(word, word|locked) {
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
