// Package shard is the engine of a channel for many CPUs: several lanes, each a
// chain of its own with its own cache lines, behind one pair of ends.
//
// # States and ownership
//
// All that changes seldom is one immutable value, the set: which lanes there
// are, how many of them senders spread over, whether the channel is closed.
// Whoever changes it makes a new one and exchanges the pointer by a CAS, so two
// looks that find the same pointer saw the same lanes in between.
//
//   - A shared lane has a number below max and stays for good once it is open.
//     Values sent with a key go to the lane that the key is mapped to: always the
//     same one, so their order never depends on how many lanes are in use.
//     Values sent without go to one of the first active lanes, by a hint.
//   - A private lane belongs to one handle, whose sends need no lock. It is
//     removed when the handle is closed or forgotten, and the lane drained.
//   - Receivers look at all lanes, starting at a cursor.
//   - Hints and cursors are only that: any value is right, some are faster. See
//     place.go. For the number of active lanes see scale.go.
//
// # Linearization
//
// A send and a receive happen in their lane, as in package chain. Verdicts about
// all lanes need two looks. Indices only grow, so if the sum of all tails is the
// same after a look as before it, nothing was sent meanwhile, and a lane that was
// seen empty stayed empty: at the end of the look all of them were. In the same
// way "full" is read between two equal sums of the heads, and the length between
// two equal sums of both.
//
// Close holds the locks of all lanes, exchanges the set for one that is closed,
// and shuts the lanes: it happens at the exchange, as nothing moves before it
// lets go. So whoever finds the set closed, and then all lanes empty, knows that
// nothing will come.
//
// # Waiting: why no wake-up is lost
//
// Receivers wait in one waitq.Queue of the channel, at which each send looks after
// it has moved its lane's tail; they join it and then look at all lanes again,
// beginning with the set. A lane that is missing in the set they see was added
// after they had joined, so its sender sees them. Senders without a key or a
// handle wait for room in any shared lane, in a line at which each receive from
// such a lane looks; they wait only if all max lanes are open, and full. Senders
// who want one lane wait in that lane. Whoever leaves a line with its wake-up
// passes it on if another could go on.
//
// # What it costs
//
// A value sent on a handle: what it costs in a chain with a single sender. Sent
// without: a load of the set and of the hint more, both seldom written. No word
// is written by two Ps but those that the two sides of a lane exchange, once a run.
//
// # Tried and lost
//
// The place of a P from a sync.Pool for each send: 9 ns, as much again as the send.
//
// A line that is strict, as in package chain, for batches without a lane of their own: of
// 64 senders 99 % of the values took 14, 11 and 18 ms at GOMAXPROCS 1, 2 and 8, and 8, 12
// and 17 without (medians of 6 rounds of bench/logagg, 2026-11-21, AMD EPYC Zen 5 VM with 2
// cores, Go 1.26.8). Those who come by are held up already: they leave a lane alone in
// which there is little room, until they join the line themselves.
package shard

import (
	"runtime"
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/segqueue"
	"github.com/sluice-go/sluice/internal/spin"
	"github.com/sluice-go/sluice/internal/waitq"
)

// cacheLine is the distance that keeps two Ps from writing the same line.
const cacheLine = 64

// An Engine is an engine.Engine.
type Engine[T any] struct {
	config engine.Config[T]
	max    int // shared lanes at most
	set    atomic.Pointer[set[T]]
	_      [cacheLine]byte

	receivers waitq.Queue // for a value in any lane
	_         [cacheLine]byte
	senders   waitq.Queue // for room in any shared lane
	_         [cacheLine]byte

	sending   [places]atomic.Uint32 // hints: see place.go
	receiving [places]atomic.Uint32 // cursors, into set.all

	sendSpin spin.Budget
	recvSpin spin.Budget
	scale    scale
	dropped  atomic.Uint64 // values refused under DropNewest
}

// A set is what changes seldom. It is never written to once it is published.
type set[T any] struct {
	shared []*lane[T] // by number; nil if not open yet
	all    []*lane[T] // those that are open, and the private ones
	active int        // senders spread over so many of the shared ones
	closed bool
	ready  *segqueue.Readiness
	gone   engine.Stats // the counts of lanes that were removed
	change change       // the last one of active

	// What the fast paths need, derived by exchange: the lanes in use by number,
	// and all lanes unless receives must post.
	to, from []*segqueue.Engine[T]
}

