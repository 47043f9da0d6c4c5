package doctor

import (
	"cmp"
	"fmt"
	"slices"

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
	// besideWork is the same for a goroutine that receives from one that it started
	// itself: a loop that filled batches had 0.15 and 0.28, one that sent each
	// record on 0.5.
	besideWork = 0.33
	// busyHopWork is the same beside a service that uses all cores, where channels cost less and
	// so the rest is a larger part: a router behind a buffer had 0.23, and without it there were
	// a quarter more values.
	busyHopWork = 0.30
	// hopWeight is the smallest part of the channels' cost at the two operations
	// of the hop.
	hopWeight = 0.40
	// hopStays is the part of the hop's channel cost that remains at worst: the
	// goroutines at its ends meet on one channel, and contend for it.
	hopStays = 0.50
)

var hopRules = []rule{{
	kind: Hop, shares: true, look: needlessHop, instead: []Kind{Pump, LargeSelect, TransferCost, TinyJobs, LockContention, SharedDone, OwnedState, ChannelPerValue},
	reason: "an intake between three readers and a writer: without it ×1.2 to ×1.3; a relay of metrics used 26% less CPU time",
}}

// A hop is a goroutine between two others: from sends to in, and to receives
// from out.
type hop struct {
	stage             *stage
	from, in, out, to *Operation
	weight            float64 // of all operations of the hop
}

// String describes what the goroutine does.
func (h *hop) String() string {
	return fmt.Sprintf("%s does little else than receive (line %d) and send on (line %d)", profile.Frame{Function: h.in.Function}, h.in.Line, h.out.Line)
}

// needlessHop detects a stage that receives and sends in one function, with
// hardly any work in between. A forwarding goroutine with a queue of its own is
// a pump: it sends in its select.
func needlessHop(f *facts) *Finding {
	if f.channelCPU() < f.limit(transferShare) && !f.hot() {
		return nil
	}
	h := f.hop(hopWork)
	if h == nil {
		return f.besideHop()
	}
	found := f.transferFinding(h.in)
	found.Confidence = Medium
	found.Text = fmt.Sprintf("A hop that can go: %s. The goroutines of %s can do that themselves, or send to %s.",
		h, profile.Frame{Function: h.from.Function}, profile.Frame{Function: h.to.Function})
	found.addEvidence(profile.KindCPU, fmt.Sprintf("%s of the CPU time of %s is outside channel operations", format.Percent(h.stage.work/(h.stage.work+h.stage.channel)),
		profile.Frame{Function: h.stage.root}))
	for _, p := range f.pairs() {
		if p.Waker == h.from.site && p.Sleeper == h.in.site || p.Waker == h.out.site && p.Sleeper == h.to.site {
			found.Confidence = High
			found.addEvidence(profile.KindTrace, fmt.Sprintf("%s woke %s %d times", p.Waker, p.Sleeper, p.Count))
		}
	}
	if f.awaitsResult(h.from) {
		const waits = "each goroutine that sends a value waits for its result before it sends the next one."
		found.RuledOut = append(found.RuledOut, RuledOut{Batch, waits}, RuledOut{Buffer, waits})
	} else {
		f.transferRemedies(found)
	}
	if found.has(Buffer) {
		found.Text += " That helps beside a buffer, too."
	}
	now, weight := f.load(coldWork), h.weight
	gone := stay{worst: 1 - (1-hopStays)*weight, best: 1 - min(1, weight+f.wakesOf(h.from))}
	found.Remedies = append(found.Remedies, Remedy{RemoveHop, fmt.Sprintf("let %s do the work of %s, or send to the next channel, and end the goroutine between them",
		profile.Frame{Function: h.from.Function}, profile.Frame{Function: h.in.Function}), f.gain(now, gone, h.stage.root),
		"the service's work without this goroutine, its two operations and the wake-ups for it"})
	return found
}

