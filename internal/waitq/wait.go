package waitq

import (
	"time"

	"github.com/sluice-go/sluice/internal/park"
)

// A Wait is one call's wait in a Queue. The call polls the channel after each
// step, and a step is one call of a method here:
//
//	idle      --Join-----------------------> queued
//	queued    --Step: woken----------------> holding    it has the queue's wake-up
//	holding   --Step: spurious wake-up-----> queued     at the front; at the end after Progress
//	queued    --Step: done was closed------> queued     and canceled: one more poll follows
//	idle      --Cancel---------------------> idle       and canceled: the context had ended
//	any       --Leave----------------------> idle
//
// Ownership:
//
//   - The Wait belongs to its goroutine. The waiter belongs to the queue and is lent
//     from Join to Leave. Its links belong to the holder of the queue's lock.
//   - The wake-up, of which a queue has one, belongs to the goroutine from the Wake
//     that removes its waiter. The goroutine learns that from Step, at the latest
//     from Leave. It returns the wake-up by the Step after an unsuccessful poll, or
//     by Leave.
//   - The token belongs to the wake-up: Wake delivers it, and the same Step or Leave
//     takes it. So no waiter is reused with an old token.
//
// No wake-up is lost:
//
//   - A goroutine enters the queue, by Join or by the Step after a spurious wake-up,
//     with a read-modify-write of signal, then polls again, then parks. A goroutine
//     that changes the channel does so first, and loads signal then. At least one of
//     the two sees the other.
//   - While a wake-up is in flight, no other waiter is woken. Its holder has yet to
//     poll, and if that fails, to rejoin and to poll once more.
//   - A wait may be canceled at the moment in which it is woken. Leave detects that
//     under the queue's lock: then it holds the wake-up, and waits for the token.
//   - Leave reports whether others wait. The caller then checks whether one of them
//     could proceed, and calls Wake if so.
//
// WakeAll wakes each waiter with a token and without a wake-up. A Wait does not distinguish
// the two: when it leaves it ends the wake-up of another one, which is harmless because the
// channel is closed, and all its waiters have been woken.
//
// The zero value is idle, and so is a Wait after Leave. Waiters are reused: a wait
// allocates only if more than maxFree goroutines wait at once.
type Wait struct {
	queue    *Queue
	waiter   *waiter         // not nil from Join to Leave
	done     <-chan struct{} // cancels the wait
	state    waitState
	canceled bool
	progress bool
}

type waitState uint8

const (
	idle waitState = iota
	queued
	holding
)

// Join appends the goroutine, which must be idle, to q. Its next Step ends when
// done is closed. A nil done is never closed.
func (w *Wait) Join(q *Queue, done <-chan struct{}) {
	q.acquire()
	*w = Wait{queue: q, waiter: q.unused(), done: done, state: queued}
	q.list.Push(w.waiter)
	q.release()
}

// Joined reports whether Join was called since the last Leave.
func (w *Wait) Joined() bool { return w.waiter != nil }

// Queued reports whether the next Step parks.
func (w *Wait) Queued() bool { return w.state == queued }

// Step is called by a goroutine that has joined, polled, and found nothing to do.
// It parks until the goroutine is woken or done is closed. If the goroutine was
// woken and its poll failed, Step returns it to the queue instead.
func (w *Wait) Step() {
	q := w.queue
	if w.state == queued {
		if q.tally.Park(w.waiter.Parker, w.done, q.tally.Count(), &w.waiter.Since) {
			w.state = holding
		} else {
			w.canceled = true
		}
		return
	}
	q.acquire()
	q.inFlight = false
	if w.progress {
		w.waiter.Since.Reset() // it waits for the rest from now on
		q.list.Push(w.waiter)
	} else {
		q.list.PushFront(w.waiter)
	}
	q.release()
	w.state, w.progress = queued, false
}

// Woken reports whether the goroutine knows that it holds the queue's wake-up.
func (w *Wait) Woken() bool { return w.state == holding && !w.canceled }

// Age returns how long the goroutine, which was woken, has kept its position. It
// reads the clock.
func (w *Wait) Age() time.Duration { return w.waiter.Since.Age(park.Now()) }

// Progress records that the goroutine got a part of what it waits for. If it must
// wait for the rest, it rejoins at the end of the queue.
func (w *Wait) Progress() { w.progress = true }

// Progressed reports whether Progress was called since the goroutine last joined.
func (w *Wait) Progressed() bool { return w.progress }

// Cancel records that the context had ended before the goroutine joined.
func (w *Wait) Cancel() { w.canceled = true }

// Canceled reports whether the next poll is the last.
func (w *Wait) Canceled() bool { return w.canceled }

// Leave ends the wait, if there is one. It reports whether other goroutines wait:
// the caller must Wake one if it could proceed.
func (w *Wait) Leave() (others bool) { return w.waiter != nil && w.leave() }

func (w *Wait) leave() bool {
	q := w.queue
	q.acquire()
	if w.waiter.queued {
		q.list.Remove(w.waiter)
	} else {
		if w.state == queued { // the token is there, or will be in a moment
			q.release()
			w.waiter.Parker.Park(nil)
			q.acquire()
		}
		q.inFlight = false
	}
	q.list.Put(w.waiter)
	q.release()
	*w = Wait{}
	return q.Waiting()
}
