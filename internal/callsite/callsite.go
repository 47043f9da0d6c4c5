// Package callsite samples which functions send into a channel and which receive
// from it.
//
// Only a channel with a name has a Sites. Its engine takes a sample, which is the
// stack of the calling goroutine, at three moments:
//
//   - before a goroutine parks, where the clock is read anyway
//   - in one operation of some thousands: see Counter
//   - in the first operation of all, and in the first one after each call of Stats. So
//     the senders and receivers of a channel that is neither busy nor waited for are
//     known, too.
//
// A side is sampled at most once per period, so the cost does not grow with the load.
// Samples are addresses; package flow finds the names of the functions when a program
// is inspected.
//
// Invariants of a Side:
//
//   - The holder of mu owns the sites. A sampler that finds it taken drops its
//     sample: it never waits.
//   - At most maxSites sites exist. A new one replaces the one with the least weight.
//   - A site that got no sample for the time forget is removed at the next sample of
//     its side. So a call site that is not used any more vanishes while others are
//     used, and the last one known stays.
//   - The stack of a site is immutable.
package callsite

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxDepth is the number of frames of a sample, those of this module included:
	// about ten.
	maxDepth = 40
	// maxSites is the number of different stacks of a side.
	maxSites = 16
	// period is the least time between two samples of a side. A sample takes up to
	// 4 µs: at most 0.1% of a processor.
	period = 4 * time.Millisecond
	// Every is how many operations pass between two readings of the clock.
	Every = 4096
	// halfLife is how long it takes until a sample counts half.
	halfLife = 10 * time.Second
	// forget is how long a call site is kept without a sample.
	forget = time.Minute
)

// Sites are the call sites of one channel.
type Sites struct{ Send, Receive Side }

// New returns a Sites without samples.
func New() *Sites {
	s := new(Sites)
	for _, side := range []*Side{&s.Send, &s.Receive} {
		side.last.Store(math.MinInt64 / 2)
	}
	return s
}

// A Side holds the call sites of the senders, or of the receivers.
type Side struct {
	last atomic.Int64 // when the last sample was taken; a value of park.Now

	mu     sync.Mutex
	halved time.Duration
	sites  []*site
}

type site struct {
	hash   uint64
	weight float64
	last   time.Duration
	stack  []uintptr
}

// A Site is a call site.
type Site struct {
	Stack  []uintptr     // as from runtime.Callers, innermost first; do not modify
	Weight float64       // samples, recent ones more
	Age    time.Duration // of its last sample, compared with the newest sample of the side
}

// Sample takes a sample at the time now, unless the last one was less than a period
// ago.
func (s *Side) Sample(now time.Duration) {
	if int64(now)-s.last.Load() >= int64(period) {
		s.take(now)
	}
}

func (s *Side) take(now time.Duration) {
	s.last.Store(int64(now))
	var frames [maxDepth]uintptr
	stack := frames[:runtime.Callers(3, frames[:])]
	if s.mu.TryLock() {
		s.add(stack, now)
		s.mu.Unlock()
	}
}

// A Counter takes a sample in one operation of Every. It belongs to the goroutine that
// owns its side of an engine.
type Counter struct {
	side *Side
	last uint64 // the operation at which the clock was read last
}

// Counters are the Counters of one engine, or of one lane of several.
type Counters struct{ Send, Receive Counter }

// Counters returns new Counters for s, or nil if s is nil.
func (s *Sites) Counters() *Counters {
	if s == nil {
		return nil
	}
	return &Counters{Counter{side: &s.Send}, Counter{side: &s.Receive}}
}

// Passes is called with the number of the next operation. It may skip numbers, and they
// wrap at a power of two. It reads the clock once in Every operations.
func (c *Counter) Passes(operation uint64, clock func() time.Duration) {
	if operation-c.last < Every {
		return
	}
	c.last = operation
	c.side.Sample(clock())
}

// Side returns the side that c counts for.
func (c *Counter) Side() *Side { return c.side }

// add counts a sample. The lock is held.
func (s *Side) add(stack []uintptr, now time.Duration) {
	s.age(now)
	hash := hashOf(stack)
	for _, known := range s.sites {
		if known.hash == hash && slices.Equal(known.stack, stack) {
			known.weight++
			known.last = now
			return
		}
	}
	next := &site{hash, 1, now, slices.Clone(stack)}
	if len(s.sites) < maxSites {
		s.sites = append(s.sites, next)
		return
	}
	least := 0
	for i, known := range s.sites {
		if known.weight < s.sites[least].weight {
			least = i
		}
	}
	s.sites[least] = next
}

// age halves the weights for each half-life that has passed, and forgets old sites.
func (s *Side) age(now time.Duration) {
	if len(s.sites) == 0 {
		s.halved = now
	}
	if now-s.halved < halfLife {
		return
	}
	factor := math.Exp2(-float64(now-s.halved) / float64(halfLife))
	s.halved = now
	s.sites = slices.DeleteFunc(s.sites, func(known *site) bool {
		known.weight *= factor
		return now-known.last >= forget
	})
}

// Sites returns the call sites, those with the highest weight first. It allocates.
func (s *Side) Sites() []Site {
	s.mu.Lock()
	defer s.mu.Unlock()
	newest := time.Duration(math.MinInt64)
	for _, known := range s.sites {
		newest = max(newest, known.last)
	}
	sites := make([]Site, 0, len(s.sites))
	for _, known := range s.sites {
		sites = append(sites, Site{known.stack, known.weight, newest - known.last})
	}
	slices.SortStableFunc(sites, func(a, b Site) int {
		switch {
		case a.Weight > b.Weight:
			return -1
		case a.Weight < b.Weight:
			return 1
		}
		return 0
	})
	return sites
}

// hashOf is FNV-1a over words.
func hashOf(stack []uintptr) uint64 {
	hash := uint64(14695981039346656037)
	for _, pc := range stack {
		hash = (hash ^ uint64(pc)) * 1099511628211
	}
	return hash
}
