// Package callsite samples which functions send into a channel and which receive
// from it.
//
// Only a channel with a name has a Sites. Its engine takes a sample, which is the
// stack of the calling goroutine, at three moments:
//
//   - before a goroutine parks
//   - in one send of some hundreds into a long queue, where the age of the oldest value
//     is recorded
//   - in the first operation of all, and in the first one after each call of Stats. So
//     the senders and receivers that neither park nor fill a queue become known while
//     somebody looks.
//
// In the first two the clock is read anyway.
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
package callsite

import (
	"cmp"
	"math"
	"reflect"
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
	// identified is the least time between two samples with the number of the goroutine,
	// which takes 25 µs to find out.
	identified = 250 * time.Millisecond
	// maxGoroutines is how many goroutines of a call site are remembered.
	maxGoroutines = 8
	// halfLife is how long it takes until a sample counts half.
	halfLife = 10 * time.Second
	// forget is how long a call site is kept without a sample.
	forget = time.Minute
)

// Sites are the call sites of one channel. The subscriptions of a hub share the side of its
// senders.
type Sites struct{ Send, Receive *Side }

// New returns a Sites without samples.
func New() *Sites {
	s := &Sites{NewSide(), NewSide()}
	s.Send.Begin()
	s.Receive.Begin()
	return s
}

// Times before and after all others.
const (
	never   = math.MinInt64 / 2
	forever = math.MaxInt64
)

// NewSide returns a Side that takes no sample before Begin.
func NewSide() *Side {
	s := new(Side)
	s.last.Store(forever)
	s.asked.Store(forever)
	return s
}

// Begin lets the side take samples, from the next operation on. A Side that has begun stays as it is.
func (s *Side) Begin() {
	if s.last.CompareAndSwap(forever, never) {
		s.asked.Store(never)
		s.due.Store(true)
	}
}

// A Side holds the call sites of the senders, or of the receivers.
type Side struct {
	last  atomic.Int64 // when the last sample was taken; a value of park.Now
	asked atomic.Int64 // when a goroutine was identified last
	due   atomic.Bool  // see ProbeNext

	mu       sync.Mutex
	sites    []Site
	declared []Stack // see Receives
	onward   []Stack // see Continues
}

// A Stack is as from runtime.Callers, innermost first, with zeros at the end.
type Stack [maxDepth]uintptr

// A Site is a call site.
type Site struct {
	Stack      Stack
	Weight     float64  // samples, recent ones more
	Goroutines []uint64 // the numbers of some of the goroutines that were here, the last one first

	last time.Duration // when the last sample was taken: the time of Weight
}

// at returns the weight at the time now.
func (s *Site) at(now time.Duration) float64 {
	return s.Weight * math.Exp2(-float64(now-s.last)/float64(halfLife))
}

// ProbeNext makes the next operation on either side probe: see Due. An engine calls it in each
// call of Stats. It does nothing if s is nil.
func (s *Sites) ProbeNext() {
	if s != nil {
		s.Send.due.Store(true)
		s.Receive.due.Store(true)
	}
}

// Due reports whether an operation should call Probe.
func (s *Side) Due() bool { return s.due.Load() }

// Sample takes a sample at the time now, unless the last one was less than a period
// ago.
func (s *Side) Sample(now time.Duration) {
	if int64(now)-s.last.Load() >= int64(period) {
		s.take(now, false)
	}
}

// Probe is Sample for a program that is being inspected: from time to time it takes a
// sample in any case, and records which goroutine it is.
func (s *Side) Probe(now time.Duration) {
	s.due.Store(false)
	if int64(now)-s.asked.Load() < int64(identified) {
		s.Sample(now)
		return
	}
	s.asked.Store(int64(now))
	s.take(now, true)
}

func (s *Side) take(now time.Duration, identify bool) {
	s.last.Store(int64(now))
	var stack Stack
	runtime.Callers(3, stack[:])
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	if known := s.add(stack, now); identify {
		known.Goroutines = recent(known.Goroutines, goroutine(), maxGoroutines)
	}
}

