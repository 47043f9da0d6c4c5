// Package park is the only place in which a goroutine waits: how it is put to
// sleep, how it is woken, and how a wait is cancelled.
package park

import (
	"sync/atomic"
	"time"
)

// A Parker puts one goroutine at a time to sleep until a token arrives. The
// token may arrive first; there is at most one. Each wait of an engine owns one
// Parker, so that a token never reaches a goroutine it was not meant for.
//
// It is a channel with one slot: the cheapest wait that the runtime offers,
// that a context can cancel and that testing/synctest sees as blocked.
// sync.Cond costs the same and cannot be cancelled; sync.Mutex and
// sync.WaitGroup cost half as much again.
type Parker struct {
	token chan struct{}
}

// NewParker returns a parker without a token. It allocates.
func NewParker() Parker { return Parker{make(chan struct{}, 1)} }

// Park waits for the token and takes it. It returns false, without the token,
// if done is closed first. A nil done is never closed.
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

// Unpark puts the token down. It never waits: the engines unpark a parker once
// for each time that it was announced as parked.
func (p Parker) Unpark() { p.token <- struct{}{} }

// A Tally counts waits and adds up how long they took. When a wait begins is noted
// each time (see Since); when it ends, the clock is read for the first 16 waits, and
// later for one in sixteen, which then speaks for sixteen.
type Tally struct {
	waits   atomic.Uint64
	choices atomic.Uint64 // waits of goroutines that have several places
	spent   atomic.Int64
}

// Count counts one wait and returns how many waits its duration stands for.
func (t *Tally) Count() (weight int64) {
	return weightOf(t.waits.Add(1))
}

// weightOf is how many waits the duration of the n-th one stands for.
func weightOf(n uint64) int64 {
	switch {
	case n <= 16:
		return 1
	case n%16 == 0:
		return 16
	default:
		return 0
	}
}

// CountChoice counts a wait of a Choice that has a place here. It needs no lock,
// and leaves the clock to Choice.Sleep.
func (t *Tally) CountChoice() { t.choices.Add(1) }

// Spend adds the time of a wait that was counted by CountChoice.
func (t *Tally) Spend(d time.Duration) { t.spent.Add(int64(d)) }

// Park is Parker.Park, timed as weight says. since is the waiter's own.
func (t *Tally) Park(p Parker, done <-chan struct{}, weight int64, since *Since) bool {
	start := since.Begin()
	woken := p.Park(done)
	if weight > 0 {
		t.spent.Add(int64(Now()-start) * weight)
	}
	return woken
}

// Waits returns how many waits were counted.
func (t *Tally) Waits() uint64 { return t.waits.Load() + t.choices.Load() }

// Spent returns an estimate of the time of all waits that have ended.
func (t *Tally) Spent() time.Duration { return time.Duration(t.spent.Load()) }
