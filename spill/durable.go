package spill

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/inspect"
	"github.com/sluice-go/sluice/internal/age"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/spill/internal/disk"
	"github.com/sluice-go/sluice/spill/internal/logstore"
)

// How a Durable works. docs/design/spill.md has the arguments, docs/pictures/send.svg the steps of a
// Send.
//
// Every record has a sequence number, in the order of the sends. Its states:
//
//	reserved    the limits count it; the sender owns it
//	joined      in the pending commit; the sender may still withdraw it
//	written     the leader has taken the commit; the record cannot be withdrawn
//	queued      stored, and ready to be delivered
//	delivered   stored, and owned by a receiver
//	dropping    stored, taken from the queue, and in a commit that deletes it
//	acked       in a commit that deletes it
//	deleted
//
// mu guards everything except the files. A record is stored before it can be received
// and until it is acknowledged. The queue has three parts, and every queued record is in one of
// them. A receive takes the first record of the first part that is not empty:
//
//	front       with Fresh, what was stored since the front began, and is fresh
//	requeued    given back by receivers, lowest number first; read again from the file
//	backlog     the rest; without Fresh, all that was not given back
//
// The oldest record has the lowest number of all parts. Dropping begins with it.
//
//	numbers in the backlog and in requeued < numbers in the front < tail
//	the front has all records from its first one to tail
//	a receive takes a record from the front, or a commit adds one: its first record is fresh.
//	    If it is not, all of the front joins the backlog, as one range
//	front.bytes + backlog.bytes <= limit, except for one record in each
//
// So the backlog gets at most one range in each period of Fresh. No part is stored: what OpenDurable
// or a reopening finds is the backlog.
//
// Group commit: at most one commit is being written, without the lock, by its leader, a
// member of it; the next one gathers members meanwhile. The leader publishes the result,
// and passes leadership to a member of the next commit.
//
//	leading == a goroutine leads, or the token to lead is on its way
//	pending != nil: its members wait for done and for the token
//	the last member to leave a commit removes it, and ends leadership if the token is there
//
// No wake-up is lost: a receiver queues itself while it holds the lock under which it
// found no record, a sender while it holds the lock under which it found no room; and
// each change that adds a record or frees room calls serveWaiters before it unlocks.

// A Durable is a FIFO on disk that survives the process. Make one with [OpenDurable].
// Its methods may be called from any goroutine.
//
// Durable implements sluice.BatchSender[T], and sluice.BatchReceiver[*Delivery[T]]:
// receivers get deliveries to acknowledge. See [Durable.AutoAck] for plain values.
type Durable[T any] struct {
	config  config[T]
	store   store
	batches sync.Pool // of *recordBatch[T]

	mu      sync.Mutex
	pending *commit // gathers members, or nil
	leading bool    // a commit is being written, or the token to lead is on its way
	idle    chan struct{}
	adding  int // records in commits, pending or being written

	front    reader
	requeued seqHeap
	backlog  reader
	tail     uint64
	since    age.Log        // of tail before each commit adds to it, with Fresh: bounds the age of the front
	attempts map[uint64]int // of records that were given back: how often they were delivered
	amount                  // what the limits count: queued, in flight, dropping, or with reserved room
	stored   int64          // the part of bytes that is in the store; the rest is reserved
	ages     age.Log        // indices are sequence numbers

	promised int // loose payloads in the pending commit
	retrying int // senders that were woken and will look for room
	dropping int // taken from the queue to be deleted, until the result is published
	evicting int // of these, the ones that a commit replaces
	clock    clock
	expiry   expiry

	senders   waitQueue // for room
	receivers waitQueue // for a record
	closed    bool
	stopped   bool
	shut      chan struct{} // closed when the file is closed
	failure   error
	sendErr   error                                            // of the last write of values; nil if it succeeded
	reopen    func() (store, logstore.Contents, Repair, error) // nil: a store that fails ends the channel
	reopening chan struct{}                                    // not nil while the store is opened again
	epoch     uint64
	repair    Repair
	disk      disk.Disk  // of the report; nil in some tests
	asideMu   sync.Mutex // guards the files of the report and of damaged records
	ready     engine.Ready

	sent, received  uint64
	dropped, tooOld uint64
	rejected        uint64 // sends
	flight          amount
	acking          amount // in flight, and in a commit that deletes them
	high            int
	unreadable      int   // dropped, and not passed to the hook
	unreadErr       error // the first reason
}

