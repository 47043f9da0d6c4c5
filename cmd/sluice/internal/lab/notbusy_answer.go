package lab

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// Ways of the study's chart.
var (
	pacedNone    = way{contender: alone, label: "no channel", words: "without a channel", key: true}
	pacedNative  = way{contender: withSlots(Native, pacedSlots), label: "chan, 128 slots", words: "through a channel of 128 slots", key: true}
	pacedBounded = way{contender: withSlots(ownBounded, pacedSlots), label: "sluice.Bounded", words: "through a sluice.Bounded", key: true}
	pacedWays    = []way{
		pacedNone, pacedNative,
		{contender: nativeDone, label: "chan, select ctx.Done"},
		pacedBounded,
		{contender: boundedDone, label: "sluice.Bounded, ctx"},
		{contender: elastic, label: "sluice.Elastic"},
	}
)

func notBusyConclusion(m *Measured) Conclusion {
	c := Conclusion{Findings: notBusyFindings(m)}
	m.notBusyAnswer(&c)
	return c
}

// changeIn is [Measured.change] for a figure in another unit.
func (m *Measured) changeIn(unit string, section SectionID, panel Panel, x string, base, other ContenderID) (c stat.Change, ok bool) {
	c = stat.Compare(m.Samples(section, panel, x, base, unit), m.Samples(section, panel, x, other, unit))
	return c, c.N > 0
}

// notBusyAnswer fills in the answer of the study.
func (m *Measured) notBusyAnswer(c *Conclusion) {
	x := arrival{rate: usualRate}.name()
	panel, ok := m.homePanel(sectionRate, x, pacedNative.contender, cpuPerValue)
	if !ok {
		return
	}
	shown := func(id ContenderID, unit string) stat.Summary {
		return stat.Summarize(m.Samples(sectionRate, panel, x, id, unit)).In(1000)
	}
	c.Conditions = fmt.Sprintf("CPU time at %s values per second, %d senders, 1 receiver, %s", format.Thousands(usualRate), usualSenders, m.procs(sectionRate, panel))
	c.Unit = "µs of CPU time per value"
	for _, w := range pacedWays {
		if s := shown(w.contender, cpuPerValue); s.N > 0 {
			bar := barOf(w.label, s)
			bar.Baseline, bar.Key = w.contender == pacedNative.contender, w.key
			c.Bars = append(c.Bars, bar)
		}
	}
	c.sentence = notBusySentence(c.Chart)
	c.Answer = strings.TrimSuffix(c.sentence, ".")
	builtIn, ours := barOf("", shown(pacedNative.contender, delayHalf)), barOf("", shown(pacedBounded.contender, delayHalf))
	if builtIn.Known && ours.Known {
		c.Answer += fmt.Sprintf("; half of the values arrive within %s of Send through the built-in channel, and within %s through sluice.Bounded", builtIn.Text(" µs"), ours.Text(" µs"))
	}
	c.Answer += "."
	c.costs = Chart{c.Conditions, c.Unit, slices.DeleteFunc(slices.Clone(c.Bars), func(b Bar) bool {
		return !slices.ContainsFunc([]way{pacedNone, pacedNative, pacedBounded}, func(w way) bool { return w.label == b.Label })
	})}
	c.Advice = m.notBusyAdvice(panel, x)
	c.Summary = []string{c.Answer}
}

// notBusySentence returns the cost of one value.
func notBusySentence(c Chart) string {
	var parts []string
	for _, w := range []way{pacedNative, pacedBounded, pacedNone} {
		if bar := c.bar(w.label); bar.Known {
			parts = append(parts, bar.Text(" µs")+" "+w.words)
		}
	}
	if len(parts) == 0 {
		return "How much CPU time one value takes is " + format.NotKnownHere + "."
	}
	return fmt.Sprintf("At %s values per second, one value takes CPU time of %s.", format.Thousands(usualRate), format.And(parts))
}

// notBusyAdvice returns whether the kind of channel matters.
func (m *Measured) notBusyAdvice(panel Panel, x string) string {
	slower, _ := m.changeIn(cpuPerValue, sectionRate, panel, x, pacedNative.contender, pacedBounded.contender)
	switch {
	case within25(slower), less(slower):
		return "Choose such a channel by what it promises: most of its cost is waking a goroutine."
	case more(slower):
		return "Use a built-in channel where values come one at a time and nothing else is needed."
	}
	return "Whether the kind of channel matters is " + format.NotKnownHere + "."
}

func notBusyFindings(m *Measured) []string {
	var findings []string
	for _, question := range []struct{ what, unit string }{
		{"CPU time", cpuPerValue}, {"Delay of half of the values", delayHalf}, {"Delay of 99% of the values", delayMost},
	} {
		for _, rate := range m.rates() {
			for _, pair := range []struct {
				what        string
				base, other ContenderID
			}{
				{"sluice.Bounded instead of a built-in channel", pacedNative.contender, pacedBounded.contender},
				{"sluice.Bounded instead of a select with ctx.Done", nativeDone, boundedDone},
				{"sluice.Elastic instead of a built-in channel", pacedNative.contender, elastic},
				{"sluice.Rendezvous instead of an unbuffered built-in channel", nativeUnbuffered, rendezvous},
			} {
				var places []place
				for _, panel := range m.panels(sectionRate) {
					if c, ok := m.changeIn(question.unit, sectionRate, panel, rate, pair.base, pair.other); ok {
						places = append(places, place{m.marked(strconv.Itoa(panel.Procs), sectionRate, panel, rate), c})
					}
				}
				findings = append(findings, effect(question.what+" at "+rate+" values per second: "+pair.what, atGOMAXPROCS, places))
			}
		}
	}
	return slices.DeleteFunc(findings, func(f string) bool { return f == "" })
}

// rates returns the rates that were swept.
func (m *Measured) rates() []string {
	for _, panel := range m.panels(sectionRate) {
		return m.xs(sectionRate, panel)
	}
	return nil
}
