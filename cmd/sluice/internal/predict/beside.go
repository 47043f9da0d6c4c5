package predict

import (
	"cmp"
	"slices"
)

// A Neighbour is a published curve that is shown beside the measured one.
type Neighbour struct {
	Curve
	SameLock bool `json:"same_lock"` // its Go has the same lock in its channels
	SameArch bool `json:"same_arch"`
}

// mostBeside is how many published curves are shown.
const mostBeside = 6

// Beside chooses the published curves that say most about a channel of this Go
// version on this architecture. Those with the same lock come first: channels,
// then the lock alone, the same architecture before others. As few were
// published since that lock is there, older channels follow, those on most CPUs
// first: they show what many CPUs did before. One curve for each machine of a source.
func Beside(curves []Curve, goVersion, arch string) []Neighbour {
	var same, older []Neighbour
	for _, c := range curves {
		lock := generation(c.Version)
		n := Neighbour{c, lock == generation(goVersion), architecture(c.Machine) == arch}
		switch {
		case c.Kind != Shared || lock == notGo || len(c.Points) < 2:
		case n.SameLock && (c.Design == ChannelDesign || c.Design == ShortLock || c.Design == SleepingLock):
			same = append(same, n)
		case c.Design == ChannelDesign:
			older = append(older, n)
		}
	}
	most := func(a, b Neighbour) int {
		return cmp.Or(b.Points[len(b.Points)-1].Procs-a.Points[len(a.Points)-1].Procs, len(b.Points)-len(a.Points))
	}
	last := func(yes bool) int {
		if yes {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(same, func(a, b Neighbour) int {
		return cmp.Or(last(a.Design == ChannelDesign)-last(b.Design == ChannelDesign), last(a.SameArch)-last(b.SameArch), most(a, b))
	})
	slices.SortStableFunc(older, most)
	same, older = oneOfEach(same), oneOfEach(older)
	// Room for the older ones: half, or what is left.
	keep := min(len(same), max(mostBeside/2, mostBeside-len(older)))
	return slices.Concat(same[:keep], older[:min(len(older), mostBeside-keep)])
}

// oneOfEach keeps the first curve of each machine of a source.
func oneOfEach(all []Neighbour) []Neighbour {
	var kept []Neighbour
	for _, n := range all {
		if !slices.ContainsFunc(kept, func(k Neighbour) bool { return k.Source == n.Source && k.Machine == n.Machine }) {
			kept = append(kept, n)
		}
	}
	return kept
}
