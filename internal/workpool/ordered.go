package workpool

import (
	"math/bits"
	"sync/atomic"
)

// Ordered carries results from workers to receivers in the order of their sequence
// numbers. It has a slot for each of the next width numbers.
//
//   - base is the number of the first result that no receiver has taken. Only jobs
//     numbered below base+width are received (see Room), so no two jobs share a
//     slot.
//   - A slot belongs to its job's worker until the worker stores ready, which
//     publishes the result. Then it belongs to the receivers, until take moves base
//     past it, which gives it to the worker of a later job.
//   - Receivers wait for the slot of base. A worker stores ready, then checks for a
//     waiting receiver and compares base with its number. take moves base, and the
//     outlet then checks the slot of the new base. So one of the two sees the other.
type Ordered[U any] struct {
	signal
	width    uint64
	slots    []slot[U] // at least width, a power of two
	base     atomic.Uint64
	roomGrew func()
	failed   atomic.Bool // the job numbered base failed
}

type slot[U any] struct {
	ready atomic.Bool
	value U
	err   error
}

// maxRun is how many results take returns at most.
const maxRun = 64

// NewOrdered returns a store of that width, and its outlet.
func NewOrdered[U any](width int) (*Ordered[U], *Outlet[U]) {
	w := &Ordered[U]{width: uint64(width), slots: make([]slot[U], 1<<bits.Len(uint(width-1))), roomGrew: func() {}}
	return w, &Outlet[U]{store: w, signal: &w.signal}
}

// Feed connects the store and its outlet with the pool whose results they carry.
func Feed[T, U any](p *Pool[T], w *Ordered[U], o *Outlet[U]) {
	p.Room, w.roomGrew = w.Room, p.roomGrew
	o.record, o.end = p.record, p.end
}

func (w *Ordered[U]) at(seq uint64) *slot[U] { return &w.slots[seq&uint64(len(w.slots)-1)] }

// Room returns how many jobs may be received, if the first of them has number next.
func (w *Ordered[U]) Room(next uint64) int {
	return int(w.base.Load() + w.width - next)
}

// Put puts the result of job seq, or its error, into its slot. It never waits.
func (w *Ordered[U]) Put(seq uint64, v U, err error) {
	s := w.at(seq)
	s.value, s.err = v, err
	s.ready.Swap(true) // publishes the result before the check for receivers
	if w.wanted() && w.base.Load() == seq {
		w.notify()
	}
}

func (w *Ordered[U]) holds() bool {
	return !w.failed.Load() && w.at(w.base.Load()).ready.Load()
}

func (w *Ordered[U]) release() {} // Put never waits

// take returns the next results in order.
func (w *Ordered[U]) take(run []U) ([]U, error) {
	var zero U
	run = run[:0]
	base := w.base.Load()
	for s := w.at(base); len(run) < maxRun && s.ready.Load(); s = w.at(base) {
		if s.err == nil {
			run = append(run, s.value)
			s.value = zero
			s.ready.Store(false)
			base++
			continue
		}
		if len(run) > 0 || w.failed.Swap(true) {
			break
		}
		return run, s.err
	}
	if len(run) > 0 {
		w.base.Swap(base) // before the check for a worker that waits for room
		w.roomGrew()
	}
	return run, nil
}
