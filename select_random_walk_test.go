package sluice_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/suite"
)

// An operation is a send or a receive that a call may perform.
type operation struct {
	c     *walkedChannel
	sends bool
	v     int // to send
}

// A walkedChannel is a channel of the walk.
type walkedChannel struct {
	sluice.Channel[int]
	kind   string
	closed bool
}

// A pendingCall is a call of Send, Recv or Select in a goroutine of its own.
type pendingCall struct {
	operations []operation
	cancel     context.CancelFunc
	ended      bool // the fields below are set
	did        int  // index of the operation that was performed; -1 if none, -2 if Select contradicts itself
	got        int  // the value that was received
	err        error
}

func (p *pendingCall) String() string {
	text := ""
	for _, op := range p.operations {
		word := " recv from "
		if op.sends {
			word = fmt.Sprint(" send ", op.v, " to ")
		}
		text += word + op.c.kind
	}
	return text
}

// TestSelectQuiescence is a random walk. Each step starts some calls of Send, Recv and
// Select on channels of all kinds, cancels some, and closes channels, and then waits
// until every goroutine is parked. At that moment no parked call could proceed, and
// Stats counts the waiters exactly. At the end each value was delivered once if its
// send succeeded, and never otherwise.
func TestSelectQuiescence(t *testing.T) {
	rounds := suite.Rounds(60, 400)
	for range rounds {
		seed := rand.Uint64()
		synctest.Test(t, func(t *testing.T) {
			if err := selectWalk(seed); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
		})
		if t.Failed() {
			return
		}
	}
}

type randomWalk struct {
	rng      *rand.Rand
	channels []*walkedChannel
	calls    []*pendingCall
	last     int // value that was sent
	drops    sync.Mutex
	dropped  map[int]int
}

func selectWalk(seed uint64) error {
	w := &randomWalk{rng: rand.New(rand.NewPCG(seed, 7)), dropped: map[int]int{}}
	kinds := slices.Sorted(maps.Keys(selectKinds)) // a seed must reproduce the walk
	for range 1 + w.rng.IntN(4) {
		kind := kinds[w.rng.IntN(len(kinds))]
		w.channels = append(w.channels, &walkedChannel{kind: kind, Channel: selectKinds[kind](func(v int) {
			w.drops.Lock()
			w.dropped[v]++
			w.drops.Unlock()
		})})
	}
	defer func() {
		for _, p := range w.calls {
			p.cancel()
		}
	}()
	for n := range 80 {
		several := 1
		if w.rng.IntN(3) == 0 {
			several += w.rng.IntN(5)
		}
		for range several {
			w.step()
		}
		synctest.Wait()
		if err := w.check(); err != nil {
			return fmt.Errorf("step %d: %w", n, err)
		}
	}
	return w.finish()
}

// step starts a call, cancels one, or closes a channel.
func (w *randomWalk) step() {
	switch k := w.rng.IntN(400); {
	case k < 2:
		c := w.channels[w.rng.IntN(len(w.channels))]
		c.closed = true
		go c.Close()
	case k < 80 && len(w.calls) > 0:
		p := w.calls[w.rng.IntN(len(w.calls))]
		go p.cancel()
	case k < 180:
		w.start(1)
	default:
		w.start(1 + w.rng.IntN(5))
	}
}

