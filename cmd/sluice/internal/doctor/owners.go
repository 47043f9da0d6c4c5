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

var ownerRules = []rule{{
	kind: OwnedState, shares: true, look: ownedState, instead: []Kind{TransferCost, LockContention, TinyJobs, LargeSelect, SharedDone, OneToMany, Scattered},
	reason: "histograms of a metrics library: a goroutine for each, two transfers per update, 48% of CPU time in channels: " +
		"a sync.Mutex took ×2.1 less CPU time per update; a cache whose readers pass promotions to a goroutine: ×1.5",
}}

// An owner is a type whose goroutine receives what its other methods send.
type owner struct {
	receive *Operation // the costliest one
	send    *Operation // likewise
	weight  float64
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
		if of := all[name]; of != nil && !own && sends(o) {
			if of.send == nil {
				of.send = o
			}
			of.weight += o.Weight
		}
	})
	return all
}

// startOf returns the start function of the goroutines in an operation, or "".
// A busy goroutine is in no snapshot; the CPU profile has its start function, too.
func (f *facts) startOf(o *Operation) string {
	function := o.site.At.Function
	if o.root == "" && slices.ContainsFunc(f.stages, func(s stage) bool { return s.root == function }) {
		return function
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
	if f.channelCPU() < f.limit(transferShare) {
		return nil
	}
	var most *owner
	weight, work, n := 0.0, 0.0, 0
	for _, of := range f.owners() {
		if of.send == nil || f.waitsOutside(f.startOf(of.receive)) != nil {
			continue
		}
		weight += of.weight
		work += f.workIn(of.receive.site.At.Function)
		n += max(1, f.crowd(of.receive))
		if most == nil || of.weight > most.weight {
			most = of
		}
	}
	if most == nil || weight < mostly || work*f.window > f.channel+f.parked {
		return nil
	}
	found := &Finding{Channels: true, At: &most.receive.Place, Share: known(f.channelCores()), Confidence: Medium}
	found.Text = fmt.Sprintf("A goroutine owns a state, and passing it an update costs more than the update: %s receives what %s passes.",
		most.receive, most.send)
	found.addEvidence(profile.KindCPU, fmt.Sprintf("%s of CPU time is in channel operations, and %s in the scheduler after they parked; the "+
		"goroutines that own a state do other work for %s", format.Percent(f.channel/f.cpu), format.Percent(f.parked/f.cpu), format.Percent(work*f.window/f.cpu)))
	found.addEvidence(profile.KindGoroutine, fmt.Sprintf("%s is a goroutine of the type whose other methods send, and waits for nothing else",
		profile.Frame{Function: f.startOf(most.receive)}))
	found.Remedies = []Remedy{f.mutex("let the callers update the state themselves, under a sync.Mutex in each",
		guard{section: work / float64(n), sectionKnown: true, waiters: f.crowd(most.send), transfers: 1})}
	found.RuledOut = []RuledOut{
		{Shard, "each state has a channel of its own."},
		{MoreReceivers, "only one goroutine owns a state."},
	}
	return found
}
