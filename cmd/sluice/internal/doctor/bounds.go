package doctor

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// The work of the service itself bounds how far throughput can rise:
//
//   - all of its work, by the available cores;
//   - the work of one stage's goroutines, by one core for each of them;
//   - and, if idle cores remain idle, all of its work by the cores in use.
//
// The first two are the upper bound of a prediction, the third is its lower
// bound. (These are the asymptotic bounds of operational analysis: Denning and
// Buzen, 1978.)

// Uncertainties, as factors.
const (
	// uncertain is the error of a gain from a few seconds of profiles on a
	// shared machine: the same service varied by up to a fifth from run to run.
	uncertain = 0.20
	// ownCost is the cost of the remedy itself: slices are allocated, and
	// values are read again after they have left the cache.
	ownCost = 0.10
	// farthest is the largest factor between the middle and a bound: none of 20
	// measured gains was more than 1.8 away.
	farthest = 2.0
	// wokenIdle is the smallest part of the idle cores that find work once
	// goroutines no longer wait for each other: pipelines and pools left up to
	// two thirds of them idle.
	wokenIdle = 0.33
	// callWorst and callBest are the cost of calls instead of transfers, as parts
	// of theirs: a call and its loop take 2 to 6 ns where a transfer takes 145.
	// Without them, noise in the rest of the work decides the gain of a service
	// that does almost nothing else.
	callWorst, callBest = 0.04, 0.015
	// coldWork and hotWork are the parts of the program's own work that may
	// disappear with the channel's: code next to an operation waits for memory
	// that another core wrote. In a contended channel with little work behind
	// it, that was half of it.
	coldWork = 0.15
	hotWork  = 0.50
	// littleOf is the part of the work in channels up to which idle cores decide
	// the gain, so that those of other processes count at its lower end.
	littleOf = 0.35
	// coldMost bounds that part relative to all work of the service.
	coldMost = 0.05
)

// A stage is the set of goroutines that started with the same function.
type stage struct {
	root          string
	n             int     // number of goroutines, 0 if unknown
	work, channel float64 // cores
}

// alone returns the number of cores that the stage can use at most.
func (s *stage) alone(avail float64) float64 {
	if s.n == 0 {
		return avail
	}
	return min(avail, float64(s.n))
}

