package segqueue

import (
	"context"
	"sync/atomic"
	"unsafe"

	"github.com/sluice-go/sluice/internal/engine"
)

// Batches by reference. A full slice of a sender, a run, is queued itself instead of its
// values, and a receiver that asks for batches gets the slice.
//
//	sender    lock -> room for the whole run -> exchange: a full slice for a spare one -> unlock
//	receiver  lock -> the run is next, and fits -> exchange: a spare slice for the full one -> unlock
//
// The values of a run have indices like all others, and the slots of these indices stay
// reserved in the ring, and empty. So tail, head, Len and the limit are what they are
// without runs, and a run is sent and received by the same stores of the words as a batch.
// What differs is where the values are: in the run, until a receiver takes it.
//
//	full slice   sender -> place of the run -> receiver, until it returns it
//	spare slice  receiver -> place of the next run it takes -> spares -> sender
//
//   - A lent has places for some runs, used one after the other by senders and by receivers. The place of
//     a run belongs to the holder of the send lock until tail has moved past the run, then to
//     the holder of the receive lock until head has moved past it. With the same two stores
//     that hand over slots, a full slice goes one way and a spare one the other: a slice
//     needs no pool, no count of references and no lock of its own.
//   - The holder of the send lock collects the spare slices of the places that head has
//     passed. The last one is used first: it is in the cache.
//   - from is the index of the run that was put into the place last. It is the only field
//     that a receiver reads before it knows whose the place is: with head <= from < tail the
//     run is queued; otherwise it is a run of the past, or one that is being put there.
//   - recv.bound stops at the next run, so no receiver proceeds into a run without a call of
//     run or of takeLent, under the lock.
//   - A run is received as a whole, or not lent at all. A receiver of single values, or of
//     batches of another size, copies the run to the slots of its indices, which it owns, and
//     proceeds there; the slice is a spare one at once.
//   - A run is sent as a whole, or not lent at all. A sender that may wait and finds room for
//     a part waits until it is woken once. If there is still no room for all, it sends copies
//     as a batch: so it cannot be overtaken for long by senders of single values. They
//     copy as well if each place is in use, or if the slice does not have the agreed capacity.
//
// A sender must not use a slice that it has given away, nor a receiver one that it has
// returned. If asserting, a returned slice is cleared, and must still be clear when a sender
// gets it.
//
// Runs are lent by a Bounded of one ring, whose policy is Block or Reject. A list of segments
// would reserve memory for each run; values that are dropped, or measured, are touched one by
// one. The slices in use, and the spare ones, have as many slots as the ring in all, and one
// per sender and receiver: Stats counts the former.

// lent is what a channel needs to lend runs. It belongs to its segment, the only one.
type lent[T any] struct {
	slots  int // capacity of each slice
	places []place[T]

	// The senders':
	put    uint64 // runs
	passed uint64 // of these, the runs whose places were collected
	spares [][]T  // at most as many as places
	given  int64  // bytes: see held
	_      [cacheLine]byte

	// The receivers':
	taken    uint64 // runs
	returned int64
	_        [cacheLine]byte
}

// A place has the slice of a run, or a spare one, or nil.
type place[T any] struct {
	from  atomic.Uint64 // an index, shifted like a word
	end   uint64        // after the last value of the run; belongs to the senders
	slice []T
	_     [cacheLine - 40%cacheLine]byte
}

// A lendCall is a call of Lend in progress.
type lendCall[T any] struct {
	slice []T // what the caller gives, and then what it gets
	given bool
}

// Lends implements engine.Lender.
func (e *Engine[T]) Lends(size int) bool {
	if e.elastic != nil || e.overflow > engine.Reject || uint64(size) > e.limit {
		return false
	}
	if engine.SizeOf[T]() == 0 { // slices have no memory that tells them apart
		return false
	}
	seg := e.send.seg // a Bounded never has another
	if seg.lent.Load() == nil {
		l := &lent[T]{slots: size, places: make([]place[T], max(2, ceilPow2(int(e.limit)/size)))}
		l.spares = make([][]T, 0, len(l.places))
		head := e.recv.word.Load() &^ flags
		for i := range l.places {
			l.places[i].from.Store(head - one)
			l.places[i].end = head
		}
		seg.lent.CompareAndSwap(nil, l)
	}
	return seg.lent.Load().slots == size
}

