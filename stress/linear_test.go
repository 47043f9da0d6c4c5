package stress

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sluice-go/sluice"
)

// A subject is a channel whose histories are checked.
type subject struct {
	name     string
	capacity int
	elastic  bool
	options  sluice.Options[byte]
}

func (s subject) open(onDrop func(byte)) sluice.Chan[byte] {
	o := s.options
	if o.Overflow == sluice.DropNewest || o.Overflow == sluice.DropOldest {
		o.OnDrop = onDrop
	}
	switch {
	case o.Lanes > 0:
		return sluice.NewSharded(s.capacity/o.Lanes, &o)
	case s.elastic:
		return sluice.NewElastic(s.capacity, &o)
	case s.capacity > 0:
		return sluice.NewBounded(s.capacity, &o)
	default:
		return sluice.NewRendezvous(&o)
	}
}

func subjects() (all []subject) {
	for _, overflow := range []sluice.Overflow{sluice.Block, sluice.Reject, sluice.DropNewest, sluice.DropOldest} {
		options := sluice.Options[byte]{Overflow: overflow}
		if overflow == sluice.Block || overflow == sluice.Reject {
			all = append(all, subject{fmt.Sprint("Rendezvous ", overflow), 0, false, options})
		}
		for _, capacity := range []int{1, 2, 3} {
			all = append(all,
				subject{fmt.Sprintf("Bounded %d %v", capacity, overflow), capacity, false, options},
				subject{fmt.Sprintf("Elastic %d %v", capacity, overflow), capacity, true, options})
		}
	}
	for _, overflow := range []sluice.Overflow{sluice.Block, sluice.Reject, sluice.DropNewest} {
		for _, shape := range [][2]int{{1, 1}, {2, 1}, {2, 2}, {3, 1}} {
			lanes, limit := shape[0], shape[1]
			all = append(all, subject{
				fmt.Sprintf("Sharded %dx%d %v", lanes, limit, overflow), lanes * limit, false,
				sluice.Options[byte]{Overflow: overflow, Lanes: lanes},
			})
		}
	}
	// An engine for many slots, and one that is never full.
	return append(all, manySlots, subject{"Elastic Unlimited", sluice.Unlimited, true, sluice.Options[byte]{}})
}

var manySlots = subject{"Bounded 40", 40, false, sluice.Options[byte]{}}

// TestLinearizableNearlyFull: many slots, of which few are free when the run
// begins.
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

// TestLinearizable: there is an order of the calls, each somewhere between its
// begin and its end, in which a queue gives the same results.
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
			if plan.OneSender && s.options.Lanes > 0 {
				continue // lanes are for many
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

// rounds is n, or a tenth of it with -short.
func rounds(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

// check records a run of s and fails t if it cannot be explained.
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
