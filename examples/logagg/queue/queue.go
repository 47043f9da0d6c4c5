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
	"slices"
	"strings"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/examples/logagg/parse"
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
}

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
	Name     string // in sluice.Channels, for kinds of sluice
}

// A Kind is one choice of channel.
type Kind struct {
	Name     string
	Policies []sluice.Overflow // those that it has
	make     func(Options) Queue
}

// New returns a queue of the named kind, or says in one line why it cannot.
func New(name string, o Options) (Queue, error) {
	at := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == name })
	switch {
	case at < 0:
		return nil, fmt.Errorf("there is no channel %q, but %s", name, strings.Join(Names(), ", "))
	case o.Capacity < 1 || o.Capacity > maxCapacity:
		return nil, fmt.Errorf("the capacity is %d, not from 1 to %d", o.Capacity, maxCapacity)
	case o.Batch < 1 || o.Batch > o.Capacity:
		return nil, fmt.Errorf("the batch is %d, not from 1 to the capacity of %d", o.Batch, o.Capacity)
	case !slices.Contains(kinds[at].Policies, o.Overflow):
		return nil, fmt.Errorf("the channel %q has no overflow policy %s", name, policyName(o.Overflow))
	}
	return kinds[at].make(o), nil
}

// maxCapacity bounds what is queued: 32 bytes each, 512 MiB.
const maxCapacity = 1 << 24

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
