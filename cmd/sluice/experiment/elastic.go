package experiment

import (
	"fmt"
	"math/bits"
	"strconv"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/cmd/sluice/measure"
	"github.com/sluice-go/sluice/cmd/sluice/stat"
)

// Panels of the elastic experiment: the study's Seq and Con, and a load of ours.
const (
	fillFirst  = "fill first, then drain"
	bothAtOnce = "both at once"
	swinging   = "swinging around a power of two"
)

// Names of contestants that only this experiment knows.
const (
	nativeUnbuffered = "native, unbuffered"
	native1024       = "native, 1024 slots"
	bounded1024      = "sluice.Bounded, 1024 slots"
	boundedOneToOne  = "sluice.Bounded, 1024, 1:1"

	shrinkHalf     = "published, halves below a half"
	shrinkEmpty    = "published, when empty"
	shrinkNever    = "published, never"
	shrinkQuarter  = "lazier: halves below a quarter"
	shrinkIntended = "when empty, as intended"
	presized       = "pre-sized, never"
	ownHalf        = "sluice.Elastic, ShrinkHalf"
	ownEmpty       = "sluice.Elastic, ShrinkEmpty"
	ownNever       = "sluice.Elastic, NoShrink"
)

// elasticStudy is the study of a channel that grows.
var elasticStudy = register(Experiment{
	Name:  "elastic",
	Title: "How much does a growable channel cost?",
	Prediction: "A goroutine between two built-in channels costs at least one more hand-over for each value, so it takes " +
		"more than twice the time of one channel. A queue that grows in place needs no goroutine, and costs no more " +
		"than a built-in channel of 1024 slots.",
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
			"loses the value that it receives after 1024 in a row; the contender mends that and keeps the rest, " +
			"a ShrinkEmpty that frees nothing included.",
		"“1:1” is a sluice.Bounded of 1024 slots made with SingleSender and SingleReceiver.",
		"Except where shrinking is the question, the published channel never shrinks: that is its fastest mode.",
		"The published columns without a GOMAXPROCS are compared with GOMAXPROCS 1, the default of Go at that time.",
	},
	Sections:    elasticSections,
	Published:   elasticPublished(),
	PublishedIn: PerOperation,
	Conclude:    elasticConclusion,
})

func elasticPublished() []Published {
	const section = "procs"
	rows := []struct {
		name, panel, contender, ours string
		values                       [3]float64
	}{
		{"native, unbuffered", bothAtOnce, nativeUnbuffered, rendezvous, [3]float64{425, 403, 553}},
		{"native, 1024 slots", bothAtOnce, native1024, bounded1024, [3]float64{215, 212, 406}},
		{"elastic Seq", fillFirst, "", elastic, [3]float64{1599, 562, 407}},
		{"elastic Con", bothAtOnce, "", elastic, [3]float64{1974, 637, 396}},
	}
	columns := []struct{ name, pump, x string }{
		{"simple", simplePump, "1"},
		{"flushing", flushingPump, "1"},
		{"flushing, GOMAXPROCS=4", flushingPump, "4"},
	}
	var figures []Published
	for _, row := range rows {
		for i, column := range columns {
			who := row.contender
			if who == "" {
				who = column.pump
			}
			figures = append(figures, Published{
				Row: row.name, Column: column.name, Value: row.values[i],
				Section: section, Panel: row.panel, X: column.x, Contender: who, Ours: row.ours,
			})
		}
	}
	return figures
}

