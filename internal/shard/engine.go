// Package shard is the engine of a channel for many CPUs: several lanes, each a
// segqueue with its own cache lines.
//
// The lanes, the number of lanes in use, and whether the channel is closed are an
// immutable value, the set. A goroutine that changes it makes a new set and
// replaces the pointer by a CAS. Two loads of the same pointer mean that the lanes
// were the same in between.
//
//   - A shared lane has a number below max, and stays open. A key always maps to
//     the same shared lane, so the order of a key does not depend on the number of
//     lanes in use. Values without a key go to one of the first active lanes,
//     according to a hint.
//   - A private lane belongs to one handle. It is removed when it is drained after
//     the handle was closed or became unreachable.
//   - Receivers poll all lanes, starting at a cursor.
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
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/callsite"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/segqueue"
	"github.com/sluice-go/sluice/internal/spin"
	"github.com/sluice-go/sluice/internal/waitq"
)

// cacheLine is the distance in bytes that prevents false sharing.
const cacheLine = 64

// An Engine is an engine.Engine.
type Engine[T any] struct {
	config engine.Config[T]
	max    int // number of shared lanes
	set    atomic.Pointer[set[T]]
	_      [cacheLine]byte

	receivers waitq.Queue // that wait for a value in any lane
	_         [cacheLine]byte
	senders   waitq.Queue // that wait for room in any shared lane
	_         [cacheLine]byte

	sending   [hints]atomic.Uint32 // hints: see affinity.go
	receiving [hints]atomic.Uint32 // cursors: indices of set.all

	sendSpin spin.Budget
	recvSpin spin.Budget
	scale    scale
	dropped  atomic.Uint64 // values rejected under DropNewest
	ready    engine.Ready
}

// A set is the part of the state that changes rarely. It is immutable once published.
type set[T any] struct {
	shared  []*lane[T] // by number; nil if not open
	all     []*lane[T] // open shared lanes and private lanes
	active  int        // number of shared lanes in use
	closed  bool
	version uint64       // number of sets before this one
	ready   bool         // Ready was called
	gone    engine.Stats // the statistics of removed lanes
	change  change       // of active, the last one

	// nil, or the request of a goroutine that starves: see starvation.go
	starvingSender, starvingReceiver *request[T]

	// Derived by exchange, for the fast paths: the lanes in use by number, unless a
	// sender starves; and all lanes, unless receives must post or a receiver starves.
	to, from []*segqueue.Engine[T]
}

// A lane is a segqueue, and the contention that senders have sampled.
type lane[T any] struct {
	*segqueue.Engine[T]
	private   bool
	forgotten *atomic.Bool // the handle is unreachable; nil for a shared lane
	_         [cacheLine]byte
	note      note
}

// New returns an engine with lanes of config.Limit values each. It has config.Lanes
// shared lanes; if that is 0, one, and up to GOMAXPROCS under contention.
func New[T any](config engine.Config[T]) *Engine[T] {
	e := &Engine[T]{config: config, max: config.Lanes}
	active := config.Lanes
	if config.Lanes == 0 {
		e.max, active = runtime.GOMAXPROCS(0), 1
	}
	e.scale.quietNeeded.Store(firstQuiet)
	if config.Sites != nil {
		e.senders.Tally().Watch(&config.Sites.Send)
		e.receivers.Tally().Watch(&config.Sites.Receive)
	}
	first := &set[T]{shared: make([]*lane[T], e.max), active: active}
	for i := range active {
		first.shared[i] = e.newLane(first, false)
	}
	first.all = append(first.all, first.shared[:active]...)
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
	others := &e.senders
	if private {
		others = nil
	}
	l := &lane[T]{Engine: segqueue.NewLane(config, &e.receivers, others), private: private}
	if s.ready {
		l.ShareReady(&e.ready)
	}
	return l
}

// with returns a copy of s, with lane l if that is not nil.
func (s *set[T]) with(l *lane[T]) *set[T] {
	next := *s
	if l != nil {
		next.all = append(next.all[:len(next.all):len(next.all)], l)
	}
	return &next
}

