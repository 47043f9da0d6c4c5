package workpool

import (
	"sync"
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/waitq"
)

// An Outlet hands the results of a pool to any number of receivers.
//
//   - The store belongs to the workers. Results move from it to run, a whole run at
//     a time, and from there to receivers. lock guards run and every take.
//   - If there is a result and a receiver waits, a wake-up is in flight: Put wakes a
//     receiver after it has published its result, and each receiver that returns
//     wakes the next one if there is more (see passOn).
//   - The receiver that takes a failure records it under lock. So a receiver that finds
//     nothing after the end knows the failure.
//   - A receiver joins the wait queue, polls again, and then parks. End sets ended
//     first and wakes all receivers then. Nothing is put after End, so a receiver
//     that reads ended before a poll that finds nothing has received everything.
type Outlet[U any] struct {
	store store[U]
	*signal
	record func(error) (first bool) // records the failure of the pool; called under lock
	end    func(error)              // ends the pool, after a record that was the first

	lock sync.Mutex
	run  []U
	next int // run[:next] has been received
}

// A store is where workers put results.
type store[U any] interface {
	// take returns a run of results. It is empty if no result is there now. The slice
	// run becomes the store's, and the returned slice the caller's. An error is the
	// failure of the next job in order. It is returned once, and no result follows.
	take(run []U) ([]U, error)
	// holds reports whether take would return something.
	holds() bool
	// release ends the wait of workers for room.
	release()
}

// A signal tells receivers that there are results.
type signal struct {
	receivers waitq.Queue
	ready     engine.Ready
	ended     atomic.Bool
}

// wanted reports whether a receiver is to be notified of a result.
func (s *signal) wanted() bool { return s.receivers.Waiting() || s.ready.InUse() }

// notify wakes a receiver. The caller has published a result.
func (s *signal) notify() {
	if s.receivers.Waiting() {
		s.receivers.Wake()
	}
	s.ready.Post()
}

// End records that all workers have ended: there will be no more results.
func (s *signal) End() {
	s.ended.Store(true)
	s.receivers.WakeAll()
	s.ready.Close()
}

// Release lets workers that wait for room put their results. The pool has stopped.
func (o *Outlet[U]) Release() { o.store.release() }

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

// passOn wakes another receiver if there is a result for it.
func (o *Outlet[U]) passOn() {
	if o.wanted() && o.holds() {
		o.notify()
	}
}

// holds reports whether there is a result.
func (o *Outlet[U]) holds() bool {
	o.lock.Lock()
	defer o.lock.Unlock()
	return o.next < len(o.run) || o.store.holds()
}

// receive moves results into buf.
func (o *Outlet[U]) receive(buf []U) (n int) {
	o.lock.Lock()
	var err error
	first := false
	if o.next == len(o.run) {
		o.next = 0
		o.run, err, first = o.take(o.run)
	}
	n = copy(buf, o.run[o.next:])
	clear(o.run[o.next : o.next+n])
	o.next += n
	o.lock.Unlock()
	if first {
		o.end(err)
	}
	return n
}

// exchange returns a run in place of an empty one.
func (o *Outlet[U]) exchange(run []U) []U {
	o.lock.Lock()
	var err error
	first := false
	if o.next < len(o.run) {
		run = append(run[:0], o.run[o.next:]...)
		clear(o.run)
		o.run, o.next = o.run[:0], 0
	} else {
		run, err, first = o.take(run)
	}
	o.lock.Unlock()
	if first {
		o.end(err)
	}
	return run
}

// take takes a run from the store, and records a failure. The lock is held. If first is
// true, the caller calls end without the lock.
func (o *Outlet[U]) take(run []U) (taken []U, failure error, first bool) {
	taken, failure = o.store.take(run)
	if failure != nil {
		first = o.record(failure)
	}
	return taken, failure, first
}

// Ready returns a channel that becomes readable when TryRecv may return a result,
// and is closed at the end.
func (o *Outlet[U]) Ready() <-chan struct{} {
	return o.ready.Chan(func() (hasValue, closed bool) { return o.holds(), o.ended.Load() })
}