// TryLend implements engine.Lender. It is the fast path of Lend.
func (e *Engine[T]) TryLend(vs []T) (spare []T, lent bool) {
	s := &e.send
	word := s.word.Load()
	if word&flags != 0 || !s.word.CompareAndSwap(word, word|locked) {
		return nil, false
	}
	g := lendCall[T]{slice: vs}
	if s.antiBarging || e.lend(word, len(vs), &g, nil) || !g.given {
		s.unlock(word)
		return nil, false
	}
	s.unlock(word + uint64(len(vs))<<shift)
	if e.receivers.Waiting() {
		e.receivers.Wake()
	}
	assertClear(g.slice)
	return g.slice, true
}

// Lend implements engine.Lender.
func (e *Engine[T]) Lend(ctx context.Context, vs []T) (n int, spare []T, lent bool, err error) {
	g := lendCall[T]{slice: vs}
	if n, err = e.sendSlow(ctx, vs, false, &g); g.given {
		assertClear(g.slice)
		return n, g.slice, true, err
	}
	return n, nil, false, err
}

// lend puts the slice into a place as the run that begins at index; left is the number of its
// values that are to be sent. If it cannot, wait is whether the sender should wait for room
// rather than send a part. The caller has locked the send side.
func (e *Engine[T]) lend(index uint64, left int, g *lendCall[T], call *call) (wait bool) {
	s, l, vs := &e.send, e.send.seg.lent.Load(), g.slice
	if left < len(vs) || cap(vs) != l.slots {
		return false
	}
	head := e.recv.word.Load() &^ flags
	queued := (index - head) >> shift
	if queued+uint64(len(vs)) > e.limit {
		return call != nil && call.batch && e.overflow == engine.Block && !call.starving && !call.wait.Woken() && !call.wait.Canceled()
	}
	l.collect(head)
	if l.put-l.passed == uint64(len(l.places)) {
		return false
	}
	p := &l.places[l.put&uint64(len(l.places)-1)]
	if e.clear || asserting {
		clear(vs[len(vs):cap(vs)]) // what was there before
	}
	if asserting {
		l.assertGiven(vs)
	}
	g.given, g.slice, p.slice = true, l.spare(), vs
	l.given += l.bytes(vs) - l.bytes(g.slice)
	p.end = index + uint64(len(vs))<<shift
	p.from.Store(index)
	l.put++
	s.high = max(s.high, queued+uint64(len(vs)))
	if int64(s.bound-p.end) < 0 {
		s.bound = p.end
	}
	if e.ages.Due(head, index, one) {
		e.send.queue.Tally().Sample(e.ages.Observe(head, index))
	}
	return false
}

// collect moves the spare slices of places that head has passed to spares. The caller has
// locked the send side.
func (l *lent[T]) collect(head uint64) {
	for ; l.passed != l.put; l.passed++ {
		p := &l.places[l.passed&uint64(len(l.places)-1)]
		if int64(p.end-head) > 0 {
			return
		}
		if cap(p.slice) == 0 {
			continue
		}
		if len(l.spares) == len(l.places) {
			l.given -= l.bytes(p.slice)
		} else {
			l.spares = append(l.spares, p.slice)
		}
		p.slice = nil
	}
}

// spare returns a spare slice, or nil. The caller has locked the send side.
func (l *lent[T]) spare() (vs []T) {
	last := len(l.spares) - 1
	if last < 0 {
		return nil
	}
	vs, l.spares[last] = l.spares[last], nil
	l.spares = l.spares[:last]
	return vs
}

