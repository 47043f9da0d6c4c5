package doctor

import (
	"fmt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// Findings about channels that provide mutual exclusion.
const (
	UsedAsLock      Kind = "channel used as a lock"
	RequestResponse Kind = "request/response"
)

// lockOnly is the part of the channels' cost in the two operations of a lock. A
// request/response pattern has both operations too, but its other ends cost as
// well.
const lockOnly = 0.80

// otherHalf is the smallest part of the channels' cost in the cheaper operation
// of a request or response: one with a buffered slot, which never waits, had
// 0.02.
const otherHalf = 0.01

var exclusionRules = []rule{
	{
		kind: UsedAsLock, shares: true, look: usedAsLock, instead: []Kind{LockContention, TransferCost, SharedDone},
		reason: "the same function sends and receives, and waits in only one of the two: sync.Mutex ×1.54 and ×3.6",
	},
	{
		kind: RequestResponse, shares: true, look: requestResponse, instead: []Kind{LockContention, TransferCost, TinyJobs, LargeSelect, ChannelPerValue},
		reason: "many goroutines send requests to one goroutine that does little for each: two transfers where " +
			"a mutex would do; a contended sync.Mutex gave ×1.7",
	},
}

// usedAsLock detects a send and a receive in one function. The users of a lock
// wait in one of the two only; a pipeline stage waits in both. One that passes
// values on may wait in its send only, because others queue to send to it: then its
// goroutine is alone, ranges over another channel, or is woken by other functions.
func usedAsLock(f *facts) *Finding {
	// Goroutines that wait for a lock leave cores idle: its part of the CPU time
	// counts, too.
	if !f.hot() && f.channelCPU() < f.limit(hotShare) {
		return nil
	}
	s, r := f.costliest(sends), f.costliest(receives)
	if s == nil || r == nil || !sameFunction(s, r) || f.weight(f.ofLock(s, r)) < lockOnly {
		if s, r = f.lockBeside(); s == nil {
			return nil
		}
	}
	taking, giving := s, r // a send locks
	if f.waitsOf(r) > f.waitsOf(s) {
		taking, giving = r, s // a receive locks
	}
	if f.waitsOf(taking) == 0 || f.waitsOf(giving)*10 > f.waitsOf(taking) || f.purpose(taking).use != tokens {
		return nil
	}
	found := &Finding{Channels: true, At: &taking.Place, Share: known(f.channelCores()), Confidence: Medium}
	found.Text = fmt.Sprintf("A channel is used as a lock: %s acquires it, and the same function releases it at line %d.",
		taking, giving.Line)
	f.lockEvidence(found)
	found.addEvidence(profile.KindGoroutine, fmt.Sprintf("goroutines wait in the %s only, never in the %s", taking.Op, giving.Op))
	section, sectionKnown := 0.0, s.Function == r.Function
	if sectionKnown { // otherwise the work is in a common caller
		section = f.workIn(taking.site.At.Function)
	}
	part := 0.0
	if both := f.weight(f.ofLock(s, r)); both < lockOnly {
		part = both
	}
	found.Remedies = []Remedy{f.mutex("use a sync.Mutex, if the channel has one slot and no select uses it",
		guard{section: section, sectionKnown: sectionKnown, transfers: 1, part: part})}
	found.RuledOut = []RuledOut{
		{Buffer, "the capacity is the number of concurrent holders: changing it changes the program."},
		{Batch, "no values move, so there is nothing to batch."},
	}
	return found
}

// besideLock is the smallest part of the channels' cost in the two operations of
// a lock where other channels cost as well.
const besideLock = 0.40

// lockBeside returns the operations of a channel whose users wake each other in
// the trace, or face nothing else, or nil.
func (f *facts) lockBeside() (s, r *Operation) {
	for i := range f.operations {
		o := &f.operations[i]
		if o.Weight < smallSite || !sends(o) && !receives(o) || f.purpose(o).use != tokens {
			continue
		}
		same, _ := f.otherEnds(o)
		for _, x := range same {
			if f.weight(f.ofLock(o, x)) < besideLock || sends(x) == sends(o) || x.Op == profile.Select {
				continue
			}
			if sends(o) {
				return o, x
			}
			return x, o
		}
	}
	return nil, nil
}

// ofLock selects the operations of a lock: the same lines, whatever function
// called them. A counter with a lock inside is used all over a service.
func (f *facts) ofLock(s, r *Operation) func(*Operation) bool {
	return func(o *Operation) bool { return sameLine(o, s) || sameLine(o, r) }
}

// waitsOf returns the waits at the line of an operation, for all callers.
func (f *facts) waitsOf(at *Operation) (n int64) {
	for i := range f.operations {
		if o := &f.operations[i]; sameLine(o, at) {
			n += waits(o)
		}
	}
	return n
}

func sameLine(a, b *Operation) bool { return a.Op == b.Op && a.site.At == b.site.At }

func sameFunction(a, b *Operation) bool {
	if a.site.At.Function == b.site.At.Function {
		return true
	}
	// Lock and Unlock methods of a type that wraps the channel, with a common
	// caller.
	return a.site.Caller.Function != "" && a.site.Caller.Function == b.site.Caller.Function &&
		a.site.At.Package() == b.site.At.Package()
}

// requestResponse detects a function that sends and then receives, and another
// that receives and then sends. Every stage of a pipeline receives first.
func requestResponse(f *facts) *Finding {
	if !f.hot() {
		return nil
	}
	request, response := f.inOneFunctionOrSelect(sends, receives)
	handler, reply := f.inOneFunctionOrSelect(receives, sends)
	if request == nil && handler != nil {
		request, response = f.askedInSelects(handler, reply)
	}
	if request != nil && handler == nil {
		handler, reply = f.answersElsewhere(request, response)
	}
	if request == nil || handler == nil || request.Function == handler.Function ||
		f.weight(isOneOf(request, response, handler, reply)) < mostly || !f.confirms(request, handler) || reply.Op != profile.Close && !f.confirms(reply, response) {
		return nil
	}
	if f.crowd(handler) > 1 {
		return nil // a pool, of which none owns what is asked for
	}
	found := &Finding{Channels: true, At: &request.Place, Share: known(f.channelCores()), Confidence: Medium}
	found.Text = fmt.Sprintf("Request/response over two channels costs two transfers per request: %s; the response is "+
		"received at line %d.", request, response.Line)
	found.addEvidence(profile.KindCPU, fmt.Sprintf("%s of CPU time is in channel operations, and %s in the scheduler when goroutines block in them; processing "+
		"the requests takes %s", format.Percent(f.channel/f.cpu), format.Percent(f.parked/f.cpu), format.Percent(f.workIn(handler.Function)*f.window/f.cpu)))
	if len(f.pairs()) > 0 {
		found.Confidence = High
		found.addEvidence(profile.KindTrace, "each side wakes the other in the trace")
	} else {
		found.decides(f, "whether these two wake each other")
	}
	found.Remedies = []Remedy{f.mutex("let the caller do the work under a sync.Mutex; or put several requests into one message",
		guard{section: f.workIn(handler.Function), sectionKnown: true, waiters: max(f.crowd(request), f.crowd(response)), transfers: 2})}
	found.RuledOut = []RuledOut{
		{HandOff, "the caller still waits for the response: sluice.Rendezvous gave ×1.01 where both channels had " +
			"128 slots."},
		{Buffer, "the caller waits for the response, however many requests the channel holds."},
		{MoreReceivers, "only one goroutine owns the requested state."},
	}
	return found
}

// inOneFunction returns the most expensive operation of the first kind and one
// of the second kind that follows it in the same function, or nil.
func (f *facts) inOneFunction(first, second func(*Operation) bool) (a, b *Operation) {
	for i := range f.operations {
		a := &f.operations[i]
		if !first(a) || a.Weight < smallSite {
			continue
		}
		for j := range f.operations {
			b := &f.operations[j]
			if second(b) && b.Weight >= otherHalf && b.Function == a.Function && b.Line > a.Line {
				return a, b
			}
		}
	}
	return nil, nil
}

// inOneFunctionOrSelect accepts a select for one of the two operations, which
// may also watch a context. Two selects could be any pipeline stage.
func (f *facts) inOneFunctionOrSelect(first, second func(*Operation) bool) (a, b *Operation) {
	isSelect := isOp(profile.Select)
	or := func(ok func(*Operation) bool) func(*Operation) bool {
		return func(o *Operation) bool { return ok(o) || isSelect(o) }
	}
	if a, b = f.inOneFunction(first, second); a == nil {
		if a, b = f.inOneFunction(or(first), second); a == nil {
			a, b = f.inOneFunction(first, or(second))
		}
	}
	return a, b
}

// askedInSelects returns the two selects of a function whose goroutines send a
// request and wait for its response, each together with a context. A stage of a
// pipeline has two selects as well, but other functions at both ends: here, the
// four operations of one goroutine and its callers are nearly all of the cost.
func (f *facts) askedInSelects(handler, reply *Operation) (request, response *Operation) {
	apart := func(o *Operation) bool { return o.Op == profile.Select && o.Function != handler.Function }
	a, b := f.inOneFunction(apart, apart)
	if a == nil || f.crowd(handler) > 1 || f.crowd(a) < backedUp || f.weight(isOneOf(a, b, handler, reply)) < lockOnly {
		return nil, nil
	}
	return a, b
}

// confirms reports whether the trace, if any, shows that the operations of each
// pair wake each other.
func (f *facts) confirms(pairs ...*Operation) bool {
	if len(f.pairs()) == 0 {
		return true
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		a, b := pairs[i], pairs[i+1]
		seen := false
		for _, p := range f.pairs() {
			seen = seen || p.Waker == a.site && p.Sleeper == b.site || p.Waker == b.site && p.Sleeper == a.site
		}
		if !seen {
			return false
		}
	}
	return true
}

// workIn returns the cores that a function uses, including its callees and
// without its channel operations.
func (f *facts) workIn(function string) float64 {
	if f.capture.CPU == nil || f.window == 0 {
		return 0
	}
	spent := 0.0
	for _, u := range f.capture.CPU.Users {
		if u.Function == function {
			spent = u.All.Seconds()
		}
	}
	for _, s := range f.capture.CPU.Sites {
		if s.At.Function == function {
			spent -= s.Time.Seconds()
		}
	}
	return max(0, spent) / f.window
}

// A guard is the critical section of a proposed mutex.
type guard struct {
	section      float64 // cores used in the critical section
	sectionKnown bool    // section is known
	waiters      int     // goroutines that would lock it, 0 if unknown
	transfers    float64 // channel transfers that one Lock replaces
	part         float64 // part of the channels' cost that it replaces; 0 if all
}

// mutex returns the remedy of a mutex instead of channel transfers. Its price
// depends on the probability of contention, which is the critical section's
// share of all work. If it is always contended, one core works and the waiters
// park. With a single goroutine it is never contended, and all work is in one
// place.
func (f *facts) mutex(how string, g guard) Remedy {
	p, l := f.prices, f.load(coldWork)
	taken := 0.5
	if work := f.share(profile.UserCode) * f.cores; g.sectionKnown && work > 0 {
		taken = min(1, g.section/work*max(1, f.avail))
	}
	if g.sectionKnown && f.light {
		taken = min(1, g.section) // the part of the time that it is held
	}
	basis := byLoad
	switch {
	case g.waiters == 1:
		taken = 0
		l.oneCore, l.gone = (1-loneWork)*l.own, loneWork*l.own
	case taken >= 0.5:
		l.oneCore = max(g.section, 1.0/mostGain)
		basis += "; the mutex will be contended"
	}
	keep := after(g.transfers*p.Unbuffered, p.Mutex+taken*p.ContendedMutex, p.Mutex+taken*p.ContendedMutex*contendedAtBest)
	if g.part > 0 {
		keep = stay{1 - g.part*(1-keep.worst), 1 - g.part*(1-keep.best)}
	}
	return Remedy{Mutex, how, f.gain(l, keep), basis}
}

// loneWork is the part of the program's own work that may disappear once one
// goroutine does everything without parking: 16 of 60 ns remained.
const loneWork = 0.7

// contendedAtBest is the best-case part of the price of a contended mutex: 50
// to 70 ns of 250 were measured with up to 64 goroutines.
const contendedAtBest = 0.2
