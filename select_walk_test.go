package sluice_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
)

// mixed are channels of every engine, policy and way to wait, for a Select to be
// over any of them.
var mixed = map[string]func(drop func(int)) sluice.Channel[int]{
	"Rendezvous":           func(func(int)) sluice.Channel[int] { return sluice.NewRendezvous[int](nil) },
	"Rendezvous NoHandOff": func(func(int)) sluice.Channel[int] { return sluice.NewRendezvousWithoutHandOff[int](nil) },
	"Bounded 1":            func(func(int)) sluice.Channel[int] { return sluice.NewBounded[int](1, nil) },
	"Bounded 3":            func(func(int)) sluice.Channel[int] { return sluice.NewBounded[int](3, nil) },
	"Bounded 2 NoHandOff":  func(func(int)) sluice.Channel[int] { return sluice.NewBoundedWithoutHandOff[int](2, nil) },
	"Bounded 16":           func(func(int)) sluice.Channel[int] { return sluice.NewBounded[int](16, nil) },
	"Elastic 2":            func(func(int)) sluice.Channel[int] { return sluice.NewElastic[int](2, nil) },
	"Elastic 1":            func(func(int)) sluice.Channel[int] { return sluice.NewElastic[int](1, nil) },
	"Elastic of bytes": func(func(int)) sluice.Channel[int] {
		return sluice.NewElastic(3, &sluice.ElasticOptions[int]{LimitBytes: 5, Size: byteSize})
	},
	"Bounded 2 DropOldest": func(drop func(int)) sluice.Channel[int] {
		return sluice.NewBounded(2, &sluice.BoundedOptions[int]{Overflow: sluice.DropOldest, OnDrop: drop})
	},
	"Elastic 2 DropNewest": func(drop func(int)) sluice.Channel[int] {
		return sluice.NewElastic(2, &sluice.ElasticOptions[int]{Overflow: sluice.DropNewest, OnDrop: drop})
	},
	"Bounded 1 Reject": func(func(int)) sluice.Channel[int] {
		return sluice.NewBounded(1, &sluice.BoundedOptions[int]{Overflow: sluice.Reject})
	},
}

// byteSize is the size of a value in the kind that is limited by bytes.
func byteSize(v int) int { return 1 + v%3 }

// side is one thing that a call waits to do, or has done.
type side struct {
	c     *walked
	sends bool
	v     int // of a send
}

// walked is a channel, and what is known of it.
type walked struct {
	sluice.Channel[int]
	kind   string
	closed bool
}

// an effort is a call of Send, Recv or Select in a goroutine of its own.
type effort struct {
	sides  []side
	cancel context.CancelFunc
	ended  bool // the fields below are there
	did    int  // index of the side that was done, -1 if none
	got    int
	err    error
}

func (o *effort) String() string {
	text := ""
	for _, s := range o.sides {
		word := " recv from "
		if s.sends {
			word = fmt.Sprint(" send ", s.v, " to ")
		}
		text += word + s.c.kind
	}
	return text
}

// yielding is a context that gives way whenever it is asked.
type yielding struct{ context.Context }

func (y yielding) Done() <-chan struct{} {
	defer runtime.Gosched()
	return y.Context.Done()
}

func (y yielding) Err() error {
	defer runtime.Gosched()
	return y.Context.Err()
}

