package doctor

import (
	"math"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// How far throughput can rise is bounded, by what the service itself has to do:
//
//   - all of its work together by the cores there are;
//   - the work of the goroutines of one stage by one core for each of them;
//   - and if cores that idle go on to idle, by those in use.
//
// The first two are the ceiling of a prediction, the third is its floor. (These
// are the asymptotic bounds of operational analysis: Denning and Buzen, 1978.)

// What is not known, in parts.
const (
	// uncertain is what profiles of some seconds and a neighbour on the cores make
	// of a gain: the same service gave up to a fifth more or less from run to run.
	uncertain = 0.20
	// ownCost is what a remedy costs itself: slices are made, and values are read
	// again when they have left the cache.
	ownCost = 0.10
	// farthest from the middle between its bounds, as a factor: of 20 gains that were
	// measured none lay more than 1.8 from it.
	farthest = 2.0
	// roused is the part of the idle cores that find work at least when nobody has to
	// wait in turn any more: pipelines and pools left none to two thirds of them idle.
	roused = 0.33
	// coldWork is the part of the program's own work that may go with the channel's:
	// lines beside an operation wait for the memory that another core wrote. In a
	// hot channel with little behind it, half of them did.
	coldWork = 0.15
	hotWork  = 0.50
	// coldMost bounds that, of all that the service does: a value is waited for once.
	coldMost = 0.05
)

// A stage is goroutines that began with the same function.
type stage struct {
	root          string
	n             int     // goroutines, 0 if not known
	work, channel float64 // cores
}

// alone is how many cores the stage can use at most.
func (s *stage) alone(avail float64) float64 {
	if s.n == 0 {
		return avail
	}
	return min(avail, float64(s.n))
}

// readStages counts goroutines by the function that they began with.
func (f *facts) readStages() {
	cpu := f.capture.CPU
	if cpu == nil || f.window == 0 {
		return
	}
	count := make(map[string]int)
	if g := f.capture.Goroutines; g != nil {
		for _, s := range g.Sites {
			if g.InKnown { // then the text is of another instant
				count[s.Root] += s.In
			} else {
				count[s.Root] += s.Waiting + s.Runnable
			}
		}
	}
	for _, s := range cpu.Stages {
		f.stages = append(f.stages, stage{
			root: s.Root, n: count[s.Root],
			work: s.Work.Seconds() / f.window, channel: s.Channel.Seconds() / f.window,
		})
	}
}

// A stay is how much of the channels' cost stays when a remedy is applied, as a part
// of it: at worst and at best.
type stay struct{ worst, best float64 }

// after is the part that stays of a price of which there is now another one, at
// worst and at best.
func after(price, worst, best float64) stay {
	return stay{1 - removable(price, worst), 1 - removable(price, best)}
}

// A load is what the service does, in cores.
type load struct {
	own      float64 // its work
	gone     float64 // of it, what may go as well, at best
	channels float64 // what its channels take
	oneCore  float64 // of own, what is done under one lock afterwards; 0 if nothing is
}

// load is that of the whole service. cold is the part of its own work that may go.
func (f *facts) load(cold float64) load {
	if f.window == 0 {
		return load{own: 1 - f.channelCPU(), gone: cold * (1 - f.channelCPU()), channels: f.channelCPU()}
	}
	l := load{channels: (f.channel + f.parked) / f.window}
	l.own = max(0, f.cpu/f.window-l.channels)
	l.channels += value(f.asleep)
	if made := f.collectedForChannels(); made > 0 {
		l.own, l.channels = l.own-made, l.channels+made
	}
	// The scheduler's work that was held back from channels may be theirs all the same.
	l.gone = max(min(cold*l.own, max(coldMost*(l.own+l.channels), coldWork*l.own)), (f.switching()-f.channelCPU())*f.cpu/f.window)
	l.gone = min(l.gone, hotWork*l.own)
	return l
}

// serial is a load of which nothing more runs at once: what it does not use stays
// idle, and one core is the limit.
func (l load) serial() bool { return l.oneCore > 0 }

// collectedForChannels is what the collector takes, in cores, for what operations on
// channels allocate, as reflect.Select does for all its cases each time.
func (f *facts) collectedForChannels() float64 {
	made := 0.0
	for _, s := range f.capture.CPU.Sites {
		if s.Op.Channel() {
			made += s.New.Seconds()
		}
	}
	all := made + f.capture.CPU.By[profile.Allocating].Seconds()
	if all == 0 {
		return 0
	}
	return f.capture.CPU.By[profile.Collecting].Seconds() / f.window * made / all
}

// fused is what throughput becomes when goroutines do it all without handing over:
// one of them, or one for each core there is.
func (l load) fused(avail float64) Range {
	one := 1 / max(l.own, 1.0/mostGain)
	return between(one*(1-uncertain)*(1-ownCost), one, max(1, avail)/max(l.own-l.gone, 1.0/mostGain)*(1+uncertain))
}

// gain is the range of what throughput becomes when that much of the channels' cost
// stays. without names stages that no longer bound it.
func (f *facts) gain(l load, keep stay, without ...string) Range {
	engaged := l.own + l.channels
	avail := max(f.avail, engaged)
	if f.avail == 0 || f.window == 0 { // then cores that idle are not known of
		avail = engaged
	}
	usable := engaged + roused*(avail-engaged)
	if l.serial() {
		usable = engaged
	}
	floor := usable / max(l.own+keep.worst*l.channels, engaged/mostGain)
	best := l.own - l.gone
	ceiling := avail / max(best+keep.best*l.channels, engaged/mostGain)
	if l.own > 0 {
		ceiling = min(ceiling, f.narrowest(avail, best/l.own, keep.best, without))
	}
	if l.serial() {
		ceiling = min(ceiling, 1/(l.oneCore+keep.best*l.channels))
	}
	ceiling = max(ceiling, 1)
	floor = min(floor, ceiling)
	mid := math.Sqrt(floor * ceiling)
	return between(max(floor*(1-uncertain)*(1-ownCost), mid/farthest), mid, min(ceiling*(1+uncertain), mid*farthest))
}

// narrowest is by what the stage can speed up that has least room, where that much of
// its work and of its channels' cost stays.
func (f *facts) narrowest(avail, work, channel float64, without []string) float64 {
	least := math.Inf(1)
	for i := range f.stages {
		s := &f.stages[i]
		if slices.Contains(without, s.root) || s.work+s.channel < smallStage || s.n == 0 {
			continue
		}
		least = min(least, s.alone(avail)/max(work*s.work+channel*s.channel, 1.0/mostGain))
	}
	return least
}

// smallStage is the cores below which a stage is known too badly to bound anything.
const smallStage = 0.02

const (
	// saturated is how busy each goroutine of a stage is that holds the others back:
	// with more than that in use the rest is the scheduler's, and chance.
	saturated = 0.75
	// ownWork is the least part of that which is work, and neither passing on values nor
	// making timers for that.
	ownWork = 0.70
)

// limiting is the stage whose goroutines all compute all the time while there are
// cores for more of them, nil if there is none.
func (f *facts) limiting() *stage {
	for i := range f.stages {
		s := &f.stages[i]
		busy := s.work + s.channel
		if s.n > 0 && float64(s.n) < f.avail && busy >= saturated*float64(s.n) && s.work-f.timersIn(s.root) >= ownWork*busy && !ofRuntime(s.root) {
			return s
		}
	}
	return nil
}

// ofRuntime reports whether a function is of goroutines that every service has.
func ofRuntime(root string) bool {
	for _, pkg := range []string{"runtime", "os/signal", "net/http/pprof", "runtime/pprof"} {
		if strings.HasPrefix(root, pkg+".") {
			return true
		}
	}
	return false
}

// neighbours reports whether two functions are of one repository, as far as paths
// tell: a host's name is followed by two more elements.
func neighbours(a, b string) bool {
	repository := func(function string) string {
		elements := strings.SplitN(profile.Frame{Function: function}.Package(), "/", 4)
		if len(elements) > 3 && strings.Contains(elements[0], ".") {
			return strings.Join(elements[:3], "/")
		}
		return elements[0]
	}
	return repository(a) == repository(b)
}
