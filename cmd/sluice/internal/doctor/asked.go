package doctor

import (
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// A goroutine that sends a value and then waits for the answer has nothing to
// collect: the second value does not exist before the first one is answered. The
// same holds for a goroutine that was started for one value. Slots do not help
// either.

// oneByOne reports whether the values that an operation receives, of all
// channels that cost something, come from goroutines that each pass one and wait
// for its answer, or end. Only a trace shows who is answered.
func (f *facts) oneByOne(in *Operation) bool { return f.each(in, false) }

// each does the same; lenient as in answered.
func (f *facts) each(in *Operation, lenient bool) bool {
	if len(f.pairs()) == 0 || len(in.roots) == 0 || !receives(in) && in.Op != profile.Select {
		return false
	}
	asks, others := 0.0, 0.0
	for _, p := range f.pairs() {
		if p.Sleeper != in.site || !p.Waker.Op.Channel() {
			continue
		}
		from := f.lineAt(p.Waker)
		if f.endsAfter(from, p.Count) || f.answered(from, in, lenient) {
			asks += float64(p.Count)
		} else {
			others += float64(p.Count)
		}
	}
	return asks > 0 && others <= otherAsks*asks
}

// answersElsewhere returns the receive of the only goroutine that a request wakes, and
// the operation with which the same goroutine answers in another function: it runs
// what it receives, such as a function that closes a channel at its end. Only wake-ups
// show that.
func (f *facts) answersElsewhere(request, response *Operation) (handler, reply *Operation) {
	wakes := func(from, to profile.Frame) bool {
		return slices.ContainsFunc(f.pairs(), func(p profile.Pair) bool { return p.Waker.At == from && p.Sleeper.At == to })
	}
	for i := range f.operations {
		in := &f.operations[i]
		if n, counted := f.users(in); !receives(in) || !counted || n != 1 || in.Function == request.Function || !wakes(request.site.At, in.site.At) {
			continue
		}
		for j := range f.operations {
			out := &f.operations[j]
			if (sends(out) || out.Op == profile.Close) && out.Weight >= otherHalf && f.sameStart(in, out) && wakes(out.site.At, response.site.At) {
				return in, out
			}
		}
	}
	return nil, nil
}

// answersOnly reports whether the channels' cost is in questions and answers, and
// too small a part of the service's work for another way of asking to pay: a
// server of HTTP/2 with 0.2 of its CPU time in channels was as fast without most
// of them.
func (f *facts) answersOnly() bool {
	if f.channelCPU() >= passingShare {
		return false
	}
	for i := range f.operations {
		if in := &f.operations[i]; in.Weight >= received && f.each(in, true) && in.Weight+f.weight(func(o *Operation) bool { return f.passesTo(o, in) }) >= besideLock {
			return true
		}
	}
	return false
}

// passesTo reports whether an operation was seen to wake another one.
func (f *facts) passesTo(o, in *Operation) bool {
	return o != in && slices.ContainsFunc(f.pairs(), func(p profile.Pair) bool { return p.Waker == o.site && p.Sleeper == in.site })
}

// otherAsks is the part of values without an answer that may be noise.
const otherAsks = 0.05

// endsAfter reports whether a send is in the function that its goroutines were
// started with, and the trace saw about one of them for each value: many more of
// them than there are at one moment.
func (f *facts) endsAfter(o *Operation, sent int64) bool {
	if o.Op != profile.Send {
		return false
	}
	for _, s := range f.wakeTrace().Stages {
		if s.Root == o.site.At.Function {
			n, _ := f.users(o)
			return int64(s.Count)*2 >= sent && s.Count > 2*n
		}
	}
	return false
}

// answered reports whether the goroutines of a send or a select wait elsewhere,
// for those that receive from them, about once for each value. If lenient, a line
// that no sample is at may belong to them.
func (f *facts) answered(from, in *Operation, lenient bool) bool {
	asked, answers := int64(0), int64(0)
	for _, p := range f.pairs() {
		switch waker := f.lineAt(p.Waker); {
		case p.Waker == from.site && p.Sleeper == in.site:
			asked += p.Count
		case p.Sleeper == from.site || p.Waker == from.site:
		case (f.sameStart(waker, in) || lenient && len(waker.roots) == 0) && f.sameStart(f.lineAt(p.Sleeper), from):
			answers += p.Count
		}
	}
	return asked > 0 && answers*2 >= asked
}

// sameStart reports whether goroutines with the same start function run both
// operations.
func (f *facts) sameStart(a, b *Operation) bool {
	start := func(o *Operation) []string {
		if root := f.startOf(o); len(o.roots) == 0 && root != "" {
			return []string{root}
		}
		return o.roots
	}
	return slices.ContainsFunc(start(a), func(root string) bool { return slices.Contains(start(b), root) })
}

// lineAt returns the operation at a site, or else one at the same line that
// another function called.
func (f *facts) lineAt(s profile.Site) *Operation {
	o := f.operationAt(s)
	if len(o.roots) > 0 {
		return o
	}
	for i := range f.operations {
		if x := &f.operations[i]; x.site.At == s.At && len(x.roots) > 0 {
			return x
		}
	}
	return o
}
