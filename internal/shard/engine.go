// Package shard is the engine of a channel for many CPUs: several lanes, each a
// segqueue with its own cache lines.
//
// The lanes, the number of lanes in use, and whether the channel is closed are an
// immutable value, the set. A goroutine that changes it makes a new set and
// replaces the pointer by a CAS. Two loads of the same pointer mean that the lanes
// were the same in between.
//
//   - A shared lane has a number below max. A key always maps to the same number, so
//     the order of a key does not depend on the number of lanes in use. Values without
//     a key go to one of the first active lanes, according to a hint, or to any other
//     one with room.
//   - A private lane belongs to one handle. It is removed when it is drained after
//     the handle was closed or became unreachable.
//   - Lane 0 is never removed. As long as it is the only one, the channel is that lane:
//     a send and a receive are its own, waits included.
//   - Otherwise receivers poll all lanes, starting at a cursor. They wait in one queue,
//     lane 0's, which all lanes share: a sender of an empty lane hands its value off to a
//     receiver that waits alone there.
//   - Every value of a hint or cursor is correct, but some are faster: see
//     affinity.go. For the number of active lanes see scale.go.
//
// A send and a receive are linearized in their lane. "Empty", "full" and the length
// are read between two equal sums of indices, which only grow. Close is the CAS that
// replaces the set, with the locks of all lanes held.
//
// docs/design/shard.md explains that, and why no wake-up is lost.
package shard

import (
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/callsite"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/segqueue"
	"github.com/sluice-go/sluice/internal/spin"
	"github.com/sluice-go/sluice/internal/waitq"
)

// cacheLine is the distance in bytes that prevents false sharing.
const cacheLine = 64

// An Engine is an engine.Engine.
type Engine[T any] struct {
	config    engine.Config[T]
	max       int // number of shared lanes
	set       atomic.Pointer[set[T]]
	receivers *waitq.Queue // that wait for a value in any lane: lane 0's
	// Senders that wait for room in any shared lane. It is nil if there can be only one:
	// they wait inside it.
	senders *waitq.Queue
	_       [cacheLine]byte

	sending   [hints]atomic.Uint32 // hints: see affinity.go
	receiving [hints]atomic.Uint32 // cursors: indices of set.all

	spins       [2]spin.Budget // of senders and of receivers
	quietNeeded atomic.Uint32  // see scale.go
	dropped     atomic.Uint64  // values rejected under DropNewest
	rejected    engine.Rejections
	ready       engine.Ready
}

// A set is the part of the state that changes rarely. It is immutable once published.
type set[T any] struct {
	shared   []*lane[T] // by number; nil if not open
	all      []*lane[T] // open shared lanes and private lanes, lane 0 first
	active   int        // number of shared lanes in use
	closed   bool
	version  uint64         // number of sets before this one
	ready    bool           // Ready was called
	gone     engine.Stats   // the statistics of removed lanes
	change   change         // of active, the last one
	starving [2]*request[T] // of a sender and of a receiver, or nil: see starvation.go

	// Derived by exchange, for the fast paths.
	only *segqueue.Engine[T] // lane 0 if there is no other one, and no receiver starves
	sole *segqueue.Engine[T] // lane 0 if no other shared lane is open, and no sender starves
	to   []*lane[T]          // shared, unless a sender starves
	from []*lane[T]          // all, unless receives must post or a receiver starves
}

// The sides of the channel, as indices.
const sends, receives = 0, 1

// A lane is a segqueue, and the contention that senders have sampled.
type lane[T any] struct {
	queue     *segqueue.Engine[T]
	private   bool
	forgotten *atomic.Bool // the handle is unreachable; nil for a shared lane
	_         [cacheLine]byte
	note      note
}

// New returns an engine with lanes of config.Limit values each. It has config.Lanes
// shared lanes; if that is 0, one, and up to GOMAXPROCS under contention.
func New[T any](config engine.Config[T]) *Engine[T] {
	if config.Lanes > 0 {
		return newEngine(config, config.Lanes, config.Lanes)
	}
	return newEngine(config, 1, runtime.GOMAXPROCS(0))
}

func newEngine[T any](config engine.Config[T], active, most int) *Engine[T] {
	e := &Engine[T]{config: config, max: most}
	e.quietNeeded.Store(firstQuiet)
	if most > 1 {
		e.senders = new(waitq.Queue)
	}
	first := &set[T]{shared: make([]*lane[T], most), active: active}
	for i := range active {
		first.shared[i] = e.newLane(first, false)
		first.all = append(first.all, first.shared[i])
	}
	e.receivers = first.all[0].queue.Receivers()
	if config.Sites != nil && most > 1 {
		e.senders.Tally().Watch(config.Sites.Send)
	}
	e.exchange(nil, first)
	return e
}

// Sites implements engine.Engine.
func (e *Engine[T]) Sites() *callsite.Sites { return e.config.Sites }

