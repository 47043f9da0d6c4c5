package jetstream

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/engine"
)

// An inbox keeps the messages that were fetched and not yet received, and the wait queue
// of receivers. Invariants while mu is free:
//
//   - A receiver in waiters has not been woken: then ready is empty, or at least
//     len(ready) receivers were woken and are about to run.
//   - While a message is wanted, a request is under way, or fetcher.retrying (the next
//     one is about to be made), or fetcher.watchdog runs, which makes it.
//   - The inbox owns the messages in ready; takeReady passes them to its caller.
type inbox struct {
	*session
	fetcher    *fetcher
	stream     *stream
	deliveries *deliveries

	mu       sync.Mutex  // also guards fetcher
	ready    []*message  // in the order of delivery
	waiters  []*waiter   // oldest first
	returned []*message  // to be returned at the end of Shutdown
	taken    uint64      // messages, so far
	takenAt  time.Time   // the last ones
	idle     *time.Timer // calls returnIdle
	watching bool        // watchDrain runs

	returnAfter time.Duration // a message that waited here longer is returned, for other processes

	// readable is the channel of Ready; nil before its first call, after which one
	// message is kept here for TryRecv.
	readable *engine.Ready
	onClosed func() // called with mu, after the stream was closed; nil for a single stream
}

// A recvMode is how messages are handed out.
type recvMode uint8

const (
	asValues     recvMode = iota // acknowledged as they are handed out
	asDeliveries                 // acknowledged by the receiver
)

// A waiter is a receiver in the wait queue. The goroutine that removes it from the queue
// puts a token into wake. A receiver of several streams has a waiter in each inbox, with one
// wake, which has room for one token.
type waiter struct{ wake chan struct{} }

func newWaiter() *waiter { return &waiter{wake: make(chan struct{}, 1)} }

const (
	// staleAfter: a message that waited here longer was fetched too early. To a receiver
	// that comes back later than that, a round trip to the servers makes no difference.
	staleAfter = 20 * time.Millisecond
	// idleAfter is the returnAfter of every inbox, except of tests whose messages stay in order
	// however long they pause.
	idleAfter = time.Second
	// tryTimeout is the longest that TryRecv waits for the servers.
	tryTimeout = time.Second
)

// join adds a waiter, and reports false if there is no need to wait.
func (in *inbox) join(w *waiter) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.ready) > 0 || in.life.recvErr() != nil {
		return false
	}
	in.waiters = append(in.waiters, w)
	in.fetcher.fetch(false)
	in.watchDrain()
	return true
}

// listen adds a waiter if a request is under way that may bring a message.
func (in *inbox) listen(w *waiter) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.fetcher.waiting() {
		in.waiters = append(in.waiters, w)
	}
}

// askAtOnce takes up to len(buf) messages that the servers have, if no request is under way,
// and reports whether it asked. They come in one answer: a request for one message would
// bring one, and a request for several is answered by the first, so the rest would wait for
// the next call.
func (in *inbox) askAtOnce(ctx context.Context, buf []*message, mode recvMode) (asked bool, n int, err error) {
	in.mu.Lock()
	asked = !in.fetcher.waiting() && in.fetcher.trying.TryLock()
	in.mu.Unlock()
	if !asked {
		return false, 0, nil
	}
	defer in.fetcher.trying.Unlock()
	timeout, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	n, err = in.askUntil(timeout.Done(), len(buf), func() (int, error) { return in.takeReady(buf, mode) })
	return true, n, err
}

// ask asks the servers for up to most messages until take, which is called with mu, returns
// other than 0 and nil, or until timeout. The rest is as for lanes.tryTake.
func (in *inbox) ask(timeout <-chan struct{}, most int, take func() (int, error)) (int, error) {
	in.fetcher.trying.Lock()
	defer in.fetcher.trying.Unlock()
	return in.askUntil(timeout, most, take)
}

// askUntil is ask for a caller that holds fetcher.trying.
func (in *inbox) askUntil(timeout <-chan struct{}, most int, take func() (int, error)) (int, error) {
	f := in.fetcher
	for {
		select {
		case <-timeout: // or the caller has a message of another stream: nobody would take what a request brings
			return 0, sluice.ErrEmpty
		default:
		}
		in.mu.Lock()
		n, err := take()
		if n > 0 || err != nil {
			in.mu.Unlock()
			return n, err
		}
		done, taken := make(chan struct{}), in.taken
		f.try.done = done
		f.request(&f.try, pullRequest{Batch: min(most, in.config.prefetch), NoWait: true})
		in.mu.Unlock()
		answered := true
		select {
		case <-done:
		case <-timeout: // empty, as far as can be known without the servers
			answered = false
		}
		if in.life.closed.Load() || in.stream.sinceCheck() >= pullWait {
			// The channel may be drained. And a process that only calls TryRecv has no
			// request that expires, which would check as often: the advisory of a Close
			// may have been lost.
			_ = in.stream.check(in.life.ctx)
		}
		in.mu.Lock()
		n, err = take()
		again := answered && (in.taken != taken || f.try.crowded && f.waiting())
		in.mu.Unlock()
		if n > 0 || err != nil {
			return n, err
		}
		if !again {
			return 0, sluice.ErrEmpty
		}
	}
}

