package doctor

import (
	"slices"
	"strings"
)

// First, do no harm: a remedy that is right for one program breaks another. Each
// remedy has an entry in hazards, which names what it can break, the evidence
// without which it is never given, and the condition that a profile cannot show
// and that its text states. finish applies the list to every finding, so that no
// rule can bypass it.

// A hazard is what a remedy can break.
type hazard struct {
	remedy RemedyName
	breaks string // in which program it is wrong, and what happens there
	needs  string // the evidence
	// lacks returns what is missing of the evidence, or "". The reader sees it
	// as the reason against the remedy.
	lacks func(*facts, *Finding) string
	// unless is the condition that the text of the remedy states; "" if the
	// evidence excludes all that it could break.
	unless string
}

// hazards are the remedies, in the order of their constants.
var hazards = []hazard{
	{
		Buffer, "a lock, semaphore or pool gets more holders; a send that means \"received\" no longer does",
		"values go to another function, which waits for them at times or in turns at the channel after it; or each goroutine leaks in its only send",
		lacksSlots, "not if its capacity is a limit, or a send must mean that the value was received",
	},
	{
		Batch, "values wait for their batch, the last batch is lost if nothing flushes it, and a batch may exceed a limit of what it is for",
		"values go to another function", lacksValues, "flush the last, partial batch before the channel is closed",
	},
	{
		Shard, "the order between values of different senders is lost",
		"values of several goroutines go to another function", lacksSenders, "if order between senders does not matter",
	},
	{
		Elastic, "nothing holds the senders back, and the queue grows until memory ends",
		"the receivers keep up: they wait for values at times", lacksRoom, "set its limit: without one nothing holds the senders back",
	},
	{
		HandOff, "two ends that ran at the same time take turns", "none: no program was measured that gains from it",
		func(*facts, *Finding) string { return "no program was measured that gains from it." }, "",
	},
	{
		MergeChannels, "a case with priority, or one that a nil channel disables, has neither in one channel",
		"one or two goroutines run the select, or each was started to wait for one channel", lacksFewSelecting, "if no case has priority over others or is disabled at times",
	},
	{
		SeparateDone, "a goroutine whose done channel is never closed does not end",
		"several goroutines are in selects", lacksSelecting, "every one of them must be closed at the end",
	},
	{
		LowerGOMAXPROCS, "all other work of the process gets fewer cores",
		"values go to another function; the work outside channels needs less than a core", lacksSpareCores, "if the service does little besides this channel",
	},
	{
		MoreReceivers, "values are processed in another order and at the same time; a lock or a limit gets more holders",
		"the receiver is the bottleneck, does not answer its senders as the owner of a state, and more than one token exists",
		lacksReceivers, "if order does not matter, and what the receiver keeps (maps, counters) is locked or each gets its own",
	},
	{
		Fuse, "work that ran at the same time runs one after the other; a slow step holds up the others",
		"one goroutine at each end, or none that works ahead; none of them waits for anything else", lacksTurns,
		"only if it waits for nothing else; steps that ran at the same time then take turns",
	},
	{
		Mutex, "callers wait for each other's I/O, without a context; several holders or workers become one",
		"one holder or one handler at a time, which waits for nothing else", lacksOneHolder,
		"if nothing blocks while it is held",
	},
	{
		Block, "the loop no longer does its other work, and may never end",
		"the loop does little besides the attempts", lacksIdleLoop, "keep a case that ends the loop",
	},
	{
		ReuseTimer, "a Reset of a timer that has fired leaves its old value in the channel",
		"the function that creates the timers selects on them", of(TimerPerIteration),
		"with go 1.22 or older in go.mod, Stop it and drain its channel before each Reset",
	},
	{
		Cancel, "goroutines of an idle pool end; closing a channel makes its senders panic",
		"the goroutines are proved to leak, or their number grows", lacksLeak, "",
	},
	{
		Limit, "senders wait, fail, or lose values, where they never did",
		"the queue grows and has no limit", of(GrowingQueue), "the senders must expect what its overflow policy does",
	},
	{
		Promise, "with a second goroutine at that end, values are lost or received twice",
		"one goroutine at that end in all profiles and on the map", nil,
		"a build with -race or -tags sluicecheck reports a second one: run the tests with it",
	},
	{
		RemoveHop, "values of several senders lose the one order that the goroutine gave them; a send blocks where the goroutine did",
		"the goroutine does almost nothing for a value, waits for nothing else, and other functions are at both ends", lacksHop,
		"not if it is there to order values, or to keep its senders from blocking",
	},
	{
		LargerPool, "a lock gets a second holder; the downstream service gets more load than it is made for",
		"several goroutines hold one at the same time", lacksHolders, "if what the holders wait for can serve more at once",
	},
	{
		HoldShorter, "code that needed the object runs without it", "goroutines wait for an object that others hold", of(ExhaustedPool), "if what is left outside does not use it",
	},
	{
		WorkerPool, "a panic or a lost context of one value affects others; values wait for each other",
		"goroutines are started and ended all the time, or wake up all the time", of(GoroutinePerValue, Scattered), "if no value waits for another one",
	},
	{
		BalanceKeys, "values of one key are processed in another order, or at the same time",
		"several goroutines receive at the same line, and most of them are idle", of(Skew), "if values of one key need no order between them",
	},
	{
		ReuseSlices, "a slice that is still read is overwritten",
		"slices are allocated in the function that sends them", nil, "only slices that no goroutine reads any more",
	},
	{NoChange, "nothing", "none", nil, ""},
}

// keepSafe removes the remedies without their evidence, with the reason, and
// states the conditions of the others.
func (f *Finding) keepSafe(of *facts) {
	kept := f.Remedies[:0]
	for _, r := range f.Remedies {
		i := slices.IndexFunc(hazards, func(h hazard) bool { return h.remedy == r.Name })
		if i < 0 {
			continue // nothing is known about what it may break
		}
		h := hazards[i]
		if h.lacks != nil {
			if why := h.lacks(of, f); why != "" {
				if !slices.ContainsFunc(f.RuledOut, func(n RuledOut) bool { return n.Name == r.Name }) {
					f.RuledOut = append(f.RuledOut, RuledOut{r.Name, why})
				}
				continue
			}
		}
		if h.unless != "" && !strings.Contains(r.How, h.unless) {
			r.How += "; " + h.unless
		}
		kept = append(kept, r)
	}
	f.Remedies = kept
}

// of returns the evidence that only the rules of these kinds show: they look for
// nothing else.
func of(kinds ...Kind) func(*facts, *Finding) string {
	return func(_ *facts, found *Finding) string {
		if !slices.Contains(kinds, found.Kind) {
			return "the evidence for it is missing."
		}
		return ""
	}
}

// operation returns the operation that a finding is about, or nil.
func (f *facts) operation(found *Finding) *Operation {
	if found.At == nil {
		return nil
	}
	for i := range f.operations {
		if f.operations[i].Place == *found.At {
			return &f.operations[i]
		}
	}
	return nil
}
