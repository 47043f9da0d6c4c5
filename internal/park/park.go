// Package park puts one goroutine to sleep and wakes it again, and records how
// often and for how long goroutines sleep.
//
// It is the only package of the library that blocks on a channel operation:
// package waitq decides which goroutine sleeps, and which one is woken.
package park

import (
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/internal/callsite"
)

// A Parker puts one goroutine at a time to sleep until a token arrives. The token
// may arrive before the goroutine parks. A Parker holds at most one token, and
// each wait owns its Parker, so a token never reaches another wait.
//
// A Parker is a channel with one slot. That is the cheapest wait in Go that a
// context can cancel and that testing/synctest recognizes as durably blocked:
// see docs/adr/0003-waiting.md.
type Parker struct {
	token chan struct{}
}

// NewParker returns a Parker without a token. It allocates.
func NewParker() Parker { return Parker{make(chan struct{}, 1)} }

// Park waits for the token and takes it. If done is closed first, Park returns
// false and takes no token. A nil done never ends the wait.
func (p Parker) Park(done <-chan struct{}) bool {
	if done == nil {
		<-p.token
		return true
	}
	select {
	case <-p.token:
		return true
	case <-done:
		return false
	}
}

// Wait is Park without an end: it adds no call.
func (p Parker) Wait() { <-p.token }

// Unpark delivers the token. It never blocks, because an engine calls Unpark once
// for each time that a goroutine was announced as parked.
func (p Parker) Unpark() { p.token <- struct{}{} }

// Valid reports whether p was made by NewParker.
func (p Parker) Valid() bool { return p.token != nil }

// Pending reports whether an undelivered token is stored. It is for tests.
func (p Parker) Pending() bool { return len(p.token) > 0 }

// A Tally counts waits and estimates their total duration. The start of each wait that
// goes through a Tally is recorded (see Since); an engine may let others pass by it. The end
// is recorded for the first 16 waits, and from then on for one wait in 16, whose duration
// counts 16 times.
type Tally struct {
	waits   atomic.Uint64
	selects atomic.Uint64 // waits of goroutines with an entry in several queues
	spent   atomic.Int64
	sites   *callsite.Side // where goroutines wait; nil if the channel has no name
}

// Watch makes t sample the call sites of waits, and what Sample and Probe are called for. It is
// called before the first of these.
func (t *Tally) Watch(sites *callsite.Side) { t.sites = sites }

// Sample samples the calling goroutine, at the time now, unless t has no call sites.
func (t *Tally) Sample(now time.Duration) {
	if t.sites != nil {
		t.sites.Sample(now)
	}
}

// Probe takes a sample if the last call of Stats has asked for one: see callsite.Sites.ProbeNext.
// An engine calls it at the beginning of an operation, without a lock: a sample takes microseconds.
func (t *Tally) Probe() {
	if t.sites != nil && t.sites.Due() {
		t.probe()
	}
}

func (t *Tally) probe() { t.sites.Probe(Now()) }

// Count counts one wait and returns its Weight.
func (t *Tally) Count() (weight int64) {
	return Weight(t.waits.Add(1))
}

// AlwaysTimed is the number of waits up to which an engine times each, although nobody has
// asked. In later ones the clock would be a tenth of the cost.
const AlwaysTimed = 1 << 10

// Sampled is how many waits Weight measures one of, once it has measured as many.
const Sampled = 16

// Weight returns how many waits the duration of the n-th wait stands for, or 0 if
// that duration is not measured.
func Weight(n uint64) int64 {
	switch {
	case n <= Sampled:
		return 1
	case n%Sampled == 0:
		return Sampled
	default:
		return 0
	}
}

// CountSelect counts a wait, which begins now, of a Select that has an entry in this
// queue. It needs no lock. The Select measures the time once for all its queues and
// calls Spend.
func (t *Tally) CountSelect(now time.Duration) {
	t.selects.Add(1)
	t.Sample(now)
}

// Spend adds the time of a wait that CountSelect has counted.
func (t *Tally) Spend(d time.Duration) { t.spent.Add(int64(d)) }

// Park calls p.Park and records its duration with the given weight. since belongs
// to the waiter.
func (t *Tally) Park(p Parker, done <-chan struct{}, weight int64, since *Since) bool {
	start := since.Begin()
	t.Sample(start)
	woken := p.Park(done)
	if weight > 0 {
		t.spent.Add(int64(Now()-start) * weight)
	}
	return woken
}

// Waits returns the number of waits.
func (t *Tally) Waits() uint64 { return t.waits.Load() + t.selects.Load() }

// Spent returns an estimate of the total duration of all finished waits.
func (t *Tally) Spent() time.Duration { return time.Duration(t.spent.Load()) }

// Next waits for a token of ready, or for stop to be closed. open is false if ready
// was closed.
func Next(ready, stop <-chan struct{}) (open, stopped bool) {
	select {
	case <-stop:
		return false, true
	case _, open = <-ready:
		return open, false
	}
}
