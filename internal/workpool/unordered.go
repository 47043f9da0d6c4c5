package workpool

import (
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/spin"
	"github.com/sluice-go/sluice/internal/waitq"
)

// bufferSize is how many results wait in a worker's buffer.
const bufferSize = 128

// Unordered carries results from workers to receivers, in no particular order. Each
// worker has a result buffer: a slice behind a lock. A result can be received as soon
// as it is put, whatever its worker does next. A receiver takes the whole buffer by
// exchanging its slice, so results move in runs while receivers are busy.
//
//   - A worker puts its result, then sets its bit, then wakes a receiver. A receiver
//     clears the bit, then empties the buffer. So no result is missed.
//   - A worker whose buffer is full joins the buffer's wait queue and checks again. A
//     receiver empties the buffer, then checks for a waiting worker.
//   - release sets released, then wakes all workers. From then on buffers grow beyond
//     bufferSize, by one result for each worker.
type Unordered[U any] struct {
	signal
	buffers  []buffer[U]
	nonempty bitmap
	next     int // where the next take starts; guarded by the lock of the outlet
	released atomic.Bool
}

type buffer[U any] struct {
	lock   spin.Lock
	values []U
	putter waitq.Queue
	_      [64]byte
}

// NewUnordered returns a store with a buffer for each worker, and its outlet.
func NewUnordered[U any](workers int) (*Unordered[U], *Outlet[U]) {
	u := &Unordered[U]{buffers: make([]buffer[U], workers), nonempty: newBitmap(workers)}
	return u, &Outlet[U]{store: u, signal: &u.signal}
}

// Put puts a result of a worker into its buffer, and waits while that is full.
func (u *Unordered[U]) Put(worker int, v U) {
	b := &u.buffers[worker]
	for !b.put(v, u.released.Load()) {
		var wait waitq.Wait
		wait.Join(&b.putter, nil)
		if b.full() && !u.released.Load() {
			wait.Step()
		}
		wait.Leave() // no other goroutine waits in this queue
	}
	u.nonempty.set(worker)
	u.notify()
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

func (u *Unordered[U]) release() {
	u.released.Store(true)
	for i := range u.buffers {
		u.buffers[i].putter.WakeAll()
	}
}

func (u *Unordered[U]) holds() bool {
	return u.nonempty.each(0, func(int) bool { return true })
}

// take returns the results of one worker.
func (u *Unordered[U]) take(run []U) ([]U, error) {
	run = run[:0]
	u.nonempty.each(u.next, func(worker int) bool {
		b := &u.buffers[worker]
		u.nonempty.clear(worker)
		b.lock.Lock()
		b.values, run = run, b.values
		b.lock.Unlock()
		if b.putter.Waiting() {
			b.putter.Wake()
		}
		u.next = (worker + 1) % len(u.buffers)
		return len(run) > 0
	})
	return run, nil
}
