package workpool

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/ring"
)

// A Keyed is the source of a pool in which the jobs of one key run in order, and at most
// PerKey of them at a time. The jobs of the pool are the turns of keys.
//
// A job belongs to Source, then to the queue of its key, then to the turn that runs it. A key
// that has queued jobs, and fewer than PerKey turns, is in the list ready. A worker takes a
// turn from there, with the first job; the turn runs jobs for up to MaxDelay, and returns the
// key to the end of the list if there are more.
//
//   - One worker at a time receives from Source and distributes what it got: so jobs reach
//     the queue of their key in the order of Source.
//   - A key is deleted when it has neither jobs nor turns.
//   - The keys in ready have one turn each before Source is asked for more. So a key that
//     is new waits for one turn of each other key, not for all of their jobs.
//
// No wake-up is lost. A worker that adds to ready looks for turns next, and then calls
// wakeIfUseful if ready is not empty; if it has turns of its own to run before, they are
// surplus, which an idle worker has stolen. While Source must not be received from, because
// MaxAhead jobs are not done, another worker receives, or Source is closed and jobs are
// queued, blocked is set, and no worker waits in Source. The worker that ends that clears
// blocked under the lock, and then calls roomGrew. A worker that is about to wait announces
// that first, and then checks both.
type Keyed[T any, K comparable] struct {
	KeyedConfig[T, K]
	pool    *Pool[Turn[T, K]]
	ready   atomic.Int64 // length of list
	blocked atomic.Bool

	// Owned by the worker that set receiving.
	jobs     []T // a buffer
	keys     []K // of the jobs
	unsorted []T // the jobs received that are in no queue yet
	excess   []T // and the ones that OnExcess is to be called with

	lock      sync.Mutex // guards the fields below
	queues    map[K]*keyQueue[T, K]
	list      ring.Ring[*keyQueue[T, K]] // ready keys
	spare     []*keyQueue[T, K]          // of keys that were deleted
	round     int                        // turns that are taken from list before the next receive
	queued    int                        // jobs in queues
	ahead     int                        // jobs received and not done
	receiving bool
	closed    bool
}

// KeyedConfig describes the keys and their limits.
type KeyedConfig[T any, K comparable] struct {
	Source   Source[T]
	Closed   error // the error of a Source that is closed and drained
	Key      func(T) K
	Do       func(context.Context, T) error
	PerKey   int // turns of a key at the same time
	MaxAhead int // jobs that are received and not done

	// MaxPerKey, if it is not 0, is how many jobs of a key are received and not done; OnExcess
	// is called with the others.
	MaxPerKey int
	OnExcess  func(T)

	// MaxDelay is after how long a turn ends although there are more jobs.
	MaxDelay time.Duration
}

// A keyQueue is a key with its jobs that have not begun.
type keyQueue[T any, K comparable] struct {
	key   K
	jobs  ring.Ring[T]
	ahead int // jobs received and not done
	turns int // to be taken from ready, in the local queue of a worker, or running
	ready bool
}

const (
	maxReceived = 64 // jobs received at once
	keptSlots   = 16 // of the queue of a key that was deleted
)

// NewKeyed returns a source for a pool.
func NewKeyed[T any, K comparable](config KeyedConfig[T, K]) *Keyed[T, K] {
	return &Keyed[T, K]{
		KeyedConfig: config, queues: make(map[K]*keyQueue[T, K]),
		jobs: make([]T, min(maxReceived, config.MaxAhead)), keys: make([]K, 0, maxReceived),
	}
}

// Serve makes k the source of a pool that has not begun.
func (k *Keyed[T, K]) Serve(p *Pool[Turn[T, K]]) {
	k.pool, p.Source, p.Do = p, k, k.do
	p.Ready, p.Blocked = func() bool { return k.ready.Load() > 0 }, k.blocked.Load
}

// RecvBatch implements Source: it takes turns. It may return no turn and no error.
func (k *Keyed[T, K]) RecvBatch(ctx context.Context, turns []Turn[T, K]) (int, error) {
	n, room, err := k.next(turns, true)
	if room == 0 {
		return n, err
	}
	if err := k.receive(ctx, room); err != nil {
		return 0, err
	}
	n, _, err = k.next(turns, false)
	return n, err
}

// next takes turns from the list. If Source is to be asked first, it returns how many jobs
// may be received, and the caller must call receive.
func (k *Keyed[T, K]) next(turns []Turn[T, K], receives bool) (n, room int, err error) {
	k.lock.Lock()
	defer k.unlock()
	receives = receives && k.mayReceive()
	switch {
	case k.list.Len() > 0 && (k.round > 0 || !receives):
		for n < len(turns) && k.list.Len() > 0 {
			turns[n] = k.begin(k.pop())
			n++
		}
		k.round -= n
	case receives:
		k.receiving = true
		room = min(len(k.jobs), k.MaxAhead-k.ahead)
	case k.drained():
		err = k.Closed
	}
	return n, room, err
}

