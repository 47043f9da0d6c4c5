package doctor

import (
	"fmt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// Hop is the finding that a goroutine receives values, does almost nothing with
// them, and sends them on.
const Hop Kind = "needless hop"

const (
	// hopWork is the part of a stage's CPU time outside channels up to which it
	// only passes values on: an intake had 0.02 to 0.1, stages that do a tenth of
	// a microsecond for each value 0.4.
	hopWork = 0.20
	// hopWeight is the smallest part of the channels' cost at the two operations
	// of the hop.
	hopWeight = 0.25
	// hopStays is the part of the hop's channel cost that remains at worst: the
	// goroutines at its ends meet on one channel, and contend for it.
	hopStays = 0.50
)

var hopRules = []rule{{
	kind: Hop, shares: true, look: needlessHop, instead: []Kind{Pump, LargeSelect, TransferCost, LockContention, SharedDone},
	reason: "an intake between three readers and a writer: without it ×1.2 to ×1.3; a relay of metrics used 26% less CPU time",
}}

// A hop is a goroutine between two others: from sends to in, and to receives
// from out.
type hop struct {
	stage             *stage
	from, in, out, to *Operation
}

// needlessHop detects a stage that receives and sends in one function, with
// hardly any work in between. A forwarding goroutine with a queue of its own is
// a pump: it sends in its select.
func needlessHop(f *facts) *Finding {
	if !f.transfersCost() && !f.hot() {
		return nil
	}
	h := f.hop()
	if h == nil {
		return nil
	}
	found := f.transferFinding(h.in)
	found.Confidence = Medium
	found.Text = fmt.Sprintf("A hop that can go: %s only receives (line %d) and sends on (line %d). The goroutines of %s can do that themselves, or send to %s.",
		profile.Frame{Function: h.in.Function}, h.in.Line, h.out.Line, profile.Frame{Function: h.from.Function}, profile.Frame{Function: h.to.Function})
	found.addEvidence(profile.KindCPU, fmt.Sprintf("%s of the CPU time of %s is outside channel operations", format.Percent(h.stage.work/(h.stage.work+h.stage.channel)),
		profile.Frame{Function: h.stage.root}))
	for _, p := range f.pairs() {
		if p.Waker == h.from.site && p.Sleeper == h.in.site || p.Waker == h.out.site && p.Sleeper == h.to.site {
			found.Confidence = High
			found.addEvidence(profile.KindTrace, fmt.Sprintf("%s woke %s %d times", p.Waker, p.Sleeper, p.Count))
		}
	}
	f.transferRemedies(found)
	now, weight := f.load(coldWork), h.in.Weight+h.out.Weight
	gone := stay{worst: 1 - (1-hopStays)*weight, best: 1 - min(1, weight+f.wakesOf(h.from))}
	found.Remedies = append(found.Remedies, Remedy{RemoveHop, fmt.Sprintf("let %s do the work of %s, or send to the next channel, and end the goroutine between them",
		profile.Frame{Function: h.from.Function}, profile.Frame{Function: h.in.Function}), f.gain(now, gone, h.stage.root),
		"the service's work without this goroutine, its two operations and the wake-ups for it"})
	return found
}

// hop returns the stage with the most CPU time that only passes values on, or
// nil.
func (f *facts) hop() *hop {
	for i := range f.stages {
		s := &f.stages[i]
		if s.n == 0 || s.n > lone || s.channel < smallStage || s.work > hopWork*(s.work+s.channel) || ofRuntime(s.root) {
			continue
		}
		h := hop{stage: s}
		for j := range f.operations {
			o := &f.operations[j]
			switch {
			case len(o.roots) != 1 || o.roots[0] != s.root || o.Weight < otherHalf:
			case o.Op == profile.Send && h.out == nil:
				h.out = o
			case (o.Op == profile.Select || o.Op == profile.Receive || o.Op == profile.Range) && h.in == nil:
				h.in = o
			}
		}
		if h.in == nil || h.out == nil || h.in.Weight+h.out.Weight < hopWeight || home(h.in) != home(h.out) {
			continue
		}
		h.from = f.costliest(func(o *Operation) bool { return sends(o) && f.feeds(o, h.in) })
		h.to = f.costliest(func(o *Operation) bool {
			return (receives(o) || o.Op == profile.Select) && f.feeds(h.out, o)
		})
		if h.from != nil && h.to != nil && h.from.Function != h.to.Function {
			return &h
		}
	}
	return nil
}

// feeds reports whether a send of one goroutine may feed a receive of another.
func (f *facts) feeds(s, r *Operation) bool {
	return s.Weight >= otherHalf && r.Weight >= otherHalf && !f.related(s, r) && f.mayMeet(s, r)
}

// wakesOf returns the part of the channels' cost that an operation spends on
// waking other goroutines.
func (f *facts) wakesOf(o *Operation) float64 {
	if f.channel+f.parked == 0 {
		return 0
	}
	return o.wake / (f.channel + f.parked)
}
