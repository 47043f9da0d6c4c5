package locked

import (
	"context"
	"runtime"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
)

// What every operation is made of. All is called with the lock held.

// serve sets the outcome of a waiter that was dequeued and claimed. Its goroutine is woken after
// the release of the lock, because it may take the lock at once.
func (e *Engine[T]) serve(w *waiter[T], how outcome) {
	w.Value.outcome = how
	if w.Value.parked {
		e.served.Add(w)
	}
}

// unlock releases the lock, and wakes the goroutines that were served.
func (e *Engine[T]) unlock() {
	if e.served.Empty() {
		e.lock.Unlock()
		return
	}
	served := e.served.Take()
	e.lock.Unlock()
	served.Unpark()
}

// room reports whether a value with that key can be queued.
func (e *Engine[T]) room(key int64) bool {
	return e.n < e.limit && (e.plain || e.store.fits(key))
}

// push queues a value for which there is room.
func (e *Engine[T]) push(v T, key int64) (t Ticket) {
	e.sent++
	if e.n++; e.n > e.high {
		e.high = e.n
	}
	if e.plain {
		e.fifo.values.Push(v)
		return t
	}
	return e.store.push(v, key)
}

// able reports whether a queued value can be received.
func (e *Engine[T]) able() bool { return e.n > 0 && (e.timer == nil || e.store.able()) }

// pop removes and returns the next value.
func (e *Engine[T]) pop() T {
	e.taken++
	e.n--
	if e.plain {
		return e.fifo.values.Pop()
	}
	return e.store.pop()
}

// receiver dequeues a receiver for a hand-off, or returns nil.
func (e *Engine[T]) receiver() *waiter[T] {
	if e.takers == 0 || e.n > 0 || !e.direct {
		return nil
	}
	return e.receivers.take()
}

// handOff gives v to a receiver.
func (e *Engine[T]) handOff(w *waiter[T], v T) {
	w.Value.value = v
	e.sent++
	e.taken++
	e.serve(w, done)
}

// next returns the queue with the sender that is served next.
func (e *Engine[T]) next() *queue[T] {
	if e.levels == nil {
		return &e.senders
	}
	return e.sendersAt(e.levels.next())
}

// sender dequeues the sender that is served next, or returns nil.
func (e *Engine[T]) sender() *waiter[T] {
	for e.offers > 0 {
		if w := e.next().take(); w != nil {
			return w
		}
	}
	return nil
}

// noSender reports whether no sender can be claimed.
func (e *Engine[T]) noSender() bool {
	for e.offers > 0 {
		if !e.next().noneClaimable() {
			return false
		}
	}
	return true
}

// collect takes the value of a sender, for which there is no store.
func (e *Engine[T]) collect(w *waiter[T]) T {
	v := w.Value.value
	e.sent++
	e.taken++
	e.serve(w, done)
	return v
}

// admit queues the values of waiting senders as long as there is room.
func (e *Engine[T]) admit() {
	for e.offers > 0 && e.n < e.limit {
		l := e.next()
		w := l.First()
		if !e.room(w.Value.key) {
			return
		}
		if l.pop(); claim(w) {
			e.accept(w)
			e.serve(w, done)
		}
	}
}

// accept queues the value of a sender that was dequeued, and is served next.
func (e *Engine[T]) accept(w *waiter[T]) {
	t := e.push(w.Value.value, w.Value.key)
	if e.levels != nil {
		e.levels.served(w.Value.key)
	}
	if w.Select == nil {
		w.Value.key, w.Index = int64(t.number), t.slot
	}
}

// settle makes the invariants true after any change: it serves all waiters whose operation has
// become possible, stores the token of Ready, and sets the timer.
func (e *Engine[T]) settle() {
	for {
		for e.takers > 0 && e.able() {
			w := e.receivers.take()
			if w == nil {
				break
			}
			if e.isOld() {
				e.serve(w, tooOld)
				continue
			}
			w.Value.value = e.pop()
			e.serve(w, done)
		}
		e.admit()
		if e.takers > 0 && e.able() {
			continue
		}
		if e.closed() && e.n == 0 {
			for w := e.receivers.take(); w != nil; w = e.receivers.take() {
				e.serve(w, closed)
			}
		}
		if e.ready.InUse() {
			e.postReady()
		}
		if e.takers == 0 || !e.able() { // a value may have become due meanwhile
			break
		}
	}
	if e.timer != nil {
		e.setTimer()
	}
}

