package jetstream

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/sluice-go/sluice"
)

var histories = flag.Int("histories", 2, "histories of each plan of TestHistories")

// A histSubject is a channel whose histories are checked.
type histSubject struct {
	name    string
	handles int
	jobs    bool // Deliveries
	options Options[int]
	keys    int // of a channel by key, with two streams
}

func histSubjects() (all []histSubject) {
	for handles := range 2 {
		for _, ordered := range []bool{false, true} {
			for _, limit := range []int{2, sluice.Unlimited} {
				for _, maxDeliver := range []int{0, -1, 2} {
					s := histSubject{
						name:    fmt.Sprintf("%d handles, limit %d, Ordered %v", handles+1, limit, ordered),
						handles: handles + 1, jobs: maxDeliver != 0,
						options: Options[int]{Capacity: limit, Ordered: ordered, MaxDeliver: maxDeliver},
					}
					if limit == sluice.Unlimited {
						s.name = fmt.Sprintf("%d handles, Ordered %v", handles+1, ordered)
					}
					if s.jobs {
						s.name += fmt.Sprintf(", Deliveries, MaxDeliver %d", maxDeliver)
					}
					all = append(all, s)
				}
			}
		}
		for _, ordered := range []bool{false, true} {
			all = append(all, histSubject{
				name: fmt.Sprintf("%d handles by key, Ordered %v", handles+1, ordered), handles: handles + 1, keys: 3,
				options: Options[int]{Ordered: ordered},
			})
		}
	}
	return all
}

// TestHistories: an order of the calls explains each history of a channel of the embedded
// server, opened once or twice, with values or deliveries, and by key.
//
//	go test -run TestHistories -v -args -histories 1000
func TestHistories(t *testing.T) {
	t.Parallel()
	base := Options[int]{Dir: t.TempDir(), Log: mute()}
	base.Name = "anchor" // keeps the server
	open(t, base)
	var recorded, redeliveredRuns atomic.Int64
	t.Run("all", func(t *testing.T) {
		for _, s := range histSubjects() {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				for range *histories {
					seed := rand.Uint64()
					model, err := s.check(t, base, seed)
					if recorded.Add(1); model.redelivered {
						redeliveredRuns.Add(1)
					}
					if err != nil {
						t.Fatalf("seed %d: %v", seed, err)
					}
				}
			})
		}
	})
	t.Logf("%d histories; in %d of them a value was returned and delivered again, so the order of each sender was not checked", recorded.Load(), redeliveredRuns.Load())
}

// check records a history and checks it.
func (s histSubject) check(t *testing.T, base Options[int], seed uint64) (histModel, error) {
	rng := rand.New(rand.NewPCG(seed, 0))
	plan := histPlan{
		clients: 2 + rng.IntN(3), calls: 2 + rng.IntN(5), noLen: s.keys > 0, // a channel by key has a Len of all keys only
		whole: s.keys == 0 && s.options.Capacity == sluice.Unlimited,
	}
	o := s.options
	o.Dir, o.Log, o.NackDelay, o.Name = base.Dir, base.Log, -1, fmt.Sprint("history-", opened.Add(1))
	model := histModel{limit: o.Capacity, ordered: o.Ordered, maxDeliver: max(0, o.MaxDeliver), keys: s.keys}
	if s.keys > 0 {
		model.limit = sluice.Unlimited
		return s.checkKeyed(t, o, plan, model, seed)
	}
	var handles []histHandle
	var cores []*core
	for range s.handles {
		c, err := Open(t.Context(), &o)
		if err != nil {
			t.Fatal(err)
		}
		defer leave(t, c)
		h := histHandle{c: c}
		if s.jobs {
			h.jobs = c.Deliveries()
		}
		if model.maxDeliver > 0 {
			h.dead = func() histJobs { return closedDead(t, c) }
		}
		handles, cores = append(handles, h), append(cores, c.core)
	}
	history := recordHistory(t, plan, seed, handles...)
	model.redelivered = !s.jobs && redelivered(t, cores[:1])
	return model, model.explain(history)
}

// closedDead returns the dead letters of c, whose channel it closes.
func closedDead(t *testing.T, c *Channel[int]) histJobs {
	dead, err := c.DeadLetters(patient(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { leave(t, dead) })
	dead.Close()
	return dead.Deliveries()
}

func (s histSubject) checkKeyed(t *testing.T, o Options[int], plan histPlan, model histModel, seed uint64) (histModel, error) {
	key := func(v int) string { return fmt.Sprint(model.histKey(v)) }
	var handles []histHandle
	var cores []*core
	for range s.handles {
		c, err := OpenKeyed(t.Context(), 2, key, &o)
		if err != nil {
			t.Fatal(err)
		}
		defer leave(t, c)
		handles, cores = append(handles, histHandle{c: c}), c.lanes.all
	}
	history := recordHistory(t, plan, seed, handles...)
	model.redelivered = redelivered(t, cores)
	return model, model.explain(history)
}

// redelivered reports whether a server has delivered a value more than once.
func redelivered(t *testing.T, cores []*core) bool {
	return slices.ContainsFunc(cores, func(c *core) bool {
		info, err := c.stream.consumer.Info(patient(t))
		if err != nil {
			t.Fatal(err)
		}
		return info.Delivered.Consumer > info.Delivered.Stream
	})
}
