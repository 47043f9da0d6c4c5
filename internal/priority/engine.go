// Package priority is the engine of channels whose receives do not take the oldest value. With
// levels of urgency, a receive takes the oldest value of the most urgent level that has one,
// unless a less urgent level is due. With a schedule, it takes the value that was due first:
// timed.go says what is different then. With a backlog, values have an age: see aged.go.
//
// One BusyLock guards everything but the wait queues: a ring of values for each level, the
// set of levels that have values, and the turns of both sides. A level is due once it was
// passed over Config.MaxPassed times: see turns.go, which also proves the bound.
//
//   - Bit i of present is set iff level i has values; n is the sum of all lengths.
//   - Bit i of shut is set iff sends on level i fail. The channel is closed iff all bits are
//     set.
//   - n never exceeds the limit.
//   - A value belongs to the sender until push, and to the receiver from take on. Both
//     happen under the lock, and are the linearization points of a send and a receive.
//
// A goroutine that cannot proceed spins, yields and then waits in a wait queue: receivers in
// one, senders in that of their level. It polls again after each step. A goroutine that
// changes the channel looks for waiters under the lock, after the change: a waiter joins its
// queue before it takes the lock to poll, so one of the two sees the other, and no wake-up is
// lost. The goroutine that was woken passes the wake-up on when it leaves. starvation.go says
// what happens to one that was often overtaken.
//
// User code, which is LevelOf, OnDrop, OnExpire and the methods of contexts, runs without the
// lock.
package priority

import (
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/internal/age"
	"github.com/sluice-go/sluice/internal/callsite"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/ring"
	"github.com/sluice-go/sluice/internal/spin"
	"github.com/sluice-go/sluice/internal/waitq"
)

const (
	// MaxLevels is the number of bits of a set of levels.
	MaxLevels = 64
	// keptSlots is the number of slots up to which a level keeps its memory.
	keptSlots = 1024
	// cacheLine is the distance in bytes that prevents false sharing.
	cacheLine = 64
)

// A Config is an engine.Config and what only this engine reads.
type Config[T any] struct {
	engine.Config[T]
	Levels    int
	MaxPassed uint64
	LevelOf   func(T) int       // nil: Send sends on the last level
	DueAt     func(T) time.Time // with a schedule; nil: at once

	MaxAge, StaleAfter time.Duration // with a backlog; 0: never
	OnExpire           func(T)       // gets each value that was older than MaxAge; may be nil
}

// An Engine is an engine.Engine.
type Engine[T any] struct {
	// What each operation changes: one cache line.
	lock    spin.BusyLock
	busy    bool // the fast paths do not apply: see refresh
	probes  uint8
	ended   bool // the channel of Ready is closed
	timed   bool // the values are in schedule, or in backlog
	n       int
	present uint64
	turns   turns // of the levels with values; its count is the number of values received

	limit   int
	shut    uint64
	levels  []level[T]
	high    int
	dropped uint64
	ready   chan struct{} // nil until Ready is called

	schedule *schedule[T] // nil without times
	backlog  *backlog[T]  // nil without ages

	starvingSender, starvingReceiver *request[T]

	config Config[T]
	every  uint64 // the set of all levels
	wakes  turns  // of the levels with senders that wait
	_      [cacheLine]byte

	receivers waitq.Queue
	asleep    atomic.Int32 // calls that wait in a queue of senders
	sending   tactic
	receiving tactic
}

// A level is a FIFO, and the queue of senders that wait for room to send on it.
type level[T any] struct {
	values ring.Ring[T]
	since  uint64 // see turns
	sent   uint64 // the index of the next value to be sent
	high   int

	woken   uint64   // since, of its senders
	ages    *age.Log // nil until needed
	senders waitq.Queue
	_       [cacheLine]byte
}

// New returns an engine.
func New[T any](config Config[T]) *Engine[T] {
	e := &Engine[T]{config: config, limit: config.Limit, levels: make([]level[T], config.Levels)}
	e.every = 1<<config.Levels - 1
	e.turns.maxPassed, e.wakes.maxPassed = config.MaxPassed, config.MaxPassed
	e.watch()
	return e
}