// recordCost is what DiskLimit counts for a record besides its payload, and timeCost for
// its time.
const (
	recordCost = 8
	timeCost   = 8
)

// An amount is what the limits count of some records.
type amount struct {
	records int
	bytes   int64 // of DiskLimit
}

// one returns the amount of a record.
func one(cost int64) amount { return amount{1, cost} }

func (a *amount) add(b amount) { *a = amount{a.records + b.records, a.bytes + b.bytes} }
func (a *amount) sub(b amount) { *a = amount{a.records - b.records, a.bytes - b.bytes} }

// OpenDurable opens the queue in the directory dir, or creates one. It creates dir if
// only the last element of the path is missing. Values that were sent and not
// acknowledged before are delivered again, in order.
//
// Only one Durable at a time can use a directory: OpenDurable returns an error if
// another one has it open, in this process or another. It also returns an error, which
// names the file, if a file is not of a queue, is truncated, damaged or missing, or was written
// with another codec; the files are left as they are.
// [DurableOptions].OnDamage can make it repair a damaged queue instead. A full disk is not an
// error, unless the queue is new: sends fail then, and Disk.Warning of Stats reports it.
//
// OpenDurable reads a checkpoint and the last part of the records, whatever their number. Call
// [Durable.Shutdown] when done.
func OpenDurable[T any](dir string, o *DurableOptions[T]) (*Durable[T], error) {
	p, err := o.config()
	if err != nil {
		return nil, err
	}
	if err := makeDir(dir); err != nil {
		return nil, fmt.Errorf("spill: OpenDurable: %w", err)
	}
	p.limit = share(p.memory)
	c, err := openQueue(disk.Folder{Dir: dir}, dir, p, logstore.Options{})
	if err != nil {
		return nil, fmt.Errorf("spill: OpenDurable: %w", err)
	}
	return c, nil
}

// openQueue opens the queue on d, the disk of the folder dir.
func openQueue[T any](d disk.Disk, dir string, p config[T], o logstore.Options) (*Durable[T], error) {
	o.Codec = p.codec.Name()
	var earlier Repair
	load := func() (_ Repair, err error) {
		earlier, err = loadRepair(d)
		return earlier, err
	}
	s, found, repair, err := openStore(d, p.onDamage, o, load)
	if err != nil {
		return nil, err
	}
	if repair.Err == nil { // otherwise it was loaded before the repair
		if _, err := load(); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	c := newDurable(p, s, found)
	c.mu.Lock() // package inspect knows c already
	defer c.mu.Unlock()
	c.disk, c.repair = d, earlier
	if earlier.Err != nil {
		c.logRepair("earlier damage: remove "+d.Path(reportFile)+" when you have read this", earlier)
	}
	if repair.Err != nil {
		c.logRepair("a damaged queue was repaired", repair)
		c.repair.join(repair)
	}
	if p.onDamage == SetDamageAside {
		c.reopen = func() (s store, found logstore.Contents, repair Repair, err error) {
			if err := makeDir(dir); err != nil { // the folder may be gone
				return nil, found, repair, err
			}
			return openStore(d, p.onDamage, o, func() (Repair, error) { return c.Repaired(), nil })
		}
	}
	return c, nil
}

func newDurable[T any](p config[T], s store, found logstore.Contents) *Durable[T] {
	c := &Durable[T]{config: p, sent: uint64(found.Records), clock: newClock(found.Next)}
	c.load(s, found)
	c.batches.New = func() any { return new(recordBatch[T]) }
	inspect.Register(p.name, "spill.Durable", c)
	return c
}

// load makes the records of a store that was opened the queue. The caller holds mu, and has removed
// other records from what the limits count.
func (c *Durable[T]) load(s store, found logstore.Contents) {
	c.store = s
	c.front, c.requeued, c.backlog, c.since = reader{}, nil, reader{}, age.Log{}
	c.tail = found.Next
	c.backlog.add(found.First, found.Next, found.Records)
	c.high = max(c.high, found.Records)
	c.stored = found.Bytes + int64(found.Records)*recordCost
	c.add(amount{found.Records, c.stored})
	c.ages = age.Log{}
	c.ages.Record(park.Now(), found.First, found.Next)
}

// Close closes the queue for sending: later sends, and sends that wait for room, fail with
// [sluice.ErrClosed], and stored values can still be received. A queue that is opened
// again accepts values again. Close never waits. It is idempotent and safe from any
// goroutine. [Durable.Shutdown] ends receiving, too, and releases the folder: call it before the queue
// is opened again.
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
	c.senders.finishAll(err)
	c.ready.Close()
	c.serveWaiters()
}

