package spill

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/sluice-go/sluice"
)

// How a Durable works.
//
// # States and ownership
//
// Every record has a number; numbers ascend in the order of the sends. A record is
//
//	reserved     has its bytes of the disk limit, and is its sender's
//	joined       in a commit, and still its sender's, who may withdraw it
//	written      the commit was taken by its leader: nobody can withdraw it
//	queued       stored; to be delivered
//	delivered    stored; in the hands of a receiver
//	acked        in a commit that removes it
//	gone
//
// One lock guards all of it but the file. Records are stored before anybody can
// receive them and as long as they are not acknowledged, so the queue in memory is
// only a window on what the file holds:
//
//	returned     given back by receivers, lowest number first; read again
//	window       records from the file, or on their way through, up to number upto
//	file         the rest: upto … tail-1
//
// Who wants the next record takes the first there is. window is read from the file
// when it is empty and upto < tail; a commit adds to it if upto == tail, and there is
// room in the share of the limit. So below that nothing is ever read from the disk.
//
// # Group commit
//
// A commit is a list of records to add and numbers to remove. At most one is being
// written, by its leader, one of its members; the next one gathers meanwhile. The
// leader takes a commit (it is not pending any more), writes it without the lock,
// publishes what came of it, and hands leadership to a member of the next, if there
// is one. So there is no goroutine to stop, and fsync is shared by whoever came
// during the one before.
//
//   - committing exactly if somebody is leader, or the token to lead is on its way.
//   - A pending commit has members who wait for done and lead at once. One whose
//     context ends takes its records out under the lock; if it is the last, there is
//     no commit; if it holds the token, it passes it on.
//   - Nobody leaves a commit that was taken: what becomes of it is known after one
//     write.
//
// # Linearization
//
// A send, and the removal of what was acknowledged, happens when the write of its
// commit becomes durable; for those in this process, when that is published under
// the lock. A receive happens under the lock.
//
// # Waiting: why no wake-up is lost
//
// A receiver joins its line under the lock hold that found nothing to receive, a
// sender under the one that found no room. Whatever adds a record or makes room does
// so under the lock, and serves the line, oldest first, before it releases it.
//
// # What is there after a crash
//
// All that a Send returned nil for and no Ack did, in order. Of a Send that had not
// returned, all or nothing for each commit; of an Ack that had not returned, the
// same. What had been delivered and not acknowledged is delivered again.
//
// # Tried and lost
//
// Waiting for more senders before a commit: one that finds company has had to wait
// for the fsync before anyway, and one alone only waits longer. A log of our own:
// faster, and a single flipped bit made it drop what came after.

// A Durable is a FIFO on disk that survives the process. Make one with
// [OpenDurable]. Its methods may be used by many goroutines at once.
type Durable[T any] struct {
	config  config[T]
	store   store
	parcels sync.Pool // of *parcel[T]

	mu      sync.Mutex
	pending *commit // gathers members; nil if there are none
	leading bool    // a commit is being written, or the token is on its way
	idle    chan struct{}
	adding  int // records in commits, pending or being written

	returned numbers
	window   fifo[stored]
	inWindow int64 // bytes
	upto     uint64
	tail     uint64
	tries    map[uint64]int // of records that were delivered and not acknowledged
	queued   int            // returned, in the window, and in the file beyond it
	bytes    int64          // of the disk limit

	senders   line // for room
	receivers line // for a record
	closed    bool
	stopped   bool
	shut      chan struct{} // closed when the file is
	failure   error
	ready     chan struct{} // nil until Ready is called

	sent, received uint64
	unsettled      int
	high           int
}

// recordCost is what a record counts in the disk limit beside its form.
const recordCost = 8

// OpenDurable opens the queue in the folder dir, or makes one; the folder is made if
// only that is missing. What was sent and not acknowledged is there, in order, and
// is delivered again.
//
// One Durable at a time has a folder: an error says if another one does, in this
// process or another. So it does if the file is no queue, was truncated, has
// another version, or was written with another codec: it names the file, and leaves
// it as it is. Call [Durable.Shutdown] at the end.
//
// Opening reads all of the file, once.
func OpenDurable[T any](dir string, o *DurableOptions[T]) (*Durable[T], error) {
	p, err := o.config()
	if err != nil {
		return nil, err
	}
	if err := makeFolder(dir); err != nil {
		return nil, fmt.Errorf("spill: OpenDurable: %w", err)
	}
	p.limit = share(p.memory)
	s, has, err := opening{}.open(dir, p.codec.Name())
	if err != nil {
		return nil, fmt.Errorf("spill: OpenDurable: %w", err)
	}
	return newDurable(p, s, has), nil
}

func newDurable[T any](p config[T], s store, has inventory) *Durable[T] {
	c := &Durable[T]{
		config: p, store: s,
		upto: has.first, tail: has.next, queued: has.records, high: has.records, sent: uint64(has.records),
		bytes: has.bytes + int64(has.records)*recordCost,
		tries: map[uint64]int{},
	}
	c.parcels.New = func() any { return new(parcel[T]) }
	sluice.Enlist(p.name, "spill.Durable", c)
	return c
}

