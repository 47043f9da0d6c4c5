package broadcast

import (
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/internal/callsite"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/ring"
	"github.com/sluice-go/sluice/internal/spin"
	"github.com/sluice-go/sluice/internal/waitq"
)

// A Config configures a subscription.
type Config struct {
	Name       string
	Capacity   int
	Overflow   engine.Overflow // Block, DropNewest, DropOldest or Evict
	Patience   time.Duration   // for which publishers wait without a receive; 0: without end
	DropsAfter bool            // after that it drops values, rather than being evicted
	Replay     int
}

// A Subscription receives the values of a Hub. Its word is next<<1, or'ed with locked
// while a goroutine has its lock.
//
//	live   it has the role member; block is pinned and not nil, err is nil
//	ended  it has no role and is in no list; block is nil, err is why
//
// It ends once, with both locks held, by Close or by an eviction. While it is live, it is in the
// list waiting (the next value wakes it, or some goroutine is about to wake it for the last one),
// or not (it has values, or no goroutine waits for it, or one that waited has been woken).
//
// If owns is set, its values are in own, and next only counts.
type Subscription[T any] struct {
	word     atomic.Uint64
	block    *block[T] // of next, or an older one; nil when the subscription has ended
	capacity uint64
	hub      *Hub[T]
	sites    *callsite.Sites // nil without a name; the senders are those of the Hub

	overflow engine.Overflow
	owns     bool // its values are in own
	ready    engine.Ready

	// Guarded by the lock.
	err     error // why the subscription has ended
	high    uint64
	start   uint64 // index of the first value
	ended   uint64 // tail at the end
	dropped uint64 // values that it wanted, and that next has passed without a receive
	skipped uint64 // values that it did not want
	own     ring.Ring[numbered[T]]

	receivers waitq.Queue
	yields    spin.Yields
	spins     spin.Budget
	listed    node[T]      // guarded by the lock of the Hub
	at        [roles]int32 // position in the lists of the Hub, or -1

	// Guarded by the lock of the Hub: see evict.go.
	patience   time.Duration
	dropsAfter bool
	timer      *time.Timer
	stuckAt    uint64        // next, when a publisher found no room
	stuckSince time.Duration // of park.Now

	waits       atomic.Uint64 // times a publisher parked for room here
	name        string
	undelivered hook[T] // or nil

	// See filter.go. The last two are guarded by the lock of the Hub.
	filter   func(v T) bool // or nil
	asked    int            // its number in the set
	unlisted bool           // with a filter, in place of a node in the list waiting
}

const locked uint64 = 1

// A numbered value is one with its index.
type numbered[T any] struct {
	value T
	index uint64
}

func newSubscription[T any](h *Hub[T], c Config, undelivered hook[T], filter func(v T) bool) *Subscription[T] {
	s := &Subscription[T]{
		hub: h, capacity: uint64(c.Capacity), overflow: c.Overflow, patience: c.Patience, dropsAfter: c.DropsAfter,
		name: c.Name, undelivered: undelivered, filter: filter,
	}
	dropsOldest := c.Overflow == engine.DropOldest || c.DropsAfter
	s.owns = c.Overflow == engine.DropNewest || filter != nil || dropsOldest && undelivered != nil
	for r := range s.at {
		s.at[r] = -1
	}
	s.listed.of = s
	if c.Name != "" {
		s.sites = &callsite.Sites{Send: h.sends, Receive: callsite.NewSide()}
		s.sites.Send.Begin()
		s.sites.Receive.Begin()
		s.receivers.Tally().Watch(s.sites.Receive)
	}
	return s
}

// Sites returns the call sites of its receivers, and of the senders of the Hub.
func (s *Subscription[T]) Sites() *callsite.Sites { return s.sites }

// probe takes a sample if Stats has asked for one.
func (s *Subscription[T]) probe() {
	if s.sites != nil && s.sites.Receive.Due() {
		s.sites.Receive.Probe(park.Now())
	}
}