// Shutdown closes the queue for sending and receiving. It waits for a commit in
// progress and closes the file, so that another Durable can open it. Waiting and later
// calls, including Ack and Nack, fail with [sluice.ErrClosed]. Values that
// were not acknowledged stay in the file. A second call waits for the first.
func (c *Durable[T]) Shutdown() error {
	c.mu.Lock()
	if c.stopped {
		c.mu.Unlock()
		<-c.shut
		return nil
	}
	c.stopped = true
	c.shut = make(chan struct{}) // made here, because testing/synctest associates it with a bubble
	defer close(c.shut)
	c.close(sluice.ErrClosed)
	c.receivers.finishAll(sluice.ErrClosed)
	for c.leading {
		idle := make(chan struct{})
		c.idle = idle
		c.mu.Unlock()
		<-idle
		c.mu.Lock()
	}
	c.mu.Unlock()
	c.asideMu.Lock() // wait for files that are being written beside the store
	defer c.asideMu.Unlock()
	if err := c.store.Close(); err != nil {
		return fmt.Errorf("spill: Shutdown: %w", err)
	}
	return nil
}

// fail ends the channel after an error that leaves the state of the file unknown.
func (c *Durable[T]) fail(err error) {
	if c.failure == nil {
		c.failure = err
	}
	c.close(err)
	c.receivers.finishAll(err)
}

// sendError returns the error of sends to a channel that is closed or has failed, or
// nil. The caller holds mu.
func (c *Durable[T]) sendError() error {
	switch {
	case c.failure != nil:
		return c.failure
	case c.closed:
		return sluice.ErrClosed
	default:
		return nil
	}
}

// serveWaiters finishes the waiters that can proceed. The caller holds mu.
func (c *Durable[T]) serveWaiters() {
	if c.reopening != nil { // publish calls it when the store is there again
		return
	}
	for w := c.receivers.First(); w != nil; w = c.receivers.First() {
		record, err := c.take()
		if err == nil && record.Seq == 0 {
			break
		}
		w.Value.record, w.Value.epoch = record, c.epoch
		c.receivers.finish(w, err)
		if err == errTooOld { // its goroutine deletes what is too old, and comes back
			break
		}
	}
	if c.config.overflow == sluice.DropOldest {
		c.retry(func(w *waiter) bool { return c.free(w.Value.need) })
	} else {
		for w := c.senders.First(); w != nil && c.fits(w.Value.need); w = c.senders.First() {
			c.add(one(w.Value.need))
			c.senders.finish(w, nil)
		}
		c.watchAge()
	}
	if c.drained() {
		c.receivers.finishAll(sluice.ErrClosed)
	}
	if c.evicting == 0 && c.queued() == 0 {
		c.receivers.finishBrief(sluice.ErrEmpty)
	}
	c.postReady()
}

// drained reports whether the queue is closed and empty. A Nack can still add to it.
func (c *Durable[T]) drained() bool { return c.closed && c.queued() == 0 && c.adding == 0 }

// fits reports whether the limits leave room for a record beside held, but for the part of it that is
// freed.
func (c *config[T]) fits(held, freed amount, cost int64) bool {
	return held.records-freed.records < c.capacity && cost <= c.diskLimit-held.bytes+freed.bytes
}

// fits reports whether the limits leave room for a record. The caller holds mu.
func (c *Durable[T]) fits(need int64) bool { return c.config.fits(c.amount, amount{}, need) }

// postReady posts a token to Ready if TryRecv would succeed. It is called after each
// change that adds a record, and after each receive, so that a token is there while
// records are left: a goroutine that took the token needs to receive only one record.
func (c *Durable[T]) postReady() {
	if c.queued() > 0 {
		c.ready.Post()
	}
}

// Ready returns a channel for a select statement beside built-in channels; see the
// method of the same name of [sluice.Bounded]. It becomes readable when a value can be
// received, and stays readable while values are left. After Close it is closed. Every
// call returns the same channel.
func (c *Durable[T]) Ready() <-chan struct{} {
	return c.ready.Chan(func() (hasValue, closed bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.queued() > 0, c.closed
	})
}

