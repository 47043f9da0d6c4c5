package doctor

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// Profiles count no items, so two captures of a service under different loads
// cannot be compared by CPU time. They can be compared by CPU time per second of
// the program's own code, which is the same for each item in both, as long as
// the code of an item is the same. A comparison states all costs in this unit.

// A Comparison is two captures of one service, before and after a change.
type Comparison struct {
	Schema     int          `json:"schema"`
	Before     Side         `json:"before"`
	After      Side         `json:"after"`
	Answer     string       `json:"answer"`
	Change     Change       `json:"change"`
	Costs      []Cost       `json:"costs"`      // they add up to the first one
	Operations []Cost       `json:"operations"` // channel operations that changed or moved, by the size of the change
	Unclear    []Cost       `json:"unclear"`    // the other channel operations of some cost, the largest first
	Channels   []FlowChange `json:"channels"`   // named channels that both captures have
}

// A Side is one of the two captures.
type Side struct {
	Target  string   `json:"target"`
	Verdict Verdict  `json:"verdict"`
	Answer  string   `json:"answer"`
	Window  float64  `json:"window_seconds"`
	Cores   float64  `json:"cores_used"`
	Own     float64  `json:"own_cores"` // the program's own code
	Shares  Shares   `json:"shares"`
	Kinds   []Kind   `json:"findings"` // major ones
	sparse  string   // why it has no cost
	repeat  string   // what to do about that
	samples float64  // of the CPU profile, of its usual period
	cost    *cpuCost // nil without a usable CPU profile
}

// A Change is what became of the cost of the same work.
type Change string

// The changes.
const (
	Cheaper Change = "cheaper"
	Dearer  Change = "more expensive"
	Same    Change = "no clear difference"
	Unclear Change = "unknown" // one of the captures has too little CPU time
)

// A Cost is CPU time per second of the program's own code, before and after.
type Cost struct {
	Name   string  `json:"name"`
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	Clear  bool    `json:"clear"`          // the difference is larger than the error of both
	Note   string  `json:"note,omitempty"` // what became of an operation that is in one capture only
}

// A FlowChange is the rate of a named channel of package sluice. Null is
// unknown.
type FlowChange struct {
	Name   string   `json:"name"`
	Before *float64 `json:"received_per_second_before"`
	After  *float64 `json:"received_per_second_after"`
}

// cpuCost is CPU time by category, in cores. The categories add up to all of
// it.
type cpuCost struct {
	all, own, channels, sync, memory, system, rest float64
	operations                                     map[operationKey]float64 // cores
}

// An operationKey identifies an operation across versions of the source, where
// lines move.
type operationKey struct {
	op       profile.Op
	function string
}

func (k operationKey) String() string {
	return fmt.Sprintf("%s in %s", k.op, profile.Frame{Function: k.function})
}

// channelCosts is the name of the part of the CPU time in channels.
const channelCosts = "channels"

const (
	// surely is the number of standard errors of a clear difference.
	surely = 2.5
	// sameWork is the smallest clear difference: the same service varied by up
	// to a fifth from run to run.
	sameWork = uncertain
	// minOperation is the cost of an operation below which its change is not
	// listed.
	minOperation = 0.02
)

// Compare compares two captures of one service.
func Compare(before, after *profile.Capture, prices Prices) *Comparison {
	c := &Comparison{Schema: Schema, Before: sideOf(before, prices), After: sideOf(after, prices), Change: Unclear,
		Costs: []Cost{}, Operations: []Cost{}, Unclear: []Cost{}, Channels: flowChanges(before, after)}
	a, b := c.Before.cost, c.After.cost
	if a != nil && b != nil {
		for _, part := range []struct {
			name string
			of   func(*cpuCost) float64
		}{
			{"all CPU time", func(c *cpuCost) float64 { return c.all }},
			{channelCosts, func(c *cpuCost) float64 { return c.channels }},
			{"package sync", func(c *cpuCost) float64 { return c.sync }},
			{"garbage collection", func(c *cpuCost) float64 { return c.memory }},
			{"system calls", func(c *cpuCost) float64 { return c.system }},
			{"rest of the runtime", func(c *cpuCost) float64 { return c.rest }},
			{"own code", func(c *cpuCost) float64 { return c.own }},
		} {
			c.Costs = append(c.Costs, c.cost(part.name, part.of(a), part.of(b)))
		}
		c.operations()
		c.Change = c.Costs[0].change()
	}
	c.Answer = c.answer()
	return c
}

