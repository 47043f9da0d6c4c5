package lab

import (
	"fmt"
	"strconv"

	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/workload"
	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// directSendStudy asks for the benefit of the hand-off to a waiting receiver,
// with the ablation that its author wished for.
var directSendStudy = register(Experiment{
	Study: Study{
		Name:  DirectSend,
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
})

var directCapacities = []int{0, 1, 10}

func directPublished() []Published {
	var figures []Published
	add := func(row string, section SectionID, procs int, values ...float64) {
		for i, value := range values {
			capacity := strconv.Itoa(directCapacities[i])
			figures = append(figures, Published{
				Row: row, Column: "capacity " + capacity, Value: value,
				Section: section, Panel: atProcs(procs), X: capacity, Contender: Native, Ours: withHandOff,
			})
		}
	}
	add("(a) one way, 1 CPU", SectionOneWay, 1, 225, 173, 97.4)
	add("(b) request and response, 1 CPU", SectionRequest, 1, 379, 388, 383)
	add("(b) request and response, 2 CPUs", SectionRequest, 2, 445, 437, 443)
	return append(figures, Published{
		Row: "(c) all sends first, 8 CPUs", Column: "N slots", Value: 64.7,
		Section: sectionAllFirst, Panel: Panel{Load: fillFirst}, X: "8", Contender: nativeSlotEach, Ours: boundedSlotEach,
	})
}

// directRoster returns the contenders that can have a capacity of 0, 1 or 10.
func directRoster(capacity int) []contestant {
	with, without := contender.Bounded(background, nil), contender.BoundedWithoutHandOff()
	if capacity == 0 {
		with, without = contender.Rendezvous(background, nil), contender.RendezvousWithoutHandOff()
	}
	return []contestant{
		{Native, contender.Native(), capacity, false},
		{withHandOff, with, capacity, false},
		{withNoHandOff, without, capacity, false},
	}
}

// noCapacity are the contenders that parts (a) and (b) leave out.
var noCapacity = []measure.LeftOut{
	{Contender: elastic, Reason: "it grows, and cannot have a capacity of 0, 1 or 10"},
}

func directSections(s Scale) []Section {
	n := [...]int{Standard: 20_000, Quick: 5_000, AsPublished: 500_000}[s.Size]
	oneWay := Section{Sweep: Sweep{
		Name:     SectionOneWay,
		Title:    "(a) One way",
		Text:     "One goroutine sends values to another, which adds them up.",
		Axis:     "capacity",
		Measures: []Measure{PerValue},
	}}
	request := Section{Sweep: Sweep{
		Name:     SectionRequest,
		Title:    "(b) Request and response",
		Text:     "Send a value, then wait for the response on a second channel.",
		Axis:     "capacity",
		Measures: []Measure{{Unit: measure.NsPerOp, Axis: "ns per round trip"}},
	}}
	for _, procs := range s.procs(1, 2, 8) {
		panel := atProcs(procs)
		for _, capacity := range directCapacities {
			label := []measure.Label{{Key: LabelCapacity, Value: strconv.Itoa(capacity)}}
			a := s.point(SectionOneWay, panel, string(SectionOneWay), label[0].Value, procs, n, label)
			b := s.point(SectionRequest, panel, string(SectionRequest), label[0].Value, procs, n/2, label)
			for _, c := range directRoster(capacity) {
				a.Entries = append(a.Entries, c.bothAtOnce(n))
				b.Entries = append(b.Entries, c.entry(workload.PingPong(capacity), n/2))
			}
			a.LeftOut, b.LeftOut = noCapacity, noCapacity
			oneWay.Points = append(oneWay.Points, a)
			request.Points = append(request.Points, b)
		}
	}
	return []Section{oneWay, request, allFirst(s, n)}
}

func allFirst(s Scale, n int) Section {
	roster := []contestant{
		{nativeSlotEach, contender.Native(), slotEach, false},
		{rendezvous, contender.Rendezvous(background, nil), 0, false},
		{boundedSlotEach, contender.Bounded(background, nil), slotEach, false},
		{elastic, contender.Elastic(background, nil), unbounded, false},
	}
	section := Section{Sweep: Sweep{
		Name:     sectionAllFirst,
		Title:    "(c) All sends before all receives",
		Text:     "One goroutine sends " + format.Thousands(n) + " values and then receives them: no goroutine ever waits.",
		Axis:     "GOMAXPROCS",
		Measures: []Measure{PerValue},
	}}
	for _, procs := range s.procs(1, 2, 8) {
		p := s.point(sectionAllFirst, Panel{Load: fillFirst}, string(sectionAllFirst), strconv.Itoa(procs), procs, n, nil)
		for _, c := range roster {
			if entry, whyNot := c.fillFirst(n); whyNot == "" {
				p.Entries = append(p.Entries, entry)
			} else {
				p.LeftOut = append(p.LeftOut, measure.LeftOut{Contender: c.id, Reason: whyNot})
			}
		}
		p.LeftOut = append(p.LeftOut, measure.LeftOut{
			Contender: withNoHandOff, Reason: "no goroutine waits, so there is no hand-off",
		})
		section.Points = append(section.Points, p)
	}
	return section
}

func directConclusion(m *Measured) Conclusion {
	c := Conclusion{Summary: directSummary(m), Findings: directFindings(m)}
	m.directAnswer(&c)
	return c
}

// directSummary returns the cost of one value through an unbuffered built-in
// channel, at two processors, or else at the largest measured number with a CPU
// each.
func directSummary(m *Measured) []string {
	var summary []string
	for _, panel := range m.panels(SectionOneWay) {
		if len(summary) > 0 && m.beyond(SectionOneWay, panel, "0") {
			break
		}
		if change, ok := m.change(SectionOneWay, panel, "0", Native, withHandOff); ok {
			price := stat.Summarize(m.Samples(SectionOneWay, panel, "0", Native, measure.NsPerOp))
			text := ratio("sluice.Rendezvous", atGOMAXPROCS, []place{{strconv.Itoa(panel.Procs), change}})
			if price.Known() {
				text = fmt.Sprintf("One value costs %s ns through an unbuffered built-in channel (%s). ", format.Coarse(price.Median), m.procs(SectionOneWay, panel)) + text
			}
			summary = []string{text}
			if panel == atProcs(2) {
				break
			}
		}
	}
	return summary
}

func directFindings(m *Measured) []string {
	var findings []string
	for _, question := range []struct {
		what        string
		base, other ContenderID
	}{
		{"a hand-off", withNoHandOff, withHandOff},
		{"sluice instead of the built-in channel", Native, withHandOff},
	} {
		for _, part := range []struct {
			section SectionID
			name    string
		}{{SectionOneWay, "One way"}, {SectionRequest, "Request and response"}} {
			findings = append(findings, m.byCapacity(part.section, part.name, question.what, question.base, question.other)...)
		}
	}
	return findings
}

// byCapacity compares two contenders by GOMAXPROCS and returns a finding per
// capacity. Capacities without a difference share one.
func (m *Measured) byCapacity(section SectionID, part, what string, base, other ContenderID) []string {
	var findings, nothing []string
	for _, capacity := range directCapacities {
		x := strconv.Itoa(capacity)
		var places []place
		for _, panel := range m.panels(section) {
			if c, ok := m.change(section, panel, x, base, other); ok {
				places = append(places, place{m.marked(strconv.Itoa(panel.Procs), section, panel, x), c})
			}
		}
		switch {
		case len(places) == 0:
		case anyClear(places):
			findings = append(findings, effect(part+", capacity "+x+": "+what, atGOMAXPROCS, places))
		default:
			nothing = append(nothing, x)
		}
	}
	if len(nothing) > 0 {
		findings = append(findings, fmt.Sprintf("%s, capacity %s: %s makes no difference beyond noise.", part, format.And(nothing), what))
	}
	return findings
}
