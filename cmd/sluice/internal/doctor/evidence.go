package doctor

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// The evidence that hazards require of a finding. Each function returns what is
// missing, as a sentence for a person, or "".

// lacksValues requires that values go to another function.
func lacksValues(f *facts, found *Finding) string {
	if o := f.operation(found); o != nil && f.oneByOne(o) {
		return waitsForAnswer
	}
	why := unproven(f, found)
	if why == "" || why == unknownChannel {
		return why
	}
	return "it may be a lock, a semaphore or a pool: " + why
}

const waitsForAnswer = "each goroutine at its other end passes one value, and waits for the answer or ends: there is nothing to collect, however many values the channel holds."

const unknownChannel = "the channel is unknown."

// unproven returns why the channel of a finding may carry no values, or "".
func unproven(f *facts, found *Finding) string {
	switch found.Kind {
	case ChannelPerValue: // nothing else is in the channel
		return ""
	case GoroutinePerValue, Scattered: // the values are those that goroutines are started or woken for
		return ""
	}
	o := f.operation(found)
	if o == nil {
		return unknownChannel
	}
	if p := f.purpose(o); p.use != values {
		found.decides(f, "what the channel is used for")
		return p.why + "."
	}
	return ""
}

// lacksSlots requires that receives wait at times, or that a channel after this one
// holds them up: where the capacity is a limit, they never do.
func lacksSlots(f *facts, found *Finding) string {
	if found.Kind == DroppedValues {
		return "" // its values are dropped: the capacity is no limit of holders
	}
	if found.Kind == Leak {
		return cmp.Or(lacksLeak(f, found), f.lacksOwnChannel(found))
	}
	if why := unproven(f, found); why != "" {
		return "the capacity may be a limit: " + why
	}
	if f.oneByOne(f.operation(found)) {
		return waitsForAnswer
	}
	if o := f.operation(found); !f.purpose(o).awaited && !f.heldUp(o) {
		return "no receive waits for values: either the capacity is a limit, or the receivers are slow, and a longer queue drains no faster."
	}
	return ""
}

// lacksLeak requires more than long waits.
func lacksLeak(_ *facts, found *Finding) string {
	if found.Confidence == Low {
		return "long waits alone are no leak: the goroutines of an idle pool wait as long."
	}
	return ""
}

// lacksOwnChannel requires that the leaked goroutines do nothing but send once:
// those that wait for a semaphore have others of their kind behind it.
func (f *facts) lacksOwnChannel(found *Finding) string {
	o := f.operation(found)
	if o == nil || o.root == "" {
		return "" // the leak profile proves that no receiver is left
	}
	if same, _ := f.otherEnds(o); len(same) > 0 {
		return "the same function also receives: the capacity may be a limit."
	}
	if g := f.capture.Goroutines; g != nil {
		for _, s := range g.Sites {
			if s.Root == o.root && s.Site != o.site && s.Waiting > 0 && !ofRuntime(s.Root) {
				return fmt.Sprintf("others of these goroutines are at %s: the capacity may limit how many.", s.At)
			}
		}
	}
	return ""
}

// lacksSenders requires several sending goroutines.
func lacksSenders(f *facts, found *Finding) string {
	if why := lacksValues(f, found); why != "" {
		return why
	}
	if o := f.operation(found); f.alone(o) && sends(o) {
		return "one goroutine sends, and several channels would lose its order."
	}
	return ""
}

// lacksRoom requires a forwarding goroutine that wakes a receiver at times: if
// the receivers never wait, they are slower, and a queue grows.
func lacksRoom(f *facts, found *Finding) string {
	if found.Kind == FullCycle {
		return "" // the receivers wait for the cycle
	}
	o := f.operation(found)
	if o == nil {
		return unknownChannel
	}
	if o.wake > 0 {
		return ""
	}
	_, other := f.otherEnds(o)
	if slices.ContainsFunc(other, func(x *Operation) bool { return receives(x) && waits(x) > 0 }) {
		return ""
	}
	return "the receivers never wait, so they may be slower than the senders: a queue would grow, and hide that."
}

// lacksFewSelecting requires a select that few goroutines run: the channels of a
// select in many goroutines may differ between them.
func lacksFewSelecting(f *facts, found *Finding) string {
	if found.Kind == Forwarders {
		return "" // each of them has one channel, without a select
	}
	if found.Kind == GoroutinePerValue {
		return "" // likewise: each was started to wait for one channel
	}
	o := f.operation(found)
	if o == nil || o.Op != profile.Select {
		return "the channels are unknown."
	}
	if n, counted := o.count(); counted && n > lone {
		return "several goroutines run this select, maybe on different channels."
	}
	return ""
}

