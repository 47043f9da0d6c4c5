// Package queue provides the hot channel of the service, between the readers of
// all streams and the single goroutine that counts. The kind of the channel is
// a choice that does not affect the rest of the service.
//
// This package contains channels behind two small interfaces. To add a kind,
// add an entry to the table in kinds.go.
package queue

import (
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/bench/logagg/parse"
)

// A Queue carries events from many senders to one receiver.
type Queue interface {
	// Sender returns the sending end for one goroutine.
	Sender() *Sender
	// Tick sends a tick, in order with the events sent before.
	Tick()
	// All receives until the queue is closed and drained: at least one event,
	// and as many as are available without waiting. A slice is valid until the
	// next iteration. Only one goroutine at a time may receive.
	All() iter.Seq[[]parse.Event]
	// Close ends the sending. Each sender must have been flushed, and no sender
	// may be used afterwards.
	Close()

	// Receipt returns the receipt for everything received since the previous
	// receipt. Only the receiver may call it.
	Receipt() Receipt
	// Owed returns the number of events or batches received whose receipt is
	// not settled; 0 for a kind without receipts.
	Owed() int
	// GiveUp ends waiting sends and the receiving, if another process can
	// continue with the queue. It does nothing for other queues, which are
	// drained.
	GiveUp()
	// Account returns the counts of what went through the queue.
	Account() Account
	// End releases the queue's resources outside the process's memory, after
	// its last use. It returns the failures since the queue was made.
	End() error
}

// A Receipt is settled by one call. It reports that the events are done, and will never be
// needed again, or that they were not processed: if possible, they are delivered again.
type Receipt func(done bool)

// An Account describes a queue that other processes share, or that outlives
// this one.
type Account struct {
	Shared   bool  // the queue is shared or persistent: events received here may have been sent elsewhere
	Packets  int   `json:"-"` // packets of events stored now
	Sent     int64 // events stored
	Again    int64 // received events that were, or may have been, received before
	Doubtful int64 // events that may be stored twice, or although they were rejected
}

// inProcess is a queue that ends with the process.
type inProcess struct {
	sending
	all   iter.Seq[[]parse.Event]
	close func()
	end   func() error
}

func (q inProcess) All() iter.Seq[[]parse.Event] { return q.all }
func (q inProcess) Close()                       { q.close() }
func (q inProcess) End() error                   { return q.end() }
func (inProcess) Receipt() Receipt               { return func(bool) {} }
func (inProcess) Owed() int                      { return 0 }
func (inProcess) GiveUp()                        {}
func (inProcess) Account() Account               { return Account{} }

// nothing is the end of a queue that has nothing to release, and cannot fail.
func nothing() error { return nil }

// sending implements the sending end of a queue.
type sending struct {
	size int                                      // of a batch
	put  func(batch []parse.Event) (rejected int) // sends all events of a batch, and does not keep it
}

func (s sending) Sender() *Sender { return &Sender{make([]parse.Event, 0, s.size), s.put} }

func (s sending) Tick() { s.put(aTick) }

var aTick = []parse.Event{{Tick: true}}

// A Sender is the sending end of a Queue for one goroutine: it collects events until a
// batch is complete. Events may overtake each other, because the counts do not depend on
// their order. A send waits for room without a limit: to end it, drain the queue.
type Sender struct {
	kept []parse.Event
	put  func(batch []parse.Event) (rejected int)
}

// Send sends e, or keeps it for the next batch. It returns the number of events that a
// failure rejected: e, or the whole batch that it completed.
func (s *Sender) Send(e parse.Event) (rejected int) {
	s.kept = append(s.kept, e)
	if len(s.kept) < cap(s.kept) {
		return 0
	}
	return s.Flush()
}

// Flush sends the kept events. Readers call it before they wait for more input, so no
// event waits for later ones and no timer is needed.
func (s *Sender) Flush() (rejected int) {
	if len(s.kept) > 0 {
		rejected = s.put(s.kept)
		s.kept = s.kept[:0]
	}
	return rejected
}

// A failure is the first error of a queue, which is logged at once.
type failure struct {
	log   *slog.Logger
	first atomic.Pointer[error]
}

func (f *failure) note(err error) {
	if f.first.CompareAndSwap(nil, &err) {
		f.log.Error("channel failed", "error", err)
	}
}

// failed returns the noted error, or nil.
func (f *failure) failed() error {
	if err := f.first.Load(); err != nil {
		return *err
	}
	return nil
}

// Options are the settings of a queue besides its kind.
type Options struct {
	Capacity int          // in events; for sharded, of each lane
	Batch    int          // events per send; 1 means no batching
	Log      *slog.Logger // logs failures at once; nil for none

	// For kinds that keep events outside the process's memory.
	Dir       string // for spill and durable; "" selects a temporary folder
	DiskBytes int64  // for spill and durable: limit of the queue on disk; 0 selects 1 GiB
	Drain     bool   // at the end, receive the rest of a shared queue

	// For the kind jetstream.
	NATS     string        // addresses of the servers; "" starts a server inside the process
	Replicas int           // servers that store each packet; 0 selects the default of module jetstream
	AckWait  time.Duration // time until the packets of a dead receiver are redelivered; 0 selects the default
}

// channelName is the name of the channel in its Stats, for kinds of sluice in the process.
const channelName = "lines"

// A Kind is a choice of channel.
type Kind struct {
	Name    string
	make    func(Options) (Queue, error)
	Outside bool // it keeps events outside the process's memory, at least some
}

// Kinds returns all kinds, the built-in channel first.
func Kinds() []Kind { return slices.Clone(kinds) }

// New returns a queue of the named kind, or a one-line error. The caller must
// call End.
func New(name string, o Options) (Queue, error) {
	if err := Check(name, o); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return kinds[slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == name })].make(o)
}

// Check returns a one-line error if the options are invalid, without creating
// anything.
func Check(name string, o Options) error {
	at := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == name })
	switch {
	case at < 0:
		return fmt.Errorf("unknown channel %q (want %s)", name, strings.Join(Names(), ", "))
	case o.Capacity < 1 || o.Capacity > maxCapacity:
		return fmt.Errorf("capacity %d is out of range (want 1 to %d)", o.Capacity, maxCapacity)
	case o.Batch < 1 || o.Batch > o.Capacity:
		return fmt.Errorf("batch size %d is out of range (want 1 to the capacity of %d)", o.Batch, o.Capacity)
	case kinds[at].Outside && o.Batch > maxPacket:
		return fmt.Errorf("batch size %d is too large for the channel %q (want at most %d)", o.Batch, name, maxPacket)
	}
	return nil
}

// maxCapacity limits the queue: 32 bytes per event, 512 MiB.
const maxCapacity = 1 << 24

// maxPacket limits a batch that leaves the process, in events: with the longest
// names it has half a megabyte, and servers accept messages of a megabyte.
const maxPacket = 1 << 11

// Names returns the names of all kinds.
func Names() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.Name
	}
	return names
}
