package doctor

import (
	"fmt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// Findings about channels that let one goroutine at a time at something.
const (
	UsedAsLock Kind = "channel used as a lock"
	Actor      Kind = "asked over channels"
)

// lockOnly is the part of the channels' cost that both operations of a lock take: who
// asks a goroutine and waits for its answer does both too, but pays the other ends.
const lockOnly = 0.80

// otherHalf is the part of the channels' cost that the cheaper operation of a question
// or an answer takes at least: one with a slot, which never waits, took 0.02.
const otherHalf = 0.01

var exclusionRules = []rule{
	{
		kind: UsedAsLock, shares: true, look: usedAsLock, instead: []Kind{HotChannel, HandOver, SharedDone},
		reason: "the same function sends and receives, and waits at one of them only: sync.Mutex ×1.54 and ×3.6",
	},
	{
		kind: Actor, shares: true, look: actor, instead: []Kind{HotChannel, HandOver, TinyJobs, ManyCases, OneValue},
		reason: "many send a request and wait for the answer of one goroutine, which does little for it: " +
			"two hand-overs where a mutex would do; sync.Mutex ×1.7, which was itself fought for",
	},
}

// usedAsLock looks for operations on both sides in one function: a lock's waiters
// wait at one of them only, at the other nobody ever does. A stage of a pipeline
// waits at both.
func usedAsLock(f *facts) *Finding {
	s, r := f.dearest(sends), f.dearest(receives)
	if s == nil || r == nil || !f.hot() || !sameFunction(s, r) || f.weight(isOneOf(s, r)) < lockOnly {
		return nil
	}
	taking, giving := s, r // sem <- x to lock
	if waits(r) > waits(s) {
		taking, giving = r, s // <-token to lock
	}
	if waits(taking) == 0 || waits(giving)*10 > waits(taking) {
		return nil
	}
	found := &Finding{Channels: true, At: &taking.Place, Share: known(f.channelCores()), Confidence: Medium}
	found.Text = fmt.Sprintf("A channel is used as a lock: %s takes it, and the same function gives it back at line %d.",
		taking, giving.Line)
	f.lockEvidence(found)
	found.says(profile.KindGoroutine, fmt.Sprintf("goroutines wait at the %s only, never at the %s", taking.Op, giving.Op))
	section, told := 0.0, s.Function == r.Function
	if told { // else the work is in whoever calls both
		section = f.workIn(taking.site.At.Function)
	}
	found.Remedies = []Remedy{f.mutex("use a sync.Mutex, if the channel has one slot and no select is on it",
		guard{section: section, told: told, handOvers: 1})}
	found.Not = []Not{
		{Buffer, "slots are how many may be inside at once: more of them are another program."},
		{Batch, "no values move: there is nothing to collect."},
	}
	return found
}

func sameFunction(a, b *Operation) bool {
	if a.site.At.Function == b.site.At.Function {
		return true
	}
	// Lock and Unlock, methods of a type that wraps the channel, on behalf of one caller.
	return a.site.Caller.Function != "" && a.site.Caller.Function == b.site.Caller.Function &&
		a.site.At.Package() == b.site.At.Package()
}

// actor looks for a function that sends and then receives, and another one that
// receives and then sends: question and answer. All stages of a pipeline receive
// first.
func actor(f *facts) *Finding {
	if !f.hot() {
		return nil
	}
	asks, answer := f.inOneFunctionOrSelect(sends, receives)
	asked, answers := f.inOneFunctionOrSelect(receives, sends)
	if asks == nil || asked == nil || asks.Function == asked.Function ||
		f.weight(isOneOf(asks, answer, asked, answers)) < mostly || !f.confirms(asks, asked, answers, answer) {
		return nil
	}
	found := &Finding{Channels: true, At: &asks.Place, Share: known(f.channelCores()), Confidence: Medium}
	found.Text = fmt.Sprintf("One goroutine is asked over a channel and answers over another, twice the hand-over for each request: "+
		"%s, and the answer is waited for at line %d.", asks, answer.Line)
	found.says(profile.KindCPU, fmt.Sprintf("%s of CPU time is in channel operations, and %s in the scheduler after they parked; "+
		"what is done for the requests takes %s", percent(f.channel/f.cpu), percent(f.parked/f.cpu), percent(f.workIn(asked.Function)*f.window/f.cpu)))
	if len(f.pairs()) > 0 {
		found.Confidence = High
		found.says(profile.KindTrace, "each side was seen to wake the other")
	} else {
		found.decides(f, "whether these two wake each other")
	}
	found.Remedies = []Remedy{f.mutex("let who asks do it, under a sync.Mutex; or let a request ask for several things at once",
		guard{section: f.workIn(asked.Function), told: true, waiters: max(f.crowd(asks), f.crowd(answer)), handOvers: 2})}
	found.Not = []Not{
		{HandOff, "a question waits for its answer all the same: sluice.Rendezvous gave ×1.01 where both channels had 128 slots."},
		{Buffer, "who asks waits for the answer, however many questions fit into the channel."},
		{MoreReceivers, "one goroutine owns what is asked for."},
	}
	return found
}

// inOneFunction returns the dearest operation of the first kind, and one of the second
// kind that stands below it in the same function, nil if there are none.
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

// inOneFunctionOrSelect takes a select for one of the two as well: who asks, and who is
// asked, may look at a context too. Two selects are any stage of a pipeline.
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

// confirms reports whether a trace, if there is one, has the first of each pair of
// operations wake the second, or the second the first.
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

// workIn is how many cores a function takes with what it calls, less its operations on
// channels.
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

// A guard is what a mutex would guard.
type guard struct {
	section   float64 // cores that the work takes that it guards
	told      bool    // that is known
	waiters   int     // goroutines that would take it, 0 if not known
	handOvers float64 // that it replaces, each time
}

// mutex is the remedy of a mutex in place of hand-overs. How much it costs depends on
// how often it is found locked: that is as likely as the work that it guards is long
// beside all work of the program. A mutex that is always found locked lets one core
// work, and its waiters park. One that a single goroutine takes is never found locked,
// and all its work is done in one place.
func (f *facts) mutex(how string, g guard) Remedy {
	p, l := f.prices, f.load(coldWork)
	taken := 0.5
	if work := f.share(profile.UserCode) * f.cores; g.told && work > 0 {
		taken = min(1, g.section/work*max(1, f.avail))
	}
	basis := byLoad
	switch {
	case g.waiters == 1:
		taken = 0
		l.oneCore, l.gone = (1-loneWork)*l.own, loneWork*l.own
	case taken >= 0.5:
		l.oneCore = max(g.section, 1.0/mostGain)
		basis += "; the mutex will be fought for"
	}
	keep := after(g.handOvers*p.HandOver, p.Mutex+taken*p.Fought, p.Mutex+taken*p.Fought*foughtAtBest)
	return Remedy{Mutex, how, f.gain(l, keep), basis}
}

// loneWork is the part of the program's own work that may go where nobody parks any
// more and one goroutine does it all: of 60 ns beside two parks 16 were left.
const loneWork = 0.7

// foughtAtBest is the part of the price of a mutex that is fought for where its
// waiters are lucky: 50 to 70 ns of 250 were measured with up to 64 goroutines.
const foughtAtBest = 0.2