// elasticRoster is everybody who is asked to do the study's two works.
func elasticRoster() []contestant {
	native, bounded := contender.Native(), contender.Bounded(background, nil)
	oneToOne := &sluice.Options[uint64]{SingleSender: true, SingleReceiver: true}
	never, buffer := contender.PublishedNoShrink, contender.PublishedBuffer
	return []contestant{
		{nativeUnbuffered, native, 0, false},
		{native1024, native, 1024, false},
		{nativeSlotEach, native, slotEach, false},
		published(simplePump, contender.Simple, never, buffer, buffer),
		published(flushingPump, contender.Flushing, never, buffer, buffer),
		{rendezvous, contender.Rendezvous(background, nil), 0, false},
		{bounded1024, bounded, 1024, false},
		{boundedOneToOne, contender.Bounded(background, oneToOne), 1024, false},
		{boundedSlotEach, bounded, slotEach, false},
		{elastic, contender.Elastic(background, nil), unbounded, false},
		{elasticBatches, contender.Elastic(background, nil), unbounded, true},
		{ends, contender.Ends(nil), unbounded, false},
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

// seqAndCon returns the study's two works as points at one place.
func (s Scale) seqAndCon(section, x string, procs, n int, roster []contestant, labels ...measure.Label) []*Point {
	seq := s.point(section, fillFirst, "seq", x, procs, n, labels)
	con := s.point(section, bothAtOnce, "con", x, procs, n, labels)
	for _, c := range roster {
		if entry, whyNot := c.fillFirst(n); whyNot == "" {
			seq.Entries = append(seq.Entries, entry)
		} else {
			seq.LeftOut = append(seq.LeftOut, measure.LeftOut{Contender: c.name, Reason: whyNot})
		}
		con.Entries = append(con.Entries, c.bothAtOnce(n))
	}
	return []*Point{seq, con}
}

// point returns a timed point without entries.
func (s Scale) point(section, panel, work, x string, procs, n int, labels []measure.Label) *Point {
	all := []measure.Label{{Key: "sweep", Value: section}, {Key: "work", Value: work}, {Key: "n", Value: strconv.Itoa(n)}}
	name := section
	if work != section {
		name += " " + work
	}
	all = append(all, labels...)
	for _, label := range all[2:] {
		name += ", " + label.Key + " " + label.Value
	}
	return &Point{
		Panel:  panel,
		X:      x,
		Beyond: procs > s.cpus(),
		Point: measure.Point{
			Name:   fmt.Sprintf("%s, GOMAXPROCS %d", name, procs),
			Labels: all,
			Procs:  procs,
			Count:  s.count(),
			Target: s.target(),
		},
	}
}

// byPanel orders points so that those of one panel are together.
func byPanel(points []*Point) []*Point {
	var ordered []*Point
	seen := make(map[string]bool)
	for _, first := range points {
		if seen[first.Panel] {
			continue
		}
		seen[first.Panel] = true
		for _, p := range points {
			if p.Panel == first.Panel {
				ordered = append(ordered, p)
			}
		}
	}
	return ordered
}

func elasticProcs(s Scale) Section {
	n := [...]int{Standard: 100_000, Quick: 5_000, AsPublished: 1_000_000}[s.Size]
	study := []int{1, 2, 4}
	if s.Size == AsPublished {
		study = []int{1, 4}
	}
	var points []*Point
	for _, procs := range s.procs(study...) {
		points = append(points, s.seqAndCon("procs", strconv.Itoa(procs), procs, n, elasticRoster())...)
	}
	return Section{
		Name:  "procs",
		Title: "The study's two loads, by GOMAXPROCS",
		Text: "One goroutine sends " + thousands(n) + " values and closes; the values are received in order, " +
			"either after the last was sent or by a second goroutine meanwhile.",
		Axis:     "GOMAXPROCS",
		Measures: []Measure{PerValue},
		Points:   byPanel(points),
	}
}

func elasticLength(s Scale) Section {
	procs := s.home(1, 2, 4)
	roster := elasticRoster()
	var points []*Point
	for _, n := range []int{2_000, 10_000, 100_000, 1_000_000} {
		points = append(points, s.seqAndCon("length", short(n), procs, n, roster)...)
	}
	return Section{
		Name:     "length",
		Title:    "How many values",
		Text:     "The same, by the number of values: the more are queued, the more often a queue must grow.",
		Axis:     "values sent",
		Measures: []Measure{PerValue},
		Points:   byPanel(points),
	}
}

// shrinkRoster is the published flushing pump in each mode, what its author
// would have tried next, and our modes.
func shrinkRoster(n int) []contestant {
	flushing, buffer := contender.Flushing, contender.PublishedBuffer
	return []contestant{
		{nativeSlotEach, contender.Native(), slotEach, false},
		published(shrinkHalf, flushing, contender.PublishedShrinkHalf, buffer, buffer),
		variant{halveBelow: 4}.contestant(shrinkQuarter),
		published(shrinkEmpty, flushing, contender.PublishedShrinkEmpty, buffer, buffer),
		variant{freeWhenEmpty: true}.contestant(shrinkIntended),
		published(shrinkNever, flushing, contender.PublishedNoShrink, buffer, buffer),
		variant{start: powerOfTwo(n)}.contestant(presized),
		ownElastic(ownHalf, sluice.ShrinkHalf),
		ownElastic(ownEmpty, sluice.ShrinkEmpty),
		ownElastic(ownNever, sluice.NoShrink),
	}
}

func powerOfTwo(n int) int { return 1 << bits.Len(uint(n-1)) }

func elasticShrink(s Scale) Section {
	n := [...]int{Standard: 100_000, Quick: 5_000}[s.Size]
	procs := s.home(1, 2, 4)
	roster := shrinkRoster(n)
	points := s.seqAndCon("shrink", "", procs, n, roster)
	swing := s.point("shrink", swinging, "swing", "", procs, n, nil)
	for _, c := range roster {
		swing.Entries = append(swing.Entries, c.swing(n))
	}
	return Section{
		Name:  "shrink",
		Title: "Shrinking: when, how eagerly, or never",
		Text: "What the study left open: a pre-sized queue, lazier shrinking, and none. Pre-sized means slots for " +
			thousands(n) + " values from the start. The third load sends and receives " + strconv.Itoa(swingWidth) +
			" values in turn while about " + thousands(swingAround) + " are queued.",
		Measures: []Measure{PerValue},
		Points:   append(points, swing),
	}
}

func elasticBuffers(s Scale) Section {
	n := [...]int{Standard: 100_000, Quick: 5_000}[s.Size]
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
		points = append(points, s.seqAndCon("buffers", x, procs, n, pumps(size, size), label("both")...)...)
		for _, one := range []struct {
			vary          string
			send, receive int
		}{{"send", size, usual}, {"receive", usual, size}} {
			panel := bothAtOnce + ", " + one.vary + " buffer alone"
			p := s.point("buffers", panel, "con", x, procs, n, label(one.vary))
			for _, c := range pumps(one.send, one.receive) {
				p.Entries = append(p.Entries, c.bothAtOnce(n))
			}
			points = append(points, p)
		}
	}
	return Section{
		Name:  "buffers",
		Title: "The two built-in channels of the published form",
		Text: "The pump sits between two built-in channels of 128 slots each. Here both have another size, " +
			"and then one of them alone.",
		Axis:     "slots",
		Measures: []Measure{PerValue},
		Points:   byPanel(points),
	}
}

func pumps(send, receive int) []contestant {
	return []contestant{
		published(simplePump, contender.Simple, contender.PublishedNoShrink, send, receive),
		published(flushingPump, contender.Flushing, contender.PublishedNoShrink, send, receive),
	}
}

func elasticMemory(s Scale) Section {
	n := [...]int{Standard: 250_000, Quick: 10_000}[s.Size]
	point := s.point("memory", "", "memory", "", s.home(1, 2, 4), n, nil)
	point.Target = 0
	steps := 64
	point.Count = min(point.Count, stat.MinSamples) // the figures hardly vary
	if s.Size == Quick {
		point.Count, steps = min(point.Count, 2), 16
	}
	roster := append(shrinkRoster(n),
		contestant{boundedSlotEach, contender.Bounded(background, nil), slotEach, false},
		contestant{ends, contender.Ends(nil), unbounded, false})
	for _, c := range roster {
		point.Entries = append(point.Entries, c.footprint(n, steps))
	}
	return Section{
		Name:  "memory",
		Title: "Memory held",
		Text: "Heap memory held while " + thousands(n) + " values of 8 bytes are queued, at the worst moment of " +
			"filling and when all are in; and what is left once they are drained and the channel is still open.",
		Measures: []Measure{
			{Unit: measure.BytesPeak, Title: "worst while filling", Axis: "bytes per value"},
			{Unit: measure.BytesFull, Title: "when full", Axis: "bytes per value"},
			{Unit: measure.BytesDrained, Title: "after the drain", Axis: "KiB in all", Per: 1024},
		},
		Points: []*Point{point},
	}
}

// short writes a round n: "2 k", "1 M".
func short(n int) string {
	if n >= 1_000_000 {
		return strconv.Itoa(n/1_000_000) + " M"
	}
	return strconv.Itoa(n/1_000) + " k"
}

// thousands writes n with a space between groups of three digits.
func thousands(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + " " + digits[i:]
	}
	return digits
}