// newLane returns a lane for s.
func (e *Engine[T]) newLane(s *set[T], private bool) *lane[T] {
	config := e.config
	config.Elastic = true
	config.OnDrop = nil
	// The overflow policy applies to the channel, because other lanes may have room.
	config.Overflow = engine.Block
	config.SingleSender = private
	config.SingleReceiver = e.config.SingleReceiver && e.config.Overflow != engine.DropOldest
	others := e.senders
	if private {
		others = nil
	}
	var first *segqueue.Engine[T]
	if len(s.all) > 0 {
		first = s.all[0].queue
	}
	l := &lane[T]{queue: segqueue.NewLane(config, first, e.isOneLane, others), private: private}
	if s.ready {
		l.queue.ShareReady(&e.ready)
	}
	return l
}

// isOneLane reports whether lane 0 is the only one, and no receiver starves.
func (e *Engine[T]) isOneLane() bool { return e.set.Load().only != nil }

// with returns a copy of s with more lanes.
func (s *set[T]) with(more ...*lane[T]) *set[T] {
	next := *s
	next.all = append(slices.Clip(next.all), more...)
	return &next
}

// exchange replaces the set s by next, and reports whether the set was still s.
func (e *Engine[T]) exchange(s, next *set[T]) bool {
	next.only, next.sole, next.to, next.from = nil, nil, nil, nil
	if s != nil {
		next.version = s.version + 1
	}
	first := next.all[0]
	if next.starving[sends] == nil {
		next.to = next.shared
		if !slices.ContainsFunc(next.shared, func(l *lane[T]) bool { return l != nil && l != first }) {
			next.sole = first.queue
		}
	}
	if next.starving[receives] == nil {
		if len(next.all) == 1 {
			next.only = first.queue
		}
		if !next.ready {
			next.from = next.all
		}
	}
	return e.set.CompareAndSwap(s, next)
}

// opened returns a copy of s with the shared lanes of these numbers open.
func (e *Engine[T]) opened(s *set[T], numbers ...int) *set[T] {
	next := s.with()
	next.shared = slices.Clone(s.shared)
	for _, number := range numbers {
		if next.shared[number] == nil {
			next.shared[number] = e.newLane(s, false)
			next.all = append(next.all, next.shared[number])
		}
	}
	return next
}

// open returns the shared lane with the given number, and opens it if necessary. It
// returns nil if the channel was closed before that.
func (e *Engine[T]) open(number int) *lane[T] {
	for {
		s := e.set.Load()
		if l := s.shared[number]; l != nil || s.closed {
			return l
		}
		e.exchange(s, e.opened(s, number))
	}
}

// remove removes a private lane that is drained, and to which nothing more is sent.
func (e *Engine[T]) remove(l *lane[T]) {
	for s := e.set.Load(); slices.Contains(s.all, l) && !e.removeFrom(s, l); s = e.set.Load() {
	}
}

// removeFrom removes lanes from the set s, if that is the set and they are drained. With
// their locks held it replaces the set first: whoever finds such a lane closed finds
// another set, too. The lanes are in the order of s.all.
func (e *Engine[T]) removeFrom(s *set[T], lanes ...*lane[T]) (done bool) {
	next := s.with()
	next.all, next.shared = slices.Clone(s.all), slices.Clone(s.shared)
	now, drained := park.Now(), true
	for _, l := range lanes {
		l.queue.Hold()
		queued, _ := l.queued()
		drained = drained && queued == 0
		in := func(other *lane[T]) bool { return other == l }
		next.all = slices.DeleteFunc(next.all, in)
		if number := slices.IndexFunc(next.shared, in); number >= 0 {
			next.shared[number] = nil
		}
		var last engine.Snapshot
		l.queue.Held(now, &last)
		add(&next.gone, last.Stats)
	}
	next.gone.Bytes, next.gone.SendersWaiting, next.gone.OldestSender = 0, 0, 0 // waiting senders are about to leave
	done = drained && e.exchange(s, next)
	for _, l := range lanes {
		if done {
			l.queue.Shut()
		}
		l.queue.Release()
		if done {
			l.queue.Senders().WakeAll()
		}
	}
	return done
}

// hold takes the locks of all lanes and returns the set.
func (e *Engine[T]) hold() *set[T] {
	for {
		s := e.set.Load()
		for _, l := range s.all {
			l.queue.Hold()
		}
		if e.set.Load() == s {
			return s
		}
		s.release()
	}
}

func (s *set[T]) release() {
	for _, l := range s.all {
		l.queue.Release()
	}
}

// Close implements engine.Engine.
func (e *Engine[T]) Close() {
	s := e.hold()
	for next := s.with(); !s.closed; next = s.with() {
		if next.closed = true; e.exchange(s, next) {
			break
		}
		s.release()
		s = e.hold()
	}
	if s.closed {
		s.release()
		return
	}
	for _, l := range s.all {
		l.queue.Shut()
	}
	s.release()
	for _, l := range s.all {
		l.queue.Senders().WakeAll()
	}
	if e.senders != nil {
		e.senders.WakeAll()
	}
	e.receivers.WakeAll()
	e.ready.Close()
}

// Ready implements engine.Engine.
func (e *Engine[T]) Ready() <-chan struct{} {
	return e.ready.Chan(func() (hasValue, closed bool) {
		for {
			s := e.set.Load()
			next := s.with()
			next.ready = true
			if e.exchange(s, next) {
				for _, l := range s.all {
					l.queue.ShareReady(&e.ready)
				}
				return false, s.closed // ShareReady has posted for the values
			}
		}
	})
}
