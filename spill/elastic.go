package spill

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/inspect"
	"github.com/sluice-go/sluice/internal/age"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/locked"
	"github.com/sluice-go/sluice/internal/park"
)

// How an Elastic works. docs/design/spill.md has the arguments.
//
// The queue is, oldest value first, head (values in memory, the engine of a sluice.Elastic or,
// with MaxAge, a locked.Dated) and backlog (records on disk, or in buffers on their way). The state word decides where a
// send goes:
//
//	direct -> spilling   a value found no room in head; it goes to the backlog
//	spilling -> direct   the backlog is empty, and no sender waits to add to it
//
// mu guards the backlog, the wait queue of senders, changes of the state, and moving
// records to head, which receivers do before head is empty. It is held while a block is
// written or read. Invariants:
//
//	at each unlock: spilling == (backlog.records > 0 || senders.len() > 0)
//	a sender waits only if Capacity is reached, or its record exceeds DiskLimit and head has
//	no room for a record
//	a receiver waits only in head, and only if it saw the state direct
//	an empty head accepts any record, whatever its size
//
// No wake-up is lost between receivers and spilling senders: one of the two sees the
// other, and moves records to head, which wakes its waiters. A sender without room on disk
// sets blocked under mu, and tries again before it waits; then each receiver takes mu.
//
//	receiver   take a value from head (read-modify-write), then load the state
//	sender     set spilling (read-modify-write), then look at the length of head
//
// A channel closes at one moment, so head is empty and open, and the state direct, only
// before Close takes effect:
//
//	direct     head.Close, which is the moment, then closed
//	spilling   closed, which is the moment; once the backlog is empty head.Close, then direct
//
// User code (codecs, Size, contexts) runs without the lock where possible; where it
// cannot, panics become errors.

// The state word: flags, and above them a count of changes. An unchanged word means
// that nothing changed in between.
const (
	spilling  = 1 << iota // the backlog has records
	blocked               // senders wait for room on disk
	closed                // no value will be added
	failed                // see failure
	exclusive             // each sender takes mu: see elastic_policy.go

	change = 1 << iota
	flags  = change - 1
)

const (
	// The most records that refill moves at once: about a block.
	refillRecords = 512
	// head is refilled when fewer bytes than this are left, or half of the limit for
	// values if that is less.
	readAhead = 4 << 20
)

// An Elastic is an elastic FIFO with a limit in memory, beyond which it overflows to
// disk. Make one with [OpenElastic]. Its methods may be called from any goroutine.
//
// Elastic implements [sluice.Channel], and passes the conformance suite in package
// sluicetest.
type Elastic[T any] struct {
	state    atomic.Uint64
	head     memory[T]
	aged     *locked.Dated[T] // head with MaxAge, or nil
	userSize func(T) int      // config.size, if the user set it: see headSize
	low      atomic.Int64     // head is refilled when it has no more values than this
	config   config[T]

	batches sync.Pool // of *recordBatch[T]

	mu       sync.Mutex
	backlog  *backlog
	senders  waitQueue   // for room on disk
	alarm    *time.Timer // for senders that wait: see setAlarm
	alarmed  bool        // it is set
	next     decoded[T]
	ages     age.Log // indices count the values of head and backlog
	moved    uint64  // records that have left the backlog
	failure  error   // final
	high     int     // high-water mark of Len while spilling
	lost     int     // records discarded by the failure
	evicted  int     // values dropped by DropOldest; head counts them as received
	tooOld   int     // values dropped because of MaxAge; head counts them as received
	refused  int     // values dropped by DropNewest
	rejected uint64  // sends

	sealing func() // for tests: called by seal between its steps
}

// decoded is the first record of the backlog, decoded, if head had no room for it.
type decoded[T any] struct {
	valid  bool
	value  [1]T
	record []byte
}

// OpenElastic returns an empty Elastic that creates its files in the directory dir. It
// creates dir if only the last element of the path is missing.
//
// The files have no names: no other process can open them, and their space is free as
// soon as the channel is drained or garbage, or the process has ended. On file systems where
// a file cannot be created without a name, a process that is killed while it creates one may
// leave it, empty; OpenElastic removes such files, spill-*.segment. Any number of channels may
// share a directory.
//
// OpenElastic returns an error if an option is invalid, or if it cannot create a file
// in dir.
func OpenElastic[T any](dir string, o *ElasticOptions[T]) (*Elastic[T], error) {
	p, err := o.config()
	if err != nil {
		return nil, err
	}
	if err := makeDir(dir); err != nil {
		return nil, fmt.Errorf("spill: OpenElastic: %w", err)
	}
	removeSegments(dir)
	p.limit = share(p.memory)
	return newElastic(p, directory(dir))
}

func newElastic[T any](p config[T], files files) (*Elastic[T], error) {
	userSize := p.size
	if err := p.setSize(); err != nil {
		return nil, err
	}
	trial, err := files.create()
	if err != nil {
		return nil, fmt.Errorf("spill: OpenElastic: %w", err)
	}
	if err := trial.Close(); err != nil {
		return nil, fmt.Errorf("spill: OpenElastic: %w", err)
	}
	c := &Elastic[T]{userSize: userSize, config: p, backlog: newBacklog(files, p.diskLimit)}
	c.batches.New = func() any { return new(recordBatch[T]) }
	c.openHead()
	if p.capacity != sluice.Unlimited || p.overflow == sluice.DropOldest || p.maxAge > 0 {
		c.state.Store(exclusive)
	}
	inspect.Register(p.name, "spill.Elastic", c)
	return c, nil
}

