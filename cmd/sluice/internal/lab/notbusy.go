package lab

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/paced"
	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// notBusyStudy asks for the cost of channels that are mostly empty. It repeats no
// published study: all of those saturate a channel.
var notBusyStudy = Experiment{
	Study: Study{
		Name:  "not-busy",
		Topic: "mostly empty",
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
}

const sectionRate SectionID = "rate"

// The contenders of this study alone, with a context that can be canceled.
const (
	nativeDone  ContenderID = "native_128_select_ctx.Done"
	boundedDone ContenderID = "sluice.Bounded_128_ctx"
)

// cancelable is a context that can be canceled, and never is.
var cancelable, _ = context.WithCancel(background)

// notBusyMeasures are the CPU time and the delays of a value.
var (
	cpuTime         = Measure{Unit: "cpu-ns/op", Title: "CPU time", Axis: "µs per value", Per: 1000}
	delayHalf       = Measure{Unit: "delay-p50-ns", Title: "delay of half of the values", Axis: "µs", Per: 1000}
	delayMost       = Measure{Unit: "delay-p99-ns", Title: "delay of 99%", Axis: "µs", Per: 1000}
	notBusyMeasures = []Measure{cpuTime, delayHalf, delayMost}
)

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
	return [...][]arrival{
		Standard:    {{1_000, 80}, {usualRate, 300}, {100_000, 3_000}},
		Quick:       {{usualRate, 100}},
		AsPublished: {{1_000, 1_000}, {usualRate, usualRate}, {100_000, 100_000}},
	}[s.Size]
}

// notBusyRoster are the contenders of the study, and those that only one section has.
var (
	notBusyRoster = []contestant{
		{withSlots(native, pacedSlots), contender.Native(), pacedSlots, false},
		{nativeDone, contender.NativeSelect(cancelable), pacedSlots, false},
		{withSlots(bounded, pacedSlots), contender.Bounded(background, nil), pacedSlots, false},
		{boundedDone, contender.Bounded(cancelable, nil), pacedSlots, false},
		{elastic, contender.Elastic(background, nil), unbounded, false},
		{nativeUnbuffered, contender.Native(), 0, false},
		{rendezvous, contender.Rendezvous(background, nil), 0, false},
	}
	byRateOnly = []ContenderID{nativeDone, boundedDone, nativeUnbuffered, rendezvous}
)

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
			{Unit: cpuTime.Unit, Value: r.PerValue()},
			{Unit: delayHalf.Unit, Value: r.FromSend.Quantile(0.5)},
			{Unit: delayMost.Unit, Value: r.FromSend.Quantile(0.99)},
		}}, nil
	}}
}

func notBusySections(s Scale) []Section {
	byRate := newSection(sectionRate, "How many values arrive", "values per second",
		fmt.Sprintf("%d goroutines send values to one at the given rate, in all. The channels have %d slots, or none.", usualSenders, pacedSlots),
		notBusyMeasures...)
	byEnds := newSection("ends", "How many goroutines send and receive", "senders to receivers",
		fmt.Sprintf("%d values per second, from senders to receivers.", usualRate),
		notBusyMeasures...)
	point := func(section *Section, x string, procs int, a arrival, senders, receivers int, without []ContenderID) {
		p := section.point(s, Panel{}, x, procs, a.values,
			measure.Label{Key: "rate", Value: a.name()}, measure.Label{Key: "senders", Value: strconv.Itoa(senders)}, measure.Label{Key: "receivers", Value: strconv.Itoa(receivers)})
		p.Target, p.Pass = 0, a.duration()
		load := paced.Load{Rate: a.rate, Senders: senders, Receivers: receivers, Values: a.values}
		p.Entries = append(p.Entries, pacedEntry(alone, load, paced.Load.Without))
		p.enter(notBusyRoster, func(c contestant) (entry measure.Entry, whyNot string) {
			if slices.Contains(without, c.id) {
				return entry, "the section by rate has it"
			}
			return pacedEntry(c.id, load, func(l paced.Load) (*paced.Result, error) { return l.Run(c.contender, c.slots(l.Values)) }), ""
		})
	}
	var usual arrival
	for _, procs := range s.procs(1, 2) {
		for _, a := range s.arrivals() {
			point(&byRate, a.name(), procs, a, usualSenders, 1, nil)
			if a.rate == usualRate {
				usual = a
			}
		}
	}
	ends := [][2]int{{1, 1}, {usualSenders, 1}, {1, usualSenders}, {usualSenders, usualSenders}}
	if s.Size == Quick {
		ends = ends[2:3]
	}
	for _, n := range ends {
		point(&byEnds, fmt.Sprintf("%d to %d", n[0], n[1]), s.home(1, 2), usual, n[0], n[1], byRateOnly)
	}
	return []Section{byRate, byEnds}
}

func notBusyConclusion(m Measured) Conclusion {
	c := Conclusion{Findings: notBusyFindings(m)}
	builtIn, ours := withSlots(native, pacedSlots), withSlots(bounded, pacedSlots)
	byRate := m.in(sectionRate).at(arrival{rate: usualRate}.name())
	home, ok := byRate.inUnit(cpuTime.Unit).home(builtIn)
	if !ok {
		return c
	}
	at := format.Thousands(usualRate) + " values per second"
	c.Chart = Chart{home.under(fmt.Sprintf("CPU time at %s, %d senders, 1 receiver", at, usualSenders)), "µs of CPU time per value", home.bars(cpuTime, builtIn,
		way{alone, "no channel", "without a channel"},
		way{builtIn, "chan, 128 slots", "through a channel of 128 slots"},
		way{nativeDone, "chan, select ctx.Done", ""},
		way{ours, "sluice.Bounded", "through a sluice.Bounded"},
		way{boundedDone, "sluice.Bounded, ctx", ""},
		way{elastic, "sluice.Elastic", ""})}
	c.Answer = "At " + at + ", one value takes CPU time of " + cmp.Or(c.costs(), "an amount that is "+format.NotKnown)
	delayed := home
	delayed.unit = delayHalf.Unit
	c.Answer += "; by the median delay, sluice.Bounded is " + speed(delayed.change(builtIn, ours)) + " as the built-in channel."
	c.Advice = "Choose such a channel by what it promises: most of its cost is waking a goroutine."
	if home.change(builtIn, ours).Lo > small {
		c.Advice = "Use a built-in channel where values come one at a time and nothing else is needed."
	}
	return c
}

func notBusyFindings(m Measured) []string {
	var findings []string
	rates := m.in(sectionRate)
	for _, question := range []struct{ what, unit, as string }{
		{"takes", cpuTime.Unit, "as much CPU time"}, {"delays half of the values", delayHalf.Unit, "as long"}, {"delays 99% of the values", delayMost.Unit, "as long"},
	} {
		say := func(c stat.Change) string { return multiple(c, question.as) }
		for _, pair := range []struct {
			what        string
			base, other ContenderID
		}{
			{"sluice.Bounded instead of a built-in channel", withSlots(native, pacedSlots), withSlots(bounded, pacedSlots)},
			{"sluice.Bounded instead of a select with ctx.Done", nativeDone, boundedDone},
			{"sluice.Elastic instead of a built-in channel", withSlots(native, pacedSlots), elastic},
			{"sluice.Rendezvous instead of an unbuffered built-in channel", nativeUnbuffered, rendezvous},
		} {
			findings = append(findings, rates.inUnit(question.unit).compareBy(pair.what+" "+question.what, say, " with",
				func(s spot) string { return s.X + " values per second" + atProcs + " " + s.ps() }, pair.base, pair.other))
		}
	}
	return said(findings...)
}
