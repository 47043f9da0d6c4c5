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

// directSendStudy is the study of the hand-off to a waiting receiver, with the
// ablation that its author wished for.
var directSendStudy = register(Experiment{
	Study: Study{
		Name:  DirectSend,
		Title: "Does a hand-off to a waiting receiver pay?",
		Prediction: "A hand-off saves the receiver a look into the buffer under the lock, a few nanoseconds beside the " +
			"hundred or more of the switch between goroutines: it shows, if at all, where each value wakes somebody, " +
			"and least with many slots.",
		Source: Source{
			Author:  "P. Pearl",
			Title:   "Channel Direct Send",
			Year:    2017,
			Machine: "not stated",
			Go:      "not stated",
		},
		Notes: []string{
			"“sluice” is sluice.Rendezvous at capacity 0 and sluice.Bounded above. “sluice, no hand-off” is the same " +
				"without the hand-off: a waiting receiver is woken and looks again, all else being equal. " +
				"That is the experiment that the author wished to make with the runtime's own channels.",
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

// directRoster is everybody who can be given a capacity of 0, 1 or 10.
func directRoster(capacity int) []contestant {
	make := func(o *contender.Options) contender.Contender {
		if capacity == 0 {
			return contender.Rendezvous(background, o)
		}
		return contender.Bounded(background, o)
	}
	return []contestant{
		{Native, contender.Native(), capacity, false},
		{withHandOff, make(nil), capacity, false},
		{withNoHandOff, make(&contender.Options{NoHandOff: true}), capacity, false},
	}
}

// noCapacity names those whom parts (a) and (b) leave out.
var noCapacity = []measure.LeftOut{
	{Contender: elastic, Reason: "it grows, and has no capacity of 0, 1 or 10"},
}

func directSections(s Scale) []Section {
	n := [...]int{Standard: 20_000, Quick: 1_000, AsPublished: 500_000}[s.Size]
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
		Text:     "Send a value, then wait for the answer on a second channel.",
		Axis:     "capacity",
		Measures: []Measure{{Unit: measure.NsPerOp, Axis: "ns per round trip"}},
	}}
	for _, procs := range s.procs(1, 2, 8) {
		panel := atProcs(procs)
		for _, capacity := range directCapacities {
			label := []measure.Label{{Key: "capacity", Value: strconv.Itoa(capacity)}}
			a := s.point(SectionOneWay, panel, "one-way", label[0].Value, procs, n, label)
			b := s.point(SectionRequest, panel, "request", label[0].Value, procs, n/2, label)
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
		Text:     "One goroutine sends " + format.Thousands(n) + " values and then receives them: nobody ever waits.",
		Axis:     "GOMAXPROCS",
		Measures: []Measure{PerValue},
	}}
	for _, procs := range s.procs(1, 2, 8) {
		p := s.point(sectionAllFirst, Panel{Load: fillFirst}, "all-first", strconv.Itoa(procs), procs, n, nil)
		for _, c := range roster {
			if entry, whyNot := c.fillFirst(n); whyNot == "" {
				p.Entries = append(p.Entries, entry)
			} else {
				p.LeftOut = append(p.LeftOut, measure.LeftOut{Contender: c.id, Reason: whyNot})
			}
		}
		p.LeftOut = append(p.LeftOut, measure.LeftOut{
			Contender: withNoHandOff, Reason: "nobody waits, so there is nothing to hand over",
		})
		section.Points = append(section.Points, p)
	}
	return section
}

func directConclusion(m *Measured) Conclusion {
	return Conclusion{Summary: directSummary(m), Findings: directFindings(m)}
}

// directSummary prices a hand-over: a value through a built-in channel without a
// buffer, at two processors or else the most that were measured and have a CPU each.
func directSummary(m *Measured) []string {
	var summary []string
	for _, panel := range m.panels(SectionOneWay) {
		if len(summary) > 0 && m.beyond(SectionOneWay, panel, "0") {
			break
		}
		if change, ok := m.change(SectionOneWay, panel, "0", Native, withHandOff); ok {
			price := stat.Summarize(m.Samples(SectionOneWay, panel, "0", Native, measure.NsPerOp))
			summary = []string{fmt.Sprintf("At %s a value handed over by a built-in channel without a buffer costs %.0f ns; "+
				"by sluice.Rendezvous %s times that.", m.markedPanel(SectionOneWay, panel), price.Median, factor(change))}
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
		{"sluice, in place of the built-in channel,", Native, withHandOff},
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

// byCapacity compares two contenders by GOMAXPROCS, a finding for each capacity.
// The capacities at which nothing was found share one.
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
