package stress

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/hub"
	"github.com/sluice-go/sluice/internal/suite"
)

// A hubCall is a call on a Hub, or on one of its subscriptions.
type hubCall struct {
	op    hubOp
	sub   int
	value byte
}

type hubOp uint8

const (
	hubSend hubOp = iota
	hubRecv
	hubSubscribe
	hubLeave
	hubClose
)

// A hubResult is the result of a hubCall.
type hubResult struct {
	value byte
	err   error
}

// The subscriptions of each Hub: one with each policy, which begins with the last value.
var hubSubs = [...]hub.SubscriptionOptions[byte]{
	{Overflow: sluice.Block, Capacity: 2, Replay: 1},
	{Overflow: sluice.DropOldest, Capacity: 1, Replay: 1},
	{Overflow: sluice.DropNewest, Capacity: 2, Replay: 1},
	{Overflow: sluice.Evict, Capacity: 2, Replay: 1},
}

// A hubState is the state of the model. It is comparable.
type hubState struct {
	subs   [len(hubSubs)]hubSub
	last   string // the last value
	closed bool
}

type hubSub struct {
	joined bool
	queue  string
	err    error // of the receives, if it has ended
}

var hubModel = porcupine.Model{
	Init: func() any { return hubState{} },
	Step: func(s, in, out any) (bool, any) {
		state := s.(hubState)
		value, err := state.step(in.(hubCall))
		got := out.(hubResult)
		return errors.Is(got.err, err) && (err == nil) == (got.err == nil) && got.value == value, state
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v -> %+v", in, out) },
}

// step makes the call, and returns its result.
func (h *hubState) step(c hubCall) (value byte, err error) {
	sub := &h.subs[c.sub]
	switch c.op {
	case hubSend:
		return 0, h.send(c.value)
	case hubClose:
		h.closed = true
	case hubSubscribe:
		if h.closed {
			return 0, sluice.ErrClosed
		}
		*sub = hubSub{joined: true, queue: h.last}
	case hubLeave:
		if sub.err == nil {
			sub.queue, sub.err = "", sluice.ErrClosed
		}
	case hubRecv:
		switch {
		case sub.err != nil:
			return 0, sub.err
		case sub.queue != "":
			value, sub.queue = sub.queue[0], sub.queue[1:]
		case h.closed:
			return 0, sluice.ErrClosed
		default:
			return 0, sluice.ErrEmpty
		}
	}
	return value, nil
}

func (h *hubState) send(v byte) error {
	if h.closed {
		return sluice.ErrClosed
	}
	live := func(i int) bool { return h.subs[i].joined && h.subs[i].err == nil }
	for i, o := range hubSubs {
		if live(i) && o.Overflow == sluice.Block && len(h.subs[i].queue) == o.Capacity {
			return sluice.ErrFull
		}
	}
	h.last = string(v)
	for i, o := range hubSubs {
		sub := &h.subs[i]
		switch {
		case !live(i):
		case len(sub.queue) < o.Capacity:
			sub.queue += string(v)
		case o.Overflow == sluice.DropOldest:
			sub.queue = sub.queue[1:] + string(v)
		case o.Overflow == sluice.Evict:
			sub.queue, sub.err = "", hub.ErrEvicted
		}
	}
	return nil
}

// A hubRun is one execution.
type hubRun struct {
	hub     *hub.Hub[byte]
	subs    [len(hubSubs)]atomic.Pointer[hub.Subscription[byte]]
	taken   [len(hubSubs)]atomic.Bool // by the client that subscribes
	clock   atomic.Int64
	next    atomic.Int32
	mu      sync.Mutex
	history []porcupine.Operation
}

// call makes a random call and records it.
func (r *hubRun) call(client int, rng *rand.Rand) {
	c := hubCall{sub: rng.IntN(len(hubSubs))}
	s := r.subs[c.sub].Load()
	switch n := rng.IntN(24); {
	case n < 8:
		c.op, c.value, c.sub = hubSend, byte(r.next.Add(1)), 0
	case n == 23:
		c.op, c.sub = hubClose, 0
	case s == nil:
		if !r.taken[c.sub].CompareAndSwap(false, true) {
			return
		}
		c.op = hubSubscribe
	case n < 22:
		c.op = hubRecv
	default:
		c.op = hubLeave
	}
	began := r.clock.Add(1)
	out := r.perform(c, s, rng.IntN(2) == 0)
	ended := r.clock.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history = append(r.history, porcupine.Operation{ClientId: client, Input: c, Call: began, Output: out, Return: ended})
}

func (r *hubRun) perform(c hubCall, s *hub.Subscription[byte], batch bool) (out hubResult) {
	switch c.op {
	case hubSend:
		out.err = r.hub.TrySend(c.value)
	case hubClose:
		r.hub.Close()
	case hubLeave:
		s.Close()
	case hubSubscribe:
		o := hubSubs[c.sub]
		var joined *hub.Subscription[byte]
		if joined, out.err = r.hub.Subscribe(&o); out.err == nil {
			r.subs[c.sub].Store(joined)
		}
	case hubRecv:
		if batch {
			var one [1]byte
			_, out.err = s.TryRecvBatch(one[:])
			out.value = one[0]
		} else {
			out.value, out.err = s.TryRecv()
		}
	}
	return out
}

// TestHubIsLinearizable: sends, receives, subscriptions with replay, departures, evictions and
// Close have an order in which each is one step.
func TestHubIsLinearizable(t *testing.T) {
	n := suite.Rounds(2000, 10_000)
	for seed := range n {
		recorded.Add(1)
		r := hubRun{hub: hub.New[byte](2, &hub.Options{Replay: 1})}
		setup := rand.New(rand.NewPCG(uint64(seed), 4))
		for range 6 {
			r.call(0, setup)
		}
		var all sync.WaitGroup
		for client := range 3 {
			all.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(seed), uint64(10+client)))
				for range 8 {
					r.call(client+1, rng)
				}
			})
		}
		all.Wait()
		if !porcupine.CheckOperations(hubModel, r.history) {
			for _, o := range r.history {
				t.Logf("client %d, %d to %d: %s", o.ClientId, o.Call, o.Return, hubModel.DescribeOperation(o.Input, o.Output))
			}
			t.Fatalf("history %d is not linearizable", seed)
		}
	}
}