// start starts a Select of n cases. A Select with a single case is sometimes a Send or
// a Recv instead.
func (w *randomWalk) start(n int) {
	p := &pendingCall{did: -1}
	var ctx context.Context
	ctx, p.cancel = context.WithCancel(context.Background())
	if w.rng.IntN(10) == 0 {
		p.cancel()
	}
	ctx = yielding{ctx}
	for range n {
		op := operation{c: w.channels[w.rng.IntN(len(w.channels))], sends: w.rng.IntN(2) == 0}
		if op.sends {
			w.last++
			op.v = w.last
		}
		p.operations = append(p.operations, op)
	}
	w.calls = append(w.calls, p)
	if op := p.operations[0]; n == 1 && w.rng.IntN(2) == 0 {
		go func() {
			if op.sends {
				p.err = op.c.Send(ctx, op.v)
			} else {
				p.got, p.err = op.c.Recv(ctx)
			}
			if p.err == nil {
				p.did = 0
			}
			p.ended = true
		}()
		return
	}
	cases := make([]sluice.Case, n)
	for i, op := range p.operations {
		if op.sends {
			cases[i] = sluice.OnSend[int](op.c.Channel, op.v)
		} else {
			cases[i] = sluice.OnRecv[int](op.c.Channel)
		}
	}
	go func() {
		var chosen sluice.Case
		chosen, p.err = sluice.Select(ctx, cases...)
		for i, c := range cases {
			if c == chosen && p.err == nil {
				p.did = i
				if !p.operations[i].sends {
					p.got = c.(*sluice.RecvCase[int]).Value
				}
			}
		}
		if (chosen == nil) != (p.err != nil && p.err == ctx.Err()) {
			p.did = -2
		}
		p.ended = true
	}()
}

// check returns an error if a parked call could proceed.
func (w *randomWalk) check() error {
	senders, receivers := map[*walkedChannel][]*pendingCall{}, map[*walkedChannel][]*pendingCall{}
	for _, p := range w.calls {
		if p.did == -2 {
			return fmt.Errorf("%v: the chosen case contradicts the error", p)
		}
		if p.ended {
			continue
		}
		for _, op := range p.operations {
			if op.sends {
				senders[op.c] = append(senders[op.c], p)
			} else {
				receivers[op.c] = append(receivers[op.c], p)
			}
		}
	}
	for _, c := range w.channels {
		s, r := senders[c], receivers[c]
		stats := c.Stats()
		switch {
		case c.closed && len(s)+len(r) > 0:
			return fmt.Errorf("%s is closed; %v and %v wait", c.kind, s, r)
		case len(r) > 0 && stats.Len > 0:
			return fmt.Errorf("%s: %d queued; %v wait", c.kind, stats.Len, r)
		case len(s) > 0 && c.kind != "Elastic of bytes" && stats.Len < stats.Cap:
			return fmt.Errorf("%s: %d of %d queued; %v wait", c.kind, stats.Len, stats.Cap, s)
		case len(s) > 0 && c.kind == "Elastic of bytes" && stats.Len == 0:
			return fmt.Errorf("%s: nothing queued; %v wait", c.kind, s)
		case stats.SendersWaiting != len(s) || stats.ReceiversWaiting != len(r):
			return fmt.Errorf("%s: %d senders and %d receivers in Stats; %v and %v wait", c.kind, stats.SendersWaiting, stats.ReceiversWaiting, s, r)
		}
		for _, sender := range s {
			for _, receiver := range r {
				if sender != receiver {
					return fmt.Errorf("%s: %v and %v do not pair", c.kind, sender, receiver)
				}
			}
		}
	}
	return nil
}

// finish closes all channels, and compares the deliveries with the results of the sends.
func (w *randomWalk) finish() error {
	for _, c := range w.channels {
		c.closed = true
		c.Close()
	}
	synctest.Wait()
	if err := w.check(); err != nil {
		return fmt.Errorf("at the end: %w", err)
	}
	times := map[int]int{}
	for v, n := range w.dropped {
		times[v] += n
	}
	for _, c := range w.channels {
		for v, err := c.TryRecv(); err == nil; v, err = c.TryRecv() {
			times[v]++
		}
	}
	for _, p := range w.calls {
		if p.did >= 0 && !p.operations[p.did].sends {
			times[p.got]++
		}
	}
	for _, p := range w.calls {
		for i, op := range p.operations {
			want := 0
			if op.sends && p.did == i {
				want = 1
			}
			if op.sends && times[op.v] != want {
				return fmt.Errorf("%v: operation %d (did %d, %v): delivered %d times", p, i, p.did, p.err, times[op.v])
			}
		}
	}
	return nil
}
