package workpool

import (
	"sync"
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/ring"
)

// permits decide which workers of a pool look for jobs and run them: those that hold a permit.
// The others follow: see follow. See also "Permits" in docs/design/workpool.md.
//
//   - The word has held, limit, and whether back has jobs. take implies held < limit, so held
//     exceeds limit only after that has fallen, and does not grow meanwhile.
//   - Exactly held workers have a permit. It belongs to the worker from take to drop.
//   - A worker without a permit has no job. Before it drops its permit it hands its jobs back:
//     each belongs to back until another worker takes it.
//   - So while the source is closed, held == 0 and no job in back, in one word, imply that there
//     is no job anywhere: the pool is over.
type permits[T any] struct {
	word atomic.Uint64 // held and hasBack in the low half, limit in the high half

	lock sync.Mutex // guards back, and hasBack
	back ring.Ring[numbered[T]]
}

const hasBack = 1 << 31

// A numbered is a job with its sequence number.
type numbered[T any] struct {
	seq uint64
	job T
}

func (s *permits[T]) counts() (held, limit uint32) {
	held, limit = unpack(s.word.Load())
	return held &^ hasBack, limit
}

// available reports whether a worker could take a permit.
func (s *permits[T]) available() bool { held, limit := s.counts(); return held < limit }

// exceeded reports whether a worker is to drop its permit.
func (s *permits[T]) exceeded() bool { held, limit := s.counts(); return held > limit }

// hasJobs reports whether jobs were handed back.
func (s *permits[T]) hasJobs() bool { return s.word.Load()&hasBack != 0 }

// take takes a permit if there is one.
func (s *permits[T]) take() bool {
	for {
		word := s.word.Load()
		if held, limit := unpack(word &^ hasBack); held >= limit {
			return false
		}
		if s.word.CompareAndSwap(word, word+1) {
			return true
		}
	}
}

// drop gives up a permit. last reports whether no other one is held, and no job is in back.
func (s *permits[T]) drop() (last bool) { return uint32(s.word.Add(^uint64(0))) == 0 }

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

func (s *permits[T]) push(job numbered[T]) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.back.Push(job)
	s.word.Or(hasBack)
}

func (s *permits[T]) pop() (job numbered[T], ok bool) {
	if !s.hasJobs() {
		return job, false
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.back.Len() == 0 {
		return job, false
	}
	job = s.back.Pop()
	if s.back.Len() == 0 {
		s.back = ring.Ring[numbered[T]]{}
		s.word.And(^uint64(hasBack))
	}
	return job, true
}

// Resize sets how many workers of a pool with Resizable work. It does not wait. Above the number of
// workers it has no further effect. Only one goroutine calls it at a time.
func (p *Pool[T]) Resize(n int) {
	if limit := uint32(min(n, p.Workers)); p.permits.resize(limit) != limit {
		p.wakeIfUseful()
	}
}

// handBack gives the job in a slot that the worker has claimed, and those that no other
// worker steals, to the other workers, and wakes one of them.
func (w *worker[T]) handBack(slot int, span uint64) {
	q := &w.queue
	for ok := true; ok; slot, span, ok = q.claim(span) {
		w.pool.permits.push(numbered[T]{q.base + uint64(slot), q.take(slot)})
	}
	w.pool.wakeIfUseful()
}

// takeBack takes a job that another worker has handed back.
func (w *worker[T]) takeBack() bool {
	job, ok := w.pool.permits.pop()
	if !ok {
		return false
	}
	w.queue.slots(1)[0] = job.job
	return w.got(1, job.seq)
}
