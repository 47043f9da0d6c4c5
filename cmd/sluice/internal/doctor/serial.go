package doctor

import (
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
// a stage: a receive behind a send of the same function, most of them waiting.
func (f *facts) asking(s *stage) (most *Operation) {
	for i := range f.operations {
		o := &f.operations[i]
		if !receives(o) && o.Op != profile.Select || o.root == s.root || o.root == "" || ofRuntime(o.root) || f.grows(o.site) || deref(o.Waiting) < backedUp {
			continue
		}
		asks := slices.ContainsFunc(f.operations, func(x Operation) bool {
			return x.Function == o.Function && x.Line < o.Line && (x.Op == profile.Send || x.Op == profile.Select)
		})
		answers := slices.ContainsFunc(f.operations, func(x Operation) bool {
			return x.root == s.root && (x.Op == profile.Send || x.Op == profile.Select) || slices.Contains(x.roots, s.root)
		})
		if asks && answers && (most == nil || *o.Waiting > *most.Waiting) {
			most = o
		}
	}
	return most
}
