// Package hub broadcasts values: each value that is sent to a [Hub] is received from each
// of its subscriptions. Subscriptions come and go at any time, and each has a queue and a
// policy of its own.
//
//	prices := hub.New[int](1024, nil)
//	mine, err := prices.Subscribe(&hub.SubscriptionOptions[int]{Overflow: sluice.DropOldest})
//	…
//	defer mine.Close()
//	for price := range mine.Values(ctx).All() {
//		…
//	}
//
// A value is stored once, however many subscriptions there are, and a Send takes microseconds
// even for ten thousand: it wakes the goroutines of a few subscriptions, and those wake the
// others. For a few receivers that do not change, fan.Out is enough.
//
// # Slow subscriptions
//
// A subscription queues up to Capacity values. When a value is sent for which it has no room,
// its Overflow decides:
//
//	sluice.Block       the Send waits for it, up to EvictAfter or DropAfter: the default
//	sluice.DropOldest  the subscription misses its oldest value
//	sluice.DropNewest  the subscription misses the new value
//	sluice.Evict       the subscription ends: its receives fail with ErrEvicted
//
// Under Block nothing is lost, and one slow subscription slows the senders and all other
// subscriptions; one that is not received from at all stops them. So choose in writing: Block
// where no subscription may miss a value, with EvictAfter or DropAfter for code that may get
// stuck, and another policy where the publisher must not wait.
//
// With a Filter, values that a subscription does not want take no room in its queue.
//
// OnUndelivered gets each value that its subscription does not deliver. [Subscription.Stats] has
// the account: sent, received, dropped, queued, and the age of the oldest queued value.
//
// # Order
//
// All subscriptions receive the values in the order in which they were sent:
// there is one moment at which a Send has happened, for all subscriptions at once. A
// subscription has the values that were sent after its Subscribe, preceded by as
// many older ones as it asked for, without a gap and without a duplicate. The values of one
// sender keep their order; the values of several senders interleave.
//
// Among several senders that wait, and among several goroutines that wait for one subscription,
// the first is woken first, but a goroutine that arrives at that moment may be faster, and there
// is no bound on how often. Goroutines with a subscription each do not compete.
//
// # The ends
//
//	Send fails         no subscription receives the value
//	Hub.Close          sends fail with ErrClosed, waiting ones included; each subscription
//	                   receives what is queued, and then ErrClosed
//	Subscription.Close its queued values are discarded; its receives fail with ErrClosed
//	eviction           its queued values are discarded; its receives fail with ErrEvicted
//
// OnUndelivered gets values that are discarded.
//
// A Send synchronizes before each Recv that receives its value.
package hub

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/broadcast"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/registry"
)

// ErrEvicted is the error of a receive from a subscription that was too slow: see Overflow and
// EvictAfter of [SubscriptionOptions]. The error that a receive returns wraps it, so compare
// with [errors.Is]. A receiver that wants to continue subscribes again.
var ErrEvicted = broadcast.ErrEvicted

// Options are the optional settings of a [Hub]. Nil selects the defaults.
type Options struct {
	// Replay is the number of values that the Hub keeps for subscriptions to come. The
	// default is 0.
	Replay int
}