// lacksSelecting requires a select: the done channel is one of its cases.
func lacksSelecting(f *facts, found *Finding) string {
	if o := f.operation(found); o == nil || o.Op != profile.Select {
		return "no select is known to use a done channel."
	}
	return ""
}

// spareWork is the number of cores of other work above which a lower GOMAXPROCS
// would take them away.
const spareWork = 0.75

func lacksSpareCores(f *facts, found *Finding) string {
	if why := lacksValues(f, found); why != "" {
		return why // callers that exclude each other work at the same time otherwise: ×0.48 on one P
	}
	if f.capture.CPU == nil {
		return "the work outside the channel is unknown."
	}
	if l := f.load(0); f.window > 0 && l.own > spareWork {
		return "the rest of the service needs its cores."
	}
	return ""
}

// lacksReceivers requires that the goroutines to add are workers. A goroutine
// that answers its senders owns a state, unless several do; and if the senders
// themselves come out at the other end, the channel limits them.
func lacksReceivers(f *facts, found *Finding) string {
	o := f.operation(found)
	if o == nil {
		return ""
	}
	request, _ := f.inOneFunctionOrSelect(sends, receives)
	handler, reply := f.inOneFunctionOrSelect(receives, sends)
	if request != nil && handler != nil && o.Function == request.Function && handler.Function != request.Function &&
		f.crowd(handler) <= 1 && f.answers(reply, request.Function) {
		return "one goroutine answers the senders: it may own the state that they ask for."
	}
	if found.outside == nil || found.outside.Root == "" || found.outside.Root != o.root {
		return ""
	}
	if found.outside.Count() < backedUp {
		return "one goroutine at a time is behind it: the channel may be a lock, and what it guards allows no second holder."
	}
	return ""
}

// answers reports whether a send wakes a receive of the function, or may do so
// because no trace shows otherwise.
func (f *facts) answers(reply *Operation, function string) bool {
	if len(f.pairs()) == 0 {
		return true
	}
	return slices.ContainsFunc(f.pairs(), func(p profile.Pair) bool {
		return p.Waker == reply.site && p.Sleeper.At.Function == function
	})
}

// lacksHolders requires several holders: a pool of one may be a lock.
func lacksHolders(_ *facts, found *Finding) string {
	if found.outside == nil || found.holders < backedUp {
		return "one goroutine at a time holds it: it may be a lock, and what it guards allows no second holder."
	}
	return ""
}

// lacksTurns requires stages that take turns anyway: one goroutine at each end
// that waits for nothing but its channels; or, for a channel per value, no
// goroutines that work ahead of the one that receives.
func lacksTurns(f *facts, found *Finding) string {
	if f.capture.Goroutines == nil {
		return "the number of goroutines is unknown: they may run at the same time."
	}
	if found.Kind == GoroutinePerValue {
		if n, _ := f.callers(found); f.avail == 0 || float64(n) < f.avail {
			return fmt.Sprintf("%d goroutines start them: in place, fewer cores would work.", n)
		}
		return ""
	}
	if found.Kind == ChannelPerValue {
		return f.lacksCallers(found)
	}
	if found.Kind == Generator {
		return "" // the rule requires pairs of goroutines that wait for nothing else
	}
	for i := range f.operations {
		o := &f.operations[i]
		if o.Weight < smallSite {
			continue
		}
		if n, _ := f.users(o); n > 1 {
			return fmt.Sprintf("%d goroutines run the %s, at the same time.", n, o)
		}
		for _, root := range o.roots {
			if other := f.waitsOutside(root); other != nil {
				return fmt.Sprintf("%s also waits at the %s, which would hold up the other stage.", profile.Frame{Function: root}, other.Site)
			}
		}
	}
	return ""
}

// lacksCallers requires that no goroutines work ahead.
func (f *facts) lacksCallers(found *Finding) string {
	callers, started := f.callers(found)
	switch {
	case callers == 0:
		return "the number of callers is unknown: their calls may overlap."
	case started > callers:
		return fmt.Sprintf("%d goroutines work ahead for %d that receive: direct calls would run one after the other.", started, callers)
	}
	return ""
}

// worksAhead reports whether more goroutines work on values than goroutines
// receive them.
func (f *facts) worksAhead(found *Finding) bool {
	callers, started := f.callers(found)
	return callers > 0 && started > callers
}

