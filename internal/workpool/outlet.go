package workpool

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/spin"
	"github.com/sluice-go/sluice/internal/waitq"
)

// An Outlet carries results from the workers of a pool to any number of receivers: in the order
// of their jobs, by a window, or in no particular order, by a buffer for each worker. A receiver
// takes a whole buffer by exchanging its slice. So workers do not contend, a result can be received
// as soon as it is put, whatever its worker does next, and results move in runs while receivers are busy.
//
//   - A result belongs to its worker, then to the window or a buffer, then to run, then to a receiver.
//     lock guards run and every take.
//   - If a result can be received and a receiver waits, a wake-up is in flight: Put wakes a
//     receiver after it has published such a result, and each receiver that returns
//     wakes the next one if there is more (see passOn). Results in order: a worker publishes its
//     result, then looks for a receiver and compares base with its number. A take moves base, and
//     passOn then checks the slot of the new base. So one of the two sees the other.
//   - A worker puts its result into its buffer, then sets its bit, then looks for a receiver. A
//     receiver clears the bit, then empties the buffer. So no result is missed.
//   - A worker whose buffer is full joins its wait queue and checks again; a receiver empties
//     the buffer, then checks for a waiting worker. Release sets released, then wakes all workers. From
//     then on buffers grow beyond bufferSize, by one result for each worker. The room of a window
//     bounds the jobs that are received, so no worker waits for it.
//   - The receiver that takes a failure records it under lock. So a receiver that finds
//     nothing after the end knows the failure.
//   - A receiver joins the wait queue, polls again, and then parks. End sets ended
//     first and wakes all receivers then. Nothing is put after End, so a receiver
//     that reads ended before a poll that finds nothing has received everything.
type Outlet[U any] struct {
	window    *window[U] // nil if results are not ordered
	buffers   []buffer[U]
	nonempty  bitmap
	released  atomic.Bool
	receivers waitq.Queue
	ready     engine.Ready
	ended     atomic.Bool

	// Of the pool: see Feed.
	roomGrew func()
	record   func(error) (first bool) // records its failure; called under lock
	end      func(error)              // ends it, after a record that was the first

	lock sync.Mutex // guards the fields below, and holds and take of the window
	run  []U
	next int // run[:next] has been received
	turn int // the worker whose buffer is taken next
}

// bufferSize is how many results wait in a worker's buffer.
const bufferSize = 128

type buffer[U any] struct {
	lock   spin.Lock
	values []U
	putter waitq.Queue
	_      [64]byte
}

// NewOutlet returns an outlet for the results of that many workers. If width is not 0 they are
// ordered, and that many jobs are received after the last one whose result was taken.
func NewOutlet[U any](workers, width int) *Outlet[U] {
	o := &Outlet[U]{roomGrew: func() {}}
	if width > 0 {
		o.window = newWindow[U](width)
	} else {
		o.buffers, o.nonempty = make([]buffer[U], workers), newBitmap(workers)
	}
	return o
}

// Feed makes o the outlet of a pool that has not begun.
func Feed[T, U any](p *Pool[T], o *Outlet[U]) {
	o.record, o.end = p.record, p.end
	if o.window != nil {
		p.Room, o.roomGrew = o.window.room, p.roomGrew
	}
}

// Put puts the result of job seq, which the calling worker has run. Unless results are ordered, it
// waits while the buffer of the worker is full.
func (o *Outlet[U]) Put(worker int, seq uint64, v U) {
	if o.window != nil {
		if o.window.put(seq, v, nil) {
			o.notify()
		}
		return
	}
	b := &o.buffers[worker]
	for !b.put(v, o.released.Load()) {
		var wait waitq.Wait
		wait.Join(&b.putter, nil)
		if b.full() && !o.released.Load() {
			wait.Step()
		}
		wait.Leave() // no other goroutine waits in this queue
	}
	o.nonempty.set(worker)
	o.notify()
}

func (b *buffer[U]) put(v U, released bool) bool {
	b.lock.Lock()
	defer b.lock.Unlock()
	if len(b.values) >= bufferSize && !released {
		return false
	}
	b.values = append(b.values, v)
	return true
}

func (b *buffer[U]) full() bool {
	b.lock.Lock()
	defer b.lock.Unlock()
	return len(b.values) >= bufferSize
}

// Fail puts an error in place of the result of job seq. Results are ordered: it counts when its
// turn comes, unless an earlier job fails.
func (o *Outlet[U]) Fail(seq uint64, err error) {
	if o.window.put(seq, *new(U), err) {
		o.notify()
	}
}

// notify wakes a receiver. A result can be received.
func (o *Outlet[U]) notify() {
	if o.receivers.Waiting() {
		o.receivers.Wake()
	}
	o.ready.Post()
}