// Drain returns an iterator over the values that are queued when the loop begins; it
// never waits for a value. With [DurableOptions].Fresh, newer ones may come instead. It is the
// body of a case that reads from Ready. The caller owns the deliveries that it yields. A loop
// that ends at an error leaves it to the next receive.
func (c *Durable[T]) Drain() iter.Seq[*Delivery[T]] { return drainSeq(c.Len, c.TryRecv) }

// Values returns a loop over deliveries, which ends when the queue is closed and
// drained, at an error such as a [RecordError], or when ctx is done while the loop
// waits. Its Err method reports which. The body of the loop owns the deliveries, and
// acknowledges them. Values panics if ctx is nil.
func (c *Durable[T]) Values(ctx context.Context) *sluice.Values[*Delivery[T]] {
	notNil(ctx, "Values")
	return sluice.NewValues(ctx, c)
}

// Len returns the number of queued values. Deliveries in flight are not included. A value
// that is being dropped counts until it is deleted.
func (c *Durable[T]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.queued() + c.dropping
}

// Cap returns the Capacity of the options, or [sluice.Unlimited]. DiskLimit may leave less
// room, and deliveries in flight take some of it.
func (c *Durable[T]) Cap() int { return c.config.capacity }

// InFlight returns the number of deliveries that were neither acknowledged nor given
// back.
func (c *Durable[T]) InFlight() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.flight.records
}

// Stats returns a consistent snapshot of the channel's counters. Sent includes the values
// found by OpenDurable, and counts a value again after each Nack; Received counts deliveries.
// When the queue is opened again after damage, deliveries in flight count as sent again, too,
// and records that it has lost as dropped. Dropped includes TooOld, and under DropNewest
// values that Sent does not count. Bytes is the memory of records at hand, and of what the
// channel keeps for values that were given back and, with [DurableOptions].Fresh, for ranges of the
// backlog; a Delivery in flight and its Value belong to the caller, and are not counted. Disk.Bytes
// is the size of the files with records, which shrinks as records are acknowledged. For values that
// were found by OpenDurable, OldestValue is unknown and OldestAtLeast counts from then on; with
// MaxAge OldestValue is exact if the oldest value is in memory. Disk.Warning is the error of a
// channel that has failed, or else a line about a disk that is too full for sends; or the error with
// which the last write of values failed, until one succeeds; or a line about what
// [Durable.Repaired] reports, or about dropped values that the hook did not get.
func (c *Durable[T]) Stats() sluice.Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := park.Now()
	s := sluice.Stats{
		Name: c.config.name, Len: c.queued() + c.dropping, Cap: c.config.capacity,
		Sent: c.sent, Received: c.received, Dropped: c.dropped, Rejected: c.rejected, TooOld: c.tooOld, HighWater: c.high,
		SendWaits: c.senders.tally.Waits(), SendWaitTime: c.senders.tally.Spent(), SendersWaiting: c.senders.Len(), OldestSender: c.senders.Oldest(now),
		RecvWaits: c.receivers.tally.Waits(), RecvWaitTime: c.receivers.tally.Spent(), ReceiversWaiting: c.receivers.Len(), OldestReceiver: c.receivers.Oldest(now),
		Bytes: c.front.memory() + int64(len(c.requeued))*8 + c.backlog.memory() + int64(len(c.attempts))*attemptMemory, Closed: c.closed,
	}
	s.Disk.Bytes = c.store.Size()
	if c.queued() > 0 {
		oldest := c.oldestAge()
		s.OldestValue, s.OldestAtLeast, s.OldestAtMost = oldest.Estimate, oldest.AtLeast, oldest.AtMost
	}
	s.Disk.Warning = c.store.Warning()
	switch {
	case c.failure != nil:
		s.Disk.Warning = c.failure.Error()
	case s.Disk.Warning != "": // it is now, and what follows was before
	case c.sendErr != nil:
		s.Disk.Warning = "the last send failed: " + c.sendErr.Error()
	case c.repair.Err != nil:
		s.Disk.Warning = c.repair.String()
	case c.unreadErr != nil:
		s.Disk.Warning = fmt.Sprintf("the hook did not get %d dropped values: %v", c.unreadable, c.unreadErr)
	}
	return s
}