// exchange replaces the set s by next, and reports whether the set was still s.
func (e *Engine[T]) exchange(s, next *set[T]) bool {
	next.to, next.from = nil, nil
	if s != nil {
		next.version = s.version + 1
	}
	if next.starvingSender == nil {
		next.to = enginesOf(next.shared[:next.active])
	}
	if !next.ready && next.starvingReceiver == nil {
		next.from = enginesOf(next.all)
	}
	return e.set.CompareAndSwap(s, next)
}

func enginesOf[T any](of []*lane[T]) []*segqueue.Engine[T] {
	list := make([]*segqueue.Engine[T], len(of))
	for i, l := range of {
		list[i] = l.Engine
	}
	return list
}

// open returns the shared lane with the given number, and opens it if necessary. It
// returns nil if the channel was closed before that.
func (e *Engine[T]) open(number int) *lane[T] {
	for {
		s := e.set.Load()
		if l := s.shared[number]; l != nil || s.closed {
			return l
		}
		l := e.newLane(s, false)
		next := s.with(l)
		next.shared = append([]*lane[T](nil), s.shared...)
		next.shared[number] = l
		if e.exchange(s, next) {
			return l
		}
	}
}

// remove removes a private lane that is closed and drained. Its statistics are final.
func (e *Engine[T]) remove(l *lane[T]) {
	for {
		s := e.set.Load()
		next := s.with(nil)
		next.all = make([]*lane[T], 0, len(s.all))
		for _, other := range s.all {
			if other != l {
				next.all = append(next.all, other)
			}
		}
		if len(next.all) == len(s.all) {
			return
		}
		add(&next.gone, l.Stats())
		next.gone.Bytes, next.gone.SendersWaiting, next.gone.OldestSender, next.gone.OldestValue = 0, 0, 0, 0 // waiting senders are about to leave
		if e.exchange(s, next) {
			return
		}
	}
}

// empty reports whether the lane was empty at a moment of the call. If shut is true
// as well, it stays empty.
func (l *lane[T]) empty() (empty, shut bool) {
	queued, shut := l.queued()
	return queued == 0, shut
}

// queued returns a number of values that is 0 if the lane was empty at a moment of the
// call. If shut is true as well, it stays empty.
func (l *lane[T]) queued() (n int, shut bool) {
	forgotten := l.forgotten != nil && l.forgotten.Load() // nothing is sent after that
	head := l.Head()
	tail, shut := l.Tail()
	return int(tail - head), shut || forgotten
}

// hasRoom reports whether there was room for the given number of values at a moment
// of the call.
func (l *lane[T]) hasRoom(values int) bool {
	tail, _ := l.Tail()
	return tail-l.Head()+uint64(values) <= uint64(l.Cap())
}

// hold takes the locks of all lanes and returns the set.
func (e *Engine[T]) hold() *set[T] {
	for {
		s := e.set.Load()
		for _, l := range s.all {
			l.Hold()
		}
		if e.set.Load() == s {
			return s
		}
		s.release()
	}
}

func (s *set[T]) release() {
	for _, l := range s.all {
		l.Release()
	}
}

// Close implements engine.Engine.
func (e *Engine[T]) Close() {
	s := e.hold()
	for !s.closed {
		next := s.with(nil)
		next.closed = true
		if e.exchange(s, next) {
			break
		}
		s.release()
		s = e.hold()
	}
	was := s.closed
	if !was {
		for _, l := range s.all {
			l.Shut()
		}
	}
	s.release()
	if was {
		return
	}
	for _, l := range s.all {
		l.Senders().WakeAll()
	}
	e.senders.WakeAll()
	e.receivers.WakeAll()
	e.ready.Close()
}

// Ready implements engine.Engine.
func (e *Engine[T]) Ready() <-chan struct{} {
	return e.ready.Chan(func() (hasValue, closed bool) {
		for {
			s := e.set.Load()
			next := s.with(nil)
			next.ready = true
			if e.exchange(s, next) {
				for _, l := range s.all {
					l.ShareReady(&e.ready)
				}
				return false, s.closed // ShareReady has posted for the values
			}
		}
	})
}