// hop returns the stage with the most CPU time that only passes values on, with at most
// that part of its CPU time outside channels, or nil.
func (f *facts) hop(work float64) *hop {
	for i := range f.stages {
		s := &f.stages[i]
		if s.n == 0 || s.n > lone || s.channel < smallStage || s.work > work*(s.work+s.channel) || ofRuntime(s.root) {
			continue
		}
		h := hop{stage: s}
		for j := range f.operations {
			o := &f.operations[j]
			switch {
			case len(o.roots) != 1 || o.roots[0] != s.root || o.Weight < otherHalf:
			case o.Op == profile.Send:
				h.out, h.weight = cmp.Or(h.out, o), h.weight+o.Weight
			case o.Op == profile.Select || o.Op == profile.Receive || o.Op == profile.Range:
				h.in, h.weight = cmp.Or(h.in, o), h.weight+o.Weight
			}
		}
		if h.in == nil || h.out == nil || h.weight < hopWeight || home(h.in) != home(h.out) {
			continue
		}
		h.to = f.costliest(func(o *Operation) bool {
			return (receives(o) || o.Op == profile.Select) && f.feeds(h.out, o) && !f.followsSend(o)
		})
		h.from = f.costliest(func(o *Operation) bool {
			return sends(o) && f.feeds(o, h.in) && (h.to == nil || o.Function != h.to.Function)
		})
		if h.from != nil && h.to != nil {
			return &h
		}
	}
	return nil
}

// followsSend reports whether a receive follows a send in its function: it waits
// for an answer.
func (f *facts) followsSend(o *Operation) bool {
	return slices.ContainsFunc(f.operations, func(x Operation) bool { return sends(&x) && x.Function == o.Function && x.Line < o.Line })
}

// awaitsResult reports whether the function of a send receives after it. A stage
// of a pipeline receives before it sends.
func (f *facts) awaitsResult(o *Operation) bool {
	return slices.ContainsFunc(f.operations, func(x Operation) bool { return receives(&x) && home(&x) == home(o) && x.Line > o.Line })
}

// besideHop detects a goroutine for each connection that only feeds the function
// that started it.
func (f *facts) besideHop() *Finding {
	from, to, s := f.beside()
	if from == nil {
		return nil
	}
	found := f.transferFinding(from)
	found.Confidence = Medium
	found.Text = fmt.Sprintf("A hop that can go: %s sends each value to %s, which started it and does little else than to receive. "+
		"One goroutine can do both.", from, to)
	found.addEvidence(profile.KindCPU, fmt.Sprintf("%s of the CPU time of %s is outside channel operations", format.Percent(s.work/(s.work+s.channel)),
		profile.Frame{Function: s.root}))
	n, _ := f.users(from)
	found.addEvidence(profile.KindGoroutine, format.Plural(n, "goroutine")+" on either side")
	weight := from.Weight + to.Weight
	of, basis := f, "the service's work without these two operations and their wake-ups"
	if out := f.waitsOutside(from.roots[0]); out != nil {
		of = f.onCoresInUse() // what arrives is the limit
		basis += fmt.Sprintf(", as CPU time per value, because goroutines wait for more at %s", out.At)
	}
	found.Remedies = []Remedy{{RemoveHop, fmt.Sprintf("do the work of %s in the goroutine of %s; if its select has a timer, set a deadline for what the other waits for",
		profile.Frame{Function: to.Function}, profile.Frame{Function: from.Function}),
		of.gain(f.load(coldWork), stay{1 - (1-hopStays)*weight, 1 - weight}), basis}}
	return found
}

// beside returns a send in a function literal and the receive in the function
// around it, with the stage of the receive, if they pass values in pairs of
// goroutines; or nil.
func (f *facts) beside() (from, to *Operation, s *stage) {
	for i := range f.operations {
		from := &f.operations[i]
		around := enclosing(from.Function)
		if from.Op != profile.Send || around == from.Function || from.Weight < smallSite || !slices.Contains(from.roots, from.Function) {
			continue
		}
		for j := range f.operations {
			to := &f.operations[j]
			if to.Function != around || sends(to) || to.Weight < smallSite || from.Weight+to.Weight < hopWeight || !f.mayMeet(from, to) || len(to.roots) != 1 {
				continue
			}
			many, counted := f.users(from)
			for k := range f.stages {
				if s := &f.stages[k]; s.root == to.roots[0] && counted && s.n > 0 && s.n <= many && s.work <= besideWork*(s.work+s.channel) {
					return from, to, s
				}
			}
		}
	}
	return nil, nil, nil
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
