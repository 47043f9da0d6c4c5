package lab

import (
	"fmt"
	"slices"

	"github.com/sluice-go/sluice/bench/workload"
	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// Ways of the load with both ends at once.
var (
	elasticUnbuffered = way{nativeUnbuffered, "chan, unbuffered", "through an unbuffered channel"}
	elasticBuffered   = way{native1024, "chan, 1024 slots", "through a buffered one"}
	elasticWays       = []way{
		elasticUnbuffered,
		elasticBuffered,
		{flushingPump, "goroutine and 2 chans", "through a goroutine between two"},
		{bounded1024, "sluice.Bounded", ""},
		{elastic, "sluice.Elastic", "through a sluice.Elastic"},
		{elasticBatches, fmt.Sprintf("Elastic, batches of %d", workload.BatchSize), ""},
	}
)

// home returns the place of a panel with two processors, or else with the most
// that have a CPU each.
func (m *Measured) home(section SectionID, panel Panel, base ContenderID) (x string, ok bool) {
	for _, p := range m.counted(section, panel) {
		if len(m.Samples(section, panel, p.X, base, measure.NsPerOp)) > 0 {
			x, ok = p.X, true
			if p.Procs == 2 {
				break
			}
		}
	}
	return x, ok
}

// elasticAnswer fills in the answer of the study and its part of an overview.
func (m *Measured) elasticAnswer(c *Conclusion) {
	panel := Panel{Load: bothAtOnce}
	x, ok := m.home(sectionProcs, panel, native1024)
	if !ok {
		return
	}
	c.Chart = Chart{"1 sender, 1 receiver, GOMAXPROCS=" + x, PerValue.Axis, m.bars(sectionProcs, panel, x, native1024, elasticWays)}
	c.costs, c.sentence = c.Chart, costSentence(c.Chart, elasticWays)
	own, pump := c.cost("sluice.Elastic"), c.cost("goroutine and 2 chans")
	c.Answer = fmt.Sprintf("A channel that grows costs %s per value as a sluice.Elastic", own)
	faster, _ := m.change(sectionProcs, panel, x, elastic, flushingPump)
	if many, known := times(faster); known && faster.Median > 0 {
		c.Answer += fmt.Sprintf(", and %s times that as a goroutine between two built-in channels", many)
		if size, ok := effectOf(faster); ok {
			c.claims = append(c.claims, claim{aboutElastic, size, fmt.Sprintf("A queue that grows costs %s per value as a goroutine between "+
				"two built-in channels, and %s as a sluice.Elastic (%s). Use the sluice.Elastic.", pump, own, c.Conditions)})
		}
	}
	beside, _ := m.change(sectionProcs, panel, x, native1024, elastic)
	many, known := times(beside)
	switch {
	case known && beside.Median > 0:
		c.Answer += fmt.Sprintf("; a built-in channel of 1024 slots is %s times as fast.", many)
	case known:
		c.Answer += fmt.Sprintf("; a built-in channel of 1024 slots takes %s times as long.", many)
	default:
		c.Answer += ", as much as a built-in channel of 1024 slots, within noise."
	}
	c.Advice = "Use sluice.Elastic, with a limit, where bursts must not block the sender."
	c.claims = append(c.claims, m.bufferClaim(elasticUnbuffered.words, c.cost(elasticUnbuffered.label), "with 1024 slots", c.cost(elasticBuffered.label),
		m.place(sectionProcs, panel, x, native1024, nativeUnbuffered), c.Conditions)...)
}

// place returns the change from base to other at one place, or the zero Change.
func (m *Measured) place(section SectionID, panel Panel, x string, base, other ContenderID) stat.Change {
	c, _ := m.change(section, panel, x, base, other)
	return c
}

// bufferClaim is the gain of a buffer.
func (m *Measured) bufferClaim(without, dear, with, cheap string, slower stat.Change, conditions string) []claim {
	size, ok := effectOf(slower)
	many, known := times(slower)
	if !ok || !known || slower.Median < 0 || slices.Contains([]string{dear, cheap}, format.NotKnown) {
		return nil
	}
	return []claim{{aboutBuffers, size, fmt.Sprintf("A buffer makes a built-in channel %s times as fast: %s %s, %s %s (%s). "+
		"Give a busy channel a buffer, unless the sender must wait for the receiver.", many, dear, without, cheap, with, conditions)}}
}
