// Package handoff is the engine of channels in which nearly every operation waits:
// those with at most a few slots, and those that serve waiting goroutines strictly
// in order.
//
// A BusyLock guards everything: a ring of queued values, a queue of waiting senders
// and a queue of waiting receivers. At each release of the lock, not counting
// waiters of a Select that cannot be claimed:
//
//   - len(receivers) > 0 implies len(buf) == 0 && len(senders) == 0.
//   - len(senders) > 0 implies that the value of the first one does not fit.
//   - closed implies len(senders) == 0 && len(receivers) == 0.
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
// lock and reads the outcome. If it was not served, it sets parked in that critical section
// and parks; without a yield it sets parked when it is queued.
// A server that finds parked set delivers one token; otherwise the waiter has yet
// to read its outcome. If the context ends the wait, the goroutine removes its
// waiter under the lock; if that is not queued any more, it was served and the
// operation has happened. A context is user code and may panic: it is asked before
// the waiter is queued, and again when it has left.
//
// Parking and waking cost about as much as everything else together. With one P the
// yield runs the other side, so in a busy channel most waits of two goroutines end there. ADR 3 has the measurements,
// the alternatives, and what limits this engine.
package handoff

import (
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/age"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/ring"
	"github.com/sluice-go/sluice/internal/spin"
)

// minSlots is the least size of an elastic buffer.
const minSlots = 64

// An Engine is an engine.Engine.
type Engine[T any] struct {
	lock      spin.BusyLock
	closed    bool
	plain     bool  // no sizes, no elastic buffer
	frees     uint8 // waiters in free
	senders   queue[T]
	receivers queue[T]
	free      *waiter[T] // reused, so that waiting does not allocate
	buf       ring.Ring[T]
	sizes     *ring.Ring[int] // of the values in buf, if elastic
	bytes     int64           // their sum
	ready     chan struct{}   // nil until Ready is called

	config  engine.Config[T]
	rank    uint64 // see lastRank
	sent    uint64
	taken   uint64
	dropped uint64
	high    int
	ages    *age.Log // nil until needed

	mode  mode          // see mayYield
	flags atomic.Uint32 // probes: see sites.go; crowded, timed
}

// New returns an engine for config.Limit queued values; 0 makes a rendezvous.
func New[T any](config engine.Config[T]) *Engine[T] {
	e := &Engine[T]{config: config, rank: lastRank.Add(1)}
	e.plain = config.Size == nil && !config.Elastic
	if config.Elastic {
		e.sizes = new(ring.Ring[int])
	} else if config.Limit > 0 {
		e.buf.Grow(config.Limit)
	}
	e.watch()
	return e
}

// Close implements engine.Engine.
func (e *Engine[T]) Close() {
	e.lock.Lock()
	if e.closed {
		e.lock.Unlock()
		return
	}
	e.closed = true
	if e.ready != nil {
		close(e.ready)
	}
	// Parked goroutines are woken after the lock is released, because each of them
	// takes it at once.
	var asleep *waiter[T]
	for _, l := range []*queue[T]{&e.senders, &e.receivers} {
		for w := l.take(); w != nil; w = l.take() {
			w.outcome = closed
			switch {
			case !w.parked:
			case w.sel != nil: // its entries belong to the Select
				w.parker.Unpark()
			default:
				w.next, asleep = asleep, w
			}
		}
	}
	e.lock.Unlock()
	for asleep != nil {
		w := asleep
		asleep, w.next = w.next, nil // after Unpark w belongs to its goroutine
		w.parker.Unpark()
	}
}
