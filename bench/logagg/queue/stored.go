package queue

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bench/logagg/parse"
)

// A store keeps packets of events outside the process's memory. D is a
// delivery, in flight until it is settled.
type store[D any] interface {
	// send returns nil once the packet is stored.
	send(ctx context.Context, events []parse.Event) error
	receive(ctx context.Context) (D, error)
	// closeSending ends the sending by this process.
	closeSending()
	// rest receives the remaining packets after that, without waiting for other
	// senders. It returns ErrClosed if all were received. owed returns an upper
	// limit of the packets in flight: it falls before a packet is settled.
	rest(ctx context.Context, owed func() int) (D, error)
	// open returns the events of a packet, and whether it may have been
	// delivered before.
	open(D) (events []parse.Event, again bool)
	// settle removes packets permanently; unsettle has them delivered again to
	// the next receiver.
	settle(ctx context.Context, packets []D) error
	unsettle([]D)
	// count sets the fields of the account that the store knows.
	count(*Account)
	// end releases all resources outside the process. Persistent packets remain
	// stored.
	end() error
}

// stored is a queue on a store. Ticks do not enter it: they belong to this
// process and this moment.
type stored[D any] struct {
	sending
	failure
	store  store[D]
	shared bool // with other processes, or with the next one
	drains bool // at the end, receive the stored events first

	living context.Context // until GiveUp
	giveUp context.CancelFunc

	mu        sync.Mutex
	ticked    bool
	closed    bool
	listening context.Context // context of the receiver's wait: done at each tick
	interrupt context.CancelFunc
	loans     []D // packets received since the last receipt

	owed        atomic.Int64 // packets in flight
	sent, again atomic.Int64 // numbers of events
}

func newStored[D any](o Options, in store[D], shared, drains bool) *stored[D] {
	q := &stored[D]{failure: failure{log: o.Log}, store: in, shared: shared, drains: drains}
	q.sending = sending{o.Batch, q.send}
	q.living, q.giveUp = context.WithCancel(context.Background())
	q.listening, q.interrupt = context.WithCancel(q.living)
	return q
}

func (q *stored[D]) send(batch []parse.Event) (rejected int) {
	if err := q.store.send(q.living, batch); err != nil {
		q.note(fmt.Errorf("not stored: %w", err))
		return len(batch)
	}
	q.sent.Add(int64(len(batch)))
	return 0
}

// Tick interrupts the receiver. A tick that arrives before the previous one was
// received merges with it.
func (q *stored[D]) Tick() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ticked = true
	q.interrupt()
}

func (q *stored[D]) Close() {
	q.store.closeSending()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.interrupt()
}

// turn returns the receiver's next action: yield a tick, wait with ctx, or,
// once the queue is closed, receive the rest.
func (q *stored[D]) turn() (ctx context.Context, ticked, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.listening.Err() != nil && !q.closed {
		q.listening, q.interrupt = context.WithCancel(q.living)
	}
	ticked, q.ticked = q.ticked, false
	return q.listening, ticked, q.closed
}

// All receives packets one by one: a body that leaves the loop has seen every
// received packet.
func (q *stored[D]) All() iter.Seq[[]parse.Event] {
	return func(yield func([]parse.Event) bool) {
		for q.living.Err() == nil {
			ctx, ticked, closed := q.turn()
			if ticked && !yield(aTick) {
				return
			}
			var d D
			var err error
			switch {
			case !closed:
				d, err = q.store.receive(ctx)
			case q.drains:
				d, err = q.store.rest(q.living, q.Owed)
			default:
				return
			}
			switch {
			case err == nil:
				if !yield(q.lend(d)) {
					return
				}
			case errors.Is(err, sluice.ErrClosed), q.living.Err() != nil:
				return
			case closed || ctx.Err() == nil: // a failure rather than a tick or Close
				q.note(fmt.Errorf("not received: %w", err))
				return
			}
		}
	}
}

// lend registers a packet as in flight and opens it.
func (q *stored[D]) lend(d D) []parse.Event {
	events, again := q.store.open(d)
	if again {
		q.again.Add(int64(len(events)))
	}
	q.owed.Add(1)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.loans = append(q.loans, d)
	return events
}

// Receipt returns the receipt for all packets received since the previous one.
func (q *stored[D]) Receipt() Receipt {
	q.mu.Lock()
	defer q.mu.Unlock()
	loans := q.loans
	q.loans = nil
	return func(done bool) { q.settle(loans, done) }
}

// settle settles packets in flight. Those of a store that no other receiver will ever come
// for are done.
func (q *stored[D]) settle(loans []D, done bool) {
	q.owed.Add(-int64(len(loans)))
	if !done && q.shared {
		q.store.unsettle(loans)
		return
	}
	ctx, cancel := q.finalContext()
	defer cancel()
	if err := q.store.settle(ctx, loans); err != nil {
		q.note(fmt.Errorf("counted and shipped, but still stored, so it will be counted again: %w", err))
	}
}

// finalContext returns a context that ends a while after GiveUp.
func (q *stored[D]) finalContext() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	stop := context.AfterFunc(q.living, func() { time.AfterFunc(finalTimeout, cancel) })
	return ctx, func() { stop(); cancel() }
}

// finalTimeout is how long servers have to receive the last acknowledgments of this
// process.
const finalTimeout = 5 * time.Second

func (q *stored[D]) GiveUp() {
	if !q.shared {
		return // no other process can continue: drain it like a queue in memory
	}
	q.giveUp()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.interrupt()
}

func (q *stored[D]) Account() Account {
	a := Account{Shared: q.shared, Sent: q.sent.Load(), Again: q.again.Load()}
	q.store.count(&a)
	return a
}

func (q *stored[D]) Owed() int { return int(q.owed.Load()) }

func (q *stored[D]) End() error {
	q.giveUp()
	err := q.store.end()
	return errors.Join(q.failed(), err)
}

// packets encodes a batch of events as one message or record, which costs as
// much to store as a single event.
type packets struct{}

// Name changes with the encoding: processes with different encodings must not
// share a channel.
func (packets) Name() string { return "logagg-events-2" }

func (packets) Append(b []byte, events []parse.Event) ([]byte, error) {
	for _, e := range events {
		b = e.AppendForm(b)
	}
	return b, nil
}

func (packets) Decode(b []byte) (events []parse.Event, err error) {
	var e parse.Event
	for len(b) > 0 {
		if b, err = e.CutForm(b); err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	return events, nil
}
