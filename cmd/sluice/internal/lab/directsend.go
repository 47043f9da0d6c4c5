package lab

import (
	"strconv"

	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/workload"
	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// directSendStudy asks for the benefit of the hand-off to a waiting receiver,
// with the ablation that its author wished for.
var directSendStudy = Experiment{
	Study: Study{
		Name:  "direct-send",
		Topic: "waiting receivers",
		Title: "Is passing a value straight to a waiting receiver faster?",
		Prediction: "A hand-off saves the receiver a read of the buffer under the lock: a few nanoseconds, compared with a " +
			"hundred or more for the switch between goroutines. The effect is visible, if at all, where each value wakes a " +
			"goroutine, and smallest with many slots.",
		Source: Source{
			Author:  "P. Pearl",
			Title:   "Channel Direct Send",
			Year:    2017,
			Machine: "not stated",
			Go:      "not stated",
		},
		Notes: []string{
			"“sluice” is sluice.Rendezvous at capacity 0 and sluice.Bounded above. “sluice, no hand-off” is a queue " +
				"under the same lock, in which a waiting receiver is woken and tries again; goroutines wait in the same way. " +
				"The author wished for this experiment with the runtime's own channels.",
		},
		PublishedIn: PerOperation,
	},
	Sections:  directSections,
	Published: directPublished(),
	Conclude:  directConclusion,
}

const (
	directOneWay   SectionID = "one-way"
	directRequest  SectionID = "request"
	directAllFirst SectionID = "all-first"
)

// withNoHandOff is the ablation of withHandOff.
const withNoHandOff ContenderID = "sluice_no_hand-off"

var directCapacities = []int{0, 1, 10}

func directPublished() (figures []Published) {
	add := func(row string, section SectionID, procs int, values ...float64) {
		for i, value := range values {
			capacity := strconv.Itoa(directCapacities[i])
			figures = append(figures, Published{
				Row: row, Column: "capacity " + capacity, Value: value,
				Section: section, Panel: Panel{Procs: procs}, X: capacity, Contender: native, Ours: withHandOff,
			})
		}
	}
	add("(a) one way, 1 CPU", directOneWay, 1, 225, 173, 97.4)
	add("(b) request and response, 1 CPU", directRequest, 1, 379, 388, 383)
	add("(b) request and response, 2 CPUs", directRequest, 2, 445, 437, 443)
	return append(figures, Published{
		Row: "(c) all sends first, 8 CPUs", Column: "N slots", Value: 64.7,
		Section: directAllFirst, X: "8", Contender: nativeSlotEach, Ours: boundedSlotEach,
	})
}

// directRoster returns the contenders that can have a capacity of 0, 1 or 10.
func directRoster(capacity int) []contestant {
	with, without := contender.Bounded(background, nil), contender.BoundedWithoutHandOff()
	if capacity == 0 {
		with, without = contender.Rendezvous(background, nil), contender.RendezvousWithoutHandOff()
	}
	return []contestant{
		{native, contender.Native(), capacity, false},
		{withHandOff, with, capacity, false},
		{withNoHandOff, without, capacity, false},
	}
}

func directSections(s Scale) []Section {
	n := [...]int{Standard: 20_000, Quick: 5_000, AsPublished: 500_000}[s.Size]
	oneWay := newSection(directOneWay, "(a) One way", "capacity",
		"One goroutine sends values to another, which adds them up.",
		PerValue)
	request := newSection(directRequest, "(b) Request and response", "capacity",
		"Send a value, then wait for the response on a second channel.",
		Measure{Unit: measure.NsPerOp, Axis: "ns per round trip"})
	allFirst := newSection(directAllFirst, "(c) All sends before all receives", AxisProcs,
		"One goroutine sends "+format.Thousands(n)+" values and then receives them: no goroutine ever waits.",
		PerValue)
	for _, procs := range s.procs(1, 2, 8) {
		for _, capacity := range directCapacities {
			x := strconv.Itoa(capacity)
			label := measure.Label{Key: "capacity", Value: x}
			a := oneWay.point(s, Panel{}, x, procs, n, label)
			b := request.point(s, Panel{}, x, procs, n/2, label)
			a.enter(directRoster(capacity), oneToOneOf(n))
			b.enter(directRoster(capacity), func(c contestant) (measure.Entry, string) {
				return c.entry(workload.PingPong(capacity), n/2), ""
			})
			for _, p := range []*Point{a, b} {
				p.leaveOut("it grows, and cannot have a capacity of 0, 1 or 10", elastic)
			}
		}
		c := allFirst.point(s, Panel{}, strconv.Itoa(procs), procs, n)
		c.enter([]contestant{
			{nativeSlotEach, contender.Native(), slotEach, false},
			{rendezvous, contender.Rendezvous(background, nil), 0, false},
			{boundedSlotEach, contender.Bounded(background, nil), slotEach, false},
			{elastic, contender.Elastic(background, nil), unbounded, false},
		}, func(c contestant) (measure.Entry, string) { return c.fillFirst(n) })
		c.leaveOut("no goroutine waits, so there is no hand-off", withNoHandOff)
	}
	return []Section{oneWay, request, allFirst}
}

// directConclusion draws the answer without a buffer, and compares it with the study's
// largest.
func directConclusion(m Measured) Conclusion {
	c := Conclusion{Findings: directFindings(m)}
	home, ok := m.in(directOneWay).at("0").home(native)
	if !ok {
		return c
	}
	most := strconv.Itoa(directCapacities[len(directCapacities)-1])
	large := m.in(directOneWay).panel(home.Panel).at(most).one()
	c.Chart = Chart{home.under("1 sender, 1 receiver"), PerValue.Axis, append(
		home.bars(PerValue, native,
			way{native, "chan, unbuffered", "through an unbuffered channel"},
			way{withHandOff, "sluice.Rendezvous", ""}, way{withNoHandOff, "sluice, no hand-off", ""}),
		large.bars(PerValue, "",
			way{native, "chan, " + most + " slots", "with " + most + " slots"},
			way{withHandOff, "sluice.Bounded, " + most + " slots", ""}, way{withNoHandOff, "sluice, no hand-off, " + most, ""})...)}
	c.Answer = "A sluice.Rendezvous, which passes a value straight to a waiting receiver, is " + speed(home.change(withNoHandOff, withHandOff)) +
		" as a copy that only wakes the receiver, which then tries again."
	c.Advice = "Nothing to change: the built-in channel and sluice both pass values straight on."
	if buffered := stat.Between(home.samples(native), large.samples(native)); faster(buffered) {
		c.Advice += " A buffer gains more: with " + most + " slots, a channel is " + speed(buffered) + "."
	}
	return c
}

func directFindings(m Measured) []string {
	var findings []string
	for _, question := range []struct {
		what        string
		base, other ContenderID
	}{
		{"a hand-off", withNoHandOff, withHandOff},
		{"sluice instead of the built-in channel", native, withHandOff},
	} {
		for _, part := range []struct {
			section SectionID
			name    string
		}{{directOneWay, "One way"}, {directRequest, "Request and response"}} {
			for _, capacity := range directCapacities {
				x := strconv.Itoa(capacity)
				findings = append(findings, m.in(part.section).at(x).compare(part.name+", capacity "+x+": "+question.what, question.base, question.other))
			}
		}
	}
	return said(findings...)
}
