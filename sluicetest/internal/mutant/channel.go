// Package mutant provides a simple channel and variants of it with one planted
// fault each: what the conformance suite must accept and what it must reject.
// Only the tests of sluicetest use it.
package mutant

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sluice-go/sluice"
)

// noWait is nil: it makes send and recv return instead of wait.
var noWait context.Context

// A Channel has a queue of at most limit values under one lock, and a wait
// queue for each side. Invariants, whenever mu is free:
//
//   - Receivers wait only while the queue is empty and no sender waits.
//   - Senders wait only while the queue is full.
//   - Once closed is set, both wait queues are empty.
//   - The goroutine that removes a waiter from its wait queue serves it: it moves
//     the value and sends the outcome.
type Channel[T any] struct {
	limit    int
	overflow sluice.Overflow
	onDrop   func(T)
	fault    Fault

	mu        sync.Mutex
	queue     []T
	senders   []*waiter[T]
	receivers []*waiter[T]
	closed    bool
	ready     chan struct{}
	stats     sluice.Stats

	// State of the faults.
	turn int
	kept []T
	idle []byte
	// Start of the wait that oldest saw last.
	lastSender, lastReceiver time.Time
}

// A waiter is an entry of a wait queue.
type waiter[T any] struct {
	value   T
	outcome chan error // one slot
	began   time.Time
}

// New returns a channel with the given fault.
func New[T any](limit int, overflow sluice.Overflow, onDrop func(T), fault Fault) *Channel[T] {
	c := &Channel[T]{limit: limit, overflow: overflow, onDrop: onDrop, fault: fault}
	c.stats.Cap = limit
	c.begin()
	return c
}

// Send implements [sluice.Sender].
func (c *Channel[T]) Send(ctx context.Context, v T) error { return c.send(ctx, v) }

// TrySend implements [sluice.Sender].
func (c *Channel[T]) TrySend(v T) error { return c.send(noWait, v) }

// send sends v. With a nil ctx it does not wait.
func (c *Channel[T]) send(ctx context.Context, v T) error {
	done, over := ask(ctx)
	if over != nil && c.is(ContextFirst) {
		return over
	}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return sluice.ErrClosed
	}
	if len(c.receivers) > 0 && !c.is(MissedReceiver) {
		w := c.pop(&c.receivers)
		w.value = v
		c.stats.Sent++
		if c.is(LateCount) {
			defer c.countLate()
		} else {
			c.stats.Received++
		}
		c.mu.Unlock()
		w.outcome <- nil
		return nil
	}
	if len(c.queue) < c.room() {
		c.push(v)
		c.mu.Unlock()
		return nil
	}
	switch c.overflow {
	case sluice.Reject:
		return c.reject()
	case sluice.DropNewest:
		c.stats.Dropped++
		c.drop(v)
		return nil
	case sluice.DropOldest:
		oldest := c.shift()
		c.push(v)
		c.stats.Dropped++
		c.drop(oldest)
		return nil
	}
	if ctx == nil {
		return c.reject()
	}
	if over != nil {
		c.mu.Unlock()
		return over
	}
	w := c.wait(&c.senders, v)
	c.hog(ctx)
	c.stats.SendWaits++
	c.announce()
	c.mu.Unlock()
	if c.is(EarlyReturn) {
		return nil
	}
	return c.await(ctx, done, w, &c.senders, &c.stats.SendWaitTime)
}

// reject counts a send without room, and releases the lock.
func (c *Channel[T]) reject() error {
	if !c.is(Uncounted) {
		c.stats.Rejected++
	}
	c.mu.Unlock()
	return sluice.ErrFull
}

// drop reports v, with the lock released.
func (c *Channel[T]) drop(v T) {
	if c.is(DropLocked) {
		defer c.mu.Unlock()
	} else {
		c.mu.Unlock()
	}
	if c.onDrop != nil {
		c.onDrop(v)
		if c.is(DropTwice) {
			c.onDrop(v)
		}
	}
}

// SendBatch sends vs one by one.
func (c *Channel[T]) SendBatch(ctx context.Context, vs []T) (int, error) {
	for i, v := range vs {
		if c.is(OneWake) && i > 0 && c.pushSilently(v) {
			continue
		}
		if err := c.send(c.inBatch(ctx, i), v); err != nil {
			if c.is(BatchMiscount) {
				return max(0, i-1), err
			}
			return i, err
		}
	}
	return len(vs), nil
}

// Recv implements [sluice.Receiver].
func (c *Channel[T]) Recv(ctx context.Context) (T, error) { return c.recv(ctx) }

// TryRecv implements [sluice.Receiver].
func (c *Channel[T]) TryRecv() (T, error) { return c.recv(noWait) }

// recv receives. With a nil ctx it does not wait.
func (c *Channel[T]) recv(ctx context.Context) (v T, err error) {
	done, over := ask(ctx)
	c.mu.Lock()
	switch {
	case len(c.queue) > 0:
		v = c.shift()
		if len(c.senders) > 0 && !c.missed(MissedSender) {
			w := c.pop(&c.senders)
			c.push(w.value)
			w.outcome <- nil
		}
	case len(c.senders) > 0:
		w := c.pop(&c.senders)
		v = w.value
		c.stats.Sent++
		w.outcome <- nil
	case c.closed:
		err = sluice.ErrClosed
	case ctx == nil:
		err = sluice.ErrEmpty
	default:
		if err = over; err == nil {
			w := c.wait(&c.receivers, v)
			c.stats.RecvWaits++
			c.mu.Unlock()
			if err = c.await(ctx, done, w, &c.receivers, &c.stats.RecvWaitTime); err == nil {
				v = w.value
			}
			return v, err
		}
	}
	if err == nil {
		c.stats.Received++
		if (len(c.queue) > 0 || len(c.senders) > 0) && !c.is(ForgetsRest) {
			c.announce()
		}
	}
	c.mu.Unlock()
	return v, err
}

