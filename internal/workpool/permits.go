package workpool

import (
	"sync"
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/waitq"
)

// permits decide which workers of a pool with a limit look for jobs and run them: those
// that hold a permit. A worker without one is retired. It has no job, and waits in
// retired. See "Resizing" in docs/design/workpool.md.
//
//   - The word is the pair (held, limit). take implies held < limit, drop implies
//     held > limit, both by CAS. So held exceeds limit only after limit has fallen, and
//     does not grow meanwhile.
//   - Exactly held workers have a permit. It belongs to the worker from take to drop.
//   - held < limit and a worker in retired imply that a wake-up of retired is in flight,
//     or that the goroutine that raised the limit has yet to look.
//   - A worker that drops its permit hands its jobs back: each belongs to back until
//     another worker takes it, and counts in Pool.active meanwhile.
//
// A nil *permits belongs to a pool without a limit.
type permits[T any] struct {
	word    atomic.Uint64 // held in the low half, limit in the high half
	retired waitq.Queue
	back    handedBack[T]
}

// take takes a permit if there is one.
func (s *permits[T]) take() bool {
	for {
		word := s.word.Load()
		if held, limit := unpack(word); held >= limit {
			return false
		}
		if s.word.CompareAndSwap(word, word+1) {
			return true
		}
	}
}

// drop gives up the permit of the calling worker if more are held than the limit. In this
// case the worker is retired.
func (s *permits[T]) drop() bool {
	for {
		word := s.word.Load()
		if held, limit := unpack(word); held <= limit {
			return false
		}
		if s.word.CompareAndSwap(word, word-1) {
			return true
		}
	}
}

// resize sets the limit, and returns what it was.
func (s *permits[T]) resize(limit uint32) (was uint32) {
	for {
		word := s.word.Load()
		held, was := unpack(word)
		if was == limit || s.word.CompareAndSwap(word, pack(held, limit)) {
			return was
		}
	}
}

// available reports whether a retired worker could take a permit.
func (s *permits[T]) available() bool {
	held, limit := unpack(s.word.Load())
	return held < limit
}

// exceeded reports whether a worker is to retire.
func (s *permits[T]) exceeded() bool {
	if s == nil {
		return false
	}
	held, limit := unpack(s.word.Load())
	return held > limit
}

// hasJobs reports whether retired workers have handed back jobs.
func (s *permits[T]) hasJobs() bool { return s != nil && s.back.n.Load() > 0 }

// wakeAll ends the wait of all retired workers: the pool is over.
func (s *permits[T]) wakeAll() {
	if s != nil {
		s.retired.WakeAll()
	}
}

// handedBack is a FIFO queue of the jobs that retired workers have received and not
// started.
type handedBack[T any] struct {
	n    atomic.Int64 // length of jobs[first:]
	lock sync.Mutex   // guards the fields below

	jobs  []numbered[T]
	first int
}

// A numbered is a job with its sequence number.
type numbered[T any] struct {
	seq uint64
	job T
}

func (b *handedBack[T]) push(jobs []numbered[T]) {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.jobs = append(b.jobs, jobs...)
	b.n.Add(int64(len(jobs)))
}

func (b *handedBack[T]) pop() (job numbered[T], ok bool) {
	b.lock.Lock()
	defer b.lock.Unlock()
	if b.first == len(b.jobs) {
		return job, false
	}
	job, b.jobs[b.first] = b.jobs[b.first], job
	if b.first++; b.first == len(b.jobs) {
		b.jobs, b.first = nil, 0
	}
	b.n.Add(-1)
	return job, true
}

// Resize sets how many workers of a pool with Resizable work. It does not wait. Above the number of
// workers it has no further effect. Only one goroutine calls it at a time.
func (p *Pool[T]) Resize(n int) {
	limit := uint32(min(n, p.Workers))
	switch was := p.permits.resize(limit); {
	case was < limit && p.permits.retired.Waiting():
		p.permits.retired.Wake() // and that worker wakes the next one
	case was > limit && p.permits.exceeded():
		p.wakeIfUseful()
	}
}

// retires reports whether the worker is without a permit, or gives it up. It then runs no
// job until rest returns.
func (w *worker[T]) retires() bool {
	w.retired = w.retired || w.pool.permits.drop()
	return w.retired
}

// handBack gives the job in a slot that the worker has claimed, and those that no other
// worker steals, to the other workers. rest follows, which wakes one of them.
func (w *worker[T]) handBack(slot int, span uint64) {
	p, q := w.pool, &w.queue
	var jobs []numbered[T]
	for ok := true; ok; slot, span, ok = q.claim(span) {
		jobs = append(jobs, numbered[T]{q.base + uint64(slot), q.take(slot)})
	}
	p.active.Add(int64(len(jobs)))
	p.permits.back.push(jobs)
}

// takeBack takes a job that a retired worker has handed back.
func (w *worker[T]) takeBack() bool {
	p := w.pool
	if !p.permits.hasJobs() {
		return false
	}
	job, ok := p.permits.back.pop()
	if !ok {
		return false
	}
	w.queue.slots(1)[0] = job.job
	w.got(1, job.seq)
	p.active.Add(-1) // the worker is active: this is not the last one
	return true
}

// rest is the time in which a worker is retired. It returns when the worker has a permit,
// or the pool is over.
func (w *worker[T]) rest() {
	p := w.pool
	w.mustWake = false
	p.wakeIfUseful() // for the jobs handed back, to lead, or to retire as well
	var wait waitq.Wait
	wait.Join(&p.permits.retired, nil)
	p.deactivate()
	for !p.permits.take() && !p.over() {
		wait.Step()
	}
	w.retired = false
	if wait.Leave() && p.permits.available() {
		p.permits.retired.Wake()
	}
	p.active.Add(1)
	w.now = p.clock()
}
