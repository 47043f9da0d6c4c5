package park

import (
	"sync/atomic"
	"time"
)

// A waiter is a goroutine's place in a Line.
type waiter struct {
	next, prev *waiter
	queued     bool
	parker     Parker
	since      Since // of its own: see began

	// Of a waiter that is one of several of its goroutine: see enter.
	choice *Choice
	number int
	holds  bool // this line's wake-up
}

// What the goroutines of the other side read off a line.
const (
	nobody uint32 = iota // no goroutine waits
	wanted               // somebody waits, and nobody is on the way to wake it
	waking               // a woken goroutine is on its way
)

// A Line is where the goroutines of one side of a channel wait until they may
// find something to do. Its zero value is empty.
//
// One that found nothing to do waits there by a Stay, or if it waits in several
// lines at once, by a Place in each. One that has changed the channel looks at
// Waiting, and calls Wake if told so.
//
//   - At most one wake-up is on its way at any time: from Wake, which takes the
//     first waiter out of the line, until that one leaves or is back in line.
//     While it is, nobody else is woken, and Waiting is false: whatever others add
//     meanwhile, the woken goroutine will see. This is what keeps a line of
//     parked goroutines from being woken one for each value, each to find that
//     the value has gone.
//   - signal is wanted exactly if the line is not empty and no wake-up is on its
//     way. It is raised by a read-modify-write, so that the look that follows
//     cannot have been made before it.
//   - Whoever held the wake-up must, when it has left, look whether another could
//     proceed, and call Wake if so. Thus no wake-up ends with a goroutine that
//     was cancelled, or that took one of several values.
//   - A waiter that was woken in vain rejoins at the front: it keeps its place.
//   - A waiter of a Choice that may not be woken now, as another of its places was
//     faster, is passed over and stays: its goroutine is awake and will look here
//     too before it sleeps again, or exit. Thus one that rejoined at the front is
//     still the first one when the next wake-up comes.
//
// The lock is held for a few instructions and never while a goroutine waits.
type Line struct {
	signal atomic.Uint32
	lock   Lock

	first, last *waiter
	n           int
	inFlight    bool // a wake-up is on its way

	free  *waiter // waiters to use again: joining does not allocate
	frees int

	waits Tally
}

// maxFree bounds how many waiters a line keeps for the next time.
const maxFree = 64

// Waiting reports whether somebody waits for a Wake. One load.
func (l *Line) Waiting() bool { return l.signal.Load() == wanted }

// Idle reports whether nobody waits here, nor is on the way out.
func (l *Line) Idle() bool { return l.signal.Load() == nobody }

// join puts the calling goroutine at the end of the line.
func (l *Line) join() *waiter {
	l.lock.Lock()
	w := l.free
	if w != nil {
		l.free, w.next = w.next, nil
		l.frees--
	} else { // others do not wait for the allocation
		l.lock.Unlock()
		w = &waiter{parker: NewParker()}
		l.lock.Lock()
	}
	l.append(w)
	l.lock.Unlock()
	return w
}

// rejoin puts a waiter that was woken in vain back to the front, and ends its
// wake-up.
func (l *Line) rejoin(w *waiter) {
	l.lock.Lock()
	l.inFlight = false
	l.prepend(w)
	l.lock.Unlock()
}

// requeue is rejoin at the end of the line, for a waiter that got a part of what it
// waits for: for the rest it waits from now on.
func (l *Line) requeue(w *waiter) {
	l.lock.Lock()
	l.inFlight = false
	w.since.Reset()
	l.append(w)
	l.lock.Unlock()
}

// park waits until w is woken, or done is closed: then it returns false. Either
// way w is still the caller's to rejoin or leave with.
func (l *Line) park(w *waiter, done <-chan struct{}) bool {
	return l.waits.Park(w.parker, done, l.waits.Count(), &w.since)
}

// leave takes w out of the line and ends its wake-up if it has one; woken says
// that park returned true since it last joined. The waiter must not be used
// after it.
func (l *Line) leave(w *waiter, woken bool) {
	l.lock.Lock()
	if w.queued {
		l.remove(w)
	} else {
		if !woken { // the token is down, or will be in a moment
			l.lock.Unlock()
			w.parker.Park(nil)
			l.lock.Lock()
		}
		l.inFlight = false
	}
	l.update()
	w.since.Reset()
	if l.frees < maxFree {
		w.next, l.free = l.free, w
		l.frees++
	}
	l.lock.Unlock()
}

