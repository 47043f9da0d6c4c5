package workpool

import "context"

// A Turn is the right to run jobs of one key, one after the other, and the first of them.
type Turn[T any, K comparable] struct {
	queue *keyQueue[T, K]
	job   T
	more  bool // there were more jobs when this one was taken
}

// begin takes the first job of a key.
func (k *Keyed[T, K]) begin(q *keyQueue[T, K]) Turn[T, K] {
	t := Turn[T, K]{queue: q, job: q.jobs.Pop(), more: q.jobs.Len() > 0}
	k.queued--
	k.schedule(q)
	return t
}

// do runs a turn. It is the function Do of the pool.
func (k *Keyed[T, K]) do(ctx context.Context, t Turn[T, K]) error {
	var ends int64
	for again := false; ; {
		if ends == 0 && (t.more || again) {
			ends = k.pool.clock() + int64(k.MaxDelay)
		}
		if err := k.Do(ctx, t.job); err != nil {
			return err // the pool ends
		}
		if t, again = k.finish(t.queue, ends == 0 || k.pool.clock() < ends); !again {
			return nil
		}
	}
}

// finish records that the job of a turn of q is done, and takes the next one if the turn goes on.
func (k *Keyed[T, K]) finish(q *keyQueue[T, K], goesOn bool) (next Turn[T, K], again bool) {
	k.lock.Lock()
	defer k.unlock()
	k.ahead--
	q.ahead--
	if q.jobs.Len() > 0 && !q.ready && goesOn && !k.pool.stopped.Load() && !k.pool.permits.exceeded() {
		return k.begin(q), true
	}
	q.turns--
	k.schedule(q)
	if q.ahead == 0 {
		k.forget(q)
	}
	return next, false
}
