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
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// elasticStudy asks for the cost of a channel that grows.
var elasticStudy = Experiment{
	Study: Study{
		Name:  "elastic",
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
	elasticLength  SectionID = "length"
	elasticShrink  SectionID = "shrink"
	elasticBuffers SectionID = "buffers"
	elasticMemory  SectionID = "memory"
)

// The contenders of this study alone. The shrinking ones are the published flushing pump.
var (
	simplePump      = named("published, simple")
	flushingPump    = named("published, flushing")
	elasticBatches  = named("sluice.Elastic, batches")
	boundedOneToOne = named("sluice.Bounded, 1024, 1:1")
	pipe            = named("bridge.Pipe")

	shrinkHalf     = named("published, halves below a half")
	shrinkEmpty    = named("published, when empty")
	shrinkNever    = named("published, never")
	shrinkQuarter  = named("lazier: halves below a quarter")
	shrinkIntended = named("when empty, as intended")
	presized       = named("pre-sized, never")
	ownHalf        = named("sluice.Elastic, ShrinkHalf")
	ownEmpty       = named("sluice.Elastic, ShrinkEmpty")
	ownNever       = named("sluice.Elastic, NoShrink")
)

func elasticPublished() []Published {
	var figures []Published
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
func published(id ContenderID, pump contender.Pump, shrink contender.PublishedShrink, send, receive, slots int) contestant {
	p := contender.Published{Pump: pump, Shrink: shrink, SendBuffer: send, RecvBuffer: receive, Slots: slots}
	return contestant{id, p.Contender(), unbounded, false}
}

// usualBuffer is the capacity of both.
const usualBuffer = contender.PublishedBuffer

// pumps returns both pumps of the study, which never shrink.
func pumps(send, receive int) []contestant {
	return []contestant{
		published(simplePump, contender.Simple, contender.PublishedNoShrink, send, receive, 0),
		published(flushingPump, contender.Flushing, contender.PublishedNoShrink, send, receive, 0),
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
	}, pumps(usualBuffer, usualBuffer), []contestant{
		{rendezvous, contender.Rendezvous(background, nil), 0, false},
		{bounded1024, ours, 1024, false},
		{boundedOneToOne, contender.Bounded(background, oneToOne), 1024, false},
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
		return published(id, contender.Flushing, shrink, usualBuffer, usualBuffer, slots)
	}
	own := func(id ContenderID, mode sluice.ShrinkMode) contestant {
		return contestant{id, contender.Elastic(background, &contender.Options{Shrink: mode}), unbounded, false}
	}
	return []contestant{
		{nativeSlotEach, contender.Native(), slotEach, false},
		flushing(shrinkHalf, contender.PublishedShrinkHalf, 0),
		flushing(shrinkQuarter, contender.LazyShrinkHalf, 0),
		flushing(shrinkEmpty, contender.PublishedShrinkEmpty, 0),
		flushing(shrinkIntended, contender.FreeWhenEmpty, 0),
		flushing(shrinkNever, contender.PublishedNoShrink, 0),
		flushing(presized, contender.PublishedNoShrink, 1<<bits.Len(uint(n-1))),
		own(ownHalf, sluice.ShrinkHalf),
		own(ownEmpty, sluice.ShrinkEmpty),
		own(ownNever, sluice.NoShrink),
	}
}

func elasticSections(s Scale) []Section {
	sections := []Section{elasticByProcs(s)}
	switch s.Size {
	case AsPublished:
		return arranged(sections...)
	case Standard:
		sections = append(sections, elasticByLength(s))
	}
	return arranged(append(sections, elasticShrinking(s), elasticByBuffer(s), elasticHeld(s))...)
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
	study := s.doubling(4)
	if s.Size == AsPublished {
		study = []int{1, 4}
	}
	for _, procs := range s.procs(study...) {
		section.seqAndCon(s, strconv.Itoa(procs), procs, n, elasticRoster())
	}
	return section
}

func elasticByLength(s Scale) Section {
	section := newSection(elasticLength, "How many values", "values sent",
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
		section.point(s, Panel{Load: varySendBuffer}, x, procs, n, vary("send")...).enter(pumps(size, usualBuffer), oneToOneOf(n))
		section.point(s, Panel{Load: varyReceiveBuffer}, x, procs, n, vary("receive")...).enter(pumps(usualBuffer, size), oneToOneOf(n))
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

// Ways of the load with both ends at once.
var (
	elasticUnbuffered = way{contender: nativeUnbuffered, label: "chan, unbuffered", words: "through an unbuffered channel"}
	elasticBuffered   = way{contender: native1024, label: "chan, 1024 slots", words: "with 1024 slots", key: true}
	elasticPump       = way{contender: flushingPump, label: "hand-made queue, 2 chans", key: true}
	elasticOwn        = way{contender: elastic, label: "sluice.Elastic", words: "through a sluice.Elastic", key: true}
	elasticWays       = []way{
		elasticUnbuffered, elasticBuffered, elasticPump,
		{contender: bounded1024, label: "sluice.Bounded"},
		elasticOwn,
		{contender: elasticBatches, label: fmt.Sprintf("sluice.Elastic, by %d", workload.BatchSize)},
	}
)

func elasticConclusion(m *Measured) Conclusion {
	c := Conclusion{Findings: elasticFindings(m)}
	home, ok := m.in(elasticProcs).of(bothAtOnce).home(native1024)
	if !ok {
		return c
	}
	c.Chart = Chart{"1 sender, 1 receiver, " + home.conditions(), PerValue.Axis, home.bars(PerValue, native1024, elasticWays...)}
	c.costs, c.sentence = c.Chart, costSentence(c.Chart, elasticWays...)
	pump := home.change(elastic, flushingPump)
	c.Answer = "As a queue that grows, sluice.Elastic " + c.speed(pump, elasticOwn.label, elasticPump.label, "a goroutine with a queue between two built-in channels") + "; it " +
		c.speed(home.change(elastic, native1024), elasticOwn.label, elasticBuffered.label, "a built-in channel of 1024 slots, which does not grow") + "."
	c.Advice = "Use sluice.Elastic, with a limit, where bursts must not block the sender."
	c.claims = append(
		c.claim(aboutElastic, pump, elasticPump.label, elasticOwn.label,
			"As a queue that grows, sluice.Elastic is %s times as fast as a goroutine between two channels (%s instead of %s; "+c.load()+"). Use it there."),
		c.bufferClaim(home.change(native1024, nativeUnbuffered), elasticUnbuffered.label, elasticBuffered.label, "1024")...)
	return c
}

func elasticFindings(m *Measured) []string {
	const beside = "Compared with a built-in channel of 1024 slots, both ends at once, "
	procs, shrink := m.in(elasticProcs), m.in(elasticShrink)
	findings := []string{
		takes(beside+"the published flushing pump", byProcs, procs.of(bothAtOnce).places(byProcs, native1024, flushingPump)),
		takes(beside+"sluice.Elastic", byProcs, procs.of(bothAtOnce).places(byProcs, native1024, elastic)),
	}
	for _, change := range []struct {
		subject     string
		base, other ContenderID
	}{
		{"sluice.Elastic instead of the published flushing pump", flushingPump, elastic},
		{"bridge.Pipe instead of the published flushing pump", flushingPump, pipe},
		{"Batches of 64 through sluice.Elastic instead of single values", elastic, elasticBatches},
		{"Flushing in the published pump instead of a select per value", simplePump, flushingPump},
	} {
		for _, load := range []Load{fillFirst, bothAtOnce} {
			findings = append(findings, procs.of(load).effect(change.subject+" ("+load.String()+")", byProcs, change.base, change.other))
		}
	}
	return said(append(findings,
		shrink.effect("Left open by the study: a pre-sized queue", byLoad, shrinkNever, presized),
		shrink.effect("Left open by the study: shrinking below a quarter instead of a half", byLoad, shrinkHalf, shrinkQuarter),
		shrink.effect("Left open by the study: not shrinking instead of shrinking below a half", byLoad, shrinkHalf, shrinkNever),
		bestBuffer(m.in(elasticBuffers).of(bothAtOnce).with(flushingPump)),
		held(m.in(elasticMemory).in(measure.BytesPeak).with(shrinkHalf).with(ownHalf)))...)
}

// bestBuffer names the fastest size of both built-in channels.
func bestBuffer(sizes spots) string {
	if len(sizes) < 2 {
		return ""
	}
	median := func(s spot) float64 { return s.summary(flushingPump).Median }
	slices.SortStableFunc(sizes, func(a, b spot) int { return cmp.Compare(median(a), median(b)) })
	best, worst := sizes.one(), sizes.last()
	if !stat.Between(best.samples(flushingPump), worst.samples(flushingPump)).Clear() {
		return "The size of its two buffers makes no difference beyond noise to the published flushing pump (both at once)."
	}
	return fmt.Sprintf("The published flushing pump is fastest with two buffers of %s slots (%.0f ns per value) "+
		"and slowest with %s (%.0f ns; both at once).", best.X, median(best), worst.X, median(worst))
}

func held(at spots) string {
	if len(at) == 0 {
		return ""
	}
	of := func(id ContenderID) string {
		var medians []any
		for _, measured := range elasticHeldMeasures {
			medians = append(medians, measured.Show(at.in(measured.Unit).one().summary(id)).Median)
		}
		return fmt.Sprintf("%.1f bytes at the worst moment of filling, %.1f when full, and %.1f KiB in all after the drain", medians...)
	}
	return "Per queued value of 8 bytes, the published channel that halves holds " + of(shrinkHalf) + "; sluice.Elastic holds " + of(ownHalf) + "."
}