// takeReady takes messages that are ready. If there are none, it returns the error of a
// channel that will not have another one, or nil. The caller holds mu.
func (in *inbox) takeReady(buf []*message, mode recvMode) (int, error) {
	n := min(len(buf), len(in.ready))
	if mode == asDeliveries {
		n = in.config.handOut(in.ready[:n])
	}
	copy(buf, in.ready[:n])
	if n == 0 {
		return 0, in.life.recvErr()
	}
	clear(in.ready[:n])
	in.ready = in.ready[n:]
	in.taken += uint64(n)
	now := time.Now()
	soon := now.Sub(in.takenAt) < staleAfter
	in.takenAt = now
	in.fetcher.adaptDepth(now.Sub(buf[n-1].arrived), soon)
	if len(in.ready) == 0 {
		in.ready = nil
		stopTimer(&in.idle)
	}
	in.signal()
	in.fetcher.fetch(soon)
	return n, nil
}

// wanted reports whether a receiver waits for a message. The caller holds mu.
func (in *inbox) wanted() bool {
	return len(in.waiters) > 0 || in.readable != nil && len(in.ready) == 0
}

// add puts a message into ready, and wakes the first waiter. The caller holds mu.
func (in *inbox) add(m *nats.Msg) {
	p, err := newMessage(m)
	if err != nil {
		in.log.Warn("jetstream: received a message that is not a delivery", "error", err)
		return
	}
	in.fetcher.quiet = false
	if in.life.shutdown.Load() {
		in.returned = append(in.returned, p)
		return
	}
	if p.delivered > 1 && in.redelivered(p) {
		return
	}
	in.ready = append(in.ready, p)
	startTimer(&in.idle, in.returnAfter, in.returnIdle)
	in.signal()
	in.wakeOne()
}

// redelivered handles a redelivery of a message that is in ready, in flight, or was
// acknowledged here. It reports false for any other. The caller holds mu.
func (in *inbox) redelivered(m *message) bool {
	for _, mine := range in.ready {
		if mine.key == m.key {
			mine.reply, mine.arrived, mine.delivered = m.reply, m.arrived, m.delivered
			return true
		}
	}
	return in.deliveries.redelivered(m)
}

// wakeOne wakes the first waiter. The caller holds mu.
func (in *inbox) wakeOne() {
	if len(in.waiters) > 0 {
		select {
		case in.waiters[0].wake <- struct{}{}:
		default: // another inbox has woken it
		}
		in.waiters = in.waiters[1:]
	}
}

// cancelWait removes w, which no longer waits, from the queue. If it was woken, it passes
// the wake-up on.
func (in *inbox) cancelWait(w *waiter) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if i := slices.Index(in.waiters, w); i >= 0 {
		in.waiters = slices.Delete(in.waiters, i, i+1)
	} else if len(in.ready) > 0 {
		in.wakeOne()
	}
}

// stateChanged is called after the channel was closed, drained, deleted or shut down.
func (in *inbox) stateChanged() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.signal()
	if in.onClosed != nil && in.life.closed.Load() {
		in.onClosed()
	}
	in.watchDrain()
	if in.life.recvErr() == nil {
		return
	}
	in.life.stopRecv()
	stopTimer(&in.fetcher.watchdog)
	for len(in.waiters) > 0 {
		in.wakeOne()
	}
}

// stop begins Shutdown: messages that are ready will be returned.
func (in *inbox) stop() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.returned = append(in.returned, in.ready...)
	in.ready = nil
	stopTimer(&in.idle)
}

// returnAll returns the messages that were not received. It is called after the last
// request has ended, which would fetch them again.
func (in *inbox) returnAll() {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, m := range in.returned {
		if !in.overdue(m) {
			in.nak(m, 0)
		}
	}
	in.returned = nil
}

// returnIdle returns the messages that were not received for returnAfter. One stays for
// Ready, extended by progress acknowledgments: if it were returned again and again, the
// servers would count a delivery each time.
func (in *inbox) returnIdle() {
	in.mu.Lock()
	defer in.mu.Unlock()
	now, kept := time.Now(), 0
	for _, m := range in.ready {
		if in.overdue(m) {
			continue
		}
		forReady := in.readable != nil && kept == 0
		if forReady && now.Sub(m.arrived) > in.config.ackWait/3 && in.conn.nc.Publish(m.reply, ackProgress) == nil {
			m.arrived = now
		}
		if now.Sub(m.arrived) < in.returnAfter || forReady && now.Sub(m.arrived) < in.config.ackWait/2 {
			in.ready[kept] = m
			kept++
			continue
		}
		in.nak(m, 0)
	}
	if kept < len(in.ready) {
		clear(in.ready[kept:])
		in.fetcher.depth = 1
	}
	in.ready = in.ready[:kept]
	if in.idle = nil; kept > 0 {
		startTimer(&in.idle, in.returnAfter, in.returnIdle)
	}
	in.fetcher.fetch(false)
}
