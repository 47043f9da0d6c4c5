package workers

import (
	"fmt"
	"sync"
)

// A Limit is how many workers of a running pool work: a pool is a call of [Run] or
// [RunKeyed], or the results of [Map]. It is in the options of the pool. [NewLimit] makes
// one, Set changes it, from any goroutine and at any time.
//
// The argument n of the pool is how many workers it has. As many of them work as the Limit
// allows, and the others are retired: a Limit above n counts as n. Choose n as the largest
// number that you may want. A retired worker has no job, waits, and costs a parked goroutine
// until the pool ends; with LockOSThread, a thread as well.
//
// Several pools, at the same time or one after the other, can have the same Limit. It applies
// to each of them: with a Limit of 4, three pools have up to 12 calls of f at once. Pools that
// share calls among them need a semaphore (package semaphore) instead.
type Limit struct {
	mu    sync.Mutex
	n     int
	pools map[resizable]struct{} // those that have begun and not ended
}

// A resizable is a pool, whatever the type of its jobs.
type resizable interface{ Resize(n int) }

// NewLimit returns a Limit of n workers. It panics if n is below 1.
func NewLimit(n int) *Limit {
	requireLimit("NewLimit", n)
	return &Limit{n: n, pools: map[resizable]struct{}{}}
}

// Set makes n the number of workers that work. It panics if n is below 1. To pause a pool,
// hold back its jobs.
//
// Raising n wakes retired workers, which take their share of the jobs that are queued
// already. Lowering n interrupts no call of f. Idle workers retire at once, others when
// their call of f has returned, whichever are first: until enough of them have, a worker
// that is done with a job retires instead of starting another one. So no call of f starts
// while more than n workers work, except for one that had passed this check when Set was
// called. Once the excess calls have returned, at most n run at once.
//
// A worker that retires hands the jobs that it has received and not started back to the
// workers that remain, which run them before they receive others. No job is lost or run
// twice. The results of an ordered Map keep their order, and so do the jobs of a key in
// RunKeyed, whose worker does not wait for MaxDelay to retire. A worker of Map that waits for
// room for its result retires when it has found room.
//
// Set does not wait for workers, so f may call it. The cost is O(1) for each running pool
// with this Limit, and Set does not allocate. If several goroutines call Set at the same
// time, the pools agree on one of the values, the one that Get returns. The value that was set
// before changes nothing and wakes no worker.
func (l *Limit) Set(n int) {
	requireLimit("Limit.Set", n)
	l.mu.Lock()
	defer l.mu.Unlock()
	if n == l.n {
		return
	}
	l.n = n
	for pool := range l.pools {
		pool.Resize(n)
	}
}

// Get returns the value that was set last. More workers may still be running jobs: see Set.
func (l *Limit) Get() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n
}

// attach makes the limit apply to a pool, whose workers are about to begin, until detach.
func (l *Limit) attach(pool resizable) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pools[pool] = struct{}{}
	pool.Resize(l.n)
}

func (l *Limit) detach(pool resizable) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pools, pool)
}

// requireLimit panics, on behalf of function, if n is not a limit.
func requireLimit(function string, n int) {
	if n < 1 {
		panic(fmt.Sprintf("workers: %s: n is %d (want 1 or more)", function, n))
	}
}
