// Package queue is the hot channel of the service: between the readers of all streams
// and the one goroutine that counts. Which channel that is can be chosen, and nothing
// else of the service changes with it.
//
// What may enter this package: channels, behind two small interfaces. A further kind is
// one more entry of the table in kinds.go.
package queue

import (
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bench/logagg/parse"
)

// A Queue carries events from many senders to one receiver.
type Queue interface {
	// Sender returns an end for one sending goroutine.
	Sender() Sender
	// All receives until the queue is closed and drained, as many events at once as the
	// kind can take without waiting for them: at least one. A slice is valid until the
	// loop's next turn. Only one goroutine at a time may receive.
	All() iter.Seq[[]parse.Event]
	// Close ends the sending. No sender may be used any more, and each must be flushed.
	Close()
	// Dropped is how many events the overflow policy has discarded. Ticks do not count.
	Dropped() int64
	// Len is how many events, or batches of them, are queued.
	Len() int

	// Receipt is for all that was received before it and after the receipt before: who
	// has done with that, says so. Only the receiver may ask for one.
	Receipt() Receipt
	// Owed is how many events or batches were received whose receipt is not settled; 0
	// for a kind to which it is all the same.
	Owed() int
	// GiveUp ends sends that wait and the receiving, of a queue that can be gone on with
	// by somebody else. Others are drained as ever.
	GiveUp()
	// Account is what the queue knows of what went through it.
	Account() Account
	// End gives up what the queue has outside of the memory of the process, once nobody
	// uses it any more. It tells what has failed since the queue was made.
	End() error
}

// A Receipt is settled once.
type Receipt interface {
	// Done says that what was received will never be needed again.
	Done()
	// Return says that it was not dealt with: where it can be, it is delivered again.
	Return()
}

// An Account is that of a queue which other processes, or other lives of this one, share.
type Account struct {
	Apart    bool  // it is such a queue: what is received here need not have been sent here
	Sent     int64 // events that are stored
	Received int64
	Again    int64 // of these, events that were, or may have been, received before
	Doubtful int64 // events that may be stored twice, or though they were rejected
}

// inProcess is what a queue has to say that lives and dies with the process.
type inProcess struct{}

func (inProcess) Receipt() Receipt { return nothing{} }
func (inProcess) Owed() int        { return 0 }
func (inProcess) GiveUp()          {}
func (inProcess) Account() Account { return Account{} }
func (inProcess) End() error       { return nil }

type nothing struct{}

func (nothing) Done()   {}
func (nothing) Return() {}

// A Sender is one goroutine's way into a Queue. What it sends may be overtaken by what it
// sends later: nothing that is counted depends on the order. A send waits for room if the policy is
// Block, however long: whoever wants to end that drains the queue.
type Sender interface {
	// Send sends e, or keeps it for the next batch. It returns how many events were
	// rejected for want of room: e, or the whole batch that it completed.
	Send(e parse.Event) (rejected int)
	// Flush sends what is kept. Readers do so before they wait for more input, so no
	// event waits for others to come and no timer is needed.
	Flush() (rejected int)
}

// Options are what can be chosen of a queue besides its kind.
type Options struct {
	Capacity int // in events; of the sharded kind that of each lane
	Batch    int // events that are sent at once; 1 is no batching
	Overflow sluice.Overflow
	Name     string // in inspect.Channels, for kinds of sluice

	// Of the kinds that keep events outside of the memory of the process.
	Dir       string // of spill and durable; "" is one that is removed at the end
	DiskBytes int64  // of spill and durable: the most that wait on disk; 0 is no limit
	Drain     bool   // at the end, receive what there is of a queue that others share

	// Of the kind jetstream.
	NATS     string        // addresses of the servers; "" is one inside of the process
	Stream   string        // name of the channel at the servers; "" is DefaultStream
	Replicas int           // servers that store each packet; 0 is as module jetstream does
	AckWait  time.Duration // until what somebody has who died is given to others; likewise

	Log *slog.Logger // is told at once what End tells at the end; nil for nobody
}

func (o Options) logger() *slog.Logger {
	if o.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Log
}

// A Kind is one choice of channel.
type Kind struct {
	Name     string
	Policies []sluice.Overflow // those that it has
	make     func(Options) (Queue, error)
	Outside  bool // it keeps events, or some, outside of the memory of the process
}

// Kinds returns all of them, the built-in channel first.
func Kinds() []Kind { return slices.Clone(kinds) }

// New returns a queue of the named kind, or says in one line why it cannot. Who gets one
// must call End.
func New(name string, o Options) (Queue, error) {
	if err := Check(name, o); err != nil {
		return nil, err
	}
	return kinds[slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == name })].make(o)
}

// Check says in one line what is wrong with the options, without making anything.
func Check(name string, o Options) error {
	at := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == name })
	switch {
	case at < 0:
		return fmt.Errorf("there is no channel %q, but %s", name, strings.Join(Names(), ", "))
	case o.Capacity < 1 || o.Capacity > maxCapacity:
		return fmt.Errorf("the capacity is %d, not from 1 to %d", o.Capacity, maxCapacity)
	case o.Batch < 1 || o.Batch > o.Capacity:
		return fmt.Errorf("the batch is %d, not from 1 to the capacity of %d", o.Batch, o.Capacity)
	case kinds[at].Outside && o.Batch > maxPacket:
		return fmt.Errorf("the batch is %d, above the %d of the channel %q", o.Batch, maxPacket, name)
	case !slices.Contains(kinds[at].Policies, o.Overflow):
		return fmt.Errorf("the channel %q has no overflow policy %s", name, policyName(o.Overflow))
	}
	return nil
}

// maxCapacity bounds what is queued: 32 bytes each, 512 MiB.
const maxCapacity = 1 << 24

// maxPacket bounds a batch that leaves the process, in events: with the longest names it
// is half of the megabyte that servers take as one message.
const maxPacket = 1 << 11

// Names returns the names of all kinds.
func Names() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.Name
	}
	return names
}

// policies are the names of overflow policies on a command line.
var policies = map[string]sluice.Overflow{
	"block":       sluice.Block,
	"reject":      sluice.Reject,
	"drop-newest": sluice.DropNewest,
	"drop-oldest": sluice.DropOldest,
}

// Policy returns the overflow policy of that name.
func Policy(name string) (sluice.Overflow, error) {
	policy, known := policies[name]
	if !known {
		return 0, fmt.Errorf("there is no overflow policy %q, but block, reject, drop-newest and drop-oldest", name)
	}
	return policy, nil
}

func policyName(o sluice.Overflow) string {
	for name, policy := range policies {
		if policy == o {
			return name
		}
	}
	return o.String()
}
