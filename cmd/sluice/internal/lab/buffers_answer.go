package lab

import (
	"fmt"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// A shownCapacity is a capacity in the study's chart.
type shownCapacity struct {
	x string
	way
}

var shownCapacities = []shownCapacity{
	{"0", way{label: "chan, unbuffered", words: "through an unbuffered channel", key: true}},
	{"1", way{label: "chan, 1 slot"}},
	{"5", way{label: "chan, 5 slots", key: true}},
	{studyBuffer, way{label: "chan, " + studyBuffer + " slots", words: "with " + studyBuffer + " slots", key: true}},
	{"100", way{label: "chan, 100 slots"}},
	{"1024", way{label: "chan, 1024 slots"}},
}

// buffersAnswer fills in the answer of the study and its part of an overview, at
// the first measured GOMAXPROCS.
func (m *Measured) buffersAnswer(c *Conclusion) {
	panels := m.panels(SectionCapacity)
	i := slices.IndexFunc(panels, func(p Panel) bool { return p.Workers == studyWorkers && len(m.through(p, "0")) > 0 })
	if i < 0 {
		return
	}
	panel := panels[i]
	c.Chart = Chart{Conditions: fmt.Sprintf("1 sender, %s, %s", format.Plural(panel.Workers, "receiver"), m.procs(SectionCapacity, panel)), Unit: PerValue.Axis}
	var ways []way
	for _, shown := range shownCapacities {
		if samples := m.through(panel, shown.x); len(samples) > 0 {
			bar := barOf(shown.label, stat.Summarize(samples))
			bar.Baseline, bar.Key = shown.x == "0", shown.key
			c.Bars = append(c.Bars, bar)
			ways = append(ways, shown.way)
		}
	}
	c.costs, c.sentence = c.Chart, costSentence(c.Chart, ways)
	slower := stat.Between(m.through(panel, studyBuffer), m.through(panel, "0"))
	c.Answer = fmt.Sprintf("With %s slots, a channel from one sender to %s %s", studyBuffer, format.Plural(panel.Workers, "receiver"), c.speed(slower, "chan, "+studyBuffer+" slots", "chan, unbuffered", "without a buffer")) + "."
	c.Advice = "Buffer busy channels whose sender need not wait."
	if enough := m.enough(panel); enough != "" && enough != "0" && more(slower) {
		c.Advice = "Give such a channel " + enough + " slots: more save nothing beyond noise."
	}
	c.claims = c.bufferClaim("chan, unbuffered", "chan, "+studyBuffer+" slots", studyBuffer, slower)
}