// acquire takes the lock and returns next.
func (s *Subscription[T]) acquire() (next uint64) {
	var pace spin.Backoff
	for {
		if w := s.word.Load(); w&locked == 0 && s.word.CompareAndSwap(w, w|locked) {
			return w >> 1
		}
		pace.Pause()
	}
}

// release releases the lock, and leaves next as it is.
func (s *Subscription[T]) release() { s.word.Store(s.word.Load() &^ locked) }

// releaseAt sets next and releases the lock.
func (s *Subscription[T]) releaseAt(next uint64) { s.word.Store(next << 1) }

// bound returns the index of the first value for which there is no room.
func (s *Subscription[T]) bound() uint64 { return s.word.Load()>>1 + s.capacity }

// Close ends the subscription and discards its queued values.
func (s *Subscription[T]) Close() {
	h := s.hub
	h.acquire()
	if s.at[member] < 0 { // it has ended
		h.lock.Unlock()
		return
	}
	s.acquire()
	h.remove(s, engine.ErrClosed)
	lost := h.takeLost()
	h.lock.Unlock()
	s.receivers.WakeAll()
	if h.senders.Waiting() {
		h.senders.Wake()
	}
	report(lost)
}

// end sets the error and discards the queued values. Both locks are held.
func (s *Subscription[T]) end(tail uint64, err error) {
	next := s.word.Load() >> 1
	s.err, s.ended = err, tail
	s.observe(tail - next)
	s.dropped += tail - next
	s.loseQueue(next, tail, err)
	s.own = ring.Ring[numbered[T]]{}
	s.word.Store(tail<<1 | locked)
}

// observe records the length of the queue.
func (s *Subscription[T]) observe(lag uint64) {
	if lag > s.high {
		s.high = min(lag, s.capacity)
	}
}

// offer queues a value that is wanted, or drops it or the oldest one. The lock of the Hub is held,
// and s has a queue of its own. If s has to be evicted, that has a value too many afterwards.
func (s *Subscription[T]) offer(v T, index uint64, wanted bool) {
	next := s.acquire()
	if wanted {
		s.ready.Post()
	}
	switch n := uint64(s.own.Len()); {
	case !wanted:
		s.skipped++
	case n < s.capacity || s.overflow == engine.Evict:
		s.own.Push(numbered[T]{v, index})
		s.observe(n + 1)
		s.releaseAt(next)
		if s.unlisted {
			s.unlisted = false
			s.hub.waiting.pushDue(&s.listed)
		}
		return
	default:
		s.dropped++
		if s.overflow != engine.DropNewest {
			oldest := s.own.Pop().value
			s.own.Push(numbered[T]{v, index})
			v = oldest
		}
		s.lose(v, false)
	}
	s.stuckAt++ // next moves without a receive
	s.releaseAt(next + 1)
}

// Len returns the number of queued values.
func (s *Subscription[T]) Len() int {
	if s.owns {
		s.hub.acquire()
		defer s.hub.lock.Unlock()
	}
	next := s.acquire()
	defer s.release()
	if s.err != nil {
		return 0
	}
	return int(min(s.hub.tail.Load()-next, s.capacity))
}

// Cap returns the capacity.
func (s *Subscription[T]) Cap() int { return int(s.capacity) }

// Ready returns the channel that gets a token for each value.
func (s *Subscription[T]) Ready() <-chan struct{} {
	return s.ready.Chan(func() (hasValue, closed bool) {
		h := s.hub
		h.acquire()
		defer h.lock.Unlock()
		if s.at[member] < 0 || h.closed.Load() {
			return false, true
		}
		h.add(s, polled)
		return s.hasValue(), false
	})
}

// hasValue reports whether a value is queued.
func (s *Subscription[T]) hasValue() bool {
	if s.owns {
		s.acquire()
		defer s.release()
		return s.own.Len() > 0
	}
	return s.word.Load()>>1 != s.hub.tail.Load()
}