// recent puts v first in a list of at most n different values, and so forgets the one that
// was not put there for the longest time.
func recent[T comparable](list []T, v T, n int) []T {
	list = slices.DeleteFunc(list, func(known T) bool { return known == v })
	return slices.Insert(list[:min(len(list), n-1)], 0, v)
}

// goroutine returns the number of the calling goroutine. The only way to learn it is the
// first line of a stack trace: "goroutine 7 [running]:".
func goroutine() (number uint64) {
	var text [len("goroutine 18446744073709551615 ")]byte
	for _, c := range text[len("goroutine "):runtime.Stack(text[:], false)] {
		if c < '0' || c > '9' {
			break
		}
		number = number*10 + uint64(c-'0')
	}
	return number
}

// add counts a sample, and forgets old sites. The lock is held.
func (s *Side) add(stack Stack, now time.Duration) *Site {
	s.sites = slices.DeleteFunc(s.sites, func(known Site) bool { return now-known.last >= forget })
	at := slices.IndexFunc(s.sites, func(known Site) bool { return known.Stack == stack })
	switch {
	case at >= 0:
	case len(s.sites) < maxSites:
		at = len(s.sites)
		s.sites = append(s.sites, Site{Stack: stack, last: now})
	default:
		at = 0
		for i := range s.sites {
			if s.sites[i].at(now) < s.sites[at].at(now) {
				at = i
			}
		}
		s.sites[at] = Site{Stack: stack, last: now}
	}
	known := &s.sites[at]
	known.Weight, known.last = known.at(now)+1, now
	return known
}

// Sites returns the call sites, those with the highest weight first. It allocates.
func (s *Side) Sites() []Site {
	s.mu.Lock()
	defer s.mu.Unlock()
	newest := time.Duration(math.MinInt64)
	for _, known := range s.sites {
		newest = max(newest, known.last)
	}
	sites := slices.Clone(s.sites)
	for i := range sites {
		known := &sites[i]
		known.Weight, known.Goroutines = known.at(newest), slices.Clone(known.Goroutines)
	}
	slices.SortStableFunc(sites, func(a, b Site) int { return cmp.Compare(b.Weight, a.Weight) })
	return sites
}

// A goroutine of this library, such as a worker, has no function of the program on its
// stack while it receives. So what starts it declares the function that it works for.
// Declared functions stand for the samples whose stacks are entirely in this library.

// maxDeclared is the number of functions that can be declared for a side.
const maxDeclared = 16

// Receives declares that goroutines of this library receive from the channel, and call the
// function f with its values. Like the other declarations, it does nothing if s is nil.
func (s *Sites) Receives(f any) {
	if s != nil {
		s.Receive.declare(&s.Receive.declared, entry(f))
	}
}

// entry returns the function f as a stack.
func entry(f any) Stack {
	return Stack{reflect.ValueOf(f).Pointer() + 1} // a return address is after the call, as symbolizers expect
}

// Continues declares that the results of what Receives has declared go to the function f,
// or, if f is nil, to a function on the caller's stack.
func (s *Sites) Continues(f any) {
	if s == nil {
		return
	}
	stack := callers()
	if f != nil {
		stack = entry(f)
	}
	s.Receive.declare(&s.Receive.onward, stack)
}

// Sends declares that a function on the caller's stack has goroutines of this library send
// into the channel.
func (s *Sites) Sends() {
	if s != nil {
		s.Send.declare(&s.Send.declared, callers())
	}
}

// Starts declares that the caller's caller has started goroutines of this library that
// receive from the channel, and send into it if sends.
func (s *Sites) Starts(sends bool) {
	if s == nil {
		return
	}
	stack := callers()
	s.Receive.declare(&s.Receive.declared, stack)
	if sends {
		s.Send.declare(&s.Send.declared, stack)
	}
}

// callers returns the stack of the caller's caller.
func callers() (stack Stack) {
	runtime.Callers(3, stack[:])
	return stack
}

func (s *Side) declare(list *[]Stack, stack Stack) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*list = recent(*list, stack, maxDeclared)
}

// Declared returns the declared stacks, and those to which their results go.
func (s *Side) Declared() (declared, onward []Stack) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.declared), slices.Clone(s.onward)
}