// push queues v on a level that is open, where there is room. The lock is held.
func (e *Engine[T]) push(i int, v T) {
	l := &e.levels[i]
	if e.n++; e.n > e.high {
		e.high = e.n
	}
	n := l.values.Len() + 1
	if n == 1 {
		e.present |= 1 << i
		e.turns.begin(&l.since)
	}
	l.values.Push(v)
	l.sent++
	l.high = max(l.high, n)
	if n >= minObserved {
		e.observe(l)
	}
}

// put queues v, for which there is room, on level i, in the schedule, or in the backlog. The
// lock is held.
func (e *Engine[T]) put(i int, due time.Duration, v T) (ticket Ticket) {
	s := e.schedule
	switch {
	case !e.timed:
		e.push(i, v)
		return ticket
	case s == nil:
		e.n++
		e.high = max(e.high, e.n)
		e.backlog.push(v)
		return ticket
	}
	if due == atOnce {
		s.passed = park.Now()
		due = s.passed
	}
	e.n++
	e.high = max(e.high, e.n)
	ticket = s.push(due, v)
	e.rearm()
	return ticket
}

// able reports whether a value can be received. The lock is held.
func (e *Engine[T]) able() bool { return e.n > 0 && (e.schedule == nil || e.schedule.isDue()) }

// take removes and returns the next value. There is one, and the lock is held.
func (e *Engine[T]) take() T {
	if e.timed {
		return e.takeTimed()
	}
	i := bits.TrailingZeros64(e.present)
	if e.turns.count >= e.turns.due {
		i = e.turns.next(e.present, func(i int) uint64 { return e.levels[i].since })
	}
	l := &e.levels[i]
	v := l.values.Pop()
	e.turns.served(&l.since)
	e.n--
	if l.values.Len() == 0 {
		e.present &^= 1 << i
	}
	if l.values.Size() > keptSlots {
		l.values.Shrink(keptSlots)
	}
	return v
}

func (e *Engine[T]) takeTimed() T {
	e.n--
	e.turns.count++
	if e.schedule != nil {
		return e.schedule.pop()
	}
	return e.backlog.pop()
}

// evict removes the newest value of level i, which has one. The lock is held.
func (e *Engine[T]) evict(i int) T {
	l := &e.levels[i]
	v := l.values.PopLast()
	l.sent--
	if l.ages != nil {
		l.ages.Truncate(l.sent)
	}
	e.n--
	if l.values.Len() == 0 {
		e.present &^= 1 << i
	}
	return v
}

// isShut reports whether sends on level i fail.
func (e *Engine[T]) isShut(i int) bool { return e.shut>>i&1 != 0 }

// closed reports whether no level is open.
func (e *Engine[T]) closed() bool { return e.shut == e.every }

// over reports whether the channel is closed, and each value that it has can be received.
func (e *Engine[T]) over() bool {
	return e.closed() && (e.schedule == nil || e.n == 0 || e.schedule.allDue())
}

// endReady closes the channel of Ready.
func (e *Engine[T]) endReady() {
	if e.ready != nil && !e.ended {
		e.ended = true
		close(e.ready)
	}
}

// room returns how many values there is room for.
func (e *Engine[T]) room() int { return e.limit - e.n }

// Close implements engine.Engine.
func (e *Engine[T]) Close() { e.shutLevels(e.every) }

// shutLevels closes a set of levels, and the channel if no other level is open.
func (e *Engine[T]) shutLevels(set uint64) {
	e.lock.Lock()
	was := e.shut
	e.shut |= set
	set &^= was
	ends := e.closed() && set != 0
	if ends && e.over() {
		e.endReady()
	}
	ends = ends && (e.schedule == nil || e.n == 0)
	e.lock.Unlock()
	for i := range e.levels {
		if set>>i&1 != 0 {
			e.levels[i].senders.WakeAll()
		}
	}
	if ends {
		e.receivers.WakeAll()
	}
}

// Overflow implements engine.Engine.
func (e *Engine[T]) Overflow() engine.Overflow { return e.config.Overflow }

// Sites implements engine.Engine.
func (e *Engine[T]) Sites() *callsite.Sites { return e.config.Sites }

// refresh sets busy: Ready was called, a goroutine starves, or a call is to be sampled. The
// lock is held.
func (e *Engine[T]) refresh() {
	e.busy = e.ready != nil || e.starvingSender != nil || e.starvingReceiver != nil || e.probes != 0 || e.schedule != nil
}
