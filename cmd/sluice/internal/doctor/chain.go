package doctor

import "math"

// A chain of stages that runs on one core has nothing to lose if one goroutine
// does the work of all of them: the stages take turns. Each value pays for every
// transfer, and a batch or a buffer would be needed at each of them.

const (
	// chainStages is the number of stages from which on each value pays for many
	// transfers: eight stages of a relay took ×36 longer than calls.
	chainStages = 5
	// chainCores is the number of cores up to which stages take turns.
	chainCores = 1.1
)

// chain reports whether many stages of one goroutine each take turns on a core,
// and spend more on channels than on their work.
func (f *facts) chain() bool {
	stages := 0
	for _, s := range f.stages {
		if ofRuntime(s.root) || s.channel < smallStage {
			continue
		}
		if s.n != 1 || f.waitsOutside(s.root) != nil {
			return false
		}
		stages++
	}
	return stages >= chainStages && f.cores <= chainCores && f.channelCPU() > mostly
}

// first returns a gain that is above those of other remedies: a call costs less
// than a part of each transfer.
func first(r Range, others []Remedy) Range {
	for _, o := range others {
		r = between(max(r.Low, o.Gain.Low), max(r.Mid, math.Nextafter(o.Gain.Mid, mostGain)), max(r.High, o.Gain.High))
	}
	return r
}
