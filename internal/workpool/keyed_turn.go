package workpool

import "context"

// A Turn is the right to run jobs of one key, one after the other, and the first of them.
type Turn[T any, K comparable] struct {
	queue *keyQueue[T, K]
	job   *node[T]
	more  bool // there were more jobs when this one was taken
}

// begin takes the first job of a key.
func (k *Keyed[T, K]) begin(q *keyQueue[T, K]) Turn[T, K] {
	n := q.first
	q.first, n.next = n.next, nil
	k.queued--
	k.schedule(q)
	return Turn[T, K]{queue: q, job: n, more: q.first != nil}
}

// do runs a turn. It is the function Do of the pool.
func (k *Keyed[T, K]) do(ctx context.Context, t Turn[T, K]) error {
	var ends int64
	for again := false; ; {
		if ends == 0 && (t.more || again) {
			ends = k.pool.clock() + int64(k.MaxDelay)
		}
		job := t.job.job
		t.job.job = *new(T)
		if err := k.Do(ctx, job); err != nil {
			return err // the pool ends
		}
		if t, again = k.finish(t, ends == 0 || k.pool.clock() < ends); !again {
			return nil
		}
	}
}

// finish records that the job of a turn is done, and takes the next one if the turn goes on.
func (k *Keyed[T, K]) finish(t Turn[T, K], goesOn bool) (next Turn[T, K], again bool) {
	k.lock.Lock()
	defer k.unlock()
	q := t.queue
	t.job.next, k.free = k.free, t.job
	k.ahead--
	q.ahead--
	if q.first != nil && !q.ready && goesOn && !k.pool.stopped.Load() && !k.pool.permits.exceeded() {
		return k.begin(q), true
	}
	q.turns--
	k.schedule(q)
	if q.ahead == 0 {
		delete(k.queues, q.key)
		*q = keyQueue[T, K]{next: k.spare}
		k.spare = q
	}
	return next, false
}