// TestSelectQuiescence takes random steps with Sends, Recvs and Selects over
// channels of all kinds, alone and several at once, cancels some and closes
// channels, and waits after each step until all are parked: then nobody may be
// parked who could proceed, and Stats must know who waits. In the end each value
// was delivered as often as its send says.
func TestSelectQuiescence(t *testing.T) {
	rounds := 400
	if testing.Short() {
		rounds = 60
	}
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

type selectSteps struct {
	rng      *rand.Rand
	channels []*walked
	efforts  []*effort
	next     int
	drops    sync.Mutex
	dropped  map[int]int
}

func selectWalk(seed uint64) error {
	w := &selectSteps{rng: rand.New(rand.NewPCG(seed, 7)), dropped: map[int]int{}}
	kinds := slices.Sorted(maps.Keys(mixed)) // so that a seed means the same each time
	for range 1 + w.rng.IntN(4) {
		kind := kinds[w.rng.IntN(len(kinds))]
		w.channels = append(w.channels, &walked{kind: kind, Channel: mixed[kind](func(v int) {
			w.drops.Lock()
			w.dropped[v]++
			w.drops.Unlock()
		})})
	}
	defer func() {
		for _, o := range w.efforts {
			o.cancel()
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

// step starts something, or ends something.
func (w *selectSteps) step() {
	switch k := w.rng.IntN(400); {
	case k < 2:
		c := w.channels[w.rng.IntN(len(w.channels))]
		c.closed = true
		go c.Close()
	case k < 80 && len(w.efforts) > 0:
		o := w.efforts[w.rng.IntN(len(w.efforts))]
		go o.cancel()
	case k < 180:
		w.start(1)
	default:
		w.start(1 + w.rng.IntN(5))
	}
}

// start starts a Select of n cases, or sometimes a Send or a Recv instead of one
// with a single case.
func (w *selectSteps) start(n int) {
	o := &effort{did: -1}
	var ctx context.Context
	ctx, o.cancel = context.WithCancel(context.Background())
	if w.rng.IntN(10) == 0 {
		o.cancel()
	}
	ctx = yielding{ctx}
	for range n {
		s := side{c: w.channels[w.rng.IntN(len(w.channels))], sends: w.rng.IntN(2) == 0}
		if s.sends {
			w.next++
			s.v = w.next
		}
		o.sides = append(o.sides, s)
	}
	w.efforts = append(w.efforts, o)
	if s := o.sides[0]; n == 1 && w.rng.IntN(2) == 0 {
		go func() {
			if s.sends {
				o.err = s.c.Send(ctx, s.v)
			} else {
				o.got, o.err = s.c.Recv(ctx)
			}
			if o.err == nil {
				o.did = 0
			}
			o.ended = true
		}()
		return
	}
	cases := make([]sluice.Case, n)
	for i, s := range o.sides {
		if s.sends {
			cases[i] = sluice.OnSend[int](s.c.Channel, s.v)
		} else {
			cases[i] = sluice.OnRecv[int](s.c.Channel)
		}
	}
	go func() {
		var chosen sluice.Case
		chosen, o.err = sluice.Select(ctx, cases...)
		for i, c := range cases {
			if c == chosen && o.err == nil {
				o.did = i
				if !o.sides[i].sends {
					o.got = c.(*sluice.RecvCase[int]).Value
				}
			}
		}
		if (chosen == nil) != (o.err != nil && o.err == ctx.Err()) {
			o.did = -2
		}
		o.ended = true
	}()
}

// check asserts that nobody is parked who could proceed.
func (w *selectSteps) check() error {
	senders, receivers := map[*walked][]*effort{}, map[*walked][]*effort{}
	first := map[*walked]int{} // the size of what the first sender in line sends
	for _, o := range w.efforts {
		if o.did == -2 {
			return fmt.Errorf("%v: the chosen case and the error do not agree", o)
		}
		if o.ended {
			continue
		}
		for _, s := range o.sides {
			if s.sends {
				senders[s.c] = append(senders[s.c], o)
				if _, ok := first[s.c]; !ok {
					first[s.c] = byteSize(s.v)
				}
			} else {
				receivers[s.c] = append(receivers[s.c], o)
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
					return fmt.Errorf("%s: %v and %v do not meet", c.kind, sender, receiver)
				}
			}
		}
	}
	return nil
}

// finish closes all, and compares what was sent with what was received.
func (w *selectSteps) finish() error {
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
	for _, o := range w.efforts {
		if o.did >= 0 && !o.sides[o.did].sends {
			times[o.got]++
		}
	}
	for _, o := range w.efforts {
		for i, s := range o.sides {
			want := 0
			if s.sends && o.did == i {
				want = 1
			}
			if s.sends && times[s.v] != want {
				return fmt.Errorf("%v: side %d (did %d, %v): delivered %d times", o, i, o.did, o.err, times[s.v])
			}
		}
	}
	return nil
}
