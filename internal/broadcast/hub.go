// Package broadcast is the engine of package hub: one log of values, which publishers
// append to, and a cursor in it for each subscription.
//
// # The log
//
// Values have indices 0, 1, 2, … in the order of publishing; tail is the number of
// values so far. The log keeps the newest ones in blocks. A subscription is the index
// next of the value that it receives next, so its queue holds the values from next to
// tail-1. To publish a value is to append it once, whatever the number of subscriptions;
// a subscription that drops its oldest values is one whose next is taken to be at least
// tail-capacity. Only a subscription that drops its newest values has a queue of its own,
// since what it keeps may be older than the log; one that reports its oldest ones; and one with
// a filter. Its next moves with each value that is received, dropped or not wanted.
//
// Invariants, whenever Hub.lock is free:
//
//   - tail <= next+capacity for each subscription in the role gated, which are those with
//     policy Block or Evict, except those in the role lax: see evict.go. gate <= next+capacity
//     for each of them, so a publisher below gate need not look at any subscription.
//   - tail = next+n for each subscription with a queue of its own, of n values.
//   - Block number n has the values with indices n*size to n*size+size-1. The log has the
//     blocks from first to tail/size, without gaps: the block of the next value exists.
//   - A subscription pins the block of next, or an older one. A block is removed from the
//     log once it and all older ones have no pins, and replay does not need it. If the
//     log is at its limit of blocks, the oldest one is removed with its pins: only
//     subscriptions that have to drop its values are left there. Until these have moved,
//     which stray counts, no other block is removed before that limit.
//   - A block is reused only when it has no pins. So a slot is never written while a
//     subscription may read it.
//
// # Ownership
//
// Hub.lock guards the log, the pins, the roles and the lists. The lock of a subscription,
// which is a bit of its word, guards its cursor, its block and its own queue. If both are
// needed, Hub.lock is taken first. A receive takes only the lock of its subscription, except
// once per block, where it moves its pin; before it parks; and while a value is published, if it
// is a subscription with a queue of its own.
//
// # Linearization points
//
// Publish: the store of tail, for all subscriptions at once. So values have one order, that of
// the critical sections of their publishers, and a publisher's own values keep theirs; the
// values of a batch may have others between them. Subscribe: the critical section
// that sets next from tail; the replay is next = tail-n, so there is neither a gap nor a
// duplicate between replay and live values. Close of a subscription, and its eviction: the
// critical section of its own lock that sets err. Close of the Hub: the store of closed.
// Receive: the store of next.
//
// # Values in flight
//
// A value is with its publisher until it is in the log: a publisher that fails takes it away
// again, and no subscription has it. In the log it is queued for each subscription that was live at
// that moment. A subscription that ends discards its part, by moving next to tail; the end
// of the Hub leaves the log as it is. There is no third place.
//
// # Wake-ups
//
// A goroutine that finds nothing to receive joins the wait queue of its subscription, and
// then puts the subscription into the list waiting, unless a value has come: both under
// Hub.lock. A publisher appends its value and looks at the list under the same lock. So
// one of the two sees the other.
//
// A subscription in the list is due from the next value on. A publisher does not wake all of
// them itself: it takes the first fanout out of the list and wakes these. Each goroutine that
// leaves a wait queue wakes the next ones. While one is due, at least one goroutine is going to do that: pop stops
// only at subscriptions in whose queue a goroutine is, and that goroutine looks at the list
// after it has left the queue, also if its context ended the wait, and before it parks again.
//
// A publisher without room joins the queue of senders, stores the subscription that has no
// room in blocker, and then loads its word again. A receiver stores its word, and then loads
// the state of the queue and blocker. So one of the two sees the other.
package broadcast

import (
	"errors"
	"slices"
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/age"
	"github.com/sluice-go/sluice/internal/callsite"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/spin"
	"github.com/sluice-go/sluice/internal/waitq"
)

// ErrEvicted is the error of a subscription that was too slow.
var ErrEvicted = errors.New("hub: subscription evicted")

// noGate is the gate without gated subscriptions.
const noGate = ^uint64(0)

// A role is a list of subscriptions that the Hub looks at for the same reason.
type role int

const (
	member role = iota // all
	gated              // publishers must not go beyond their limit
	lax                // publishers have waited for it long enough
	queued             // those with a queue of their own
	polled             // Ready was called
	roles
)

// A Hub is where values are published.
type Hub[T any] struct {
	tail atomic.Uint64 // written under the lock
	lock spin.BusyLock
	// The fields below are guarded by the lock, except that atomic ones are also loaded
	// without.
	closed     atomic.Bool
	pending    atomic.Bool // a subscription in waiting is due
	publishing atomic.Bool // a value is in some of the queues of subscriptions, but not yet in all
	gate       uint64
	blocker    atomic.Pointer[Subscription[T]] // has no room
	log        blocks[T]
	roles      [roles][]*Subscription[T]
	waiting    list[T] // to wake after the next value
	joins      uint64  // subscriptions so far
	evicted    uint64
	filters    atomic.Pointer[filterSet[T]] // nil if there are none
	ages       age.Log
	lost       []loss[T] // for hooks: see lost.go

	senders waitq.Queue    // has a lock of its own
	sends   *callsite.Side // begins with the first subscription that has a name
	yields  spin.Yields
	spins   spin.Budget

	capacity int
	keeps    uint64 // values for a replay
	rejected engine.Rejections
}