// openHead sets head.
func (c *Elastic[T]) openHead() {
	slots := sluice.Unlimited
	o := &sluice.ElasticOptions[T]{Overflow: sluice.Reject}
	switch {
	case c.config.maxAge > 0:
		aged := locked.NewDated(engine.Config[T]{
			Limit: slots, Elastic: true, Overflow: engine.Reject, Size: c.headSize, MaxBytes: c.config.limit, SizeIsKnown: c.userSize == nil,
		}, c.config.maxAge)
		c.aged, c.head = aged, aged.Engine
		return
	case c.config.size == nil:
		slots = c.config.slots
		c.low.Store(c.lowFor(slots))
	case c.userSize == nil:
		o.MaxBytes = c.config.limit // head knows the size, too
	default:
		o.MaxBytes, o.Size = c.config.limit, c.headSize
	}
	head, _ := engine.Of(sluice.NewElastic(slots, o))
	c.head = head.(memory[T])
}

// Close closes the channel: waiting and later sends fail with [sluice.ErrClosed], and the
// queued values can still be received. Close never waits for a receiver. It is
// idempotent and safe from any goroutine.
func (c *Elastic[T]) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	state := c.state.Load()
	if state&closed != 0 {
		return
	}
	if state&spilling == 0 {
		c.seal(closed, 0)
		return
	}
	c.set(closed, 0)
	c.senders.finishAll(sluice.ErrClosed)
	c.advance()
}

// seal closes head, and only then changes flags of the state. The other order would have a
// moment at which sends fail, and a receive finds the channel empty, but not closed. The
// caller holds mu.
func (c *Elastic[T]) seal(on, off uint64) {
	c.head.Close()
	if c.sealing != nil {
		c.sealing()
	}
	c.set(on, off)
}

// set changes flags of the state. The caller holds mu.
func (c *Elastic[T]) set(on, off uint64) {
	state := c.state.Load()
	if to := state&^off | on; to != state {
		c.state.Swap(to + change)
	}
}

// finalError returns the error of a channel that is closed or has failed.
func (c *Elastic[T]) finalError() error {
	if c.state.Load()&failed == 0 {
		return sluice.ErrClosed
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failure
}

// Len returns the number of queued values, in memory and on disk.
func (c *Elastic[T]) Len() int {
	for range 4 {
		state := c.state.Load()
		n := c.head.Len()
		if state&spilling == 0 && c.state.Load() == state {
			return n
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.head.Len() + c.backlog.records
}

// Cap returns [ElasticOptions].Capacity, or [sluice.Unlimited] if there is none: the other
// limits of an Elastic are in bytes.
func (c *Elastic[T]) Cap() int { return c.config.capacity }

// Ready returns a channel for a select statement beside built-in channels; see the
// method of the same name of [sluice.Bounded]. It becomes readable when a value can be
// received, and stays readable while values are left. After Close it is closed as soon
// as all values that are left are in memory. Every call returns the same channel.
func (c *Elastic[T]) Ready() <-chan struct{} { return c.head.Ready() }

// Drain returns an iterator over the values that are queued when the loop begins. It
// never waits for a value, but it may read blocks from disk. It is the body of a case
// that reads from Ready. A loop that ends at a failure leaves the error to the next
// receive.
func (c *Elastic[T]) Drain() iter.Seq[T] { return drainSeq(c.Len, c.TryRecv) }

// drainSeq is Drain for a channel with these methods.
func drainSeq[T any](length func() int, tryRecv func() (T, error)) iter.Seq[T] {
	return func(yield func(T) bool) {
		for left := max(1, length()); left > 0; left-- {
			v, err := tryRecv()
			if err != nil || !yield(v) {
				return
			}
		}
	}
}

// Values returns a loop over the values of the channel, which ends when the channel is
// closed and drained or has failed, or when ctx is done while the loop waits. Its Err
// method reports a failure. Values panics if ctx is nil.
func (c *Elastic[T]) Values(ctx context.Context) *sluice.Values[T] {
	notNil(ctx, "Values")
	return sluice.NewValues(ctx, c)
}

// Stats returns a consistent snapshot of the channel's counters. Bytes counts memory,
// Disk.Bytes the size of the files. For a channel that has failed, Disk.Warning is the error, and
// Dropped includes the number of values lost.
func (c *Elastic[T]) Stats() sluice.Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	state := c.state.Load()
	s := sluice.Stats(c.head.Stats())
	if c.userSize != nil { // the Elastic adds the slots, which the user's Size includes
		s.Bytes -= int64(s.Len) * int64(engine.SizeOf[T]())
	}
	s.Bytes += int64(cap(c.backlog.tail) + cap(c.backlog.aheadBuf))
	s.Name, s.Cap = c.config.name, c.config.capacity
	s.Len += c.backlog.records
	s.Sent += uint64(c.backlog.records + c.lost)
	s.Received -= uint64(c.evicted + c.tooOld)
	s.Dropped, s.TooOld, s.Rejected = uint64(c.lost+c.evicted+c.tooOld+c.refused), uint64(c.tooOld), c.rejected
	s.HighWater = max(s.HighWater, c.high)
	s.SendersWaiting, s.SendWaits, s.SendWaitTime = c.senders.Len(), c.senders.tally.Waits(), c.senders.tally.Spent()
	s.OldestSender = c.senders.Oldest(park.Now())
	s.Disk.Bytes = c.backlog.disk
	tail := s.Sent - uint64(c.lost)
	oldest := c.ages.Inspect(park.Now(), tail-uint64(s.Len), tail, 1)
	if c.aged == nil && (c.moved > 0 || s.Len == c.backlog.records) { // head counts the age of what was on disk from when it came back
		s.OldestValue, s.OldestAtLeast, s.OldestAtMost = oldest.Estimate, oldest.AtLeast, oldest.AtMost
	}
	s.Closed = state&closed != 0
	if c.failure != nil {
		s.Disk.Warning = c.failure.Error()
	}
	return s
}
