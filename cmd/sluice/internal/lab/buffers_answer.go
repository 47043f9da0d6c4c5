package lab

import (
	"fmt"
	"slices"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// shownCapacities are the capacities in the study's chart.
var shownCapacities = []string{"0", "1", "5", studyBuffer, "100", "1024"}

// buffersAnswer fills in the answer of the study and its part of an overview, at
// the first measured GOMAXPROCS.
func (m *Measured) buffersAnswer(c *Conclusion) {
	i := slices.IndexFunc(m.panels(SectionCapacity), func(p Panel) bool {
		return p.Workers == studyWorkers && len(m.through(p, "0")) > 0
	})
	if i < 0 {
		return
	}
	panel := m.panels(SectionCapacity)[i]
	c.Conditions = fmt.Sprintf("1 sender, %s, %s", format.Plural(panel.Workers, "receiver"), m.procs(SectionCapacity, panel))
	c.Unit = PerValue.Axis
	for _, x := range shownCapacities {
		label := "chan, " + x + " slots"
		switch x {
		case "0":
			label = "chan, unbuffered"
		case "1":
			label = "chan, 1 slot"
		}
		if samples := m.through(panel, x); len(samples) > 0 {
			bar := barOf(label, stat.Summarize(samples))
			bar.Baseline = x == "0"
			c.Bars = append(c.Bars, bar)
		}
	}
	c.costs = c.Chart
	slower := stat.Between(m.through(panel, studyBuffer), m.through(panel, "0"))
	without, with := c.cost("chan, unbuffered"), c.cost("chan, "+studyBuffer+" slots")
	c.sentence = fmt.Sprintf("One value costs %s through an unbuffered channel and %s with %s slots (%s).", without, with, studyBuffer, c.Conditions)
	if many, known := times(slower); known && slower.Median > 0 {
		c.Answer = fmt.Sprintf("A buffer of %s slots makes a value %s times as fast: %s instead of %s (%s).", studyBuffer, many, with, without, c.Conditions)
	} else {
		c.Answer = fmt.Sprintf("A buffer of %s slots makes no difference beyond noise (%s).", studyBuffer, c.Conditions)
	}
	c.Advice = "Give a busy channel a buffer, unless the sender must wait for the receiver."
	if enough := m.enough(panel); enough != "" && enough != "0" {
		c.Advice = "Give such a channel " + enough + " slots: more save nothing beyond noise."
	}
	c.claims = m.bufferClaim("without", without, "with "+studyBuffer+" slots", with, slower, c.Conditions)
}