// New returns a Hub whose subscriptions queue at most capacity values, and which keeps the
// last replay values for new ones.
func New[T any](capacity, replay int) *Hub[T] {
	h := &Hub[T]{gate: noGate, capacity: capacity, keeps: uint64(replay), sends: callsite.NewSide()}
	h.senders.Tally().Watch(h.sends)
	h.log.init(max(capacity, replay))
	h.waiting.init()
	return h
}

// Sites returns the call sites of its senders.
func (h *Hub[T]) Sites() *callsite.Sites { return &callsite.Sites{Send: h.sends} }

// Close ends the publishing. Queued values can still be received.
func (h *Hub[T]) Close() {
	h.acquire()
	if h.closed.Load() {
		h.lock.Unlock()
		return
	}
	h.closed.Store(true)
	for _, s := range h.roles[polled] {
		s.ready.Close()
	}
	all := slices.Clone(h.roles[member])
	h.lock.Unlock()
	h.senders.WakeAll()
	for _, s := range all {
		s.receivers.WakeAll()
	}
}

// Subscribe adds a subscription, which begins with the last replay values, or as many as
// there are, without those that it does not want. It fails with ErrClosed after Close. The hook and
// the filter may be nil.
func (h *Hub[T]) Subscribe(c Config, undelivered func(v T, discarded bool), filter func(v T) bool) (*Subscription[T], error) {
	s := newSubscription(h, c, undelivered, filter)
	h.acquire()
	next, tail := h.replay(s, c.Replay)
	defer h.lock.Unlock()
	if h.closed.Load() {
		return nil, engine.ErrClosed
	}
	if s.owns {
		next = tail - uint64(s.own.Len())
		s.observe(tail - next)
		h.add(s, queued)
	} else {
		s.block = h.log.pin(next)
	}
	s.start = next
	s.word.Store(next << 1)
	h.joins++
	h.add(s, member)
	switch c.Overflow {
	case engine.Block, engine.Evict:
		h.gateAt(s)
	}
	if filter != nil {
		h.addFilter(s)
	}
	return s, nil
}

// replay returns the range of the last n values, as far as there are any, and queues them in s if
// that has a queue of its own, and has not joined. The lock is held, and released for a filter. Then
// values may come meanwhile, for the next pass. From the tenth pass on, n is halved, so a filter that is
// slower than the senders ends with a shorter replay.
func (h *Hub[T]) replay(s *Subscription[T], n int) (next, tail uint64) {
	for known, pass := uint64(0), 1; ; known, pass = tail, pass+1 {
		if pass >= 10 {
			n /= 2
		}
		tail = h.tail.Load()
		next = tail - min(uint64(n), h.keeps, tail)
		for s.own.Len() > 0 && s.own.First().index < next {
			s.own.Pop()
		}
		var more []numbered[T]
		for i := max(next, known); s.owns && i < tail; i++ {
			more = append(more, numbered[T]{h.log.at(i), i})
		}
		if len(more) == 0 {
			return next, tail
		}
		if s.filter != nil {
			h.lock.Unlock()
		}
		for _, v := range more {
			if s.filter == nil || s.filter(v.value) {
				s.own.Push(v)
			}
		}
		if s.filter != nil {
			h.acquire() // and look for values that have come meanwhile
		}
	}
}

// gateAt makes publishers wait for room in s, or evict it. The lock is held.
func (h *Hub[T]) gateAt(s *Subscription[T]) {
	h.gate = min(h.gate, s.bound())
	h.add(s, gated)
}

// add puts s into the list of a role.
func (h *Hub[T]) add(s *Subscription[T], r role) {
	s.at[r] = int32(len(h.roles[r]))
	h.roles[r] = append(h.roles[r], s)
}

// drop takes s out of the list of a role, if it is there.
func (h *Hub[T]) drop(s *Subscription[T], r role) {
	i := s.at[r]
	if i < 0 {
		return
	}
	of := h.roles[r]
	last := len(of) - 1
	moved := of[last]
	of[i], of[last] = moved, nil
	moved.at[r] = i
	s.at[r] = -1 // moved may be s
	h.roles[r] = of[:last]
	if cap(of) > 64 && last < cap(of)/4 {
		h.roles[r] = append(make([]*Subscription[T], 0, cap(of)/2), of[:last]...)
	}
}

// remove ends s, a member whose lock is held, and releases that. Its receives fail with err from
// now on, and its queued values are discarded. The lock of the Hub is held.
func (h *Hub[T]) remove(s *Subscription[T], err error) {
	for r := range roles {
		h.drop(s, r)
	}
	if s.filter != nil {
		h.dropFilter(s)
	}
	s.ready.Close()
	s.listed.unlist()
	s.end(h.tail.Load(), err)
	block := s.block
	s.block = nil
	s.release()
	if block != nil {
		h.log.unpin(block, h.keep())
	}
	if s.timer != nil {
		s.timer.Stop()
	}
	if h.blocker.Load() == s { // only members may be there
		h.blocker.Store(nil)
	}
}

// keep returns the index of the oldest value that a replay may need.
func (h *Hub[T]) keep() uint64 {
	tail := h.tail.Load()
	return tail - min(tail, h.keeps)
}

// acquire takes the lock, which each goroutine holds for a short time.
func (h *Hub[T]) acquire() {
	if !h.lock.TryLock() {
		h.lock.Wait(false)
	}
}