// Close ends the sending: sends fail from now on, those that wait for room
// included, and what is stored stays receivable. The queue is open again when it is
// opened next. Close never waits, and does nothing the second time. See Shutdown for
// the end of the receiving.
func (c *Durable[T]) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.close(sluice.ErrClosed)
}

func (c *Durable[T]) close(err error) {
	if c.closed {
		return
	}
	c.closed = true
	for w := c.senders.pop(); w != nil; w = c.senders.pop() {
		w.serve(err)
	}
	if c.ready != nil {
		close(c.ready)
	}
	c.settle()
}

// Shutdown ends the use of the channel: all calls fail with ErrClosed from now on,
// waiting ones and those of deliveries included, a commit under way is waited for,
// and the file is closed, for somebody else to open. What was not acknowledged is
// there then. A second call waits for the first.
func (c *Durable[T]) Shutdown() error {
	c.mu.Lock()
	if c.stopped {
		c.mu.Unlock()
		<-c.shut
		return nil
	}
	c.stopped = true
	c.shut = make(chan struct{}) // not before: testing/synctest asks who made it
	defer close(c.shut)
	c.close(sluice.ErrClosed)
	for w := c.receivers.pop(); w != nil; w = c.receivers.pop() {
		w.serve(sluice.ErrClosed)
	}
	for c.leading {
		idle := make(chan struct{})
		c.idle = idle
		c.mu.Unlock()
		<-idle
		c.mu.Lock()
	}
	c.mu.Unlock()
	if err := c.store.close(); err != nil {
		return fmt.Errorf("spill: Shutdown: %w", err)
	}
	return nil
}

// fail ends the channel after an error that leaves its state unknown.
func (c *Durable[T]) fail(err error) {
	if c.failure == nil {
		c.failure = err
	}
	c.close(err)
	for w := c.receivers.pop(); w != nil; w = c.receivers.pop() {
		w.serve(err)
	}
}

// refused is why nothing can be sent, or nil. The lock is held.
func (c *Durable[T]) refused() error {
	switch {
	case c.failure != nil:
		return c.failure
	case c.closed:
		return sluice.ErrClosed
	default:
		return nil
	}
}

// settle serves whom there is something for. The lock is held.
func (c *Durable[T]) settle() {
	for c.receivers.n > 0 {
		record, err := c.next()
		if err != nil {
			c.receivers.pop().serve(err)
			continue
		}
		if record.number == 0 {
			break
		}
		w := c.receivers.pop()
		w.record = record
		w.serve(nil)
	}
	for w := c.senders.first; w != nil && c.fits(w.need); w = c.senders.first {
		c.bytes += w.need
		c.senders.pop()
		w.serve(nil)
	}
	if c.drained() {
		for w := c.receivers.pop(); w != nil; w = c.receivers.pop() {
			w.serve(sluice.ErrClosed)
		}
	}
	c.announce()
}

// drained reports whether nothing is queued, nor will be but what is given back.
func (c *Durable[T]) drained() bool { return c.closed && c.queued == 0 && c.adding == 0 }

func (c *Durable[T]) fits(need int64) bool { return need <= c.config.diskLimit-c.bytes }

// announce makes Ready readable if TryRecv would succeed.
func (c *Durable[T]) announce() {
	if c.ready == nil || c.closed || c.queued == 0 {
		return
	}
	select {
	case c.ready <- struct{}{}:
	default:
	}
}

// Ready is as that of the kinds of package sluice: a channel that becomes readable
// when TryRecv may succeed; whoever reads from it should then call TryRecv until that
// fails with ErrEmpty. After Close it is closed.
func (c *Durable[T]) Ready() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ready == nil {
		c.ready = make(chan struct{}, 1)
		if c.closed {
			close(c.ready)
		}
		c.announce()
	}
	return c.ready
}

// All returns an iterator over deliveries until the channel is closed and drained,
// has failed, or ctx is done while it waits.
func (c *Durable[T]) All(ctx context.Context) iter.Seq[*Delivery[T]] { return all(c.Recv, ctx) }

// Len returns how many values are queued: those delivered and not settled are not.
func (c *Durable[T]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.queued
}

// Cap returns [sluice.Unlimited]: the limit is in bytes.
func (c *Durable[T]) Cap() int { return sluice.Unlimited }

// InFlight returns how many deliveries were neither acknowledged nor given back.
func (c *Durable[T]) InFlight() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unsettled
}

// Stats returns one consistent view of the channel's counters. Sent counts what was
// found at OpenDurable too, and again what was given back; Received, deliveries; Bytes
// is memory, BytesOnDisk the file; Warning is the failure of a channel that has failed.
func (c *Durable[T]) Stats() sluice.Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := sluice.Stats{
		Name: c.config.name, Len: c.queued, Cap: sluice.Unlimited, Lanes: 1,
		Sent: c.sent, Received: c.received, HighWater: c.high,
		SendWaits: c.senders.waits, SendWaitTime: c.senders.spent, SendersWaiting: c.senders.n,
		RecvWaits: c.receivers.waits, RecvWaitTime: c.receivers.spent, ReceiversWaiting: c.receivers.n,
		Bytes: c.inWindow + c.returned.bytes(), BytesOnDisk: c.store.size(), Closed: c.closed,
	}
	if c.failure != nil {
		s.Warning = c.failure.Error()
	}
	return s
}
