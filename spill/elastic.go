package spill

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/codec"
)

// How an Elastic works.
//
// # States and ownership
//
// The queue is, oldest value first,
//
//	head      values in memory: a sluice.Elastic
//	backlog   records on disk and on their way there
//
// and the state word says which way a sender goes:
//
//	direct ----- a value found no room in head: goes to the backlog -----> spilling
//	spilling --- the backlog is empty, and nobody waits to add to it ----> direct
//
// A direct channel is its head: Send and Recv are those of the Elastic, with one or
// two loads of the state. Values of different sizes are added up by the Elastic, under
// a lock that its senders take anyway. Spilling, senders append to the backlog, and
// receivers, who still receive from head alone, move records from there to head
// (refill) before it is empty. There is no goroutine that could be left behind:
// whoever needs a record moves some.
//
//   - The lock guards the backlog, the line of senders, the state, and who moves
//     records. It is held while a block is written or read. It is not needed to
//     send or receive while the channel is direct, nor to receive what is in head.
//   - spilling exactly if the backlog has records, or the line has somebody, at
//     each release of the lock.
//   - A sender waits only if the disk limit leaves no room for its record, and none
//     was made by moving records to head. The line is served in order, by whoever
//     makes room, who appends the record of the one who waits.
//   - The records of one send are encoded before the lock is taken: a codec that
//     panics, or takes long, harms its caller alone.
//   - The upper bits of the state count the changes. An unchanged word means that
//     nothing changed in between.
//
// # Linearization: FIFO across the boundary
//
// A receive happens when head hands the value out. A send happens when its record
// is appended, under the lock; or else, if its sender saw the channel direct, when
// head takes the value. A sender may see that, lose its processor, and add to head
// when others have spilled already. Then its call began before they did: it counts
// as having come first, and nobody whose call began after one of theirs had
// returned can be overtaken by it, for such a call sees spilling. So values come
// out in the order of sends that did not overlap, and of one sender in any case.
//
// "Empty" is read off a head that was empty while the state was direct before and
// after. "Full" is said under the lock, with a backlog at its limit, after a look
// whether head can take its first record.
//
// # Waiting: why no wake-up is lost
//
// Receivers wait in head alone, and only if they saw the channel direct. It must
// not be that they wait while the backlog has records:
//
//   - A receiver takes its value out of head (a read-modify-write), then loads the
//     state. A sender that makes the channel spilling does so (a read-modify-write),
//     then looks how full head is. So one of the two sees the other, and whoever does
//     moves records into head, which wakes those who wait there.
//   - One who takes the last value of head waits for the lock. Before that it does
//     without if somebody has it: another receiver will come by.
//   - An empty head takes any record, of whatever size. One that is not empty may
//     refuse one that would fit: then there is a receive to come.
//   - A receiver that finds head empty and the channel spilling does not wait: it
//     takes the lock and moves records.
//
// A sender that found no room on disk sets pressed, under the lock, and then looks
// once more before it waits. With pressed every receiver takes the lock.
//
// # What fails
//
// A block that cannot be written is an error of the Send that would have written
// it, and of those after it until one succeeds; what was accepted stays, in
// memory. A block that cannot be read back, or a record that the codec does not
// take, is final: what was accepted before it is received, then the failure, by
// everybody, and it is the error of Send from the beginning. Nobody is passed over
// in silence.
//
// # Tried and lost
//
// A goroutine that reads ahead: it must be stopped when the channel is abandoned,
// and costs two context switches a block. One lock around a ring and the backlog:
// twice the time for each value below the limit. A shorter Recv alone:
// the receiver was then at the heels of the sender, who was the slower one, and a []byte
// from one to one took 22 ns instead of 21 at GOMAXPROCS=2 (2026-11-21, AMD EPYC Zen 5 VM
// with 2 cores, Go 1.26.8). Together with a sender that asks for no size it gains.

// The state word: flags, and above them a count of changes.
const (
	spilling = 1 << iota // the backlog has records
	pressed              // senders wait for room on disk
	closed               // no value will be added
	failed               // see failure

	change = 1 << iota
	flags  = change - 1
)

const (
	// How much a refill moves at once: about a block.
	refillRecords = 512
	// head is filled from disk below this, or half of what values may take if that is less.
	readAhead = 4 << 20
)

// An Elastic is an elastic FIFO with a limit in memory, beyond which it goes on on
// disk. Make one with [OpenElastic]. Its methods may be used by many goroutines at once.
//
// It conforms to package sluicetest, as the kinds of package sluice do.
type Elastic[T any] struct {
	state  atomic.Uint64
	head   *sluice.Elastic[T]
	size   func(T) int  // nil: head counts values, all of one size
	asked  func(T) int  // size, if it is a user's: see weight
	low    atomic.Int64 // head is filled from disk when it has no more values
	config config[T]

	parcels sync.Pool // of *parcel[T]

	mu      sync.Mutex
	backlog *backlog
	line    line
	next    decoded[T]
	failure error // final
	high    int   // most values queued while spilling
	lost    int   // records given up by the failure
}

// decoded is the first record of the backlog, as a value, if it found no room.
type decoded[T any] struct {
	there  bool
	value  T
	record []byte
}