// SubscriptionOptions are the optional settings of a [Subscription]. Nil selects the
// defaults.
type SubscriptionOptions[T any] struct {
	// Name is reported by Stats, and registers the subscription with package inspect. It
	// need not be unique. A subscription without a name is not registered.
	Name string

	// Capacity is the number of values that the subscription queues, at most the capacity of
	// the Hub, which is the default.
	Capacity int

	// Overflow is what happens when a value is sent for which there is no room:
	//
	//   - [sluice.Block], the default: senders wait until there is room, and with them all
	//     other subscriptions. A subscription that is not received from stops the Hub, unless
	//     EvictAfter is set. A goroutine that receives from such a subscription must not send
	//     to its Hub: it would wait for itself.
	//   - [sluice.DropOldest] discards the oldest value of the queue. With a Capacity of 1 the
	//     subscription has the latest value.
	//   - [sluice.DropNewest] discards the value being sent. Each Send takes a little longer
	//     for each such subscription, because it has a queue of its own.
	//   - [sluice.Evict] ends the subscription: what it received has no gap.
	//
	// Other policies panic.
	Overflow sluice.Overflow

	// EvictAfter evicts a subscription with [sluice.Block] once senders have waited for it
	// that long without a receive. Senders wait for several of them at the same time. 0
	// means never.
	EvictAfter time.Duration

	// DropAfter is EvictAfter for a subscription that is to stay: senders stop waiting for it,
	// and until it receives again it misses its oldest values, as with [sluice.DropOldest]. So
	// a subscription that is stuck delays one Send, not each. It excludes EvictAfter. 0 means
	// never.
	DropAfter time.Duration

	// Replay is the number of values that the subscription begins with, or fewer if fewer
	// were sent: the last ones before it subscribed. It must not exceed the Capacity, nor the
	// Replay of the Hub. Those that Filter rejects are left out.
	Replay int

	// Filter reports whether the subscription wants a value. Other values take no room in its
	// queue, wake none of its goroutines, and are not in its Stats. Nil means all. A full
	// subscription with [sluice.Block] delays each Send, though, whatever its value.
	//
	// Send and Subscribe call it, without a lock: it may use the Hub. Several goroutines may
	// call it at once, and more than once for a value. If it panics, so does the call: a
	// SendBatch may have sent a part of its batch, and no subscription gets the value. It
	// should be fast, as each Send calls the filters of all subscriptions. A subscription
	// with a Filter has a queue of its own, as one with DropNewest.
	Filter func(v T) bool

	// OnUndelivered is called exactly once with each value that the subscription would have
	// received and will not, and the reason:
	//
	//   - [sluice.Overflowed]: DropOldest, DropNewest or DropAfter chose the value; or the value was
	//     queued when the subscription was evicted, or is the one for which it was evicted;
	//   - [sluice.Discarded]: the value was queued when [Subscription.Close] was called.
	//
	// A value goes either to a receive or to OnUndelivered. It runs in the goroutine whose call
	// dropped the value, before that call returns, without a lock: it may use the Hub. That is
	// Send, Close, or, after EvictAfter, the goroutine of a timer. A SendBatch that waits calls
	// it after the wait at the latest. The values of one call come in the order in which they
	// were sent; OnUndelivered may run in several goroutines at once. If it panics, so does
	// the call, after the calls for the other values.
	//
	// With it, a subscription with DropOldest or DropAfter has a queue of its own, as one with DropNewest,
	// and each Send takes a little longer for it. Close and an eviction take time for each
	// queued value. Other subscriptions do not pay for it.
	OnUndelivered func(v T, why sluice.Reason)
}

// A Hub is the sending end of a broadcast. It is a [sluice.BatchSender], and a case for
// [sluice.OnSend].
type Hub[T any] struct {
	engine   *broadcast.Hub[T]
	replay   int
	capacity int
	owner
}

// owner is how a Select finds the engine of a Hub or a Subscription.
type owner = engine.Owner

// New returns a Hub whose subscriptions queue at most capacity values each; write
// [sluice.Unlimited] if only the Capacity of each subscription counts. A capacity below 1 and a
// negative replay panic.
//
// The Hub stores each value once, in blocks of up to 64 and of no more than capacity. It keeps a
// block while a subscription may receive one of its values, or replay needs it: so at most the
// larger of capacity and replay, and three blocks. A subscription that never receives keeps one
// block more. A Hub has no goroutine, and can be garbage-collected once nothing refers to it or
// its subscriptions.
func New[T any](capacity int, o *Options) *Hub[T] {
	if capacity < 1 {
		refuse("New", "capacity must be at least 1 (got %d)", capacity)
	}
	replay := 0
	if o != nil {
		replay = o.Replay
	}
	if replay < 0 {
		refuse("New", "Replay must not be negative (got %d)", replay)
	}
	h := &Hub[T]{engine: broadcast.New[T](capacity, replay), replay: replay, capacity: capacity}
	engine.OwnEnd(&h.owner, h, h.engine)
	return h
}

// refuse panics on behalf of a function that was given what makes no sense.
func refuse(function, format string, args ...any) {
	panic("hub: " + function + ": " + fmt.Sprintf(format, args...))
}

// made returns the engine, and panics if no constructor has made the Hub.
func (h *Hub[T]) made() *broadcast.Hub[T] {
	if h.engine == nil {
		panic("hub: the Hub is a zero value; make it with New")
	}
	return h.engine
}

// Send sends v to all subscriptions, and waits while one with [sluice.Block] has no room.
//
// It returns [sluice.ErrClosed] if the Hub is closed, or is closed during the wait, and the
// context's error if Send would have to wait and ctx is done. After an error no subscription
// receives the value. Without subscriptions Send succeeds. It does not allocate, except
// sometimes for a block of values, and with more than 256 filters. A nil context panics.
func (h *Hub[T]) Send(ctx context.Context, v T) error {
	if ctx == nil {
		panic("hub: Send: nil context")
	}
	return h.made().Send(ctx, v)
}

// TrySend sends v if it can do so without waiting. Otherwise it fails with [sluice.ErrFull]
// or [sluice.ErrClosed].
func (h *Hub[T]) TrySend(v T) error { return h.made().TrySend(v) }

