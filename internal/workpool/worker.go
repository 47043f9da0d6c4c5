package workpool

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A worker is one goroutine of the pool. Others see its hand only.
type worker[T any] struct {
	hand hand[T]

	pool    *Pool[T]
	id      int
	gauge   gauge
	now     int64 // when the last batch ended, or the leader got jobs
	batch   int   // jobs received
	first   bool  // the one in slot 0 is claimed, and not yet run
	owes    bool  // left the line or resigned: shares before it runs a job
	lead    *leadership
	skipped []T // above the limit

	patrolled int64
	cursor    int // the hand that the next patrol begins after
	_         [64]byte
}

// find gets the worker a batch, and waits for it if need be. It returns false
// when the pool is over.
func (w *worker[T]) find() bool {
	c := w.pool
	var lull lull
	for !c.over() {
		found := w.rescue() || w.receive() || w.steal()
		led := false
		if !found {
			found, led = w.leads()
		}
		if found {
			lull.over(&c.patience, w.batch)
			if w.batch > 1 || w.owes {
				w.owes = false
				c.share()
			}
			return !c.stopped.Load()
		}
		if !led && !lull.pass(&c.patience) {
			w.follow()
		}
	}
	return false
}

// run runs the batch, as far as nobody steals it. The worker owns the job in slot
// 0.
func (w *worker[T]) run() {
	c, base := w.pool, w.hand.base
	ran := 0
	w.first = false
	for slot, ok := 0, true; ok; slot, ok = w.hand.claim() {
		job := w.hand.take(slot)
		seq := base + uint64(slot)
		if seq > c.limit.Load() {
			w.skipped = append(w.skipped, job)
			continue
		}
		ran++
		if err := c.Do(w.id, seq, job); err != nil {
			c.Stop(err)
		}
		if c.stopped.Load() {
			return
		}
	}
	now := c.clock()
	if ran > 0 {
		w.gauge.ran(now-w.now, ran)
	}
	w.now = now
}

// got takes note of n jobs in the worker's slots, whose first has number base,
// and offers all but that to others. It reports whether there is one.
func (w *worker[T]) got(n int, base uint64) bool {
	if n == 0 {
		return false
	}
	c := w.pool
	w.batch, w.first = n, true
	w.hand.base = base
	if n > 1 {
		w.hand.publish(n, w.now)
		c.board.raise(w.id)
	}
	return true
}

// done is a context that is done.
type done struct{ context.Context }

var never = make(chan struct{})

func init() { close(never) }

func (done) Deadline() (time.Time, bool) { return time.Time{}, false }
func (done) Done() <-chan struct{}       { return never }
func (done) Err() error                  { return context.Canceled }
func (done) Value(any) any               { return nil }

// receive takes what the source has, without waiting. Where jobs are numbered it
// is the leader while it does, so that numbers follow the order of receiving.
func (w *worker[T]) receive() bool {
	c := w.pool
	if c.closed.Load() {
		return false
	}
	size := w.gauge.size()
	if c.Room != nil {
		if !c.leadable() || !c.leader.CompareAndSwap(nil, &c.brief) {
			return false
		}
		defer w.resign()
		if size = min(size, c.room()); size == 0 {
			return false
		}
	}
	n, err := c.take(done{}, w.hand.room(size))
	if err != nil && !errors.Is(err, context.Canceled) {
		c.failed(err)
	}
	if !w.got(n, c.number(n)) {
		return false
	}
	if w.gauge.sampling() {
		w.gauge.took(c.clock() - w.now)
	}
	return true
}

// take receives from the source.
func (c *Pool[T]) take(ctx context.Context, buf []T) (n int, err error) {
	n, err = c.Source.RecvBatch(ctx, buf)
	if n < 0 || n > len(buf) {
		panic(fmt.Sprintf("workers: RecvBatch into room for %d returned %d, %v", len(buf), n, err))
	}
	return n, err
}

// room is how many jobs the leader may receive.
func (c *Pool[T]) room() int { return c.Room(c.next.Load()) }

// number gives numbers to n jobs received, and returns the first.
func (c *Pool[T]) number(n int) (first uint64) {
	if c.Room == nil {
		return 0
	}
	first = c.next.Load()
	c.next.Store(first + uint64(n))
	return first
}

// failed is told an error of the source.
func (c *Pool[T]) failed(err error) {
	if errors.Is(err, c.Closed) {
		c.closed.Store(true)
	} else {
		c.Stop(err)
	}
}

// steal takes from the first hand that has surplus.
func (w *worker[T]) steal() bool {
	c := w.pool
	return c.board.each(w.id, func(victim int) bool {
		return c.surplus(victim) && w.stealFrom(victim)
	})
}

// surplus reports whether the hand of a worker has surplus, and lowers its bit
// on the board if not.
func (c *Pool[T]) surplus(victim int) bool {
	if c.workers[victim].hand.surplus() > 0 {
		return true
	}
	c.board.lower(victim)
	return c.refilled(victim)
}

// refilled reports whether a hand that was empty has surplus now that its bit is
// lowered. Then it raises the bit, and calls an idle worker: who refilled the hand
// may have looked for somebody to call while the bit was down, and an idle worker
// for surplus.
func (c *Pool[T]) refilled(victim int) bool {
	if c.workers[victim].hand.surplus() == 0 {
		return false
	}
	c.board.raise(victim)
	c.call()
	return true
}

func (w *worker[T]) stealFrom(victim int) bool {
	h := &w.pool.workers[victim].hand
	n := min((h.surplus()+1)/2, w.gauge.size())
	if n == 0 {
		return false
	}
	n, base := h.steal(w.hand.room(n))
	return w.got(n, base)
}

// patrol is how many hands a worker looks at, once in a hold time, for jobs that
// have been held for longer.
const patrol = 4

// rescue steals jobs that their holder is too slow to run: f has become slower
// than it was measured. Busy workers do it before they receive more, so that even
// with no idle worker nothing lies in a hand until its holder comes back.
func (w *worker[T]) rescue() bool {
	c := w.pool
	hold := int64(c.Hold)
	if w.now-w.patrolled < hold {
		return false
	}
	for range min(patrol, len(c.workers)) {
		w.cursor = (w.cursor + 1) % len(c.workers)
		h := &c.workers[w.cursor].hand
		if w.cursor != w.id && w.now-h.since.Load() > hold && w.stealFrom(w.cursor) {
			w.cursor = (w.cursor + len(c.workers) - 1) % len(c.workers) // it may have more
			return true
		}
	}
	w.patrolled = w.now
	return false
}