// readStages counts goroutines by their start function.
func (f *facts) readStages() {
	cpu := f.capture.CPU
	if cpu == nil || f.window == 0 {
		return
	}
	count := make(map[string]int)
	if g := f.capture.Goroutines; g != nil {
		for _, s := range g.Sites {
			if g.InKnown { // then the text is another snapshot
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

// A stay is the part of the channels' cost that remains after a remedy, at
// worst and at best.
type stay struct{ worst, best float64 }

// after returns the part that remains when price is replaced by worst or best.
func after(price, worst, best float64) stay {
	return stay{1 - removable(price, worst), 1 - removable(price, best)}
}

// A load is the work of the service, in cores.
type load struct {
	own      float64 // the program's own work
	gone     float64 // part of own that may disappear as well, at best
	channels float64 // channel operations
	oneCore  float64 // part of own that one lock serializes afterwards; 0 if none
	sched    float64 // part of own that is the scheduler's and may be the channels' after all
}

// load returns the load of the whole service. cold is the part of its own work
// that may disappear with the channels'.
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
	// Scheduler time that was not attributed to channels may be theirs after
	// all.
	l.sched = min(l.own, max(0, f.switching()-f.channelCPU())*f.cpu/f.window)
	l.gone = max(min(cold*l.own, max(coldMost*(l.own+l.channels), coldWork*l.own)), l.sched)
	l.gone = min(l.gone, hotWork*l.own)
	return l
}

// serial reports whether one lock serializes the load: idle cores stay idle,
// and one core is the limit.
func (l load) serial() bool { return l.oneCore > 0 }

// collectedForChannels returns the cores that the garbage collector uses for
// allocations of channel operations, such as the cases of reflect.Select.
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

// fusedGain returns the throughput if goroutines do all the work without
// transfers: one goroutine, or one per core.
func (l load) fusedGain(avail float64) Range {
	one := 1 / max(l.own+callWorst*l.channels, 1.0/mostGain)
	high := min(max(1, avail)/max(l.own-l.gone+callBest*l.channels, 1.0/mostGain)*(1+uncertain), l.most(max(1, avail), avail > 0))
	return between(one*(1-uncertain)*(1-ownCost), min(one, high), high)
}

// gain returns the throughput when keep of the channels' cost remains. without
// names stages that no longer limit it.
func (f *facts) gain(l load, keep stay, without ...string) Range {
	engaged := l.own + l.channels
	avail := max(f.avail, engaged)
	usable := engaged + wokenIdle*(avail-engaged)
	if f.avail == 0 || l.serial() { // then the number of idle cores is unknown, or does not matter
		usable = engaged
	}
	if f.avail == 0 {
		avail = max(f.room(), engaged)
	}
	if f.window == 0 { // the load has no unit
		usable, avail = engaged, engaged
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
	high := min(ceiling*(1+uncertain+f.ownError()), mid*farthest, l.most(avail, f.avail > 0 && f.window > 0))
	low := floor
	if f.avail > 0 && f.window > 0 && usable > engaged && l.channels < littleOf*engaged { // cores that others have are not idle
		low *= (engaged + wokenIdle*(max(f.reachable(), engaged)-engaged)) / usable
	}
	return between(max(low*(1-uncertain)*(1-ownCost), mid/farthest), min(mid, high), high)
}

// sampled is the error of the share of channels in a CPU profile with hundreds of
// samples.
const sampled = 0.05

// most returns the largest gain that a change of channels can have: all of their
// cost is gone, and all cores work. Where they are less than half of the work and
// all cores are known to be busy (counted), that holds within the error of the
// profile. Otherwise work that waits for memory of other cores, or finds an idle
// core, has its part.
func (l load) most(avail float64, counted bool) float64 {
	engaged, rest := l.own+l.channels, max(l.own-l.sched, (l.own+l.channels)/mostGain)
	tolerance := uncertain
	if counted && rest > engaged/2 && avail <= engaged*(1+sampled) {
		tolerance = sampled
	}
	return max(1, max(avail, engaged)/rest*(1+tolerance))
}

// boundSaid is the share of CPU time in channels up to which the answer begins
// with the bound that it sets.
const boundSaid = 0.50

// costs are the findings whose remedies save CPU time of channel operations and
// of the scheduler after them, and nothing else.
var costs = []Kind{LockContention, SharedDone, UsedAsLock, RequestResponse, TransferCost, TinyJobs, Lockstep, LargeSelect, Pump, Hop, Generator, OneToMany, Forwarders}

// bound states what a remedy of such a finding can gain at most, if channels take
// little CPU time; otherwise it returns "".
func (f *facts) bound(found *Finding) string {
	if !f.busy || !slices.Contains(costs, found.Kind) {
		return ""
	}
	l := f.load(0)
	engaged := l.own + l.channels
	share := (l.channels + l.sched) / max(engaged, 1e-9)
	if share <= 0 || share > boundSaid {
		return ""
	}
	// Elsewhere the share of channels is without what may be theirs.
	least, most := format.Percent(f.channelCPU()), format.Percent(share)
	if maybe := f.maybeTheirs(l); least != most && maybe != "" {
		most = fmt.Sprintf("%s of CPU time, or %s with %s that may be theirs", least, most, maybe)
	} else {
		most += " of CPU time"
	}
	unused := f.unused(engaged)
	if f.inBursts() && found.has(Buffer) {
		unused = nil
	}
	if len(unused) == 0 {
		return fmt.Sprintf("Channels take %s, so no change to them can save more than that (×%s). ", most, strconv.FormatFloat(1/(1-share), 'f', 2, 64))
	}
	gain := l.most(f.avail, true)
	for _, r := range found.Remedies {
		gain = max(gain, r.Gain.High)
	}
	if len(unused) == 2 {
		most, unused = most+", "+unused[0], unused[1:]
	}
	return fmt.Sprintf("Channels take %s, and %s, so a change to them can gain at most ×%s. ", most, unused[0], factor(gain))
}

// unused lists the cores that do not work for the service now, which a gain above the
// channels' share of CPU time fills.
func (f *facts) unused(engaged float64) (cores []string) {
	if f.avail == 0 || f.window == 0 {
		return nil
	}
	// Cores that other processes have do not wait for this service.
	reach := max(f.reachable(), engaged)
	if reach >= engaged*(1+idleCores) {
		cores = append(cores, fmt.Sprintf("%s cores idle while goroutines wait for each other", format.Number(reach-engaged)))
	}
	if f.avail >= reach*(1+idleCores) {
		cores = append(cores, fmt.Sprintf("other processes have %s cores now", format.Number(f.avail-reach)))
	}
	return cores
}

// onCoresInUse returns f with no other cores than those in use, where cores idle for another
// reason than channels.
func (f *facts) onCoresInUse() *facts {
	of, l := *f, f.load(0)
	of.avail = l.own + l.channels
	return &of
}

// maybeTheirs names what a load attributes to channels beyond their share of CPU
// time.
func (f *facts) maybeTheirs(l load) string {
	var parts []string
	if l.sched > 0 {
		parts = append(parts, "scheduler time")
	}
	if value(f.asleep) > 0 {
		parts = append(parts, "threads blocked on their locks")
	}
	if f.collectedForChannels() > 0 {
		parts = append(parts, "garbage collection")
	}
	return format.And(parts)
}

// narrowest returns the speed-up of the stage with the least room, where the
// given parts of its work and of its channels' cost remain.
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

// smallStage is the number of cores below which the measurement of a stage is
// too noisy to limit a prediction.
const smallStage = 0.02

const (
	// saturated is how busy each goroutine of a limiting stage is; the rest is
	// scheduling and noise.
	saturated = 0.75
	// ownWork is the smallest part of that time in work other than channels and
	// their timers.
	ownWork = 0.70
)

// assumedCores is the number of cores that a service has at least if GOMAXPROCS
// is unknown: machines with one are rare.
const assumedCores = 2

// room returns the number of cores that the service can use, a lower bound if
// GOMAXPROCS is unknown.
func (f *facts) room() float64 {
	switch {
	case f.avail > 0:
		return f.avail
	case f.isStarved(), f.light, f.window == 0:
		return f.cores
	}
	return max(assumedCores, math.Ceil(f.cores))
}

// roomText names the number of cores that the service can use.
func (f *facts) roomText() string {
	if f.avail == 0 {
		return "probably " + format.Number(f.room()) + " or more"
	}
	return format.Number(f.avail)
}

// limiting returns the stage whose goroutines all compute all the time although
// there are cores for more of them, or nil.
func (f *facts) limiting() *stage {
	for i := range f.stages {
		s := &f.stages[i]
		busy := s.work + s.channel
		if s.n > 0 && float64(s.n) < f.room() && busy >= saturated*float64(s.n) && s.work-f.timersIn(s.root) >= ownWork*busy && !ofRuntime(s.root) {
			return s
		}
	}
	return nil
}

// ofRuntime reports whether a goroutine with this start function exists in
// every service.
func ofRuntime(root string) bool {
	for _, pkg := range []string{"runtime", "os/signal", "net/http/pprof", "runtime/pprof"} {
		if strings.HasPrefix(root, pkg+".") {
			return true
		}
	}
	return false
}

// sameRepository reports whether two functions belong to one repository,
// judging by their paths: a host name followed by two more elements.
func sameRepository(a, b string) bool {
	repository := func(function string) string {
		elements := strings.SplitN(profile.Frame{Function: function}.Package(), "/", 4)
		if len(elements) > 3 && strings.Contains(elements[0], ".") {
			return strings.Join(elements[:3], "/")
		}
		return elements[0]
	}
	return repository(a) == repository(b)
}