func sideOf(capture *profile.Capture, prices Prices) Side {
	f := gather(capture, prices)
	d := f.diagnose()
	s := Side{Target: d.Target, Verdict: d.Verdict, Answer: d.Answer, Window: d.Window, Shares: d.Shares, Kinds: []Kind{}}
	for i := range d.Findings {
		if !d.Findings[i].Minor {
			s.Kinds = append(s.Kinds, d.Findings[i].Kind)
		}
	}
	s.sparse, s.repeat = f.sparse, "Capture both under load"
	if f.squeezed {
		s.repeat = "Capture both for longer, or when other processes use less"
	}
	if !f.busy || f.window == 0 {
		s.sparse = cmp.Or(s.sparse, "its length is unknown")
		return s
	}
	if f.share(profile.UserCode) == 0 {
		s.sparse = "none of it in the program's own code"
	}
	cores := func(categories ...profile.Category) float64 { return f.share(categories...) * f.cpu / f.window }
	c := &cpuCost{
		all: f.cpu / f.window, own: cores(profile.UserCode), channels: (f.channel + f.parked) / f.window,
		sync: cores(profile.Locking), memory: cores(profile.Collecting, profile.Allocating), system: cores(profile.SystemCalls),
		operations: make(map[operationKey]float64),
	}
	c.rest = max(0, c.all-c.own-c.channels-c.sync-c.memory-c.system)
	for i := range f.operations {
		o := &f.operations[i]
		if o.cost() == 0 {
			continue // a goroutine of a library that waits, as in every program
		}
		key := operationKey{o.Op, o.Function}
		if key.op == profile.Range {
			key.op = profile.Receive // the compiler chooses between them
		}
		c.operations[key] += (value(o.CPU) + value(o.AfterPark)) / f.window
	}
	s.Cores, s.Own, s.samples = c.all, c.own, f.cpu/f.period()
	if c.own > 0 {
		s.cost = c
	}
	return s
}

// cost compares a part of the CPU time of both sides.
func (c *Comparison) cost(name string, before, after float64) Cost {
	one := Cost{Name: name, Before: before / c.Before.Own, After: after / c.After.Own}
	if before == 0 && after == 0 {
		return one
	}
	// The error of n samples is their square root; the own code has one too. One
	// sample stands for a part without any.
	samples := func(s *Side, cores float64) float64 { return max(1, cores/s.Cores*s.samples) }
	squares := 1/samples(&c.Before, before) + 1/samples(&c.After, after) + 1/samples(&c.Before, c.Before.Own) + 1/samples(&c.After, c.After.Own)
	floor := func(s *Side, v float64) float64 { return max(v, s.Cores/s.samples/s.Own) }
	change := math.Abs(math.Log(floor(&c.After, one.After) / floor(&c.Before, one.Before)))
	one.Clear = change > max(surely*math.Sqrt(squares), math.Log(1+sameWork))
	return one
}

func (c *Cost) change() Change {
	switch {
	case !c.Clear:
		return Same
	case c.After < c.Before:
		return Cheaper
	}
	return Dearer
}

// flowChanges returns the rates of channels with the same name. A name that one
// capture has twice is left out.
func flowChanges(before, after *profile.Capture) []FlowChange {
	all := []FlowChange{}
	if before.Flow == nil || after.Flow == nil {
		return all
	}
	rates := func(c *profile.Capture) map[string][]*float64 {
		by := make(map[string][]*float64)
		for _, channel := range c.Flow.Channels {
			by[channel.Name] = append(by[channel.Name], channel.ReceivedRate)
		}
		return by
	}
	old, fresh := rates(before), rates(after)
	for name, a := range old {
		if b := fresh[name]; len(a) == 1 && len(b) == 1 {
			all = append(all, FlowChange{name, a[0], b[0]})
		}
	}
	slices.SortFunc(all, func(a, b FlowChange) int {
		return cmp.Or(cmp.Compare(value(b.After), value(a.After)), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// WriteJSON writes the comparison as JSON.
func (c *Comparison) WriteJSON(w io.Writer) error { return writeJSON(w, c) }
