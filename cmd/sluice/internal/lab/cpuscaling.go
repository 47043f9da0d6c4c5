package lab

import (
	"slices"
	"strconv"

	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/workload"
	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
)

// cpuScalingStudy is the study of one channel that slows down as CPUs are
// added, with every remedy that its author tried.
var cpuScalingStudy = register(Experiment{
	Study: Study{
		Name:  CPUScaling,
		Title: "Why does a channel slow down with more CPUs?",
		Prediction: "All operations on a channel take one lock, and its cache lines go from CPU to CPU: throughput is best on " +
			"one CPU and falls with each further producer. Only what takes the lock less often, slices, or has more locks, " +
			"several channels, brings it back. A timeout and pinned threads leave the lock as it is, and cost extra.",
		Source: Source{
			Author:  "G. Stephens",
			Title:   "Go Channel Slowdown with more CPU",
			Year:    2024,
			Machine: "128-core log aggregators with 1 TB of memory",
			Go:      "not stated",
		},
		Notes: []string{
			"The headline of the study: throughput is divided by three from 1 to 128 CPUs, and above about 60 one channel carries " +
				"about a million messages a second.",
			"P is GOMAXPROCS: “P to 1” means as many producers as that, and one consumer. “Matched” is as many consumers as producers.",
			"The study sends single bytes; here all values are of 8 bytes, as in the other experiments.",
			"A GOMAXPROCS above the number of CPUs tests robustness. No finding on scaling uses it, and no law is fitted to it.",
			"The remedies are written from their description. Several channels have a consumer each; “by clock” picks one for " +
				"each value by the nanoseconds of the clock modulo their number, as published. “As needed” begins with one, and takes " +
				"one more whenever a send finds its channel full: the study does not say by which rule it scales. “Slices” is a " +
				"buffer under a mutex for each channel, which sends a slice of " + strconv.Itoa(workload.BatchSize) + " when full; the channel has a " +
				"slot for each " + strconv.Itoa(workload.BatchSize) + " values of the capacity. A send with a timeout gives up after " +
				contender.SendTimeout.String() + " and goes on with the next channel. Throughput is what counts there, not order.",
			"sluice.Elastic has no limit here, and sluice.Sharded has the capacity as the limit of each lane.",
			"Lock waits are from the runtime's /sync/mutex/wait/total:seconds, as the study hints: the time in which somebody waited " +
				"for a sync.Mutex or for the lock of a built-in channel, sampled. A goroutine that waits because a channel is full or empty " +
				"is not counted, and neither is a wait for the locks of sluice's kinds, which are their own. results.json has them of every point.",
			"On a production host: CGO_ENABLED=0 go build -o sluice ./cmd/sluice makes one static file. Copy it there and run " +
				"./sluice lab cpu-scaling.",
		},
		PublishedIn: Throughput,
	},
	Sections:  cpuSections,
	Published: cpuPublished(),
	Conclude:  cpuConclusion,
})

// studySlots is the capacity of the study's channel.
const studySlots = 4096

// A shape is who sends to whom.
type shape struct {
	id                 ContenderID
	name               string
	senders, receivers func(procs int) int
}

func one(int) int          { return 1 }
func asMany(procs int) int { return procs }

var (
	oneToOne   = shape{"1_to_1", "1 to 1", one, one}
	manyToOne  = shape{"P_to_1", "P to 1", asMany, one}
	manyToMany = shape{"P_to_P", "P to P", asMany, asMany}
)

var shapes = []shape{oneToOne, manyToOne, manyToMany}

// of identifies a contender in that shape.
func (s shape) of(id ContenderID) ContenderID { return id + "_" + s.id }

// cpuPublished are the figures of the study. A machine with fewer CPUs has no place for
// the last two.
func cpuPublished() []Published {
	var figures []Published
	add := func(row, column string, value float64, s shape, procs string) {
		figures = append(figures, Published{
			Row: row, Column: column, Value: value,
			Section: SectionShapes, X: procs, Contender: s.of(Native), Ours: s.of(ownBounded),
		})
	}
	add("the older basic benchmark", "about; its CPUs are not stated, here 1", 10, oneToOne, "1")
	add("one channel, above 60 CPUs", "about; here 64", 1, manyToOne, "64")
	add("one channel, 128 CPUs", "about", 1, manyToOne, "128")
	return figures
}

// cpuProcs returns the sweep: powers of two up to the CPUs of the machine, and these;
// and, to see what breaks, two and four times as many.
func cpuProcs(s Scale) []int {
	if len(s.Procs) > 0 {
		return s.Procs
	}
	if s.Size == Quick {
		return []int{1, 2}
	}
	cpus := s.cpus()
	var procs []int
	for p := 1; p < cpus; p *= 2 {
		procs = append(procs, p)
	}
	procs = append(procs, cpus)
	if s.Size == Standard {
		procs = append(procs, 2*cpus, 4*cpus)
	}
	return procs
}

// cpuHome returns the most Ps of the sweep that have a CPU each.
func cpuHome(s Scale) int {
	procs := slices.Sorted(slices.Values(cpuProcs(s)))
	home := procs[0]
	for _, p := range procs {
		if p <= s.cpus() {
			home = p
		}
	}
	return home
}