// TestHubPlanted: the checker rejects what a Hub must not do.
func TestHubPlanted(t *testing.T) {
	type step struct {
		hubCall
		hubResult
	}
	do := func(op hubOp, sub int, value byte) hubCall { return hubCall{op, sub, value} }
	got := func(value byte, err error) hubResult { return hubResult{value, err} }
	begin := []step{{do(hubSend, 0, 1), got(0, nil)}, {do(hubSubscribe, 0, 0), got(0, nil)}, {do(hubSubscribe, 3, 0), got(0, nil)}, {do(hubSend, 0, 2), got(0, nil)}}
	evicted := fmt.Errorf("%w: full", hub.ErrEvicted)
	for _, test := range []struct {
		name string
		ok   bool
		then []step
	}{
		{"replay and live", true, []step{{do(hubRecv, 0, 0), got(1, nil)}, {do(hubRecv, 0, 0), got(2, nil)}, {do(hubRecv, 0, 0), got(0, sluice.ErrEmpty)}}},
		{"a duplicate", false, []step{{do(hubRecv, 0, 0), got(1, nil)}, {do(hubRecv, 0, 0), got(1, nil)}}},
		{"a gap", false, []step{{do(hubRecv, 0, 0), got(2, nil)}}},
		{"no room", true, []step{{do(hubSend, 0, 3), got(0, sluice.ErrFull)}}},
		{"room that is not there", false, []step{{do(hubSend, 0, 3), got(0, nil)}}},
		{"an eviction", true, []step{{do(hubLeave, 0, 0), got(0, nil)}, {do(hubSend, 0, 3), got(0, nil)}, {do(hubRecv, 3, 0), got(0, evicted)}}},
		{"an eviction too many", false, []step{{do(hubRecv, 3, 0), got(0, evicted)}}},
		{"a value after Close", true, []step{{do(hubClose, 0, 0), got(0, nil)}, {do(hubRecv, 0, 0), got(1, nil)}}},
		{"a send after Close", false, []step{{do(hubLeave, 0, 0), got(0, nil)}, {do(hubClose, 0, 0), got(0, nil)}, {do(hubSend, 0, 3), got(0, nil)}}},
		{"a value after it has left", false, []step{{do(hubLeave, 0, 0), got(0, nil)}, {do(hubRecv, 0, 0), got(1, nil)}}},
	} {
		var history []porcupine.Operation
		for i, s := range append(begin[:len(begin):len(begin)], test.then...) {
			history = append(history, porcupine.Operation{Input: s.hubCall, Call: int64(2 * i), Output: s.hubResult, Return: int64(2*i + 1)})
		}
		if porcupine.CheckOperations(hubModel, history) != test.ok {
			t.Errorf("%s: accepted is not %v", test.name, test.ok)
		}
	}
}

// TestHubLeavesNoGoroutine: TestMain finds what canceled waits and evictions leave.
func TestHubLeavesNoGoroutine(t *testing.T) {
	h := hub.New[byte](1, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range 8 {
		s, err := h.Subscribe(&hub.SubscriptionOptions[byte]{Overflow: hubSubs[i%len(hubSubs)].Overflow})
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			for range s.Values(ctx).All() {
			}
			c := sluice.OnRecv(s)
			_, _ = sluice.Select(ctx, c)
			s.Close()
		})
	}
	for v := range byte(100) {
		if err := h.Send(ctx, v); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	all.Wait()
	if n := h.Stats().Subscriptions; n != 0 {
		t.Errorf("%d subscriptions are left", n)
	}
}