// assertClear asserts that nobody has used a spare slice. The caller, which has got it, holds
// no lock: after the panic the channel can still be closed.
func assertClear[T any](spare []T) {
	if asserting && !engine.AllZero(spare[:cap(spare)]) {
		panic("segqueue: a slice was changed after it was given away or returned")
	}
}

// RecvLent implements engine.Lender.
func (e *Engine[T]) RecvLent(ctx context.Context, buf []T, loan *engine.Loan[T]) (int, error) {
	r := &e.recv
	word := r.word.Load()
	if word&flags&^drained != 0 || !r.word.CompareAndSwap(word, word|locked) {
		return e.recvSlow(ctx, buf, false, new(call), loan)
	}
	if index := word &^ flags; index == r.bound {
		if n := e.takeLent(index, len(buf), loan); n > 0 {
			r.unlock(word + uint64(n)<<shift)
			e.wakeSender()
			return n, nil
		}
	}
	n, err := e.take(word, buf, nil, new(call))
	if err == engine.ErrEmpty {
		return e.recvSlow(ctx, buf, true, new(call), loan)
	}
	return n, err
}

// takeLent lends the run that begins at index, if it is what a batch of at most most values
// would be; otherwise it returns 0. The caller owns the receive side, and recv.bound is
// index.
func (e *Engine[T]) takeLent(index uint64, most int, loan *engine.Loan[T]) (n int) {
	r, l := &e.recv, e.recv.seg.lent.Load()
	if l == nil {
		return 0
	}
	p := l.next()
	if p.from.Load() != index {
		return 0
	}
	tail := e.send.word.Load() &^ flags
	if tail == index {
		return 0 // it is being put there
	}
	queued := (tail - index) >> shift
	n = len(p.slice)
	if n != most && (n > most || uint64(n) != queued || loan.Full) {
		return 0
	}
	if asserting {
		clear(loan.Spare[:cap(loan.Spare)])
	}
	l.returned += l.bytes(loan.Spare) - l.bytes(p.slice)
	loan.Values, loan.Spare, p.slice = p.slice, nil, loan.Spare
	l.taken++
	r.high = max(r.high, queued)
	r.bound = index + uint64(n)<<shift
	return n
}

// boundAtLent moves recv.bound back to the next run. If that begins at index, it copies the
// run to its slots, and moves recv.bound to its end. The caller owns the receive side, and has
// moved recv.bound from index to tail.
func (e *Engine[T]) boundAtLent(l *lent[T], index uint64) {
	r, p := &e.recv, l.next()
	from := p.from.Load()
	if from-index >= r.bound-index {
		return // not queued
	}
	if from != index {
		r.bound = from
		return
	}
	run := p.slice
	at := (index >> shift) & uint64(len(r.buf)-1)
	n := copy(r.buf[at:], run)
	copy(r.buf, run[n:])
	if e.clear || asserting {
		clear(run)
	}
	p.slice = run[:0]
	l.taken++
	r.bound = index + uint64(len(run))<<shift
}

// next is the place of the next run to take.
func (l *lent[T]) next() *place[T] { return &l.places[l.taken&uint64(len(l.places)-1)] }

// bytes returns the memory of a slice that is in a place, or that was.
func (l *lent[T]) bytes(vs []T) int64 { return int64(cap(vs)) * int64(engine.SizeOf[T]()) }

// held returns the bytes in all places. The caller holds both locks.
func (l *lent[T]) held() int64 {
	if l == nil {
		return 0
	}
	places := int64(len(l.places)) * int64(unsafe.Sizeof(place[T]{})+unsafe.Sizeof([]T{}))
	return l.given + l.returned + places
}

// assertGiven asserts that a sender does not give a slice that was returned since it gave it.
func (l *lent[T]) assertGiven(full []T) {
	for _, vs := range l.spares {
		if engine.Same(vs, full) {
			panic("segqueue: a spare slice was given away")
		}
	}
}