// OpenElastic returns an empty Elastic whose files are made in the folder dir, which is
// made if only that is missing. The files have no names: nobody else can open them,
// and their space is free when the channel is drained, garbage, or the process
// has ended in whatever way. So any number of channels may use one folder.
//
// An error names what is wrong: an option, or the folder if no file can be made
// there.
func OpenElastic[T any](dir string, o *ElasticOptions[T]) (*Elastic[T], error) {
	p, err := o.config()
	if err != nil {
		return nil, err
	}
	if err := makeFolder(dir); err != nil {
		return nil, fmt.Errorf("spill: OpenElastic: %w", err)
	}
	p.limit = share(p.memory)
	return newElastic(p, folder(dir))
}

func newElastic[T any](p config[T], files files) (*Elastic[T], error) {
	asked := p.size
	if err := p.weigh(); err != nil {
		return nil, err
	}
	trial, err := files.create()
	if err != nil {
		return nil, fmt.Errorf("spill: OpenElastic: %w", err)
	}
	if err := trial.Close(); err != nil {
		return nil, fmt.Errorf("spill: OpenElastic: %w", err)
	}
	c := &Elastic[T]{size: p.size, asked: asked, config: p, backlog: newBacklog(files, p.diskLimit)}
	c.parcels.New = func() any { return new(parcel[T]) }
	slots := sluice.Unlimited
	o := &sluice.ElasticOptions[T]{Overflow: sluice.Reject}
	switch {
	case c.size == nil:
		slots = p.slots
		c.low.Store(c.lowOf(slots))
	case c.asked == nil:
		o.LimitBytes = p.limit // it knows the size, too
	default:
		o.LimitBytes, o.Size = p.limit, c.weight
	}
	c.head = sluice.NewElastic(slots, o)
	sluice.Enlist(p.name, "spill.Elastic", c)
	return c, nil
}

// Close closes the channel: sends fail from now on, waiting ones included, and
// what is queued stays receivable. It never waits for a receiver, and does nothing
// the second time.
func (c *Elastic[T]) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	state := c.state.Load()
	if state&closed != 0 {
		return
	}
	c.set(closed, 0)
	for w := c.line.pop(); w != nil; w = c.line.pop() {
		w.serve(sluice.ErrClosed)
	}
	if state&spilling == 0 {
		c.head.Close()
		return
	}
	c.settle()
}

// set changes flags of the state. The lock is held.
func (c *Elastic[T]) set(on, off uint64) {
	state := c.state.Load()
	if to := state&^off | on; to != state {
		c.state.Swap(to + change)
	}
}

// end is the error of a channel that takes or gives nothing more.
func (c *Elastic[T]) end() error {
	if c.state.Load()&failed == 0 {
		return sluice.ErrClosed
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failure
}

// Len returns how many values are queued, in memory and on disk.
func (c *Elastic[T]) Len() int {
	for range 4 {
		state := c.state.Load()
		n := c.head.Len()
		if state&spilling == 0 && c.state.Load() == state {
			return n
		}
	}
	return c.Stats().Len
}

// Cap returns [sluice.Unlimited]: the limits are in bytes.
func (c *Elastic[T]) Cap() int { return sluice.Unlimited }

// Ready is as that of the kinds of package sluice: a channel that becomes readable
// when TryRecv may succeed, or the channel is closed; whoever reads from it should
// then call TryRecv until that fails. After Close it is closed as soon as all that
// is left is in memory, and readable before.
func (c *Elastic[T]) Ready() <-chan struct{} { return c.head.Ready() }

// All returns an iterator that receives until the channel is closed and drained,
// has failed, or ctx is done while it waits. It does not tell which: use Recv where
// a disk that fails must not go unnoticed, or look at Stats().Warning.
func (c *Elastic[T]) All(ctx context.Context) iter.Seq[T] { return all(c.Recv, ctx) }

// all is All, by the Recv of a channel.
func all[T any](recv func(context.Context) (T, error), ctx context.Context) iter.Seq[T] {
	if ctx == nil {
		panic("spill: All: nil context")
	}
	return func(yield func(T) bool) {
		for {
			v, err := recv(ctx)
			if err != nil || !yield(v) {
				return
			}
		}
	}
}

// Stats returns one consistent view of the channel's counters. Cap is
// sluice.Unlimited; Bytes is memory, BytesOnDisk what the files hold; Warning is
// the failure of a channel that has failed, and Dropped what was lost by it.
func (c *Elastic[T]) Stats() sluice.Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	state := c.state.Load()
	s := c.head.Stats()
	if c.asked != nil { // which tells of the slots, too
		s.Bytes -= int64(s.Len) * sizeOf[T]()
	}
	s.Bytes += int64(cap(c.backlog.tail) + cap(c.backlog.aheadBuf))
	s.Name, s.Cap = c.config.name, sluice.Unlimited
	s.Len += c.backlog.records
	s.Sent += uint64(c.backlog.records + c.lost)
	s.Dropped = uint64(c.lost)
	s.HighWater = max(s.HighWater, c.high)
	s.SendersWaiting, s.SendWaits, s.SendWaitTime = c.line.n, c.line.waits, c.line.spent
	s.BytesOnDisk = c.backlog.disk
	s.Closed = state&closed != 0
	if c.failure != nil {
		s.Warning = c.failure.Error()
	}
	return s
}

// decode turns a record into a value. A codec that panics has failed.
func decode[T any](codec codec.Codec[T], record []byte) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("spill: codec %q: Decode panicked: %v", codec.Name(), p)
		}
	}()
	if v, err = codec.Decode(record); err != nil {
		err = fmt.Errorf("spill: codec %q: Decode: %w", codec.Name(), err)
	}
	return v, err
}