// passOn wakes another receiver if there is a result for it.
func (o *Outlet[U]) passOn() {
	if (o.receivers.Waiting() || o.ready.InUse()) && o.holds() {
		o.notify()
	}
}

// End records that all workers have ended: there will be no more results.
func (o *Outlet[U]) End() {
	o.ended.Store(true)
	o.receivers.WakeAll()
	o.ready.Close()
}

// Release lets workers that wait for room put their results. The pool has stopped.
func (o *Outlet[U]) Release() {
	o.released.Store(true)
	for i := range o.buffers {
		o.buffers[i].putter.WakeAll()
	}
}

// Recv waits for results and moves up to len(buf) of them into buf. It returns 0
// if there are no more, and ended is true; or if done was closed first.
func (o *Outlet[U]) Recv(done <-chan struct{}, buf []U) (n int, ended bool) {
	return o.await(done, func() int { return o.receive(buf) })
}

// TryRecv is Recv without the wait.
func (o *Outlet[U]) TryRecv(buf []U) (n int, ended bool) {
	ended = o.ended.Load()
	if n = o.receive(buf); n > 0 {
		o.passOn()
	}
	return n, ended
}

// TakeRun waits for results and returns a run of them, which is the caller's. The
// slice run becomes the outlet's. The new run is empty if there are no more.
func (o *Outlet[U]) TakeRun(run []U) []U {
	clear(run) // the outlet does not keep alive what the caller has received
	o.await(nil, func() int {
		run = o.exchange(run)
		return len(run)
	})
	return run
}

// Return returns the rest of a run to the outlet.
func (o *Outlet[U]) Return(rest []U) {
	if len(rest) == 0 {
		return
	}
	o.lock.Lock()
	o.run, o.next = append(rest[:len(rest):len(rest)], o.run[o.next:]...), 0
	o.lock.Unlock()
	o.passOn()
}

// Ready returns a channel that becomes readable when TryRecv may return a result,
// and is closed at the end.
func (o *Outlet[U]) Ready() <-chan struct{} {
	return o.ready.Chan(func() (hasValue, closed bool) { return o.holds(), o.ended.Load() })
}

// await polls until poll returns a number of results above 0, there are no more, or
// done is closed.
func (o *Outlet[U]) await(done <-chan struct{}, poll func() int) (n int, ended bool) {
	var wait waitq.Wait
	for {
		ended = o.ended.Load() // before the poll
		if n = poll(); n > 0 || ended || wait.Canceled() {
			break
		}
		if wait.Joined() {
			wait.Step()
		} else {
			wait.Join(&o.receivers, done)
		}
	}
	wait.Leave()
	o.passOn()
	return n, ended
}

// holds reports whether there is a result.
func (o *Outlet[U]) holds() bool {
	o.lock.Lock()
	defer o.lock.Unlock()
	switch {
	case o.next < len(o.run):
		return true
	case o.window != nil:
		return o.window.holds()
	}
	return o.nonempty.each(0, func(int) bool { return true })
}

// receive moves results into buf.
func (o *Outlet[U]) receive(buf []U) (n int) {
	o.lock.Lock()
	failure := o.fill()
	n = copy(buf, o.run[o.next:])
	clear(o.run[o.next : o.next+n])
	o.next += n
	o.lock.Unlock()
	if failure != nil {
		o.end(failure)
	}
	return n
}

// exchange returns a run in place of an empty one.
func (o *Outlet[U]) exchange(run []U) []U {
	o.lock.Lock()
	failure := o.fill()
	if o.next > 0 { // a part of it has been received
		o.run = slices.Delete(o.run, 0, o.next)
	}
	run, o.run, o.next = o.run, run[:0], 0
	o.lock.Unlock()
	if failure != nil {
		o.end(failure)
	}
	return run
}

// fill takes results if run has none. It records a failure: if that is the first one, fill returns
// it, and the caller calls end without the lock.
func (o *Outlet[U]) fill() error {
	if o.next < len(o.run) {
		return nil
	}
	o.run, o.next = o.run[:0], 0
	if o.window == nil {
		o.nonempty.each(o.turn, o.empty)
		return nil
	}
	var failure error
	if o.run, failure = o.window.take(o.run); len(o.run) > 0 {
		o.roomGrew()
	}
	if failure != nil && o.record(failure) {
		return failure
	}
	return nil
}

// empty exchanges the run, which has no results, for those of a worker. It reports whether there
// are any.
func (o *Outlet[U]) empty(worker int) bool {
	b := &o.buffers[worker]
	o.nonempty.clear(worker)
	b.lock.Lock()
	b.values, o.run = o.run, b.values
	b.lock.Unlock()
	if b.putter.Waiting() {
		b.putter.Wake()
	}
	o.turn = (worker + 1) % len(o.buffers)
	return len(o.run) > 0
}
