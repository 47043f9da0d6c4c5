package lab

import (
	"math/bits"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/workload"
	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// elasticStudy asks for the cost of a channel that grows.
var elasticStudy = register(Experiment{
	Study: Study{
		Name:  Elastic,
		Title: "Is a channel that grows slower than one of a fixed size?",
		Prediction: "A goroutine between two built-in channels costs at least one more transfer per value, so it takes more than " +
			"twice the time of one channel. A queue that grows in place needs no goroutine, and costs no more than a " +
			"built-in channel of 1024 slots.",
		Source: Source{
			Author:  "N. Patavalis",
			Title:   "Elastic channels",
			Year:    2014,
			Machine: "2-core notebook",
			Go:      "1.3 era",
		},
		Notes: []string{
			"The author's profile found about half of the time in the runtime's selectgo.",
			"The published elastic channel is written from its description. As published, its flushing pump " +
				"loses the value that it receives after 1024 in a row. The contender fixes that and nothing else: its " +
				"ShrinkEmpty still frees nothing.",
			"“1:1” is a sluice.Bounded of 1024 slots made with SingleSender and SingleReceiver.",
			"Except in the section on shrinking, the published channel never shrinks, which is its fastest mode.",
			"The published columns without a GOMAXPROCS are compared with GOMAXPROCS 1, Go's default at that time.",
		},
		PublishedIn: PerOperation,
	},
	Sections:  elasticSections,
	Published: elasticPublished(),
	Conclude:  elasticConclusion,
})

func elasticPublished() []Published {
	rows := []struct {
		name            string
		load            Load
		contender, ours ContenderID
		values          [3]float64
	}{
		{"native, unbuffered", bothAtOnce, nativeUnbuffered, rendezvous, [3]float64{425, 403, 553}},
		{"native, 1024 slots", bothAtOnce, native1024, bounded1024, [3]float64{215, 212, 406}},
		{"elastic Seq", fillFirst, "", elastic, [3]float64{1599, 562, 407}},
		{"elastic Con", bothAtOnce, "", elastic, [3]float64{1974, 637, 396}},
	}
	columns := []struct {
		name string
		pump ContenderID
		x    string
	}{
		{"simple", simplePump, "1"},
		{"flushing", flushingPump, "1"},
		{"flushing, GOMAXPROCS=4", flushingPump, "4"},
	}
	var figures []Published
	for _, row := range rows {
		for i, column := range columns {
			id := row.contender
			if id == "" {
				id = column.pump
			}
			figures = append(figures, Published{
				Row: row.name, Column: column.name, Value: row.values[i],
				Section: sectionProcs, Panel: Panel{Load: row.load}, X: column.x, Contender: id, Ours: row.ours,
			})
		}
	}
	return figures
}

// asPublished returns the elastic channel of the study, with its buffers.
func asPublished(pump contender.Pump, shrink contender.PublishedShrink) contender.Published {
	return contender.Published{Pump: pump, Shrink: shrink, SendBuffer: contender.PublishedBuffer, RecvBuffer: contender.PublishedBuffer}
}

// elasticRoster returns the contenders for the study's two loads.
func elasticRoster() []contestant {
	builtIn, bounded := contender.Native(), contender.Bounded(background, nil)
	oneToOne := &contender.Options{SingleSender: true, SingleReceiver: true}
	return []contestant{
		{nativeUnbuffered, builtIn, 0, false},
		{native1024, builtIn, 1024, false},
		{nativeSlotEach, builtIn, slotEach, false},
		published(simplePump, asPublished(contender.Simple, contender.PublishedNoShrink)),
		published(flushingPump, asPublished(contender.Flushing, contender.PublishedNoShrink)),
		{rendezvous, contender.Rendezvous(background, nil), 0, false},
		{bounded1024, bounded, 1024, false},
		{boundedOneToOne, contender.Bounded(background, oneToOne), 1024, false},
		{boundedSlotEach, bounded, slotEach, false},
		{elastic, contender.Elastic(background, nil), unbounded, false},
		{elasticBatches, contender.Elastic(background, nil), unbounded, true},
		{pipe, contender.Pipe(nil), unbounded, false},
	}
}

func elasticSections(s Scale) []Section {
	sections := []Section{elasticProcs(s)}
	switch s.Size {
	case AsPublished:
		return sections
	case Standard:
		sections = append(sections, elasticLength(s))
	}
	return append(sections, elasticShrink(s), elasticBuffers(s), elasticMemory(s))
}

// seqAndCon returns the study's two loads as points at one place.
func (s Scale) seqAndCon(section SectionID, x string, procs, n int, roster []contestant, labels ...measure.Label) []*Point {
	seq := s.point(section, Panel{Load: fillFirst}, string(fillFirst), x, procs, n, labels)
	con := s.point(section, Panel{Load: bothAtOnce}, string(bothAtOnce), x, procs, n, labels)
	for _, c := range roster {
		if entry, whyNot := c.fillFirst(n); whyNot == "" {
			seq.Entries = append(seq.Entries, entry)
		} else {
			seq.LeftOut = append(seq.LeftOut, measure.LeftOut{Contender: c.id, Reason: whyNot})
		}
		con.Entries = append(con.Entries, c.bothAtOnce(n))
	}
	return []*Point{seq, con}
}

// stepTakes is the duration of one step of measuring memory: a garbage collection.
const stepTakes = 2500 * time.Microsecond

func elasticProcs(s Scale) Section {
	n := [...]int{Standard: 100_000, Quick: 20_000, AsPublished: 1_000_000}[s.Size]
	study := s.doubling(4)
	if s.Size == AsPublished {
		study = []int{1, 4}
	}
	var points []*Point
	for _, procs := range s.procs(study...) {
		points = append(points, s.seqAndCon(sectionProcs, strconv.Itoa(procs), procs, n, elasticRoster())...)
	}
	return Section{
		Sweep: Sweep{
			Name:  sectionProcs,
			Title: "The study's two loads, by GOMAXPROCS",
			Text: "One goroutine sends " + format.Thousands(n) + " values and closes; the values are received in order, " +
				"either after the last was sent or by a second goroutine meanwhile.",
			Axis:     "GOMAXPROCS",
			Measures: []Measure{PerValue},
		},
		Points: byPanel(points),
	}
}

func elasticLength(s Scale) Section {
	procs := s.home(1, 2, 4)
	// Contenders with a fixed buffer are the same at any length.
	roster := slices.DeleteFunc(elasticRoster(), func(c contestant) bool { return c.capacity >= 0 })
	var points []*Point
	for _, n := range []int{2_000, 20_000, 200_000} {
		points = append(points, s.seqAndCon(sectionLength, format.Short(float64(n)), procs, n, roster)...)
	}
	return Section{
		Sweep: Sweep{
			Name:     sectionLength,
			Title:    "How many values",
			Text:     "The same, by the number of values: with more values queued, a queue grows more often.",
			Axis:     "values sent",
			Measures: []Measure{PerValue},
		},
		Points: byPanel(points),
	}
}

// shrinkRoster returns the published flushing pump in each mode, the modes that
// its author wanted to try next, and the modes of sluice.Elastic.
func shrinkRoster(n int) []contestant {
	flushing := func(id ContenderID, shrink contender.PublishedShrink) contestant {
		return published(id, asPublished(contender.Flushing, shrink))
	}
	large := asPublished(contender.Flushing, contender.PublishedNoShrink)
	large.Slots = powerOfTwo(n)
	return []contestant{
		{nativeSlotEach, contender.Native(), slotEach, false},
		flushing(shrinkHalf, contender.PublishedShrinkHalf),
		flushing(shrinkQuarter, contender.LazyShrinkHalf),
		flushing(shrinkEmpty, contender.PublishedShrinkEmpty),
		flushing(shrinkIntended, contender.FreeWhenEmpty),
		flushing(shrinkNever, contender.PublishedNoShrink),
		published(presized, large),
		ownElastic(ownHalf, sluice.ShrinkHalf),
		ownElastic(ownEmpty, sluice.ShrinkEmpty),
		ownElastic(ownNever, sluice.NoShrink),
	}
}

// A length that swings around a power of two is the worst case of a shrinking
// ring without hysteresis. swingAround is the lowest number of queued values,
// such that the queue itself, between the published channel's two buffers of
// 128 slots, crosses 4096.
const (
	swingAround = 4096 + 64
	swingWidth  = 256
)

func powerOfTwo(n int) int { return 1 << bits.Len(uint(n-1)) }

func elasticShrink(s Scale) Section {
	n := [...]int{Standard: 100_000, Quick: 20_000}[s.Size]
	procs := s.home(1, 2, 4)
	roster := shrinkRoster(n)
	points := s.seqAndCon(sectionShrink, "", procs, n, roster)
	swing := s.point(sectionShrink, Panel{Load: swinging}, string(swinging), "", procs, n, nil)
	for _, c := range roster {
		swing.Entries = append(swing.Entries, c.entry(workload.Swing(swingAround, swingWidth), n))
	}
	return Section{
		Sweep: Sweep{
			Name:  sectionShrink,
			Title: "Shrinking: when, how eagerly, or never",
			Text: "Questions that the study left open: a pre-sized queue, lazier shrinking, and none. Pre-sized means slots for " +
				format.Thousands(n) + " values from the start. The third load alternately sends and receives " + strconv.Itoa(swingWidth) +
				" values while about " + format.Thousands(swingAround) + " are queued.",
			Measures: []Measure{PerValue},
		},
		Points: append(points, swing),
	}
}

func elasticBuffers(s Scale) Section {
	n := [...]int{Standard: 100_000, Quick: 20_000}[s.Size]
	procs := s.home(1, 2, 4)
	sizes := []int{0, 16, 128, 1024}
	if s.Size == Quick {
		sizes = []int{0, 128}
	}
	const usual = contender.PublishedBuffer
	var points []*Point
	for _, size := range sizes {
		x := strconv.Itoa(size)
		label := func(vary string) []measure.Label {
			return []measure.Label{{Key: "vary", Value: vary}, {Key: "slots", Value: x}}
		}
		points = append(points, s.seqAndCon(sectionPumpBuffers, x, procs, n, pumps(size, size), label("both")...)...)
		for _, one := range []struct {
			vary          string
			load          Load
			send, receive int
		}{{"send", varySendBuffer, size, usual}, {"receive", varyReceiveBuffer, usual, size}} {
			p := s.point(sectionPumpBuffers, Panel{Load: one.load}, string(bothAtOnce), x, procs, n, label(one.vary))
			for _, c := range pumps(one.send, one.receive) {
				p.Entries = append(p.Entries, c.bothAtOnce(n))
			}
			points = append(points, p)
		}
	}
	return Section{
		Sweep: Sweep{
			Name:  sectionPumpBuffers,
			Title: "The two built-in channels of the published channel",
			Text: "The pump sits between two built-in channels of 128 slots each. Here both have another size, " +
				"and then one of them alone.",
			Axis:     "slots",
			Measures: []Measure{PerValue},
		},
		Points: byPanel(points),
	}
}

func pumps(send, receive int) []contestant {
	of := func(pump contender.Pump) contender.Published {
		return contender.Published{Pump: pump, SendBuffer: send, RecvBuffer: receive}
	}
	return []contestant{published(simplePump, of(contender.Simple)), published(flushingPump, of(contender.Flushing))}
}

func elasticMemory(s Scale) Section {
	n := [...]int{Standard: 250_000, Quick: 10_000}[s.Size]
	point := s.point(sectionMemory, Panel{}, "memory", "", s.home(1, 2, 4), n, nil)
	point.Target = 0
	steps := 24                                     // no two doublings share a step, except the smallest
	point.Count = min(point.Count, stat.MinSamples) // the figures hardly vary
	if s.Size == Quick {
		point.Count, steps = min(point.Count, 2), 16
	}
	point.Pass = time.Duration(steps) * stepTakes
	roster := append(shrinkRoster(n),
		contestant{boundedSlotEach, contender.Bounded(background, nil), slotEach, false},
		contestant{pipe, contender.Pipe(nil), unbounded, false})
	for _, c := range roster {
		point.Entries = append(point.Entries, c.footprint(n, steps))
	}
	return Section{
		Sweep: Sweep{
			Name:  sectionMemory,
			Title: "Memory held",
			Text: "Heap memory held while " + format.Thousands(n) + " values of 8 bytes are queued, at the worst moment of " +
				"filling and when all are queued; and the rest after all are drained, with the channel still open.",
			Measures: []Measure{
				{Unit: measure.BytesPeak, Title: "worst while filling", Axis: "bytes per value"},
				{Unit: measure.BytesFull, Title: "when full", Axis: "bytes per value"},
				{Unit: measure.BytesDrained, Title: "after the drain", Axis: "KiB in all", Per: 1024},
			},
		},
		Points: []*Point{point},
	}
}