func cpuSections(s Scale) []Section {
	sections := []Section{cpuShapes(s), cpuCapacity(s), cpuRemedies(s)}
	if s.Size == AsPublished {
		return sections
	}
	return append(sections, cpuProducers(s))
}

// cpuValues returns how many values a pass carries: enough of each producer that
// its start does not count. It is the same at all points, so that they are one series.
func cpuValues(s Scale) int {
	least := [...]int{Standard: 50_000, Quick: 2_000, AsPublished: 1_000_000}[s.Size]
	return max(least, 1_000*cpuHome(s))
}

// cpuPoint returns a point of a sweep over GOMAXPROCS, without entries.
func (s Scale) cpuPoint(section SectionID, panel Panel, work string, procs int) *Point {
	return s.point(section, panel, work, strconv.Itoa(procs), procs, cpuValues(s), nil)
}

// carry enters c in the work of carrying n values, with its lock waits.
func (c contestant) carry(n, senders, receivers int) measure.Entry {
	work := workload.OneWay
	if c.batch {
		work = workload.OneWayBatches
	}
	entry := c.entry(work(c.slots(n), senders, receivers), n)
	entry.Pass = measure.WithLockWait(entry.Pass)
	return entry
}

// cpuShapes has all shapes at one point, so that they can be compared round by
// round.
func cpuShapes(s Scale) Section {
	n := cpuValues(s)
	section := Section{Sweep: Sweep{
		Name:  SectionShapes,
		Title: "One channel of " + strconv.Itoa(studySlots) + " slots, by GOMAXPROCS",
		Text: "Producers send " + format.Thousands(n) + " values through one channel. Its consumers range over it, or select " +
			"on it and on a channel that is closed at the end.",
		Axis:     "GOMAXPROCS",
		Measures: []Measure{Throughput, {Unit: measure.LockWait, Title: "lock waits", Axis: "% of the time of all Ps"}},
	}}
	for _, procs := range cpuProcs(s) {
		p := s.cpuPoint(SectionShapes, Panel{}, "shapes", procs)
		enter := func(shape shape, who ContenderID, c contender.Contender) {
			p.Entries = append(p.Entries, contestant{shape.of(who), c, studySlots, false}.carry(n, shape.senders(procs), shape.receivers(procs)))
		}
		for _, shape := range shapes {
			enter(shape, Native, contender.Native())
			enter(shape, nativeSelects, contender.NativeClosing())
			enter(shape, ownBounded, contender.Bounded(background, nil))
		}
		enter(manyToOne, ownSelect, contender.SelectClosing())
		section.Points = append(section.Points, p)
	}
	return section
}

var cpuCapacities = []int{0, 1, 128, studySlots}

// withSlots identifies a contender with that capacity.
func withSlots(id ContenderID, capacity int) ContenderID {
	return id + "_" + ContenderID(strconv.Itoa(capacity))
}

func cpuCapacity(s Scale) Section {
	n := cpuValues(s)
	section := Section{Sweep: Sweep{
		Name:     SectionCapacity,
		Title:    "What the capacity buys, by GOMAXPROCS",
		Text:     "As many producers as GOMAXPROCS, and one consumer. The number in a name is that of the slots.",
		Axis:     "GOMAXPROCS",
		Measures: []Measure{Throughput},
	}}
	for _, procs := range cpuProcs(s) {
		p := s.cpuPoint(SectionCapacity, Panel{}, "capacity", procs)
		for _, capacity := range cpuCapacities {
			own := contestant{withSlots(ownBounded, capacity), contender.Bounded(background, nil), capacity, false}
			if capacity == 0 {
				own = contestant{withSlots(rendezvous, 0), contender.Rendezvous(background, nil), 0, false}
			}
			one := contestant{withSlots(Native, capacity), contender.Native(), capacity, false}
			p.Entries = append(p.Entries, one.carry(n, procs, 1), own.carry(n, procs, 1))
		}
		section.Points = append(section.Points, p)
	}
	return section
}

// cpuProducers sweeps what a user can count: goroutines that send. All CPUs are
// at work.
func cpuProducers(s Scale) Section {
	section := Section{Sweep: Sweep{
		Name:     SectionProducers,
		Title:    "From how many producers on is one channel too few?",
		Text:     "One consumer, and all CPUs: the more goroutines send, the more of them meet at one lock.",
		Axis:     "producers",
		Measures: []Measure{Throughput},
	}}
	producers := []int{1, 2, 4, 8, 32}
	if s.Size == Quick {
		producers = []int{1, 4}
	}
	procs, n := cpuHome(s), cpuValues(s)
	for _, senders := range producers {
		x := strconv.Itoa(senders)
		p := s.point(SectionProducers, Panel{}, "producers", x, procs, n, []measure.Label{{Key: "producers", Value: x}})
		for _, c := range []contestant{
			{Native, contender.Native(), studySlots, false},
			{nativeFan2, contender.NativeFan(2), studySlots, false},
			{ownBounded, contender.Bounded(background, nil), studySlots, false},
			{ownSharded, contender.ShardedBounded(background, nil), studySlots, false},
			{ShardedLanes, contender.ShardedLanes(background, nil), studySlots, false},
		} {
			p.Entries = append(p.Entries, c.carry(n, senders, 1))
		}
		section.Points = append(section.Points, p)
	}
	return section
}