// Wake wakes the first waiter, unless a wake-up is on its way already.
func (l *Line) Wake() {
	l.lock.Lock()
	if l.inFlight {
		l.lock.Unlock()
		return
	}
	w, unpark := l.first, true
	for w != nil && w.choice != nil {
		if w.holds, unpark = w.choice.choose(w.number, looking); w.holds {
			break
		}
		w, unpark = w.next, true
	}
	if w == nil {
		l.lock.Unlock()
		return
	}
	l.remove(w)
	l.inFlight = true
	l.update()
	parker := w.parker
	l.lock.Unlock()
	if unpark {
		parker.Unpark()
	}
}

// WakeAll wakes every waiter: there is nothing left to wait for.
func (l *Line) WakeAll() {
	// Those that sleep are woken without the lock: each needs it at once. With a
	// hundred waiters, woken under the lock, a channel for a thousand values took
	// two and a half times as long (GOMAXPROCS=8, 2026-11-21, AMD EPYC Zen 5 VM with
	// 2 cores, Go 1.26.8).
	var woken *waiter
	l.lock.Lock()
	for l.first != nil {
		w := l.first
		l.remove(w)
		if w.choice == nil {
			w.next, woken = woken, w
		} else if _, unpark := w.choice.choose(w.number, looking); unpark {
			w.parker.Unpark()
		}
	}
	l.update()
	l.lock.Unlock()
	for woken != nil {
		w := woken
		woken, w.next = w.next, nil // w is its goroutine's again from the token on
		w.parker.Unpark()
	}
}

// enter puts the waiter w in line, as place number of c, which is looking: at the
// end the first time, and at the front if the line had woken it in vain. If it
// is still in line it stays where it is. w is the caller's own, and the same
// Choice must be meant until exit.
func (l *Line) enter(w *waiter, c *Choice, number int) {
	l.lock.Lock()
	switch {
	case w.holds:
		w.holds = false
		l.inFlight = false
		l.prepend(w)
	case !w.queued:
		w.choice, w.number, w.parker = c, number, c.parker
		l.append(w)
	}
	l.lock.Unlock()
}

// exit takes w out of the line, and ends the wake-up if w holds it. The caller
// must then do what it must after leave.
func (l *Line) exit(w *waiter) {
	l.lock.Lock()
	if w.queued {
		l.remove(w)
	}
	if w.holds {
		w.holds = false
		l.inFlight = false
	}
	w.choice = nil
	l.update()
	l.lock.Unlock()
}

// Tally returns the line's count of waits.
func (l *Line) Tally() *Tally { return &l.waits }

// began is when the goroutine of w did.
func (w *waiter) began() *Since {
	if w.choice != nil {
		return &w.choice.since
	}
	return &w.since
}

// A Look is what there is to see of a line at one moment.
type Look struct {
	Waiting int             // goroutines in line
	Waits   uint64          // times that one has parked
	Spent   time.Duration   // parked in all, by those who are back: an estimate
	Oldest  time.Duration   // for how long the first in line has waited
	Ages    []time.Duration // and each, from the first one on
}

// Look looks at the line. Ages are of the time now, appended to ages until that is
// full: it does not grow.
func (l *Line) Look(now time.Duration, ages []time.Duration) Look {
	l.lock.Lock()
	defer l.lock.Unlock()
	look := Look{Waiting: l.n, Waits: l.waits.Waits(), Spent: l.waits.Spent(), Ages: ages}
	if l.first != nil {
		look.Oldest = l.first.began().Age(now)
	}
	for w := l.first; w != nil && len(look.Ages) < cap(ages); w = w.next {
		look.Ages = append(look.Ages, w.began().Age(now))
	}
	return look
}

func (l *Line) prepend(w *waiter) {
	w.queued = true
	w.next = l.first
	if l.first == nil {
		l.last = w
	} else {
		l.first.prev = w
	}
	l.first = w
	l.n++
	l.update()
}

func (l *Line) append(w *waiter) {
	w.queued = true
	w.prev = l.last
	if l.last == nil {
		l.first = w
	} else {
		l.last.next = w
	}
	l.last = w
	l.n++
	l.update()
}

func (l *Line) remove(w *waiter) {
	w.queued = false
	if w.prev == nil {
		l.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		l.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.next, w.prev = nil, nil
	l.n--
}

// update makes signal say what the line's invariant asks for. l.lock is held.
func (l *Line) update() {
	signal := nobody
	switch {
	case l.inFlight:
		signal = waking
	case l.n > 0:
		signal = wanted
	}
	if l.signal.Load() != signal {
		l.signal.Swap(signal)
	}
}
