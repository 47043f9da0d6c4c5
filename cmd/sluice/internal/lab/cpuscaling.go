package lab

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/workload"
	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/predict"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// cpuScalingStudy asks why one channel slows down as CPUs are added, with every
// remedy that its author tried.
var cpuScalingStudy = Experiment{
	Study: Study{
		Name:  "cpu-scaling",
		Topic: "many goroutines",
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
const (
	nativeSelects ContenderID = "native_select"

	pinned       ContenderID = "published_pinned_threads"
	timeAfter    ContenderID = "published_timeout_by_time.After"
	sharedSlices ContenderID = "published_slices"             // one slice under one mutex
	ownSlices    ContenderID = "native_slices_of_each_sender" // a slice for each sender
	byClock      ContenderID = "published_P_channels_by_clock"
	byGoroutine  ContenderID = "native_P_channels_one_each"
	nativeFan2   ContenderID = "native_select_of_2_channels"
	ownSharded   ContenderID = "sluice.Sharded"
	shardedLanes ContenderID = "sluice.Sharded_lane_each_runs" // each sender has a lane of its own
	batchSender  ContenderID = "batch.Sender_of_64"
)

// withSlots identifies a contender with that capacity, one of cpuCapacities.
func withSlots(id ContenderID, capacity int) ContenderID {
	return id + ContenderID("_"+strconv.Itoa(capacity))
}

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
func (s shape) of(id ContenderID) ContenderID { return id + ContenderID("_"+Plain(s.name)) }

// cpuPublished returns the figures of the study. A machine with fewer CPUs does
// not measure the last two.
func cpuPublished() (figures []Published) {
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
	procs := predict.Doublings(cpus)
	if s.Size == Standard {
		procs = append(procs, 2*cpus, 4*cpus)
	}
	return procs
}

// cpuHome returns the largest GOMAXPROCS of the sweep with a CPU for each P.
func cpuHome(s Scale) int {
	procs := cpuProcs(s) // in ascending order
	last := len(procs) - 1
	for last > 0 && procs[last] > s.cpus() {
		last--
	}
	return procs[last]
}

func cpuSections(s Scale) []Section {
	// A pass has enough values per producer that the start of a producer is negligible, and
	// the same number at all points, so that they are one series.
	n := max([...]int{Standard: 50_000, Quick: 20_000, AsPublished: 1_000_000}[s.Size], 1_000*cpuHome(s))
	sections := []Section{cpuShapes(s, n), cpuCapacity(s, n), cpuRemedies(s, n)}
	if s.Size != AsPublished {
		sections = append(sections, cpuProducers(s, n))
	}
	return sections
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
		enter(manyToOne, "sluice.Select", contender.SelectClosing())
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
	return []remedy{
		as(native, contender.Native()),
		{contestant: contestant{"published_GOMAXPROCS_32", contender.Native(), studySlots, false}, procs: 32},
		with(pinned, contender.Remedy{Locked: true}),
		with(timeAfter, contender.Remedy{Timeout: contender.TimeAfter}),
		with("native_timeout_by_reused_timer", contender.Remedy{Timeout: contender.ReusedTimer}),
		with(sharedSlices, contender.Remedy{Slice: slice}),
		{contestant: contestant{ownSlices, contender.NativeSlices(slice), studySlots, true}},
		as(nativeFan2, contender.NativeFan(2)),
		as("native_select_of_4_channels", contender.NativeFan(4)),
		with("published_2_channels_by_clock", contender.Remedy{Channels: 2, ByClock: true}),
		with("published_4_channels_by_clock", contender.Remedy{Channels: 4, ByClock: true}),
		with("published_8_channels_by_clock", contender.Remedy{Channels: 8, ByClock: true}),
		with(byClock, contender.Remedy{Channels: procs, ByClock: true}),
		with("published_channels_as_needed", contender.Remedy{Channels: procs, ByClock: true, Scaled: true}),
		with(byGoroutine, contender.Remedy{Channels: procs}),
		with("published_P_channels_+_slices", contender.Remedy{Channels: procs, ByClock: true, Slice: slice}, byClock, sharedSlices),
		with("native_P_channels_one_each_+_slices", contender.Remedy{Channels: procs, Slice: slice}, byGoroutine, sharedSlices),
		with("published_slices_+_timeout_+_threads", contender.Remedy{Slice: slice, Timeout: contender.TimeAfter, Locked: true},
			sharedSlices, timeAfter, pinned),
		with("published_all_together", contender.Remedy{Channels: procs, ByClock: true, Slice: slice, Timeout: contender.TimeAfter, Locked: true},
			byClock, sharedSlices, timeAfter, pinned),
		as(bounded, contender.Bounded(background, nil)),
		remedy{contestant: contestant{elastic, contender.Elastic(background, nil), unbounded, false}},
		as(ownSharded, contender.ShardedBounded(background)),
		as(shardedLanes, contender.ShardedLanes(background)),
		as(batchSender, contender.Batching(background, slice)),
	}
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
		for _, r := range cpuRoster(cpuHome(s)) {
			if r.id == native || r.id == bounded || slices.Contains(moreThanOne, r.id) {
				p.Entries = append(p.Entries, r.watched(n, senders, 1))
			}
		}
	}
	return section
}

// cpuConclusion draws the answer from the point with the most CPUs.
func cpuConclusion(m Measured) Conclusion {
	c := Conclusion{Findings: cpuFindings(m)}
	top := m.in(sectionRemedies).of(oneConsumer).counted().with(native).last()
	if top.outcome == nil {
		return c
	}
	slots, size := strconv.Itoa(studySlots), strconv.Itoa(workload.BatchSize)
	c.Chart = Chart{top.under(format.Plural(top.Procs, "sender") + ", 1 receiver"), PerValue.Axis, append(
		m.in(sectionCapacity).at(top.X).one().bars(PerValue, native,
			way{withSlots(native, 0), "chan, unbuffered", "through an unbuffered channel"}),
		top.bars(PerValue, native,
			way{native, "chan, " + slots + " slots", "with " + slots + " slots"},
			way{bounded, "sluice.Bounded", ""}, way{elastic, "sluice.Elastic", ""}, way{ownSharded, "sluice.Sharded", ""},
			way{shardedLanes, "sluice.Sharded, RecvBatch", ""}, // receives in batches
			way{ownSlices, "chan of slices of " + size, "each in slices of " + size},
			way{batchSender, "sluice batches of " + size, ""})...)}
	batches, kind := top.change(native, ownSlices), top.change(native, bounded)
	c.Answer = fmt.Sprintf("On %s, %s; %s", format.Plural(top.Procs, "CPU"),
		"sending slices of "+size+" is "+speed(batches)+" as sending single values through one built-in channel",
		"for single values, sluice.Bounded is "+speed(kind)+" as the built-in channel")
	sweep := m.in(sectionShapes).counted().with(manyToOne.of(native))
	if slower := stat.Between(sweep.one().samples(manyToOne.of(native)), sweep.last().samples(manyToOne.of(native))); slower.Clear() && slower.Lo > 0 {
		c.Answer += fmt.Sprintf("; with a sender for each CPU, the built-in one is %s on %d CPUs as on %d", speed(slower), sweep.last().Procs, sweep.one().Procs)
	}
	c.Answer += "."
	if faster(batches) {
		c.Advice = "Send batches where a value may wait a moment."
	}
	if faster(kind) {
		c.Advice += " Where values must go one by one, use sluice.Bounded."
	}
	if top.Procs <= 2 {
		c.Advice += " How a channel slows down with more CPUs, only a machine with more of them shows."
	}
	c.Advice = strings.TrimSpace(c.Advice)
	return c
}

// cpuFindings uses no point with more Ps than CPUs.
func cpuFindings(m Measured) []string {
	inShapes, capacities, producers := m.in(sectionShapes).counted(), m.in(sectionCapacity).counted(), m.in(sectionProducers).counted()
	var fewest, peaks []place
	var findings []string
	for _, shape := range shapes {
		of := inShapes.with(shape.of(native))
		if few := of.one(); len(of) > 1 {
			last := of.last()
			slower := stat.Between(few.samples(shape.of(native)), last.samples(shape.of(native)))
			fewest = append(fewest, place{fmt.Sprintf("%d CPUs instead of %d, %s", last.Procs, few.Procs, shape.name), speed(slower)})
		}
		if len(of) > 0 {
			peaks = append(peaks, place{shape.name, peak(of, shape.of(native))})
		}
		findings = append(findings, inShapes.compare("Selecting on data and a close channel instead of range ("+shape.name+")", shape.of(native), shape.of(nativeSelects)))
	}
	findings = append(findings,
		finding("One built-in channel (published: three times as slow on 128 CPUs) is", " on", fewest),
		finding("By a scaling law fitted to each round, the throughput of one built-in channel", ", with", peaks),
		inShapes.compare("As many consumers as producers instead of one", manyToOne.of(native), manyToMany.of(native)))
	for _, capacity := range cpuCapacities[1:] {
		findings = append(findings, capacities.compare(fmt.Sprintf("A capacity of %d instead of none", capacity), withSlots(native, 0), withSlots(native, capacity)))
	}
	for _, id := range moreThanOne {
		findings = append(findings, producers.compareBy(NameOf(id)+" instead of one channel is", speed, " with producers:", func(s spot) string { return s.X }, native, id))
	}
	for _, load := range []Load{oneConsumer, matched} {
		findings = append(findings, remediesBeside(m.in(sectionRemedies).of(load).counted().with(native).last())...)
	}
	return said(findings...)
}

// remediesBeside compares each remedy with one channel, the fastest first, and each
// combination with the best of its parts.
func remediesBeside(top spot) (findings []string) {
	var remedies []place
	roster, load := cpuRoster(top.Procs), top.under(top.Panel.Load.title)
	slower := func(r remedy) float64 { return top.change(native, r.id).Median }
	slices.SortStableFunc(roster, func(a, b remedy) int { return cmp.Compare(slower(a), slower(b)) })
	for i, r := range roster {
		change := top.change(native, r.id)
		if change.N == 0 || r.id == native {
			continue
		}
		remedies = append(remedies, place{"“" + NameOf(r.id) + "”", speed(change)})
		best := slices.IndexFunc(roster, func(part remedy) bool { return slices.Contains(r.parts, part.id) })
		if best >= 0 {
			findings = append(findings, finding("The combination “"+NameOf(r.id)+"” instead of the best of its parts, “"+NameOf(roster[best].id)+"”, is", ", with",
				[]place{{load, speed(top.change(roster[best].id, roster[i].id))}}))
		}
	}
	return append([]string{finding("Instead of one channel ("+load+"), sending is", " with", remedies)}, findings...)
}

// peak describes where the throughput of a contender peaks, by a scaling law through its
// points. The uncertainty comes from the rounds: a law is fitted to the i-th figures of all
// points, for each i, and the interval is the interval of these peaks.
func peak(sweep Measured, id ContenderID) string {
	most := sweep.last().Procs
	if len(sweep) < predict.MinCounts {
		return "has too few counts of CPUs for a peak: run this on the target machine"
	}
	var peaks []float64
	for round := range len(sweep.one().samples(id)) {
		var points []predict.Point
		for _, p := range sweep {
			if samples := p.samples(id); round < len(samples) {
				points = append(points, predict.Point{Procs: p.Procs, X: 1e9 / samples[round]})
			}
		}
		if law, err := predict.Fit(points); err == nil {
			peaks = append(peaks, float64(cmp.Or(law.Peak(), most+1))) // a law that only rises has none
		}
	}
	found := stat.Summarize(peaks)
	switch {
	case found.N == 0:
		return "follows no law in any round"
	case found.Lo > float64(most):
		return fmt.Sprintf("has no peak up to %d CPUs", most)
	case found.Hi > float64(most):
		return fmt.Sprintf("peaks from GOMAXPROCS %.0f on, or not up to %d", found.Lo, most)
	case found.Confidence == 0:
		return "peaks at " + format.Plural(int(math.Round(found.Median)), "CPU") + " (no interval)"
	}
	return "peaks at " + format.Plural(int(math.Round(found.Median)), "CPU") + fmt.Sprintf(" (%.0f to %.0f)", found.Lo, found.Hi)
}