// A lane is a chain, and what senders note about it once in a while.
type lane[T any] struct {
	*segqueue.Engine[T]
	private   bool
	forgotten *atomic.Bool // its handle is garbage; nil if it has none
	_         [cacheLine]byte
	note      note
}

// New returns an engine with lanes of config.Limit values each: config.Lanes
// shared ones; if that is 0, one, and up to GOMAXPROCS when they are needed.
func New[T any](config engine.Config[T]) *Engine[T] {
	e := &Engine[T]{config: config, max: config.Lanes}
	active := config.Lanes
	if config.Lanes == 0 {
		e.max, active = runtime.GOMAXPROCS(0), 1
	}
	e.scale.patience.Store(firstPatience)
	first := &set[T]{shared: make([]*lane[T], e.max), active: active}
	for i := range active {
		first.shared[i] = e.newLane(first, false)
	}
	first.all = append(first.all, first.shared[:active]...)
	e.exchange(nil, first)
	return e
}

// newLane returns a lane that is fit to be part of s.
func (e *Engine[T]) newLane(s *set[T], private bool) *lane[T] {
	config := e.config
	config.Elastic = true
	config.OnDrop = nil
	// What to do without room is decided here, where other lanes may have some.
	config.Overflow = engine.Block
	config.SingleSender = private
	config.SingleReceiver = e.config.SingleReceiver && e.config.Overflow != engine.DropOldest
	others := &e.senders
	if private {
		others = nil
	}
	l := &lane[T]{Engine: segqueue.NewLane(config, &e.receivers, others), private: private}
	if s.ready != nil {
		l.SetReadiness(s.ready)
	}
	return l
}

// with returns a copy of s, with one lane more if l is not nil.
func (s *set[T]) with(l *lane[T]) *set[T] {
	next := *s
	if l != nil {
		next.all = append(next.all[:len(next.all):len(next.all)], l)
	}
	return &next
}

// exchange makes next the set, if it still is s.
func (e *Engine[T]) exchange(s, next *set[T]) bool {
	next.to, next.from = engines(next.shared[:next.active]), nil
	if next.ready == nil {
		next.from = engines(next.all)
	}
	return e.set.CompareAndSwap(s, next)
}

func engines[T any](of []*lane[T]) []*segqueue.Engine[T] {
	list := make([]*segqueue.Engine[T], len(of))
	for i, l := range of {
		list[i] = l.Engine
	}
	return list
}

// open returns the shared lane of that number, and opens it if need be. It is
// nil if the channel was closed before.
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

// remove takes a private lane that is shut and drained out of the set. Its
// counts will not change any more.
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
		next.gone.Bytes, next.gone.SendersWaiting, next.gone.OldestSender, next.gone.OldestValue = 0, 0, 0, 0 // who waits is on the way out
		if e.exchange(s, next) {
			return
		}
	}
}

// empty reports whether the lane was empty at some moment of the call, and that
// it is so for good if it is shut.
func (l *lane[T]) empty() (empty, shut bool) {
	forgotten := l.forgotten != nil && l.forgotten.Load() // nothing is sent after that
	head := l.Head()
	tail, shut := l.Tail()
	return tail == head, shut || forgotten
}

// hasRoom reports whether there was room for that many values at some moment.
func (l *lane[T]) hasRoom(values int) bool {
	tail, _ := l.Tail()
	return tail-l.Head()+uint64(values) <= uint64(l.Cap())
}

// hold takes the locks of all lanes and returns the set that they are.
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
	if s.ready != nil {
		s.ready.Close()
	}
}

// Ready implements engine.Engine.
func (e *Engine[T]) Ready() <-chan struct{} {
	for {
		s := e.set.Load()
		if s.ready != nil {
			return s.ready.Token()
		}
		next := s.with(nil)
		next.ready = segqueue.NewReadiness()
		if !e.exchange(s, next) {
			continue
		}
		for _, l := range s.all {
			l.SetReadiness(next.ready)
		}
		if s.closed {
			next.ready.Close()
		}
		return next.ready.Token()
	}
}
