package workpool

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-go/sluice/internal/engine"
)

// A worker is one goroutine of the pool. Other workers access its queue only.
type worker[T any] struct {
	queue localQueue[T]

	pool     *Pool[T]
	id       int
	sizer    sizer
	now      int64 // when the last batch ended, or the leader received jobs
	batch    int   // jobs received
	first    bool  // the job in slot 0 has not been run
	holds    bool  // the worker has a permit
	mustWake bool  // the worker left the wait queue or resigned: see find
	lead     *leadership
	skipped  []T // numbered above last

	checked int64 // when stealOverdue last ran
	cursor  int   // the last worker that stealOverdue visited
	_       [64]byte
}

// find gets a batch for the worker, and waits for jobs if necessary. It returns false
// when the pool is over.
func (w *worker[T]) find() bool {
	p := w.pool
	var idle spinner
	for !p.over() {
		if !w.holds || p.permits.exceeded() {
			w.follow()
			continue
		}
		found := w.takeBack() || w.stealOverdue() || w.receive() || w.steal()
		led := false
		if !found {
			found, led = w.leads()
		}
		if found {
			idle.end(&p.budget, w.batch)
			if w.batch > 1 || w.mustWake || p.ready() {
				w.mustWake = false
				p.wakeIfUseful()
			}
			return !p.stopped.Load()
		}
		if !led && !idle.spin(&p.budget) {
			w.follow()
		}
	}
	return false
}

// run runs the jobs of the batch that no other worker steals. The job in slot 0
// belongs to the worker. A worker that is to drop its permit starts no more of them.
func (w *worker[T]) run() {
	p, q, ran := w.pool, &w.queue, 0
	do, doNumbered, base, limited := p.Do, p.DoNumbered, q.base, p.Resizable
	w.first = false
	for slot, span, ok := 0, q.span.Load(), true; ok; slot, span, ok = q.claim(span) {
		if limited && p.permits.exceeded() {
			w.handBack(slot, span)
			break
		}
		job := q.take(slot)
		var err error
		if do != nil {
			err = do(p.Context, job)
		} else if seq := base + uint64(slot); seq <= p.last.Load() {
			err = doNumbered(w.id, seq, job)
		} else {
			w.skipped = append(w.skipped, job)
			continue
		}
		ran++
		if err != nil {
			p.Stop(p.Cause(err))
		}
		if p.stopped.Load() {
			return
		}
	}
	now := p.clock()
	if ran > 0 {
		w.sizer.recordBatch(now-w.now, ran)
	}
	w.now = now
}

// got records n jobs in the worker's slots, of which the first has number base, and
// publishes all but that one. It reports whether there is a job.
func (w *worker[T]) got(n int, base uint64) bool {
	if n == 0 {
		return false
	}
	w.batch, w.first = n, true
	w.queue.base = base
	if n > 1 {
		w.queue.publish(n, w.now)
		w.pool.stealable.set(w.id)
	}
	return true
}

// receive takes jobs from the source without waiting. If jobs are numbered, the
// worker leads meanwhile: numbers follow the order of receiving.
func (w *worker[T]) receive() bool {
	p := w.pool
	if p.closed.Load() {
		return false
	}
	size := w.sizer.size()
	if p.Room != nil {
		if !p.needsLeader() || !p.leader.CompareAndSwap(nil, &p.brief) {
			return false
		}
		defer w.resign()
		if size = min(size, p.room()); size == 0 {
			return false
		}
	}
	n, err := take(engine.NoWait{}, p.Source, w.queue.slots(size))
	if err != nil && !noJobs(err) {
		p.sourceFailed(err)
	}
	if !w.got(n, p.number(n)) {
		return false
	}
	if w.sizer.sampling() {
		w.sizer.recordTransfer(p.clock() - w.now)
	}
	return true
}

// take receives from a source.
func take[T any](ctx context.Context, source Source[T], buf []T) (n int, err error) {
	n, err = source.RecvBatch(ctx, buf)
	if n < 0 || n > len(buf) {
		panic(fmt.Sprintf("workers: RecvBatch with a buffer of %d returned %d, %v", len(buf), n, err))
	}
	return n, err
}

// noJobs reports whether a source that was not to wait had no jobs.
func noJobs(err error) bool { return err == engine.ErrEmpty || errors.Is(err, context.Canceled) }

// room returns how many jobs the leader may receive.
func (p *Pool[T]) room() int { return p.Room(p.next.Load()) }

// number assigns numbers to n jobs received, and returns the first.
func (p *Pool[T]) number(n int) (first uint64) {
	if p.Room == nil {
		return 0
	}
	first = p.next.Load()
	p.next.Store(first + uint64(n))
	return first
}

// sourceFailed handles an error of the source.
func (p *Pool[T]) sourceFailed(err error) {
	if errors.Is(err, p.Closed) {
		p.closed.Store(true)
	} else {
		p.Stop(err)
	}
}

// steal takes jobs from the first worker that has surplus.
func (w *worker[T]) steal() bool {
	p := w.pool
	return p.stealable.each(w.id, func(victim int) bool {
		return p.surplus(victim) && w.stealFrom(victim)
	})
}

// surplus reports whether a worker has surplus, and clears its bit if not.
func (p *Pool[T]) surplus(victim int) bool {
	if p.workers[victim].queue.surplus() > 0 {
		return true
	}
	p.stealable.clear(victim)
	return p.refilled(victim)
}

// refilled reports whether a queue that was empty has surplus, now that its bit is
// clear. If so, it sets the bit and wakes an idle worker: while the bit was clear, its
// owner may have looked for a worker to wake, and an idle worker for surplus.
func (p *Pool[T]) refilled(victim int) bool {
	if p.workers[victim].queue.surplus() == 0 {
		return false
	}
	p.stealable.set(victim)
	p.wake()
	return true
}

func (w *worker[T]) stealFrom(victim int) bool {
	q := &w.pool.workers[victim].queue
	n := min((q.surplus()+1)/2, w.sizer.size())
	if n == 0 {
		return false
	}
	n, base := q.steal(w.queue.slots(n))
	return w.got(n, base)
}

// visits is how many queues stealOverdue checks.
const visits = 4

// stealOverdue steals jobs that have waited for longer than MaxDelay, because Do has
// become slower than it was measured. Busy workers call it before they receive more:
// even if no worker is idle, no job waits until the owner of its queue returns from
// Do. It runs once per MaxDelay.
func (w *worker[T]) stealOverdue() bool {
	p := w.pool
	limit := int64(p.MaxDelay)
	if w.now-w.checked < limit {
		return false
	}
	for range min(visits, len(p.workers)) {
		w.cursor = (w.cursor + 1) % len(p.workers)
		q := &p.workers[w.cursor].queue
		if w.cursor != w.id && w.now-q.since.Load() > limit && w.stealFrom(w.cursor) {
			w.cursor = (w.cursor + len(p.workers) - 1) % len(p.workers) // it may have more
			return true
		}
	}
	w.checked = w.now
	return false
}
