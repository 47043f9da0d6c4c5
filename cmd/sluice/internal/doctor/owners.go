package doctor

import (
	"fmt"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// OwnedState is a goroutine that owns a state, and receives every update of it
// over a channel: a method of a type sends, and another method of the same type
// is the goroutine that receives.
const OwnedState Kind = "state behind a channel"

// askedShare is the share of CPU time in channels from which a goroutine that is
// asked costs more than a lock: two goroutines wait for each question, and what
// they cost besides is in system calls. An agent of 0.13 to 0.19 took ×1.29 less
// time without the question.
const askedShare = 0.12

// keepsState is the largest work of an owner whose callers wait for no answer, as a
// part of the channels' cost. Above it the goroutine is there to work beside its
// callers: the goroutines of an event bus, which call its subscribers, had 0.51 to
// 0.93, and gained ×2.1 with slots; a histogram had 0.31, a mutex gave ×2.1.
const keepsState = 0.40

var ownerRules = []rule{{
	kind: OwnedState, shares: true, look: ownedState, instead: []Kind{TransferCost, LockContention, TinyJobs, LargeSelect, SharedDone, OneToMany, Scattered, ChannelPerValue},
	reason: "histograms of a metrics library: a goroutine for each, two transfers per update, 48% of CPU time in channels: " +
		"a sync.Mutex took ×2.1 less CPU time per update; a cache whose readers pass promotions to a goroutine: ×1.5",
}}

// An owner is a type whose goroutine receives what its other methods send.
type owner struct {
	receive *Operation // the costliest one
	send    *Operation // likewise
	weight  float64
	answers bool // it sends as well, or closes channels
	asked   bool // the callers wait for an answer
}

// owners returns the types whose methods send, for callers elsewhere, to a
// goroutine that another method is. The methods of a pipeline are goroutines at
// both ends.
func (f *facts) owners() map[string]*owner {
	all := make(map[string]*owner)
	each := func(visit func(name string, o *Operation, own bool)) {
		for i := range f.operations {
			o := &f.operations[i]
			if root := f.startOf(o); root != "" && isMethod(o.site.At.Function) {
				name := receiverType(o.site.At.Function)
				visit(name, o, receiverType(root) == name)
			}
		}
	}
	each(func(name string, o *Operation, own bool) {
		if own && o.site.At.Function == f.startOf(o) && (receives(o) || o.Op == profile.Select) {
			if all[name] == nil {
				all[name] = &owner{receive: o}
			}
			all[name].weight += o.Weight
		}
	})
	each(func(name string, o *Operation, own bool) {
		if of := all[name]; of != nil && own && o.Function == of.receive.Function && (sends(o) || o.Op == profile.Close) {
			of.answers = true
		}
	})
	each(func(name string, o *Operation, own bool) {
		of := all[name]
		switch {
		case of == nil || own || o.site.At.Function == of.receive.site.At.Function:
		case sends(o) && !of.answers && f.takesBack(o): // a lock
		case sends(o), o.Op == profile.Select && f.direction(o) != receiving && f.parking() >= parks: // a select that waits each time: nothing is queued
			if of.send == nil {
				of.send = o
			}
			of.weight += o.Weight
		case receives(o) && of.answers && of.send != nil && home(o) == home(of.send):
			of.asked, of.weight = true, of.weight+o.Weight
		}
	})
	return all
}

// callsIn reports whether the goroutines of a stage make system calls: they write
// what they receive, and a lock would be held meanwhile.
func (f *facts) callsIn(root string) bool {
	return slices.ContainsFunc(f.capture.CPU.Stages, func(s profile.CPUStage) bool {
		return s.Root == root && s.System > 0 && s.System.Seconds() >= callsOfOwner*(s.Work+s.Channel).Seconds()
	})
}

// callsOfOwner is the part of their CPU time from which on: the writers of a game
// server had 0.4, owners of a state 0 to 0.02.
const callsOfOwner = 0.10

// takesBack reports whether the function of a send receives as well.
func (f *facts) takesBack(o *Operation) bool {
	return slices.ContainsFunc(f.operations, func(x Operation) bool { return receives(&x) && home(&x) == home(o) })
}

// startOf returns the start function of the goroutines in an operation, or "".
// A busy goroutine is in no snapshot; the CPU profile has its start function, too.
func (f *facts) startOf(o *Operation) string {
	function := o.site.At.Function
	if o.root == "" && slices.ContainsFunc(f.stages, func(s stage) bool { return s.root == function }) {
		return function
	}
	if o.root == "" && len(o.roots) == 1 {
		return o.roots[0]
	}
	return o.root
}

// isMethod reports whether a function has a receiver.
func isMethod(function string) bool {
	t := receiverType(function)
	return len(t) > 0 && t[len(t)-1] == ')'
}

// ownedState detects owners that do less for an update than its transfer costs.
func ownedState(f *facts) *Finding {
	if f.channelCPU() < f.limit(askedShare) {
		return nil
	}
	var most *owner
	weight, work, n := 0.0, 0.0, 0
	for _, of := range f.owners() {
		if of.send == nil || of.receive.Weight < otherHalf || f.waitsOutside(f.startOf(of.receive)) != nil || f.callsIn(f.startOf(of.receive)) {
			continue
		}
		weight += of.weight
		work += f.workIn(of.receive.site.At.Function)
		n += max(1, f.crowd(of.receive))
		if most == nil || of.weight > most.weight {
			most = of
		}
	}
	if most == nil || !most.asked && f.channelCPU() < f.limit(transferShare) || weight < mostly {
		return nil
	}
	little := 1.0
	if !most.asked {
		little = keepsState
	}
	if work*f.window > little*(f.channel+f.parked) {
		return nil
	}
	found := &Finding{Channels: true, At: &most.receive.Place, Share: known(f.channelCores()), Confidence: Medium}
	found.Text = fmt.Sprintf("A goroutine owns a state, and passing it an update costs more than the update: %s receives what %s passes.",
		most.receive, most.send)
	found.addEvidence(profile.KindCPU, fmt.Sprintf("%s of CPU time is in channel operations, and %s in the scheduler when goroutines block in them; the "+
		"goroutines that own a state do other work for %s", format.Percent(f.channel/f.cpu), format.Percent(f.parked/f.cpu), format.Percent(work*f.window/f.cpu)))
	found.addEvidence(profile.KindGoroutine, fmt.Sprintf("%s is a goroutine of the type whose other methods send, and waits for nothing else",
		profile.Frame{Function: f.startOf(most.receive)}))
	part := 0.0
	if weight < lockOnly { // other channels cost as well
		part = weight
	}
	found.Remedies = []Remedy{f.mutex("let the callers update the state themselves, under a sync.Mutex in each",
		guard{section: work / float64(n), sectionKnown: true, waiters: f.crowd(most.send), transfers: 1, part: part})}
	found.RuledOut = []RuledOut{
		{Shard, "each state has a channel of its own."},
		{MoreReceivers, "only one goroutine owns a state."},
	}
	return found
}
