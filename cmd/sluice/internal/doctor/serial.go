package doctor

import (
	"fmt"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// A slow stage of one goroutine that other processes keep from saturating a
// core, or whose senders wait for its response instead of its queue.

const (
	// fewSerial is the largest number of goroutines of a serial stage, and
	// serialPart the smallest part of all work that they do.
	fewSerial, serialPart = 2, 0.75
)

// serial returns a stage of one or two goroutines that does most of the work of
// the service while goroutines wait to send to it, or nil. It need not saturate
// a core: other processes may take a part of it.
func (f *facts) serial() *stage {
	all := 0.0
	for _, s := range f.stages {
		all += s.work + s.channel
	}
	for i := range f.stages {
		s := &f.stages[i]
		busy := s.work + s.channel
		if s.n == 0 || s.n > fewSerial || busy < serialPart*all || busy < loadCores || s.work < ownWork*busy || f.cores > float64(s.n)+idleCores || ofRuntime(s.root) {
			continue
		}
		o := f.before(s)
		if o == nil {
			o = f.asking(s)
		}
		if o == nil {
			continue
		}
		if n, _ := o.count(); n >= backedUp && deref(o.Waiting) > 0 {
			return s
		}
	}
	return nil
}

// asking returns the operation in which other goroutines wait for a response of
// a stage: a receive behind a send of the same function.
func (f *facts) asking(s *stage) (most *Operation) {
	there := 0
	for i := range f.operations {
		o := &f.operations[i]
		n, _ := o.count() // while one goroutine computes, those that it answered may all be runnable
		if !receives(o) && o.Op != profile.Select || o.root == s.root || o.root == "" || ofRuntime(o.root) || f.grows(o.site) || n < backedUp {
			continue
		}
		asks := slices.ContainsFunc(f.operations, func(x Operation) bool {
			return x.Function == o.Function && x.Line < o.Line && (x.Op == profile.Send || x.Op == profile.Select)
		}) || slices.ContainsFunc(f.pairs(), func(p profile.Pair) bool { // a send that never waits takes hardly any CPU time
			return p.Waker.At.Function == o.Function && p.Waker.At.Line < o.Line && p.Waker.Op.Sends() && p.Sleeper.At.Function == s.root
		})
		answers := slices.ContainsFunc(f.operations, func(x Operation) bool {
			return x.root == s.root && (x.Op == profile.Send || x.Op == profile.Select) || slices.Contains(x.roots, s.root)
		})
		if asks && answers && (most == nil || n > there) {
			most, there = o, n
		}
	}
	return most
}

// takes reports whether the goroutines of a stage are seen to receive, other than
// in passing, or no goroutine is: a stage that computes all the time is rarely
// seen at its channel, but its values take CPU time there.
func (f *facts) takes(s *stage) bool {
	only := false // it uses channels, but never waits for values
	for i := range f.operations {
		o := &f.operations[i]
		if f.startOf(o) != s.root && !slices.Contains(o.roots, s.root) {
			continue
		}
		if !polls(o) && (receives(o) || o.Op == profile.Select) {
			return true
		}
		only = only || polls(o) && o.Function != s.root
	}
	return !only
}

// alleges withdraws the remedy of a slow stage that is not seen to receive.
func (f *Finding) alleges(s *stage, from *Operation) {
	root := profile.Frame{Function: s.root}
	f.Confidence = Low
	f.Text = fmt.Sprintf("Slow stage: the goroutines of %s compute all the time, while others wait in the %s, maybe for them.", root, from)
	f.RuledOut = []RuledOut{
		{MoreReceivers, fmt.Sprintf("%s is not seen to receive from any channel: what it does may not be divisible.", root)},
		{Buffer, "a longer queue drains no faster."},
	}
}