// SendBatch sends the values of vs in order, and waits whenever there is no room. It returns
// the number of values sent, always a prefix of vs; the error is nil only if all were sent,
// and otherwise as for Send. An empty batch returns 0, nil. SendBatch does not retain vs.
func (h *Hub[T]) SendBatch(ctx context.Context, vs []T) (n int, err error) {
	if ctx == nil {
		panic("hub: SendBatch: nil context")
	}
	e := h.made()
	if len(vs) == 0 {
		return 0, nil
	}
	return e.SendBatch(ctx, vs)
}

// Close closes the Hub: sends fail from now on, waiting ones included. Subscriptions receive
// what they have queued, and then [sluice.ErrClosed]. Close never waits, is idempotent, and
// may be called from any goroutine.
func (h *Hub[T]) Close() { h.made().Close() }

// Subscribe adds a subscription, which receives the values that are sent from now on, after
// the values of Replay. It fails with [sluice.ErrClosed] after Close.
// Options that make no sense panic.
//
// The Hub refers to the subscription until it is closed: close it when you no longer receive.
func (h *Hub[T]) Subscribe(o *SubscriptionOptions[T]) (*Subscription[T], error) {
	e := h.made()
	if o == nil {
		o = &SubscriptionOptions[T]{}
	}
	s, err := e.Subscribe(h.config(o), o.hook(), o.Filter)
	if err != nil {
		return nil, err
	}
	registry.Foreign(o.Name, "Subscription", s, (*broadcast.Subscription[T]).Stats, s.Sites())
	sub := &Subscription[T]{engine: s}
	engine.OwnEnd(&sub.owner, sub, s)
	return sub, nil
}

// hook returns OnUndelivered in the words of the engine.
func (o *SubscriptionOptions[T]) hook() func(v T, discarded bool) {
	undelivered := o.OnUndelivered
	if undelivered == nil {
		return nil
	}
	return func(v T, discarded bool) {
		if discarded {
			undelivered(v, sluice.Discarded)
		} else {
			undelivered(v, sluice.Overflowed)
		}
	}
}

// config checks the options.
func (h *Hub[T]) config(o *SubscriptionOptions[T]) broadcast.Config {
	const function = "Subscribe"
	capacity := cmp.Or(o.Capacity, h.capacity)
	switch o.Overflow {
	case sluice.Block, sluice.DropOldest, sluice.DropNewest, sluice.Evict:
	default:
		refuse(function, "Overflow is %v (want Block, DropOldest, DropNewest or Evict)", o.Overflow)
	}
	switch {
	case o.Capacity < 0 || o.Capacity > h.capacity:
		refuse(function, "Capacity must be from 1 to %d, the capacity of the Hub (got %d)", h.capacity, o.Capacity)
	case o.EvictAfter < 0 || o.DropAfter < 0:
		refuse(function, "EvictAfter and DropAfter must not be negative (got %v and %v)", o.EvictAfter, o.DropAfter)
	case o.EvictAfter > 0 && o.DropAfter > 0:
		refuse(function, "EvictAfter and DropAfter exclude each other")
	case o.EvictAfter+o.DropAfter > 0 && o.Overflow != sluice.Block:
		refuse(function, "EvictAfter and DropAfter require Block (got %v, for which no sender waits)", o.Overflow)
	case o.Replay < 0 || o.Replay > h.replay:
		refuse(function, "Replay must be from 0 to %d, the Replay of the Hub (got %d)", h.replay, o.Replay)
	case o.Replay > capacity:
		refuse(function, "Replay must not exceed the Capacity of %d (got %d)", capacity, o.Replay)
	}
	return broadcast.Config{
		Name: o.Name, Capacity: capacity, Overflow: engine.Overflow(o.Overflow), Replay: o.Replay,
		Patience: max(o.EvictAfter, o.DropAfter), DropsAfter: o.DropAfter > 0,
	}
}

// Stats are the counters of a [Hub], consistent at one moment.
type Stats struct {
	Subscriptions int    // now
	Sent          uint64 // values sent
	Rejected      uint64 // calls of TrySend that failed with sluice.ErrFull
	Evicted       uint64 // subscriptions evicted
	Kept          int    // values that the Hub keeps, for subscriptions and for replay
	Bytes         int64  // memory of the slots for values, used and spare
	Behind        int    // the length of the longest queue

	SendWaits      uint64        // times a sender parked
	SendWaitTime   time.Duration // total time senders spent parked, estimated
	SendersWaiting int           // senders parked now
	OldestSender   time.Duration // wait of the sender at the head of the wait queue
	Closed         bool
}

// Stats returns a consistent view of the Hub's counters. It briefly blocks senders, for
// longer with more subscriptions: call it once per second, not once per value.
func (h *Hub[T]) Stats() Stats { return Stats(h.made().Stats()) }

var _ sluice.BatchSender[int] = (*Hub[int])(nil)
