package lab

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/workload"
	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/predict"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// elasticStudy asks for the cost of a channel that grows.
var elasticStudy = Experiment{
	Study: Study{
		Name:  "elastic",
		Topic: "growing queues",
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
}

const (
	elasticProcs   SectionID = "procs"
	elasticShrink  SectionID = "shrink"
	elasticBuffers SectionID = "buffers"
	elasticMemory  SectionID = "memory"
)

// The contenders of this study alone. The shrinking ones are the published flushing pump.
const (
	simplePump     ContenderID = "published_simple"
	flushingPump   ContenderID = "published_flushing"
	elasticBatches ContenderID = "sluice.Elastic_batches"
	pipe           ContenderID = "bridge.Pipe"

	shrinkHalf    ContenderID = "published_halves_below_a_half"
	shrinkNever   ContenderID = "published_never"
	shrinkQuarter ContenderID = "lazier_halves_below_a_quarter"
	presized      ContenderID = "pre-sized_never"
	ownHalf       ContenderID = "sluice.Elastic_ShrinkHalf"
)

func elasticPublished() (figures []Published) {
	for _, row := range []struct {
		name            string
		load            Load
		contender, ours ContenderID // contender is "" for the column's pump
		values          [3]float64
	}{
		{"native, unbuffered", bothAtOnce, nativeUnbuffered, rendezvous, [...]float64{425, 403, 553}},
		{"native, 1024 slots", bothAtOnce, native1024, bounded1024, [...]float64{215, 212, 406}},
		{"elastic Seq", fillFirst, "", elastic, [...]float64{1599, 562, 407}},
		{"elastic Con", bothAtOnce, "", elastic, [...]float64{1974, 637, 396}},
	} {
		for i, column := range []struct {
			name string
			pump ContenderID
			x    string
		}{{"simple", simplePump, "1"}, {"flushing", flushingPump, "1"}, {"flushing, GOMAXPROCS=4", flushingPump, "4"}} {
			figures = append(figures, Published{
				Row: row.name, Column: column.name, Value: row.values[i],
				Section: elasticProcs, Panel: Panel{Load: row.load}, X: column.x, Contender: cmp.Or(row.contender, column.pump), Ours: row.ours,
			})
		}
	}
	return figures
}

// published enters the elastic channel of the study, between two built-in channels.
func published(id ContenderID, p contender.Published) contestant {
	return contestant{id, p.Contender(), unbounded, false}
}

// pumps returns both pumps of the study, which never shrink.
func pumps(send, receive int) []contestant {
	return []contestant{
		published(simplePump, contender.Published{SendBuffer: send, RecvBuffer: receive}),
		published(flushingPump, contender.Published{Flushing: true, SendBuffer: send, RecvBuffer: receive}),
	}
}

// elasticRoster returns the contenders for the study's two loads.
func elasticRoster() []contestant {
	builtIn, ours := contender.Native(), contender.Bounded(background, nil)
	oneToOne := &contender.Options{SingleSender: true, SingleReceiver: true}
	return slices.Concat([]contestant{
		{nativeUnbuffered, builtIn, 0, false},
		{native1024, builtIn, 1024, false},
		{nativeSlotEach, builtIn, slotEach, false},
	}, pumps(contender.PublishedBuffer, contender.PublishedBuffer), []contestant{
		{rendezvous, contender.Rendezvous(background, nil), 0, false},
		{bounded1024, ours, 1024, false},
		{"sluice.Bounded_1024_1_1", contender.Bounded(background, oneToOne), 1024, false},
		{boundedSlotEach, ours, slotEach, false},
		{elastic, contender.Elastic(background, nil), unbounded, false},
		{elasticBatches, contender.Elastic(background, nil), unbounded, true},
		{pipe, contender.Pipe(nil), unbounded, false},
	})
}

// shrinkRoster returns the published flushing pump in each mode, the modes that
// its author wanted to try next, and the modes of sluice.Elastic.
func shrinkRoster(n int) []contestant {
	flushing := func(id ContenderID, shrink contender.PublishedShrink, slots int) contestant {
		return published(id, contender.Published{
			Flushing: true, Shrink: shrink, SendBuffer: contender.PublishedBuffer, RecvBuffer: contender.PublishedBuffer, Slots: slots,
		})
	}
	own := func(id ContenderID, mode sluice.ShrinkMode) contestant {
		return contestant{id, contender.Elastic(background, &contender.Options{Shrink: mode}), unbounded, false}
	}
	return []contestant{
		{nativeSlotEach, contender.Native(), slotEach, false},
		flushing(shrinkHalf, contender.PublishedShrinkHalf, 0),
		flushing(shrinkQuarter, contender.LazyShrinkHalf, 0),
		flushing("published_when_empty", contender.PublishedShrinkEmpty, 0),
		flushing("when_empty_as_intended", contender.FreeWhenEmpty, 0),
		flushing(shrinkNever, contender.PublishedNoShrink, 0),
		flushing(presized, contender.PublishedNoShrink, 1<<bits.Len(uint(n-1))),
		own(ownHalf, sluice.ShrinkHalf),
		own("sluice.Elastic_ShrinkEmpty", sluice.ShrinkEmpty),
		own("sluice.Elastic_NoShrink", sluice.NoShrink),
	}
}

func elasticSections(s Scale) []Section {
	sections := []Section{elasticByProcs(s)}
	switch s.Size {
	case AsPublished:
		return sections
	case Standard:
		sections = append(sections, elasticByLength(s))
	}
	return append(sections, elasticShrinking(s), elasticByBuffer(s), elasticHeld(s))
}

// seqAndCon adds the study's two loads at one place.
func (c *Section) seqAndCon(s Scale, x string, procs, n int, roster []contestant, labels ...measure.Label) {
	c.point(s, Panel{Load: fillFirst}, x, procs, n, labels...).enter(roster, func(c contestant) (measure.Entry, string) { return c.fillFirst(n) })
	c.point(s, Panel{Load: bothAtOnce}, x, procs, n, labels...).enter(roster, oneToOneOf(n))
}

// oneToOneOf is the work of n values from one sender to one receiver.
func oneToOneOf(n int) func(contestant) (measure.Entry, string) {
	return func(c contestant) (measure.Entry, string) { return c.carry(n, 1, 1), "" }
}

func elasticByProcs(s Scale) Section {
	n := [...]int{Standard: 100_000, Quick: 20_000, AsPublished: 1_000_000}[s.Size]
	section := newSection(elasticProcs, "The study's two loads, by GOMAXPROCS", AxisProcs,
		"One goroutine sends "+format.Thousands(n)+" values and closes; the values are received in order, "+
			"either after the last was sent or by a second goroutine meanwhile.",
		PerValue)
	study := predict.Doublings(max(4, s.cpus()))
	if s.Size == AsPublished {
		study = []int{1, 4}
	}
	for _, procs := range s.procs(study...) {
		section.seqAndCon(s, strconv.Itoa(procs), procs, n, elasticRoster())
	}
	return section
}

func elasticByLength(s Scale) Section {
	section := newSection("length", "How many values", "values sent",
		"The same, by the number of values: with more values queued, a queue grows more often.",
		PerValue)
	// Contenders with a fixed buffer are the same at any length.
	roster := slices.DeleteFunc(elasticRoster(), func(c contestant) bool { return c.capacity >= 0 })
	for _, n := range []int{2_000, 20_000, 200_000} {
		section.seqAndCon(s, format.Short(float64(n)), s.home(1, 2, 4), n, roster)
	}
	return section
}

// A length that swings around a power of two is the worst case of a shrinking
// ring without hysteresis. swingAround is the lowest number of queued values,
// such that the queue itself, between the published channel's two buffers of
// 128 slots, crosses 4096.
const (
	swingAround = 4096 + 64
	swingWidth  = 256
)

func elasticShrinking(s Scale) Section {
	n := [...]int{Standard: 100_000, Quick: 20_000}[s.Size]
	section := newSection(elasticShrink, "Shrinking: when, how eagerly, or never", "",
		"Questions that the study left open: a pre-sized queue, lazier shrinking, and none. Pre-sized means slots for "+
			format.Thousands(n)+" values from the start. The third load alternately sends and receives "+strconv.Itoa(swingWidth)+
			" values while about "+format.Thousands(swingAround)+" are queued.",
		PerValue)
	roster, procs := shrinkRoster(n), s.home(1, 2, 4)
	section.seqAndCon(s, "", procs, n, roster)
	section.point(s, Panel{Load: swinging}, "", procs, n).enter(roster, func(c contestant) (measure.Entry, string) {
		return c.entry(workload.Swing(swingAround, swingWidth), n), ""
	})
	return section
}

func elasticByBuffer(s Scale) Section {
	section := newSection(elasticBuffers, "The two built-in channels of the published channel", "slots",
		"The pump sits between two built-in channels of 128 slots each. Here both have another size, "+
			"and then one of them alone.",
		PerValue)
	sizes := []int{0, 16, 128, 1024}
	if s.Size == Quick {
		sizes = []int{0, 128}
	}
	n, procs := [...]int{Standard: 100_000, Quick: 20_000}[s.Size], s.home(1, 2, 4)
	for _, size := range sizes {
		x := strconv.Itoa(size)
		vary := func(which string) []measure.Label {
			return []measure.Label{{Key: "vary", Value: which}, {Key: "slots", Value: x}}
		}
		section.seqAndCon(s, x, procs, n, pumps(size, size), vary("both")...)
		section.point(s, Panel{Load: varySendBuffer}, x, procs, n, vary("send")...).enter(pumps(size, contender.PublishedBuffer), oneToOneOf(n))
		section.point(s, Panel{Load: varyReceiveBuffer}, x, procs, n, vary("receive")...).enter(pumps(contender.PublishedBuffer, size), oneToOneOf(n))
	}
	return section
}

// stepTakes is the duration of one step of measuring memory: a garbage collection.
const stepTakes = 2500 * time.Microsecond

// elasticHeldMeasures are what a channel holds.
var elasticHeldMeasures = []Measure{
	{Unit: measure.BytesPeak, Title: "worst while filling", Axis: "bytes per value"},
	{Unit: measure.BytesFull, Title: "when full", Axis: "bytes per value"},
	{Unit: measure.BytesDrained, Title: "after the drain", Axis: "KiB in all", Per: 1024},
}

func elasticHeld(s Scale) Section {
	n := [...]int{Standard: 250_000, Quick: 10_000}[s.Size]
	section := newSection(elasticMemory, "Memory held", "",
		"Heap memory held while "+format.Thousands(n)+" values of 8 bytes are queued, at the worst moment of "+
			"filling and when all are queued; and the rest after all are drained, with the channel still open.",
		elasticHeldMeasures...)
	point := section.point(s, Panel{}, "", s.home(1, 2, 4), n)
	point.Target = 0
	steps := 24                                     // no two doublings share a step, except the smallest
	point.Count = min(point.Count, stat.MinSamples) // the figures hardly vary
	if s.Size == Quick {
		point.Count, steps = min(point.Count, 2), 16
	}
	point.Pass = time.Duration(steps) * stepTakes
	point.enter(append(shrinkRoster(n),
		contestant{boundedSlotEach, contender.Bounded(background, nil), slotEach, false},
		contestant{pipe, contender.Pipe(nil), unbounded, false},
	), func(c contestant) (measure.Entry, string) { return c.footprint(n, steps), "" })
	return section
}

// footprint enters c in the work of holding n values, sent in the given number of
// steps.
func (c contestant) footprint(n, steps int) measure.Entry {
	return measure.Entry{Contender: c.id, Pass: func() (measure.Reading, error) {
		var wrong error
		var channel contender.Channel
		figures := measure.Footprint(n, steps, func() measure.Queue {
			channel = c.contender.Make(c.slots(n))
			return measure.Queue{
				Fill: func(lo, hi int) { channel.Send(uint64(lo), uint64(hi)) },
				Empty: func(n int) {
					for want := range uint64(n) {
						if got := channel.Recv(1); (got.Count == 0 || got.Sum != want) && wrong == nil {
							wrong = fmt.Errorf("%s: received %d (%v), want %d", c.id, got.Sum, got.Count > 0, want)
						}
					}
				},
			}
		})
		channel.Close()
		if got := channel.Recv(1); got.Count > 0 && wrong == nil {
			wrong = fmt.Errorf("%s: received %d after all %d values", c.id, got.Sum, n)
		}
		return measure.Reading{Ops: n, Figures: figures}, wrong
	}}
}

func elasticConclusion(m Measured) Conclusion {
	c := Conclusion{Findings: elasticFindings(m)}
	home, ok := m.in(elasticProcs).of(bothAtOnce).home(native1024)
	if !ok {
		return c
	}
	c.Chart = Chart{home.under("1 sender, 1 receiver"), PerValue.Axis, home.bars(PerValue, native1024,
		way{nativeUnbuffered, "chan, unbuffered", "through an unbuffered channel"},
		way{native1024, "chan, 1024 slots", "with 1024 slots"},
		way{flushingPump, "hand-made queue, 2 chans", ""},
		way{bounded1024, "sluice.Bounded", ""},
		way{elastic, "sluice.Elastic", "through a sluice.Elastic"},
		way{elasticBatches, fmt.Sprintf("sluice.Elastic, by %d", workload.BatchSize), ""})}
	c.Answer = "sluice.Elastic is " + speed(home.change(flushingPump, elastic)) + " as a goroutine with a queue between two built-in channels, and " +
		speed(home.change(native1024, elastic)) + " as a built-in channel of 1024 slots, which does not grow."
	c.Advice = "Use sluice.Elastic, with a limit, where bursts must not block the sender."
	return c
}

func elasticFindings(m Measured) []string {
	procs, together, shrink := m.in(elasticProcs), m.in(elasticProcs).of(bothAtOnce), m.in(elasticShrink)
	var findings []string
	for _, change := range []struct {
		subject     string
		at          Measured
		base, other ContenderID
	}{
		{"The published flushing pump instead of a built-in channel of 1024 slots", together, native1024, flushingPump},
		{"sluice.Elastic instead of a built-in channel of 1024 slots", together, native1024, elastic},
		{"sluice.Elastic instead of the published flushing pump", procs, flushingPump, elastic},
		{"bridge.Pipe instead of the published flushing pump", procs, flushingPump, pipe},
		{"Batches of 64 through sluice.Elastic instead of single values", procs, elastic, elasticBatches},
		{"Flushing in the published pump instead of a select per value", procs, simplePump, flushingPump},
		{"Left open by the study: a pre-sized queue", shrink, shrinkNever, presized},
		{"Left open by the study: shrinking below a quarter instead of a half", shrink, shrinkHalf, shrinkQuarter},
		{"Left open by the study: not shrinking instead of shrinking below a half", shrink, shrinkHalf, shrinkNever},
	} {
		for _, load := range []Load{fillFirst, bothAtOnce, swinging} {
			findings = append(findings, change.at.of(load).compare(change.subject+" ("+load.title+")", change.base, change.other))
		}
	}
	var sizes, held []place
	usual := strconv.Itoa(contender.PublishedBuffer)
	buffers := m.in(elasticBuffers).of(bothAtOnce)
	for _, p := range buffers {
		if c := stat.Between(buffers.at(usual).one().samples(flushingPump), p.samples(flushingPump)); c.N > 0 && p.X != usual {
			sizes = append(sizes, place{p.X + " slots", speed(c)})
		}
	}
	for _, measured := range elasticHeldMeasures {
		if c := m.in(elasticMemory).inUnit(measured.Unit).one().change(shrinkHalf, ownHalf); c.N > 0 {
			held = append(held, place{measured.Title, multiple(c, "as much")})
		}
	}
	return said(append(findings,
		finding("Instead of two buffers of "+usual+" slots, the published flushing pump is (both at once)", " with", sizes),
		finding("sluice.Elastic instead of the published channel, both shrinking below a half, holds", "", held))...)
}
