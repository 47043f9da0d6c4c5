package stress

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/suite"
)

// A subject is a channel whose histories are checked.
type subject struct {
	name     string
	capacity int
	elastic  bool
	options  options
}

// options are the settings in which subjects differ.
type options struct {
	Overflow       sluice.Overflow
	SingleSender   bool
	SingleReceiver bool
	Shrink         sluice.ShrinkMode
	Lanes          int
	Delay          bool // with values that are due at once
}

func (s subject) open(onDrop func(byte)) sluice.Channel[byte] {
	o := s.options
	if o.Overflow != sluice.DropNewest && o.Overflow != sluice.DropOldest {
		onDrop = nil
	}
	switch {
	case o.Delay:
		return sluice.NewDelay(s.capacity, &sluice.DelayOptions[byte]{Overflow: o.Overflow, OnUndelivered: dropped(onDrop)})
	case o.Lanes > 0:
		return sluice.NewSharded(s.capacity/o.Lanes, &sluice.ShardedOptions[byte]{
			Overflow: o.Overflow, OnUndelivered: dropped(onDrop), SingleReceiver: o.SingleReceiver, Lanes: o.Lanes})
	case s.elastic:
		return sluice.NewElastic(s.capacity, &sluice.ElasticOptions[byte]{
			Overflow: o.Overflow, OnUndelivered: dropped(onDrop),
			SingleSender: o.SingleSender, SingleReceiver: o.SingleReceiver, Shrink: o.Shrink})
	}
	bounded := &sluice.BoundedOptions[byte]{
		Overflow: o.Overflow, OnUndelivered: dropped(onDrop), SingleSender: o.SingleSender, SingleReceiver: o.SingleReceiver,
	}
	if s.capacity > 0 {
		return sluice.NewBounded(s.capacity, bounded)
	}
	return sluice.NewRendezvous((*sluice.RendezvousOptions[byte])(bounded))
}

// dropped returns an OnUndelivered that calls onDrop, and nil if onDrop is nil.
func dropped(onDrop func(byte)) func(byte, sluice.Reason) {
	if onDrop == nil {
		return nil
	}
	return func(v byte, _ sluice.Reason) { onDrop(v) }
}

func subjects() (all []subject) {
	for _, overflow := range []sluice.Overflow{sluice.Block, sluice.Reject, sluice.DropNewest, sluice.DropOldest} {
		blocking := options{Overflow: overflow}
		if overflow == sluice.Block || overflow == sluice.Reject {
			all = append(all, subject{fmt.Sprint("Rendezvous ", overflow), 0, false, blocking})
		}
		for _, capacity := range []int{1, 2, 3} {
			all = append(all,
				subject{fmt.Sprintf("Bounded %d %v", capacity, overflow), capacity, false, blocking},
				subject{fmt.Sprintf("Elastic %d %v", capacity, overflow), capacity, true, blocking})
		}
	}
	for _, overflow := range []sluice.Overflow{sluice.Block, sluice.Reject, sluice.DropNewest} {
		for _, shape := range [][2]int{{1, 1}, {2, 1}, {2, 2}, {3, 1}} {
			lanes, limit := shape[0], shape[1]
			all = append(all, subject{
				fmt.Sprintf("Sharded %dx%d %v", lanes, limit, overflow), lanes * limit, false,
				options{Overflow: overflow, Lanes: lanes},
			})
		}
	}
	for _, overflow := range []sluice.Overflow{sluice.Block, sluice.Reject, sluice.DropNewest} {
		all = append(all, subject{fmt.Sprint("Delay 2 ", overflow), 2, false, options{Overflow: overflow, Delay: true}})
	}
	// Add an engine with many slots, and one that is never full.
	return append(all, manySlots, subject{"Elastic Unlimited", sluice.Unlimited, true, options{}})
}

var manySlots = subject{"Bounded 40", 40, false, options{}}

// TestLinearizableNearlyFull: many slots, few of them free when the run begins.
func TestLinearizableNearlyFull(t *testing.T) {
	for _, overflow := range []sluice.Overflow{sluice.Block, sluice.Reject, sluice.DropNewest, sluice.DropOldest} {
		s := manySlots
		s.options.Overflow = overflow
		t.Run(fmt.Sprint(s.name, " ", overflow), func(t *testing.T) {
			for range rounds(3000) {
				check(t, s, Plan{
					Clients: 2 + rand.IntN(3), Calls: 2 + rand.IntN(5), Filled: s.capacity - rand.IntN(4),
				})
				if t.Failed() {
					return
				}
			}
		})
	}
}

// TestLinearizable: some sequential order of the calls, each between its begin
// and its end, makes a queue return the same results.
func TestLinearizable(t *testing.T) {
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			for range rounds(3000) {
				check(t, s, Plan{Clients: 2 + rand.IntN(3), Calls: 2 + rand.IntN(5)})
				if t.Failed() {
					return
				}
			}
		})
		for name, plan := range map[string]Plan{
			"one sender":   {OneSender: true},
			"one receiver": {OneReceiver: true},
			"one to one":   {OneSender: true, OneReceiver: true},
		} {
			if plan.OneSender && s.options.Lanes > 0 || s.options.Delay {
				continue // lanes are for several senders, and a Delay has no promises
			}
			s := s
			s.options.SingleSender, s.options.SingleReceiver = plan.OneSender, plan.OneReceiver
			t.Run(s.name+" "+name, func(t *testing.T) {
				for range rounds(1000) {
					plan.Clients, plan.Calls = 2+rand.IntN(2), 2+rand.IntN(6)
					if check(t, s, plan); t.Failed() {
						return
					}
				}
			})
		}
	}
}

// rounds returns n for the most rounds, otherwise a third of it, or a tenth unless all tests run. A
// third is enough: a waiter of internal/locked that ends with an error although its value was
// received fails a subject after 300 rounds on average, and a rendezvous after 20.
func rounds(n int) int {
	if suite.Long() {
		return n
	}
	return suite.Rounds(n/10, n/3)
}

// check records a run of s and fails t if no order explains it.
func check(t *testing.T, s subject, plan Plan) Run {
	t.Helper()
	plan.Open = s.open
	seed := rand.Uint64()
	run := Record(t, plan, seed)
	model := Model(s.capacity, s.options.Overflow)
	if s.options.Lanes > 1 {
		model = Bag(s.capacity, s.options.Overflow)
	}
	if err := Explain(run, model); err != nil {
		t.Errorf("seed %d: %v\n%s", seed, err, Render(run.History))
	}
	return run
}
