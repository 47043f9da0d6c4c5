package doctor

import (
	"fmt"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

const (
	// slicesPart is the smallest part of all allocation in the slices of one
	// sender.
	slicesPart = 0.5
	// reuseWorst and reuseBest are the parts of the cost of allocation and
	// collection that remain when slices are reused: slices of 12 kB through a
	// channel of used ones gave ×6.6 where 0.87 of the CPU time was allocation
	// and collection.
	reuseWorst, reuseBest = 0.35, 0.02
)

// reuseSlices adds the remedy for batches whose allocation is the cost: most of
// the allocation is of slices, in goroutines that send.
func (f *facts) reuseSlices(found *Finding) {
	all := f.capture.CPU.By[profile.Allocating].Seconds()
	for _, s := range f.capture.CPU.Slices {
		spent := 0.0
		for _, other := range f.capture.CPU.Slices {
			if other.Root == s.Root && other.At.Package() == s.At.Package() {
				spent += other.Time.Seconds()
			}
		}
		if s.Root == "" || spent < slicesPart*all || spent == 0 || !f.sendsFrom(s) {
			continue
		}
		part := min(1, spent/max(all, spent))
		found.addEvidence(profile.KindCPU, fmt.Sprintf("%s of the allocation is of slices in goroutines that send, most of it at %s", format.Percent(part), s.At))
		now := f.load(0)
		engaged := now.own + now.channels
		l := load{channels: min(engaged, part*f.share(profile.Collecting, profile.Allocating)*f.loadUnit())}
		l.own = engaged - l.channels
		found.Remedies = append(found.Remedies, Remedy{ReuseSlices, fmt.Sprintf("let the receiver give the slices that are allocated at %s back, through a channel of used ones or a sync.Pool", s.At),
			f.gain(l, stay{reuseWorst, reuseBest}, s.Root), byLoad})
		return
	}
}

// sendsFrom reports whether the goroutines that allocate slices send, in the
// package that allocates: a database that they call keeps its slices to itself.
func (f *facts) sendsFrom(made profile.CPUSlices) bool {
	return slices.ContainsFunc(f.operations, func(o Operation) bool {
		return (sends(&o) || o.Op == profile.Select) && (slices.Contains(o.roots, made.Root) || o.Function == made.Root) &&
			o.site.At.Package() == made.At.Package()
	})
}
