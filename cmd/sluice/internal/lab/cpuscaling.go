package lab

import (
	"slices"
	"strconv"

	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/workload"
	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
)

// cpuScalingStudy asks why one channel slows down as CPUs are added, with every
// remedy that its author tried.
var cpuScalingStudy = register(Experiment{
	Study: Study{
		Name:  CPUScaling,
		Title: "What is fastest when many goroutines share a channel?",
		Prediction: "All operations on a channel take one lock, and its cache lines move from CPU to CPU: throughput is highest on " +
			"one CPU and falls with each additional producer. Two kinds of remedy help: taking the lock less often (slices), " +
			"and more locks (several channels). Timeouts and pinned threads leave the lock as it is, and cost extra.",
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
			"P is GOMAXPROCS: “P to 1” means P producers and one consumer. “Matched” means as many consumers as producers.",
			"The study sends single bytes; here all values have 8 bytes, as in the other experiments.",
			"A GOMAXPROCS above the number of CPUs tests robustness. No finding about scaling uses it, and no law is fitted to it.",
			"The remedies are written from their description. Several channels have a consumer each; “by clock” picks a channel " +
				"for each value by the nanoseconds of the clock modulo their number, as published. “As needed” starts with one channel " +
				"and adds another whenever a send finds its channel full: the study does not state its rule. “Slices” is a " +
				"buffer under a mutex for each channel, which sends a slice of " + strconv.Itoa(workload.BatchSize) + " when full; the channel has a " +
				"slot for each " + strconv.Itoa(workload.BatchSize) + " values of the capacity. A send with a timeout gives up after " +
				contender.SendTimeout.String() + " and continues with the next channel. The remedies do not keep the order of values.",
			"sluice.Elastic has no limit here; sluice.Sharded has the capacity as the limit of each lane.",
			"Lock waits are from the runtime's /sync/mutex/wait/total:seconds, as the study suggests: the sampled time that goroutines " +
				"wait for a sync.Mutex or for the lock of a built-in channel. Waiting for a full or empty channel does not count, nor " +
				"does waiting for the locks of sluice's kinds, which are not the runtime's. results.json has the lock waits of every point.",
			"To measure a production host, build a static binary with CGO_ENABLED=0 go build -o sluice ./cmd/sluice, copy it there, " +
				"and run ./sluice lab cpu-scaling.",
		},
		PublishedIn: Throughput,
	},
	Sections:  cpuSections,
	Published: cpuPublished(),
	Conclude:  cpuConclusion,
})

// studySlots is the capacity of the study's channel.
const studySlots = 4096

// A shape has the numbers of senders and receivers.
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

// cpuPublished returns the figures of the study. A machine with fewer CPUs does
// not measure the last two.
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

// cpuProcs returns the sweep: powers of two up to the CPUs of the machine, its
// CPUs, and, to test robustness, two and four times as many.
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

// cpuHome returns the largest GOMAXPROCS of the sweep with a CPU for each P.
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

// cpuValues returns the number of values in a pass: enough per producer that
// the start of a producer is negligible. It is the same at all points, so that
// they are one series.
func cpuValues(s Scale) int {
	least := [...]int{Standard: 50_000, Quick: 20_000, AsPublished: 1_000_000}[s.Size]
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

// cpuShapes has all shapes at each point, so that they are compared round by
// round.
func cpuShapes(s Scale) Section {
	n := cpuValues(s)
	section := Section{Sweep: Sweep{
		Name:  SectionShapes,
		Title: "One channel of " + strconv.Itoa(studySlots) + " slots, by GOMAXPROCS",
		Text: "Producers send " + format.Thousands(n) + " values through one channel. The consumers range over it, or select " +
			"on it and on a channel that is closed at the end.",
		Axis:     "GOMAXPROCS",
		Measures: []Measure{Throughput, {Unit: measure.LockWait, Title: "lock waits", Axis: "% of the time of all Ps"}},
	}}
	for _, procs := range cpuProcs(s) {
		p := s.cpuPoint(SectionShapes, Panel{}, "shapes", procs)
		enter := func(shape shape, id ContenderID, c contender.Contender) {
			p.Entries = append(p.Entries, contestant{shape.of(id), c, studySlots, false}.carry(n, shape.senders(procs), shape.receivers(procs)))
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
		Title:    "Capacity, by GOMAXPROCS",
		Text:     "As many producers as GOMAXPROCS, and one consumer. The number in a name is the number of slots.",
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

// cpuProducers sweeps the number of producers, which a user knows. All CPUs work.
func cpuProducers(s Scale) Section {
	section := Section{Sweep: Sweep{
		Name:     SectionProducers,
		Title:    "How many producers are too many for one channel?",
		Text:     "One consumer, and all CPUs: more senders mean more contention on one lock.",
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
