// Package locked is the engine of channels whose order or waiting takes more than two
// indices: those with at most a few slots, where nearly every operation waits; those whose
// receives do not take the oldest value; and those with a limit in bytes.
//
// A BusyLock guards everything: a store of queued values, queues of waiting senders, and a
// queue of waiting receivers. The store decides what fits, and which value is next:
//
//	fifo       the oldest one
//	sized      the oldest one; the sum of sizes is limited
//	levels     the oldest one of the most urgent level, unless another one is due (turns.go)
//	schedule   the one that was due first, once it is due
//	backlog    the oldest one, unless it is stale or too old (aged.go)
//	dated      the oldest one, and none while that is too old (dated.go)
//
// A waiter carries its value, and is served under the lock by the goroutine that makes its
// operation possible. At each release of the lock, not counting waiters of a Select that cannot
// be claimed:
//
//   - If receivers wait, no value can be received: none is queued, or with a schedule none is due.
//     Without a schedule no sender waits.
//   - If senders wait, the value of the one whose turn it is does not fit.
//   - closed implies that no sender waits, and that a receiver waits only for a value of a schedule
//     that is not due yet. A closed level has no waiting senders.
//   - If time alone can make the operation of a waiter possible, the timer is set: see timer.go.
//
// So nobody overtakes a waiter, and none starves. With levels there is a queue of senders for each;
// their turns are those of turns.go, too.
//
// A Select whose send and receive wait in the same channel does not pair with itself. A
// waiter that cannot be claimed is skipped, except that one whose value does not fit still
// blocks those behind it until it leaves: see entry.go.
//
// A waiter belongs to its goroutine; while it is queued, its fields belong to the
// holder of the lock. The goroutine that dequeues a waiter serves it under the same
// lock: it moves the value and sets the outcome. That is the linearization point of
// both operations. The waiting goroutine reads the outcome under the lock.
//
// No wake-up is lost. A goroutine queues its waiter in the critical section in
// which it found nothing to do. Where that pays (see mode), it then yields once, takes the
// lock and looks whether it was served. If not, it sets parked in that critical section
// and parks; without a yield it sets parked when it is queued.
// A server that finds parked set delivers one token after the release of the lock; otherwise the
// waiter has yet to look. If the context ends the wait, the goroutine removes its
// waiter under the lock; if that is not queued any more, it was served, the
// operation has happened, and the token will arrive. A context is user code and may panic: it is
// asked before the waiter is queued, and again when it has left.
//
// Code of the user runs without the lock, in a goroutine with no waiter in a queue: functions of
// the options before the lock is taken, hooks after it was released.
//
// Parking and waking cost about as much as everything else together. With one P the
// yield runs the other side, so in a busy channel most waits of two goroutines end there.
// docs/adr/0003-waiting.md has the reasons and the alternatives.
package locked

import (
	"math/bits"
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/spin"
	"github.com/sluice-go/sluice/internal/waitq"
)

// An Engine is an engine.Engine. It begins with what each operation uses: two cache lines.
type Engine[T any] struct {
	lock    spin.BusyLock
	crowded atomic.Bool // as mode says: read without the lock
	timed   bool        // see count
	takers  int32       // receivers that wait
	offers  int32       // senders that wait, on any level
	busy    bool        // the fast paths do not apply: see refresh
	plain   bool        // the store is fifo
	direct  bool        // a value can be received at once: a send serves a receiver without the store
	dates   bool        // the store is a dated
	mode    mode        // see mayYield
	n       int         // queued values
	limit   int
	shut    uint64 // set of closed levels; without levels, all or nothing
	sent    uint64
	taken   uint64
	high    int
	fifo    fifo[T]

	store     store[T]
	receivers queue[T]
	senders   queue[T]    // without levels
	levels    *levels[T]  // the store, if it is one
	backlog   *backlog[T] // the store, if it is one
	timer     *timer      // nil if time alone changes nothing
	ready     engine.Ready
	dropped   uint64
	rejected  engine.Rejections

	served waitq.Served[transfer[T]] // to be woken after the release of the lock: see unlock

	key    func(v T, method string) (int64, error) // of a value, for the store; nil: base
	base   int64
	config engine.Config[T]
	rank   uint64 // see lastRank
}

// all is the set of all levels.
const all = ^uint64(0)

// New returns an engine for config.Limit queued values in their order; 0 makes a rendezvous.
func New[T any](config engine.Config[T]) *Engine[T] {
	if config.Size != nil {
		s := newSized(config)
		e := build[T](config, s)
		e.key = s.key
		e.refresh()
		return e
	}
	e := build[T](config, nil)
	e.plain, e.store = true, &e.fifo
	if config.Limit > 0 {
		e.fifo.values.Grow(config.Limit)
	}
	return e
}

// build returns an engine with a store.
func build[T any](config engine.Config[T], s store[T]) *Engine[T] {
	e := &Engine[T]{config: config, limit: config.Limit, store: s, direct: true, rank: lastRank.Add(1)}
	e.senders.total, e.receivers.total = &e.offers, &e.takers
	if sites := config.Sites; sites != nil {
		e.senders.waits.Watch(sites.Send)
		e.receivers.waits.Watch(sites.Receive)
		e.timed = true
	}
	return e
}

// refresh sets busy. The lock is held.
func (e *Engine[T]) refresh() {
	e.busy = e.ready.InUse() || e.timer != nil || e.key != nil && e.levels == nil
}

// isShut reports whether sends with that key fail.
func (e *Engine[T]) isShut(key int64) bool {
	return e.shut != 0 && (e.levels == nil || e.shut>>uint(key)&1 != 0)
}

// closed reports whether all sends fail.
func (e *Engine[T]) closed() bool { return e.shut == all }

// Close implements engine.Engine.
func (e *Engine[T]) Close() { e.shutLevels(all) }

// shutLevels closes a set of levels. Waiting senders fail, and receivers if nothing is left to
// receive.
func (e *Engine[T]) shutLevels(set uint64) {
	e.acquire()
	if e.shut |= set; e.levels != nil && bits.OnesCount64(e.shut) >= len(e.levels.of) {
		e.shut = all
	}
	for i := range e.queues() {
		if set>>i&1 != 0 {
			q := e.sendersAt(int64(i))
			for w := q.take(); w != nil; w = q.take() {
				e.serve(w, closed)
			}
		}
	}
	e.settle()
	e.unlock()
}

// queues returns the number of queues of senders.
func (e *Engine[T]) queues() int {
	if e.levels == nil {
		return 1
	}
	return len(e.levels.of)
}

// sendersAt returns the queue of senders of a level; without levels there is one queue.
func (e *Engine[T]) sendersAt(key int64) *queue[T] {
	if e.levels == nil {
		return &e.senders
	}
	return &e.levels.senders[key]
}

// Len implements engine.Engine.
func (e *Engine[T]) Len() int {
	e.lock.Lock()
	defer e.lock.Unlock()
	return e.n
}

// Cap implements engine.Engine.
func (e *Engine[T]) Cap() int { return e.limit }