// callers returns the number of goroutines in the function that creates a
// channel for each value, and of those that it starts.
func (f *facts) callers(found *Finding) (callers, started int) {
	if f.capture.Goroutines == nil {
		return 0, 0
	}
	for _, s := range f.capture.Goroutines.Sites {
		switch {
		case s.At.Function == found.maker || s.Caller.Function == found.maker || s.Root == found.maker:
			callers += max(s.Count(), s.Runnable)
		case s.CreatedBy.Function == found.maker || s.Root != "" && enclosing(s.Root) == enclosing(found.maker):
			started += max(s.Count(), s.Runnable)
		}
	}
	return callers, started
}

// waitsOutside returns where goroutines of a stage wait for something else than
// a channel, or nil.
func (f *facts) waitsOutside(root string) *profile.GoroutineSite {
	g := f.capture.Goroutines
	if g == nil {
		return nil
	}
	for i := range g.Sites {
		switch s := &g.Sites[i]; s.Op {
		case profile.IO, profile.Sleep, profile.Lock, profile.Wait:
			if s.Root == root && s.Count() > 0 && !serving(*s) {
				return s
			}
		}
	}
	return nil
}

// lacksOneHolder requires a critical section that one goroutine at a time is
// in, and that waits for nothing.
func lacksOneHolder(f *facts, found *Finding) string {
	o := f.operation(found)
	if o == nil {
		return unknownChannel
	}
	function := o.Function
	if found.Kind == OwnedState {
		return "" // the rule requires an owner that waits for nothing else
	}
	if found.Kind == RequestResponse {
		handler, _ := f.inOneFunctionOrSelect(receives, sends)
		if request, response := f.inOneFunctionOrSelect(sends, receives); handler == nil && request != nil {
			handler, _ = f.answersElsewhere(request, response)
		}
		if handler == nil {
			return "no goroutine is known to answer."
		}
		if n := f.crowd(handler); n > 1 {
			return fmt.Sprintf("%d goroutines answer at the same time: a mutex would let one of them work.", n)
		}
		if other := f.waitsOutside(handler.root); handler.root != "" && other != nil {
			return fmt.Sprintf("the goroutine that answers also waits at the %s: callers would hold the mutex meanwhile.", other.Site)
		}
		return ""
	}
	if cores := f.workIn(function); cores > 1+uncertain {
		return fmt.Sprintf("%.1f goroutines work behind it at the same time: it is a semaphore, not a lock.", cores)
	}
	if g := f.capture.Goroutines; g != nil {
		for _, s := range g.Sites {
			inside := s.At.Function == function || s.Caller.Function == function
			if inside && !s.Op.Channel() && s.Op != profile.Other && s.Count() >= backedUp {
				return fmt.Sprintf("%d goroutines are behind it, at the %s: it is a semaphore, not a lock.", s.Count(), s.Site)
			}
		}
	}
	return ""
}

// lacksIdleLoop requires that the loop around the attempts costs no more than
// they do: then it does nothing else.
func lacksIdleLoop(f *facts, found *Finding) string {
	o := f.operation(found)
	if o == nil {
		return "the loop is unknown."
	}
	attempts := 0.0
	for i := range f.operations {
		if x := &f.operations[i]; polls(x) && x.Function == o.Function {
			attempts += value(x.CPU)
		}
	}
	if f.window > 0 && f.workIn(o.Function)*f.window > max(attempts, f.cpu*0.01)*loopWork {
		return "the loop does other work between the attempts, which a blocking receive would stop: attempt less often, or give " +
			"that work to another goroutine."
	}
	return ""
}

// loopWork is the work of a polling loop that does nothing else, as a multiple
// of its attempts: its own instructions and calls cost up to as much again.
const loopWork = 1.5

// lacksHop requires that the goroutine waits for its channels only: a rate
// limiter or a batcher does nothing else either, but waits.
func lacksHop(f *facts, found *Finding) string {
	var s *stage
	if h := f.hop(hopWork); h != nil {
		s = h.stage
	} else if _, _, s = f.beside(); s == nil {
		return "no goroutine is known to only pass values on."
	}
	if other := f.waitsOutside(s.root); other != nil {
		return fmt.Sprintf("it also waits at the %s: that may be its purpose.", other.Site)
	}
	for _, t := range f.timersOf() {
		if t.roots[s.root] > 0 {
			return fmt.Sprintf("it also waits for timers, created at %s: that may be its purpose.", t.at)
		}
	}
	return ""
}
