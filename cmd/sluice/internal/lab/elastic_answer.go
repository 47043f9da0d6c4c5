package lab

import (
	"fmt"

	"github.com/sluice-go/sluice/bench/workload"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// Ways of the load with both ends at once.
var (
	elasticUnbuffered = way{contender: nativeUnbuffered, label: "chan, unbuffered", words: "through an unbuffered channel"}
	elasticBuffered   = way{contender: native1024, label: "chan, 1024 slots", words: "with 1024 slots", key: true}
	elasticPump       = way{contender: flushingPump, label: "hand-made queue, 2 chans", key: true}
	elasticOwn        = way{contender: elastic, label: "sluice.Elastic", words: "through a sluice.Elastic", key: true}
	elasticWays       = []way{
		elasticUnbuffered, elasticBuffered, elasticPump,
		{contender: bounded1024, label: "sluice.Bounded"},
		elasticOwn,
		{contender: elasticBatches, label: fmt.Sprintf("sluice.Elastic, by %d", workload.BatchSize)},
	}
)

// elasticAnswer fills in the answer of the study and its part of an overview.
func (m *Measured) elasticAnswer(c *Conclusion) {
	panel := Panel{Load: bothAtOnce}
	x, ok := m.home(sectionProcs, panel, native1024)
	if !ok {
		return
	}
	c.Chart = Chart{"1 sender, 1 receiver, GOMAXPROCS=" + x, PerValue.Axis, m.bars(sectionProcs, panel, x, native1024, elasticWays)}
	c.costs, c.sentence = c.Chart, costSentence(c.Chart, elasticWays)
	pump, builtIn := m.place(sectionProcs, panel, x, elastic, flushingPump), m.place(sectionProcs, panel, x, elastic, native1024)
	c.Answer = "As a queue that grows, sluice.Elastic " + c.speed(pump, elasticOwn.label, elasticPump.label, "a goroutine with a queue between two built-in channels") + "; it " +
		c.speed(builtIn, elasticOwn.label, elasticBuffered.label, "a built-in channel of 1024 slots, which does not grow") + "."
	c.Advice = "Use sluice.Elastic, with a limit, where bursts must not block the sender."
	if more(pump) && c.know(elasticOwn.label, elasticPump.label) {
		c.claims = append(c.claims, newClaim(aboutElastic, pump, "As a queue that grows, sluice.Elastic is "+c.times(elasticPump.label, elasticOwn.label, pump)+
			" times as fast as a goroutine between two channels"+c.instead(elasticOwn.label, elasticPump.label, c.load())+". Use it there."))
	}
	c.claims = append(c.claims, c.bufferClaim(elasticUnbuffered.label, elasticBuffered.label, "1024",
		m.place(sectionProcs, panel, x, native1024, nativeUnbuffered))...)
}

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

// place returns the change from base to other at one place, or the zero Change.
func (m *Measured) place(section SectionID, panel Panel, x string, base, other ContenderID) stat.Change {
	c, _ := m.change(section, panel, x, base, other)
	return c
}

// bufferClaim is the gain of a buffer of that many slots, with the load of the
// chart.
func (c Chart) bufferClaim(without, with, slots string, slower stat.Change) []claim {
	if !more(slower) || !c.know(without, with) {
		return nil
	}
	return []claim{newClaim(aboutBuffers, slower, "A buffer of "+slots+" slots makes a channel "+c.times(without, with, slower)+" times as fast"+
		c.instead(with, without, c.load())+". Buffer channels whose sender need not wait.")}
}
