package lab

import (
	"context"
	"fmt"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/workload"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
)

// Capacities that are not a number of slots.
const (
	slotEach  = -1 // one slot per value sent
	unbounded = -2
)

// A contestant is a contender as a study enters it: with a capacity, and with
// values sent one by one or in batches.
type contestant struct {
	id        ContenderID
	contender contender.Contender
	capacity  int
	batch     bool
}

// name returns the name of the contestant's contender.
func (c contestant) name() string { return NameOf(c.id) }

var background = context.Background()

// cancelable is a context that can be canceled, and never is.
var cancelable, _ = context.WithCancel(background)

// published enters the elastic channel of the study of 2014.
func published(id ContenderID, p contender.Published) contestant {
	return contestant{id, p.Contender(), unbounded, false}
}

func ownElastic(id ContenderID, mode sluice.ShrinkMode) contestant {
	return contestant{id, contender.Elastic(background, &contender.Options{Shrink: mode}), unbounded, false}
}

// bothAtOnce enters c in the work of sending n values while they are received.
func (c contestant) bothAtOnce(n int) measure.Entry {
	capacity := c.slots(n)
	if c.batch {
		return c.entry(workload.OneWayBatches(capacity, 1, 1), n)
	}
	return c.entry(workload.OneWay(capacity, 1, 1), n)
}

// fillFirst enters c in the work of sending n values before the first is
// received, or returns the reason why c cannot do it.
func (c contestant) fillFirst(n int) (entry measure.Entry, whyNot string) {
	switch {
	case c.capacity == 0:
		return entry, "no buffer to fill first"
	case c.capacity > 0:
		return entry, "capacity below the number of values sent before the first is received"
	case c.batch:
		return c.entry(workload.FillDrainBatches(), n), ""
	}
	return c.entry(workload.FillDrain(), n), ""
}

func (c contestant) slots(n int) int {
	switch c.capacity {
	case slotEach:
		return n
	case unbounded:
		return 1 // ignored
	}
	return c.capacity
}

func (c contestant) entry(w workload.Workload, n int) measure.Entry {
	return measure.Entry{Contender: c.id, Pass: func() (measure.Reading, error) {
		result, err := w.Run(c.contender, uint64(n))
		return measure.Reading{Ops: int(result.Items), Elapsed: result.Elapsed}, err
	}}
}

// footprint enters c in the work of holding n values, sent in the given number of
// steps.
func (c contestant) footprint(n, steps int) measure.Entry {
	return measure.Entry{Contender: c.id, Pass: func() (measure.Reading, error) {
		var wrong error
		var channel contender.Channel
		figures := measure.Footprint(n, steps, func() measure.Queue {
			channel = c.contender.Make(c.slots(n))
			return measure.Queue{
				Fill: func(lo, hi int) { channel.Send(uint64(lo), uint64(hi)) },
				Empty: func(n int) {
					for want := range uint64(n) {
						if got := channel.Recv(1); (got.Count == 0 || got.Sum != want) && wrong == nil {
							wrong = fmt.Errorf("%s: received %d (%v), want %d", c.id, got.Sum, got.Count > 0, want)
						}
					}
				},
			}
		})
		channel.Close()
		if got := channel.Recv(1); got.Count > 0 && wrong == nil {
			wrong = fmt.Errorf("%s: received %d after all %d values", c.id, got.Sum, n)
		}
		return measure.Reading{Ops: n, Figures: figures}, wrong
	}}
}
