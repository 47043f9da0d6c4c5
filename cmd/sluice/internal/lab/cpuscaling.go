package lab

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strconv"

	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/workload"
	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// cpuScalingStudy asks why one channel slows down as CPUs are added, with every
// remedy that its author tried.
var cpuScalingStudy = Experiment{
	Study: Study{
		Name:  "cpu-scaling",
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
}

const (
	sectionShapes    SectionID = "shapes"
	sectionRemedies  SectionID = "remedies"
	sectionProducers SectionID = "producers"
)

// The contenders of this study alone. The remedies of the study's author are called
// published; the native ones are other remedies that need no library. The section shapes
// has contenders in a shape, and the section capacity those with a capacity.
var (
	nativeSelects = named("native select")
	ownSelect     = named("sluice.Select")

	capped       = named("published, GOMAXPROCS 32")
	pinned       = named("published, pinned threads")
	timeAfter    = named("published, timeout by time.After")
	reusedTimer  = named("native, timeout by reused timer")
	sharedSlices = named("published, slices")              // one slice under one mutex
	ownSlices    = named("native, slices of each sender")  // a slice for each sender
	byClock      = named("published, P channels by clock") // see also byClockOf
	asNeeded     = named("published, channels as needed")
	byGoroutine  = named("native, P channels, one each")
	nativeFan2   = named("native, select of 2 channels")
	nativeFan4   = named("native, select of 4 channels")
	clockSlices  = named("published, P channels + slices")
	eachSlices   = named("native, P channels, one each + slices")
	withoutMore  = named("published, slices + timeout + threads")
	allTogether  = named("published, all together")
	ownSharded   = named("sluice.Sharded")
	shardedLanes = named("sluice.Sharded, lane each, runs") // each sender has a lane of its own
	batchSender  = named("batch.Sender of 64")
)

// byClockOf identifies byClock with a fixed number of channels, one of clocked.
func byClockOf(channels int) ContenderID {
	return ContenderID(fmt.Sprintf("published_%d_channels_by_clock", channels))
}

var clocked = []int{2, 4, 8}

// withSlots identifies a contender with that capacity, one of cpuCapacities.
func withSlots(id ContenderID, capacity int) ContenderID { return variant(id, strconv.Itoa(capacity)) }

var cpuCapacities = []int{0, 1, 128, studySlots}

// studySlots is the capacity of the study's channel.
const studySlots = 4096

// A shape has the numbers of senders and receivers.
type shape struct {
	name               string
	senders, receivers func(procs int) int
}

func one(int) int          { return 1 }
func asMany(procs int) int { return procs }

var (
	oneToOne   = shape{"1 to 1", one, one}
	manyToOne  = shape{"P to 1", asMany, one}
	manyToMany = shape{"P to P", asMany, asMany}
	shapes     = []shape{oneToOne, manyToOne, manyToMany}
)

// of identifies a contender in that shape.
func (s shape) of(id ContenderID) ContenderID { return variant(id, s.name) }

// cpuPublished returns the figures of the study. A machine with fewer CPUs does
// not measure the last two.
func cpuPublished() []Published {
	var figures []Published
	add := func(row, column string, value float64, s shape, procs string) {
		figures = append(figures, Published{
			Row: row, Column: column, Value: value,
			Section: sectionShapes, X: procs, Contender: s.of(native), Ours: s.of(bounded),
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
	// A pass has enough values per producer that the start of a producer is negligible, and
	// the same number at all points, so that they are one series.
	n := max([...]int{Standard: 50_000, Quick: 20_000, AsPublished: 1_000_000}[s.Size], 1_000*cpuHome(s))
	sections := []Section{cpuShapes(s, n), cpuCapacity(s, n), cpuRemedies(s, n)}
	if s.Size != AsPublished {
		sections = append(sections, cpuProducers(s, n))
	}
	return arranged(sections...)
}

// watched enters c in the work of carrying n values, with its lock waits.
func (c contestant) watched(n, senders, receivers int) measure.Entry {
	entry := c.carry(n, senders, receivers)
	entry.Pass = measure.WithLockWait(entry.Pass)
	return entry
}

// cpuShapes has all shapes at each point, so that they are compared round by
// round.
func cpuShapes(s Scale, n int) Section {
	section := newSection(sectionShapes, "One channel of "+strconv.Itoa(studySlots)+" slots, by GOMAXPROCS", AxisProcs,
		"Producers send "+format.Thousands(n)+" values through one channel. The consumers range over it, or select "+
			"on it and on a channel that is closed at the end.",
		Throughput, Measure{Unit: measure.LockWait, Title: "lock waits", Axis: "% of the time of all Ps"})
	for _, procs := range cpuProcs(s) {
		p := section.point(s, Panel{}, strconv.Itoa(procs), procs, n)
		enter := func(shape shape, id ContenderID, c contender.Contender) {
			p.Entries = append(p.Entries, contestant{shape.of(id), c, studySlots, false}.watched(n, shape.senders(procs), shape.receivers(procs)))
		}
		for _, shape := range shapes {
			enter(shape, native, contender.Native())
			enter(shape, nativeSelects, contender.NativeClosing())
			enter(shape, bounded, contender.Bounded(background, nil))
		}
		enter(manyToOne, ownSelect, contender.SelectClosing())
	}
	return section
}

func cpuCapacity(s Scale, n int) Section {
	section := newSection(sectionCapacity, "Capacity, by GOMAXPROCS", AxisProcs,
		"As many producers as GOMAXPROCS, and one consumer. The number in a name is the number of slots.",
		Throughput)
	for _, procs := range cpuProcs(s) {
		p := section.point(s, Panel{}, strconv.Itoa(procs), procs, n)
		for _, capacity := range cpuCapacities {
			ours, kind := bounded, contender.Bounded(background, nil)
			if capacity == 0 {
				ours, kind = rendezvous, contender.Rendezvous(background, nil)
			}
			for _, c := range []contestant{
				{withSlots(native, capacity), contender.Native(), capacity, false}, {withSlots(ours, capacity), kind, capacity, false},
			} {
				p.Entries = append(p.Entries, c.watched(n, procs, 1))
			}
		}
	}
	return section
}

// A remedy is a contestant that should carry more than one channel.
type remedy struct {
	contestant
	procs   int           // GOMAXPROCS while it works; 0 for the point's
	several bool          // several channels, with a consumer each
	parts   []ContenderID // the remedies that a combination is made of
}

// manyPs is the study's GOMAXPROCS on machines with more CPUs.
const manyPs = 32

// cpuRoster returns all remedies for procs Ps, alone and combined. The first
// entry is one built-in channel.
func cpuRoster(procs int) []remedy {
	with := func(id ContenderID, r contender.Remedy, parts ...ContenderID) remedy {
		return remedy{contestant: contestant{id, r.Contender(), studySlots, false}, several: r.Channels > 0, parts: parts}
	}
	as := func(id ContenderID, c contender.Contender) remedy {
		return remedy{contestant: contestant{id, c, studySlots, false}}
	}
	const slice = workload.BatchSize
	roster := []remedy{
		as(native, contender.Native()),
		{contestant: contestant{capped, contender.Native(), studySlots, false}, procs: manyPs},
		with(pinned, contender.Remedy{Locked: true}),
		with(timeAfter, contender.Remedy{Timeout: contender.TimeAfter}),
		with(reusedTimer, contender.Remedy{Timeout: contender.ReusedTimer}),
		with(sharedSlices, contender.Remedy{Slice: slice}),
		{contestant: contestant{ownSlices, contender.NativeSlices(slice), studySlots, true}},
		as(nativeFan2, contender.NativeFan(2)),
		as(nativeFan4, contender.NativeFan(4)),
	}
	for _, channels := range clocked {
		roster = append(roster, with(byClockOf(channels), contender.Remedy{Channels: channels, ByClock: true}))
	}
	return append(roster,
		with(byClock, contender.Remedy{Channels: procs, ByClock: true}),
		with(asNeeded, contender.Remedy{Channels: procs, ByClock: true, Scaled: true}),
		with(byGoroutine, contender.Remedy{Channels: procs}),
		with(clockSlices, contender.Remedy{Channels: procs, ByClock: true, Slice: slice}, byClock, sharedSlices),
		with(eachSlices, contender.Remedy{Channels: procs, Slice: slice}, byGoroutine, sharedSlices),
		with(withoutMore, contender.Remedy{Slice: slice, Timeout: contender.TimeAfter, Locked: true},
			sharedSlices, timeAfter, pinned),
		with(allTogether, contender.Remedy{Channels: procs, ByClock: true, Slice: slice, Timeout: contender.TimeAfter, Locked: true},
			byClock, sharedSlices, timeAfter, pinned),
		as(bounded, contender.Bounded(background, nil)),
		remedy{contestant: contestant{elastic, contender.Elastic(background, nil), unbounded, false}},
		as(ownSharded, contender.ShardedBounded(background, nil)),
		as(shardedLanes, contender.ShardedLanes(background, nil)),
		as(batchSender, contender.Batching(background, slice)),
	)
}

func cpuRemedies(s Scale, n int) Section {
	section := newSection(sectionRemedies, "Remedies, alone and together", AxisProcs,
		"All have "+strconv.Itoa(studySlots)+" slots per channel. “native” is one built-in channel. "+
			"A single consumer receives from several channels with one select.",
		Throughput)
	for _, procs := range cpuProcs(s) {
		for _, load := range []Load{oneConsumer, matched} {
			p := section.point(s, Panel{Load: load}, strconv.Itoa(procs), procs, n)
			for _, r := range cpuRoster(procs) {
				if whyNot := r.whyNot(load, procs); whyNot != "" {
					p.leaveOut(whyNot, r.id)
				} else {
					p.Entries = append(p.Entries, r.enter(n, procs, map[Load]int{oneConsumer: 1, matched: procs}[load]))
				}
			}
		}
	}
	return section
}

// whyNot returns the reason why a remedy is left out of a load with procs Ps,
// or "".
func (r remedy) whyNot(load Load, procs int) string {
	switch {
	case procs <= r.procs:
		return "only for more than " + strconv.Itoa(r.procs) + " Ps: the other points show fewer"
	case r.several && load == oneConsumer:
		return "each of its channels needs its own consumer"
	case r.contender.LeastReceivers > procs:
		return "it has more channels than the load has consumers"
	case r.contender.OneReceiver && load == matched:
		return "one consumer selects over all its channels"
	}
	return ""
}

// enter enters r in the work of carrying n values. The time of changing
// GOMAXPROCS does not count.
func (r remedy) enter(n, senders, receivers int) measure.Entry {
	entry := r.watched(n, senders, receivers)
	if r.procs == 0 {
		return entry
	}
	pass := entry.Pass
	entry.Pass = func() (measure.Reading, error) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(r.procs))
		return pass()
	}
	return entry
}

// moreThanOne are the contenders of the section of producers with more than one
// lock.
var moreThanOne = []ContenderID{nativeFan2, ownSharded, shardedLanes}

// cpuProducers sweeps the number of producers, which a user knows. All CPUs work.
func cpuProducers(s Scale, n int) Section {
	section := newSection(sectionProducers, "How many producers are too many for one channel?", "producers",
		"One consumer, and all CPUs: more senders mean more contention on one lock.",
		Throughput)
	producers := []int{1, 2, 4, 8, 32}
	if s.Size == Quick {
		producers = []int{1, 4}
	}
	for _, senders := range producers {
		x := strconv.Itoa(senders)
		p := section.point(s, Panel{}, x, cpuHome(s), n, measure.Label{Key: "producers", Value: x})
		p.enter([]contestant{
			{native, contender.Native(), studySlots, false},
			{nativeFan2, contender.NativeFan(2), studySlots, false},
			{bounded, contender.Bounded(background, nil), studySlots, false},
			{ownSharded, contender.ShardedBounded(background, nil), studySlots, false},
			{shardedLanes, contender.ShardedLanes(background, nil), studySlots, false},
		}, func(c contestant) (measure.Entry, string) { return c.watched(n, senders, 1), "" })
	}
	return section
}

// batchWords name the size of a batch.
var batchWords = strconv.Itoa(workload.BatchSize)

// Ways of the load with one consumer. The overview has all of them, and the
// study all but the first and the elastic one.
var (
	cpuUnbuffered = way{withSlots(native, 0), "chan, unbuffered", "through an unbuffered channel", false}
	cpuOne        = way{native, "chan, " + strconv.Itoa(studySlots) + " slots", "with " + strconv.Itoa(studySlots) + " slots", true}
	cpuSingle     = []way{
		{contender: bounded, label: "sluice.Bounded"},
		{contender: elastic, label: "sluice.Elastic"},
		{contender: ownSharded, label: "sluice.Sharded"},
	}
	cpuLanes   = way{contender: shardedLanes, label: "sluice.Sharded, RecvBatch"} // receives in batches
	cpuBatches = []way{
		{ownSlices, "chan of slices of " + batchWords, "each in slices of " + batchWords, false},
		{contender: batchSender, label: "sluice batches of " + batchWords},
	}
)

// cpuConclusion draws the answer from the point with the most CPUs.
func cpuConclusion(m *Measured) Conclusion {
	c := Conclusion{Findings: cpuFindings(m), Tables: remedyTables(m)}
	points := m.in(sectionRemedies).of(oneConsumer).counted().with(native)
	if len(points) == 0 {
		return c
	}
	top := points.last()
	gain := func(w way) stat.Change { return top.change(w.contender, native) }
	batches, kind := largest(cpuBatches, gain), largest(cpuSingle, gain)
	ways := slices.Concat([]way{cpuOne}, cpuSingle, []way{cpuLanes}, cpuBatches)
	for i := range ways {
		ways[i].key = ways[i].key || ways[i].contender == batches.contender || ways[i].contender == kind.contender
	}
	conditions := format.Plural(top.Procs, "sender") + ", 1 receiver, " + top.conditions()
	bare := m.in(sectionCapacity).at(top.X).one()
	c.costs = Chart{conditions, PerValue.Axis, append(bare.bars(PerValue, native, cpuUnbuffered), top.bars(PerValue, native, ways...)...)}
	c.sentence = costSentence(c.costs, append([]way{cpuUnbuffered}, ways...)...)
	c.Chart = Chart{conditions, PerValue.Axis, top.bars(PerValue, native,
		slices.DeleteFunc(ways, func(w way) bool { return w.contender == elastic && kind.contender != elastic })...)}
	c.Bars = c.Bars[:min(len(c.Bars), mostBars)]

	sweep := m.in(sectionShapes).counted().with(manyToOne.of(native))
	few, many := sweep.one(), sweep.last()
	slower := stat.Between(few.samples(manyToOne.of(native)), many.samples(manyToOne.of(native)))
	c.Answer = fmt.Sprintf("On %s, sending batches of %s %s", format.Plural(top.Procs, "CPU"), batchWords,
		c.costs.speed(gain(batches), batches.label, cpuOne.label, "sending single values through one built-in channel"))
	keep := "keep the built-in channel."
	if more(gain(kind)) {
		c.Answer += "; for single values, " + kind.label + " " + c.costs.speed(gain(kind), kind.label, cpuOne.label, "the built-in channel")
		keep = "use " + kind.label + "."
	}
	switch {
	case more(slower):
		c.Answer += fmt.Sprintf("; the built-in channel itself takes %s times as long with senders on %d CPUs as on %d", times(slower), many.Procs, few.Procs)
		c.claims = []claim{newClaim(aboutScaling, slower, fmt.Sprintf("With senders on %d CPUs, a built-in channel takes %s times as long per value as on %d. "+
			"Send batches, or give groups of senders their own channels.", many.Procs, times(slower), few.Procs))}
	case less(slower):
		c.Answer += fmt.Sprintf("; the built-in channel itself is %s times as fast with senders on %d CPUs as on %d", times(slower), many.Procs, few.Procs)
	}
	c.Answer += "."
	if more(gain(batches)) {
		c.Advice = "Send batches where a value may wait a moment. "
	}
	c.Advice += "Where values must go one by one, " + keep
	if top.Procs <= 2 {
		c.Advice += " How a channel slows down with more CPUs, only a machine with more of them shows."
	}
	const after = "select with time.After"
	timeouts := Chart{Bars: top.bars(PerValue, native, cpuOne, way{contender: timeAfter, label: after})}
	c.claims = slices.Concat(c.claims,
		c.costs.claim(aboutBatches, gain(batches), cpuOne.label, batches.label,
			"Batches are %s times as fast as single values ("+batches.label+": %s instead of %s). Send batches where a value may wait a moment."),
		c.costs.claim(aboutKinds, gain(kind), cpuOne.label, kind.label,
			"For single values, "+kind.label+" is %s times as fast as a built-in channel of its size (%s instead of %s). Use it for the busiest channels."),
		timeouts.claim(aboutTimeouts, top.change(native, timeAfter), after, cpuOne.label,
			"In a "+after+", a send takes %s times as long (%[3]s instead of %[2]s). Set one deadline for many sends with context.WithTimeout."),
		c.costs.bufferClaim(stat.Between(top.samples(native), bare.samples(cpuUnbuffered.contender)), cpuUnbuffered.label, cpuOne.label, strconv.Itoa(studySlots)))
	return c
}

// largest returns the way with the largest gain beyond noise, by the end of its
// interval, or else the first.
func largest(ways []way, gain func(way) stat.Change) way {
	best, most := ways[0], 0.0
	for _, w := range ways {
		if g := gain(w); g.Clear() && g.Lo > most {
			best, most = w, g.Lo
		}
	}
	return best
}

// cpuFindings uses no point with more Ps than CPUs.
func cpuFindings(m *Measured) []string {
	inShapes, capacities, producers := m.in(sectionShapes).counted(), m.in(sectionCapacity).counted(), m.in(sectionProducers).counted()
	var throughput, selecting []string
	for _, shape := range shapes {
		if of := inShapes.with(shape.of(native)); len(of) > 1 {
			first, last := of.one(), of.last()
			on := fmt.Sprintf("%d CPUs instead of %d", last.Procs, first.Procs)
			if shape.name == manyToOne.name {
				on += "; published: a third on 128 instead of 1"
			}
			throughput = append(throughput, carries("One built-in channel, "+shape.name+",", axis{first: "on "},
				[]place{{on, stat.Between(last.samples(shape.of(native)), first.samples(shape.of(native)))}}))
		}
		selecting = append(selecting, inShapes.effect("Selecting on data and a close channel instead of range ("+shape.name+")",
			byProcs, shape.of(native), shape.of(nativeSelects)))
	}
	findings := slices.Concat(throughput, laws(inShapes), selecting)
	findings = append(findings, inShapes.effect("As many consumers as producers instead of one", byProcs, manyToOne.of(native), manyToMany.of(native)))
	for _, capacity := range cpuCapacities[1:] {
		findings = append(findings, capacities.effect(fmt.Sprintf("A capacity of %d instead of none", capacity), byProcs,
			withSlots(native, 0), withSlots(native, capacity)))
	}
	for _, load := range []Load{oneConsumer, matched} {
		findings = append(findings, remediesBeside(m, load)...)
	}
	byProducers := axis{"with ", "with ", func(s spot) string { return producersOf(s.X) }}
	for _, id := range moreThanOne {
		findings = append(findings, carries(NameOf(id)+", compared with one channel,", byProducers, producers.places(byProducers, id, native)))
	}
	return said(findings...)
}

// A gained is a remedy with its gain at one place.
type gained struct {
	remedy
	gain stat.Change
}

// gainsOf returns the point with the most CPUs and the remedies measured there, best
// first.
func gainsOf(m *Measured, load Load) (top spot, all []gained) {
	top = m.in(sectionRemedies).of(load).counted().with(native).last()
	for _, r := range cpuRoster(top.Procs) {
		if c := top.change(r.id, native); c.N > 0 && r.id != native {
			all = append(all, gained{r, c})
		}
	}
	slices.SortStableFunc(all, func(a, b gained) int { return cmp.Compare(b.gain.Median, a.gain.Median) })
	return top, all
}

// remediesBeside names the remedy with the highest throughput, and whether its lead over
// the next is beyond noise, and compares each combination with the best of its parts. The
// table has all gains.
func remediesBeside(m *Measured, load Load) []string {
	top, all := gainsOf(m, load)
	var findings []string
	if len(all) > 1 && all[0].gain.Clear() && all[0].gain.Median > 0 {
		first, next := all[0], all[1]
		text := fmt.Sprintf("Best remedy (%s, GOMAXPROCS %s): “%s”, with %s times the throughput of one channel; ",
			load, top.X, NameOf(first.id), factor(first.gain))
		if lead := top.change(first.id, next.id); lead.Clear() && lead.Median > 0 {
			text += "ahead of “" + NameOf(next.id) + "” beyond noise."
		} else {
			text += "no difference to “" + NameOf(next.id) + "” beyond noise."
		}
		findings = append(findings, text)
	}
	for _, g := range all {
		best := slices.IndexFunc(all, func(part gained) bool { return slices.Contains(g.parts, part.id) })
		if best < 0 {
			continue
		}
		findings = append(findings, carries(
			fmt.Sprintf("The combination “%s”, compared with the best of its parts, “%s” (%s),", NameOf(g.id), NameOf(all[best].id), load),
			byProcs, []place{{top.X, top.change(g.id, all[best].id)}}))
	}
	return findings
}

// remedyTables lists the gain of each remedy at the most CPUs, best first.
func remedyTables(m *Measured) []Table {
	var tables []Table
	for _, load := range []Load{oneConsumer, matched} {
		top, all := gainsOf(m, load)
		if len(all) == 0 {
			continue
		}
		table := Table{
			Title: "Remedies at GOMAXPROCS " + top.X + ", " + load.String(),
			Text: "Throughput as a multiple of one built-in channel's in the same rounds, with its interval, and the time spent " +
				"waiting for locks as a share of the time of all Ps.",
			Head: []string{"remedy", "times one channel", "interval", "lock waits, %"},
		}
		top.unit = measure.LockWait
		for _, g := range append([]gained{{remedy: remedy{contestant: contestant{id: native}}}}, all...) {
			times := g.gain.Above(-1)
			row := []string{NameOf(g.id), format.Rounded(times.Median, times.Lo, times.Hi), verdict(g.gain), ""}
			if waits := top.summary(g.id); waits.N > 0 {
				row[3] = fmt.Sprintf("%.1f", waits.Median)
			}
			table.Rows = append(table.Rows, row)
		}
		tables = append(tables, table)
	}
	return tables
}

// verdict returns the interval of a gain, or the reason why it has no interval.
func verdict(gain stat.Change) string {
	switch {
	case gain.N == 0:
		return "itself"
	case gain.Confidence == 0:
		return "too few repetitions"
	case !gain.Clear():
		return "no difference beyond noise"
	}
	return fmt.Sprintf("%.2f to %.2f", 1+gain.Lo, 1+gain.Hi)
}

// producersOf writes a place on the axis of producers.
func producersOf(x string) string {
	if x == "1" {
		return "1 producer"
	}
	return x + " producers"
}
