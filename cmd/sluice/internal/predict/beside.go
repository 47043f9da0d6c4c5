package predict

import (
	"cmp"
	"slices"
)

// A Neighbor is a published curve that is shown beside the measured one.
type Neighbor struct {
	Curve
	SameLock bool `json:"same_lock"` // its Go version has the same lock in channels
	SameArch bool `json:"same_arch"`
}

// mostBeside is the number of published curves shown.
const mostBeside = 6

// Beside selects the published curves closest to a channel of this Go version
// on this architecture. Curves with the same lock come first: channels, then
// the lock alone, the same architecture before others. Few curves have the
// current lock, so older channels follow, by number of CPUs: they show the
// effect of many CPUs at that time. Each machine of a source has one curve.
func Beside(curves []Curve, goVersion, arch string) []Neighbor {
	var same, older []Neighbor
	for _, c := range curves {
		lock := generation(c.Version)
		n := Neighbor{c, lock == generation(goVersion), architecture(c.Machine) == arch}
		switch {
		case c.Kind != Shared || lock == notGo || len(c.Points) < 2:
		case n.SameLock && (c.Design == ChannelDesign || c.Design == ShortLock || c.Design == SleepingLock):
			same = append(same, n)
		case c.Design == ChannelDesign:
			older = append(older, n)
		}
	}
	most := func(a, b Neighbor) int {
		return cmp.Or(b.Points[len(b.Points)-1].Procs-a.Points[len(a.Points)-1].Procs, len(b.Points)-len(a.Points))
	}
	last := func(yes bool) int {
		if yes {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(same, func(a, b Neighbor) int {
		return cmp.Or(last(a.Design == ChannelDesign)-last(b.Design == ChannelDesign), last(a.SameArch)-last(b.SameArch), most(a, b))
	})
	slices.SortStableFunc(older, most)
	same, older = oneOfEach(same), oneOfEach(older)
	// The older curves have half of the room, or the rest.
	keep := min(len(same), max(mostBeside/2, mostBeside-len(older)))
	return slices.Concat(same[:keep], older[:min(len(older), mostBeside-keep)])
}

// oneOfEach keeps the first curve of each machine of a source.
func oneOfEach(all []Neighbor) []Neighbor {
	var kept []Neighbor
	for _, n := range all {
		if !slices.ContainsFunc(kept, func(k Neighbor) bool { return k.Source == n.Source && k.Machine == n.Machine }) {
			kept = append(kept, n)
		}
	}
	return kept
}