// settleBusy is settle after a send, a receive, or a new waiter: unless the engine is busy, these keep
// the invariants by themselves.
func (e *Engine[T]) settleBusy() {
	if e.busy {
		e.settle()
	}
}

// A pending is an operation that waits: its waiter, which is in a queue, and what ends the wait. In
// its zero value there is nothing to wait for.
type pending[T any] struct {
	w    *waiter[T]
	in   *queue[T]
	stop <-chan struct{}
}

// await waits until p is served or its context has ended. It is called with the lock, and releases it.
// v is the value of a receiver, t the ticket of a sender's value.
//
// After a switch of goroutines each return is mispredicted, so the methods of engine.Engine call
// await themselves.
func (e *Engine[T]) await(ctx context.Context, p pending[T]) (v T, t Ticket, err error) {
	w := p.w // which time may have served already
	if w.Queued() && e.mayYield(p.in, w) {
		e.unlock()
		runtime.Gosched()
		e.acquire()
		p.in.yields.Record(!w.Queued())
		w.Value.parked = w.Queued()
	}
	if w.Value.parked {
		weight, timed := e.count(p.in, w)
		e.unlock()
		woken := false
		if timed {
			woken = p.in.waits.Park(w.Parker, p.stop, weight, &w.Since)
		} else {
			woken = w.Parker.Park(p.stop)
		}
		e.acquire()
		if !woken && w.Queued() && e.timer != nil {
			e.catchUp()
		}
		switch {
		case woken:
		case w.Queued():
			p.in.remove(w)
			e.settle() // the next value may fit; and the timer may be needless
		default: // served meanwhile: the token will arrive
			e.unlock()
			w.Parker.Park(nil)
			e.acquire()
		}
	}
	outcome := w.Value.outcome
	v, t = w.Value.value, ticket(w)
	e.recycle(w)
	e.unlock()
	switch outcome {
	case swapped:
		e.backlog.onExpire(v)
	case closed:
		t, err = Ticket{}, engine.ErrClosed
	case tooOld:
		err = ErrTooOld
	case left:
		t, err = Ticket{}, engine.ContextError(ctx)
	}
	return v, t, err
}

// count counts a wait of w, which is queued and parks, and returns its weight (see park.Tally).
// Reading the clock costs a tenth of a wait, so from some time on it is read only if somebody may
// ask: in a channel with a name, and after a call of Stats. Any other wait begins for Stats when
// that sees it first.
func (e *Engine[T]) count(l *queue[T], w *waiter[T]) (weight int64, timed bool) {
	l.parks++
	weight = park.Weight(l.parks)
	timed = weight > 0 || l.parks <= park.AlwaysTimed || e.timed
	w.Value.untimed = !timed
	return weight, timed
}

// notice times each wait from now on, and begins those that are not timed.
func (e *Engine[T]) notice() {
	if e.timed {
		return
	}
	e.timed = true
	now := park.Now() // under the lock: not before a wait that it finds
	e.eachQueue(func(l *queue[T]) {
		for w := l.First(); w != nil; w = w.Next() {
			if w.Value.untimed {
				w.Value.untimed = false
				w.Since.Continue(now)
			}
		}
	})
}

// eachQueue calls f with each queue: first that of receivers.
func (e *Engine[T]) eachQueue(f func(*queue[T])) {
	f(&e.receivers)
	for i := range e.queues() {
		f(e.sendersAt(int64(i)))
	}
}

// queueSender queues a waiter at the end, or at the front.
func (e *Engine[T]) queueSender(l *queue[T], w *waiter[T], front bool) {
	if e.levels != nil {
		e.levels.queues(w.Value.key)
	}
	l.push(w, front)
	e.settleBusy()
}

// queueReceiver is queueSender for a receiver.
func (e *Engine[T]) queueReceiver(w *waiter[T], front bool) {
	e.receivers.push(w, front)
	e.settleBusy()
}

// asked is what the context of a call has said, which is asked at most once before the call waits.
type asked struct {
	stop <-chan struct{}
	err  error // it had ended
	done bool
}

// needed reports whether the context must be asked.
func (a *asked) needed(ctx context.Context) bool { return !a.done && ctx != context.Background() }

// ask asks the context. It is called without the lock, since a context is code of the user.
func (a *asked) ask(ctx context.Context) {
	a.done = true
	a.stop, a.err = ctx.Done(), ctx.Err()
}
