package lab

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/paced"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
)

// notBusyStudy asks for the cost of channels that are mostly empty. It repeats no
// published study: all of those saturate a channel.
var notBusyStudy = register(Experiment{
	Study: Study{
		Name:  NotBusy,
		Title: "What does a channel cost a service that is not busy?",
		Prediction: "Where a channel is mostly empty, each value wakes a goroutine, and that costs microseconds: far more than " +
			"the channel itself. So all channels take about the same CPU time, and what differs is the delay: how long the " +
			"receiver waits before it parks, and how directly it gets the value.",
		Notes: []string{
			"The load is open-loop: values arrive at random times that do not depend on the channel, at the given rate in all. " +
				"Above 20,000 per second they arrive in groups, as messages arrive in one read of a socket.",
			"CPU time is that of the whole process, including the arrivals: “no channel” is the same load without a channel. " +
				"A delay begins when Send is called and ends when a receiver has the value. Each repetition has its own " +
				"quantile, and the figure is the median of the repetitions.",
			"“with ctx” are the operations with a context that can be canceled; for the built-in channel, a select with ctx.Done.",
		},
	},
	Sections: notBusySections,
	Conclude: notBusyConclusion,
})

// Units of the study.
const (
	cpuPerValue = "cpu-ns/op"
	delayHalf   = "delay-p50-ns"
	delayMost   = "delay-p99-ns"
)

var notBusyMeasures = []Measure{
	{Unit: cpuPerValue, Title: "CPU time", Axis: "µs per value", Per: 1000},
	{Unit: delayHalf, Title: "delay of half of the values", Axis: "µs", Per: 1000},
	{Unit: delayMost, Title: "delay of 99%", Axis: "µs", Per: 1000},
}

// The load of the section that varies the ends, and of the study's answer.
const (
	usualRate    = 10_000
	usualSenders = 8
	pacedSlots   = 128
)

// An arrival is a load's rate, and how long a run of it is.
type arrival struct {
	rate   float64
	values int
}

func (a arrival) name() string { return strconv.FormatFloat(a.rate/1000, 'f', -1, 64) + "k" }

func (a arrival) duration() time.Duration {
	return time.Duration(float64(a.values) / a.rate * float64(time.Second))
}

func (s Scale) arrivals() []arrival {
	switch s.Size {
	case Quick:
		return []arrival{{usualRate, 100}}
	case AsPublished:
		return []arrival{{1_000, 1_000}, {usualRate, usualRate}, {100_000, 100_000}}
	}
	return []arrival{{1_000, 80}, {usualRate, 300}, {100_000, 3_000}}
}

// notBusyRoster are the contenders of the study.
func notBusyRoster() []contestant {
	return []contestant{
		{withSlots(Native, pacedSlots), contender.Native(), pacedSlots, false},
		{nativeDone, contender.NativeSelect(cancelable), pacedSlots, false},
		{withSlots(ownBounded, pacedSlots), contender.Bounded(background, nil), pacedSlots, false},
		{boundedDone, contender.Bounded(cancelable, nil), pacedSlots, false},
		{elastic, contender.Elastic(background, nil), unbounded, false},
		{nativeUnbuffered, contender.Native(), 0, false},
		{rendezvous, contender.Rendezvous(background, nil), 0, false},
	}
}

// paced enters c in a load at a given rate.
func (c contestant) paced(l paced.Load) measure.Entry {
	return pacedEntry(c.id, l, func(l paced.Load) (*paced.Result, error) { return l.Run(c.contender, c.slots(l.Values)) })
}

// pacedEntry enters run in a load. Each repetition has other arrivals, the same for all
// entries.
func pacedEntry(id ContenderID, l paced.Load, run func(paced.Load) (*paced.Result, error)) measure.Entry {
	return measure.Entry{Contender: id, Pass: func() (measure.Reading, error) {
		r, err := run(l)
		l.Seed++
		if err != nil {
			return measure.Reading{}, err
		}
		return measure.Reading{Ops: int(r.Values), Figures: []measure.Figure{
			{Unit: cpuPerValue, Value: r.PerValue()},
			{Unit: delayHalf, Value: r.FromSend.Quantile(0.5)},
			{Unit: delayMost, Value: r.FromSend.Quantile(0.99)},
		}}, nil
	}}
}

func notBusySections(s Scale) []Section { return []Section{byRate(s), byEnds(s)} }

// pacedPoint returns a point of the study.
func (s Scale) pacedPoint(section SectionID, x string, procs int, a arrival, senders, receivers int, roster []contestant) *Point {
	p := s.point(section, atProcs(procs), string(section), x, procs, a.values, []measure.Label{
		{Key: "rate", Value: a.name()}, {Key: "senders", Value: strconv.Itoa(senders)}, {Key: "receivers", Value: strconv.Itoa(receivers)},
	})
	p.Target, p.Pass = 0, a.duration()
	load := paced.Load{Rate: a.rate, Senders: senders, Receivers: receivers, Values: a.values}
	p.Entries = append(p.Entries, pacedEntry(alone, load, paced.Load.Without))
	for _, c := range roster {
		p.Entries = append(p.Entries, c.paced(load))
	}
	return p
}

func byRate(s Scale) Section {
	section := Section{Sweep: Sweep{
		Name:     sectionRate,
		Title:    "How many values arrive",
		Text:     fmt.Sprintf("%d goroutines send values to one at the given rate, in all. The channels have %d slots, or none.", usualSenders, pacedSlots),
		Axis:     "values per second",
		Measures: notBusyMeasures,
	}}
	for _, procs := range s.procs(1, 2) {
		for _, a := range s.arrivals() {
			section.Points = append(section.Points, s.pacedPoint(sectionRate, a.name(), procs, a, usualSenders, 1, notBusyRoster()))
		}
	}
	return section
}

func byEnds(s Scale) Section {
	section := Section{Sweep: Sweep{
		Name:     sectionEnds,
		Title:    "How many goroutines send and receive",
		Text:     fmt.Sprintf("%d values per second, from senders to receivers.", usualRate),
		Axis:     "senders to receivers",
		Measures: notBusyMeasures,
	}}
	ends := [][2]int{{1, 1}, {usualSenders, 1}, {1, usualSenders}, {usualSenders, usualSenders}}
	if s.Size == Quick {
		ends = ends[2:3]
	}
	arrivals := s.arrivals()
	usual := arrivals[slices.IndexFunc(arrivals, func(a arrival) bool { return a.rate == usualRate })]
	roster := slices.DeleteFunc(notBusyRoster(), func(c contestant) bool { return c.id == nativeDone || c.id == boundedDone || c.capacity == 0 })
	for _, n := range ends {
		p := s.pacedPoint(sectionEnds, fmt.Sprintf("%d to %d", n[0], n[1]), s.home(1, 2), usual, n[0], n[1], roster)
		for _, id := range []ContenderID{nativeDone, boundedDone, nativeUnbuffered, rendezvous} {
			p.LeftOut = append(p.LeftOut, measure.LeftOut{Contender: id, Reason: "the section by rate has it"})
		}
		section.Points = append(section.Points, p)
	}
	return section
}