// ask calls the methods of a context, which are user code, before the lock is
// taken.
func ask(ctx context.Context) (done <-chan struct{}, over error) {
	if ctx == nil {
		return nil, nil
	}
	return ctx.Done(), ctx.Err()
}

// await waits until w is served or done, a channel of ctx, is closed. Under the
// lock, w's presence in its queue decides which came first. The duration is
// added to spent.
func (c *Channel[T]) await(ctx context.Context, done <-chan struct{}, w *waiter[T], line *[]*waiter[T], spent *time.Duration) error {
	if c.is(AsksInLine) {
		done, _ = ask(ctx)
	}
	begin := time.Now()
	defer func() {
		c.mu.Lock()
		*spent += c.timed(begin)
		c.mu.Unlock()
	}()
	select {
	case err := <-w.outcome:
		c.giveBack(w)
		return err
	case <-done:
		c.dawdle()
	}
	c.mu.Lock()
	i := slices.Index(*line, w)
	if i >= 0 && !(c.is(Ghost) && line == &c.senders) {
		*line = slices.Delete(*line, i, i+1)
	}
	if i >= 0 {
		c.leave(w)
	}
	c.mu.Unlock()
	if i < 0 && !c.is(CancelWins) {
		return <-w.outcome
	}
	return c.over(ctx)
}

// RecvBatch receives one value like Recv, then all that are available.
func (c *Channel[T]) RecvBatch(ctx context.Context, buf []T) (n int, err error) {
	if len(buf) == 0 {
		return 0, nil
	}
	if buf[0], err = c.recv(ctx); err != nil {
		return 0, err
	}
	for n = 1; n < len(buf); n++ {
		if buf[n], err = c.recv(noWait); err != nil {
			break
		}
	}
	return n, nil
}

// Close implements [sluice.Sender].
func (c *Channel[T]) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		c.closeAgain()
		return
	}
	c.closed = true
	if c.ready != nil {
		close(c.ready)
	}
	c.end()
	for len(c.senders) > 0 {
		c.pop(&c.senders).outcome <- sluice.ErrClosed
	}
	for len(c.receivers) > 0 {
		c.pop(&c.receivers).outcome <- sluice.ErrClosed
		if c.is(CloseWakesOne) {
			return
		}
	}
}

// Ready holds one token, added whenever there is a value to receive.
func (c *Channel[T]) Ready() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ready == nil {
		c.ready = make(chan struct{}, 1)
		if c.closed {
			close(c.ready)
		} else if len(c.queue) > 0 || len(c.senders) > 0 {
			c.announce()
		}
	}
	return c.ready
}

func (c *Channel[T]) announce() {
	if c.ready == nil || c.closed || c.missed(MissedReady) {
		return
	}
	select {
	case c.ready <- struct{}{}:
	default:
	}
}

// Len returns the number of queued values.
func (c *Channel[T]) Len() int {
	if !c.is(UnlockedLen) {
		c.mu.Lock()
		defer c.mu.Unlock()
	}
	if c.is(LyingLen) {
		return len(c.queue) + len(c.senders)
	}
	return len(c.queue)
}

// Cap returns the limit.
func (c *Channel[T]) Cap() int { return c.limit }

// Stats returns the counters.
func (c *Channel[T]) Stats() sluice.Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Len = len(c.queue)
	s.Closed = c.closed
	s.SendersWaiting = len(c.senders)
	s.ReceiversWaiting = len(c.receivers)
	s.OldestSender = c.oldest(c.senders, &c.lastSender)
	s.OldestReceiver = c.oldest(c.receivers, &c.lastReceiver)
	return s
}

// push appends an accepted value to the queue.
func (c *Channel[T]) push(v T) {
	c.grow()
	c.queue = append(c.queue, v)
	c.stats.Sent++
	c.stats.HighWater = max(c.stats.HighWater, len(c.queue))
	c.announce()
}

// shift removes the oldest value. The queue must not be empty.
func (c *Channel[T]) shift() T {
	if c.is(LIFO) {
		v := c.queue[len(c.queue)-1]
		c.queue = c.queue[:len(c.queue)-1]
		return v
	}
	v := c.queue[0]
	if !c.is(Uncleared) {
		c.queue[0] = *new(T)
	}
	if c.queue = c.queue[1:]; len(c.queue) == 0 && !c.is(Hoarder) && !c.is(Uncleared) {
		c.queue = nil
	}
	return v
}

// wait appends a waiter with value v to a wait queue.
func (c *Channel[T]) wait(line *[]*waiter[T], v T) *waiter[T] {
	w := c.newWaiter(v)
	*line = append(*line, w)
	return w
}

// pop removes the waiter that has waited longest. The wait queue must not be
// empty.
func (c *Channel[T]) pop(line *[]*waiter[T]) *waiter[T] {
	if c.is(LastComeFirst) {
		last := len(*line) - 1
		w := (*line)[last]
		*line = (*line)[:last]
		return w
	}
	w := (*line)[0]
	*line = slices.Clone((*line)[1:])
	return w
}
