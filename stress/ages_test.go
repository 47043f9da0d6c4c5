package stress

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
)

// openAged makes an Aged whose values are too old after a time that some of them wait.
func openAged(capacity int, overflow sluice.Overflow) func(func(byte, sluice.Reason)) sluice.Channel[byte] {
	return func(undelivered func(byte, sluice.Reason)) sluice.Channel[byte] {
		return sluice.NewAged(capacity, &sluice.AgedOptions[byte]{
			Overflow: overflow, MaxAge: 2, OnUndelivered: undelivered,
		})
	}
}

// TestAgesLinearizable: some order of the calls, and of the moments at which the oldest
// value is dropped because it is too old, explains the results of a channel with MaxAge.
func TestAgesLinearizable(t *testing.T) {
	for _, overflow := range []sluice.Overflow{sluice.Block, sluice.Reject, sluice.DropNewest, sluice.DropOldest} {
		runs, tooOld := 0, 0 // for all capacities: with one slot and DropOldest, few values wait long enough
		for _, capacity := range []int{1, 2, 3, sluice.Unlimited} {
			t.Run(fmt.Sprint(overflow, " ", capacity), func(t *testing.T) {
				for range rounds(2000) {
					runs++
					tooOld += explainAges(t, capacity, overflow)
				}
			})
		}
		if runs > 0 && tooOld == 0 {
			t.Errorf("%v: no value was too old in %d runs", overflow, runs)
		}
	}
}

// explainAges records and explains a run, and returns how many values were too old.
func explainAges(t *testing.T, capacity int, overflow sluice.Overflow) (tooOld int) {
	plan := Plan{OpenAged: openAged(capacity, overflow), Clients: 2 + rand.IntN(3), Calls: 2 + rand.IntN(5), Filled: rand.IntN(2)}
	seed := rand.Uint64()
	run := Record(t, plan, seed)
	if err := Explain(run, Model(capacity, overflow)); err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, Render(run.History))
	}
	for _, o := range run.History {
		if o.Input.(Call).Op == Expire {
			tooOld++
		}
	}
	return tooOld
}

// hasty is a channel that reports a value that was received as too old, too.
type hasty struct {
	sluice.Channel[byte]
	undelivered func(byte, sluice.Reason)
}

func (h hasty) TryRecv() (byte, error) {
	v, err := h.Channel.TryRecv()
	if err == nil {
		h.undelivered(v, sluice.TooOld)
	}
	return v, err
}

// hiding is a channel that does not report the values that are too old.
func hiding(undelivered func(byte, sluice.Reason)) sluice.Channel[byte] {
	return sluice.NewAged(3, &sluice.AgedOptions[byte]{MaxAge: 1, OnUndelivered: func(v byte, why sluice.Reason) {
		if why != sluice.TooOld {
			undelivered(v, why)
		}
	}})
}

// TestRecorderSeesAges: faults of ages are seen.
func TestRecorderSeesAges(t *testing.T) {
	for name, open := range map[string]func(func(byte, sluice.Reason)) sluice.Channel[byte]{
		"received and too old": func(undelivered func(byte, sluice.Reason)) sluice.Channel[byte] {
			return hasty{sluice.NewAged(3, &sluice.AgedOptions[byte]{MaxAge: time.Hour}), undelivered}
		},
		"too old and not reported": hiding,
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(500) {
				if run := Record(t, Plan{Clients: 2, Calls: 4, Filled: 1, OpenAged: open}, seed); Explain(run, Model(3, sluice.Block)) != nil {
					return
				}
			}
			t.Error("all of 500 runs of a faulty channel are explained")
		})
	}
}