// receive receives up to room jobs and puts them in the queues of their keys. It waits for
// them under ctx if no key is ready. It fails as Source does, unless a key was ready.
func (k *Keyed[T, K]) receive(ctx context.Context, room int) error {
	ready := k.ready.Load() > 0
	if ready {
		ctx = engine.NoWait{}
	}
	n, err := take(ctx, k.Source, k.jobs[:room])
	k.unsorted, k.excess, k.keys = k.jobs[:n], k.jobs[:0], k.keys[:0]
	for _, job := range k.unsorted {
		k.keys = append(k.keys, k.Key(job))
	}
	closed := errors.Is(err, k.Closed)
	if excess := k.distribute(closed); excess {
		k.pool.wakeIfUseful() // OnExcess may take long
		k.report()
	}
	if closed || ready && noJobs(err) {
		return nil
	}
	return err
}

// distribute puts the jobs in unsorted in the queues of their keys. It ends receiving, unless
// there is excess.
func (k *Keyed[T, K]) distribute(closed bool) (excess bool) {
	k.lock.Lock()
	defer k.unlock() // also if a key panics when it is hashed
	for _, key := range k.keys {
		q := k.queue(key)
		job := k.unsorted[0]
		k.unsorted[0] = *new(T)
		k.unsorted = k.unsorted[1:]
		if k.MaxPerKey > 0 && q.ahead >= k.MaxPerKey {
			k.excess = append(k.excess, job) // in slots of jobs that were read
			continue
		}
		k.enqueue(q, job)
	}
	clear(k.keys)
	k.closed = k.closed || closed
	k.round = int(k.ready.Load())
	k.receiving = len(k.excess) > 0
	return k.receiving
}

// report calls OnExcess, and ends receiving.
func (k *Keyed[T, K]) report() {
	for len(k.excess) > 0 {
		job := k.excess[0]
		k.excess[0] = *new(T)
		k.excess = k.excess[1:]
		k.OnExcess(job)
	}
	k.lock.Lock()
	k.receiving = false
	k.unlock()
}

// queue returns the queue of a key.
func (k *Keyed[T, K]) queue(key K) *keyQueue[T, K] {
	q := k.queues[key]
	if q != nil {
		return q
	}
	if same := key; same != key {
		panic(fmt.Sprintf("workers: RunKeyed: the key %v is not equal to itself", key))
	}
	if n := len(k.spare); n > 0 {
		q, k.spare = k.spare[n-1], k.spare[:n-1]
	} else {
		q = new(keyQueue[T, K])
	}
	q.key = key
	k.queues[key] = q
	return q
}

// forget deletes a key that has neither jobs nor turns. Its queue is used again.
func (k *Keyed[T, K]) forget(q *keyQueue[T, K]) {
	delete(k.queues, q.key)
	q.key = *new(K)
	q.jobs.Shrink(keptSlots)
	k.spare = append(k.spare, q)
}

// enqueue appends a job to the queue of its key.
func (k *Keyed[T, K]) enqueue(q *keyQueue[T, K], job T) {
	q.jobs.Push(job)
	q.ahead++
	k.queued++
	k.ahead++
	k.schedule(q)
}

// schedule makes a key ready if it has jobs and may have another turn.
func (k *Keyed[T, K]) schedule(q *keyQueue[T, K]) {
	if q.ready || q.jobs.Len() == 0 || q.turns == k.PerKey {
		return
	}
	q.ready = true
	q.turns++
	k.list.Push(q)
	k.ready.Add(1)
}

// pop takes the first key that is ready.
func (k *Keyed[T, K]) pop() *keyQueue[T, K] {
	q := k.list.Pop()
	q.ready = false
	k.ready.Add(-1)
	return q
}

func (k *Keyed[T, K]) mayReceive() bool { return !k.receiving && !k.closed && k.ahead < k.MaxAhead }
func (k *Keyed[T, K]) drained() bool    { return k.closed && k.queued == 0 }

// unlock releases the lock. If Source may be received from again, it wakes a worker that
// does.
func (k *Keyed[T, K]) unlock() {
	blocked := !k.mayReceive() && !k.drained()
	freed := !blocked && k.blocked.Load()
	if blocked != k.blocked.Load() {
		k.blocked.Store(blocked)
	}
	k.lock.Unlock()
	if freed {
		k.pool.roomGrew()
	}
}

// Unprocessed calls f with each job that was received and not given to Do or OnExcess. All
// workers have ended.
func (k *Keyed[T, K]) Unprocessed(f func(T)) {
	k.pool.Unprocessed(func(t Turn[T, K]) { f(t.job) })
	for _, q := range k.queues {
		for i := range q.jobs.Len() {
			f(q.jobs.At(i))
		}
	}
	for _, jobs := range [][]T{k.excess, k.unsorted} {
		for _, job := range jobs {
			f(job)
		}
	}
}
