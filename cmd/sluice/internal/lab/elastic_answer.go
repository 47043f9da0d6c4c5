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
	elasticBuffered   = way{contender: native1024, label: "chan, 1024 slots", words: "through a buffered one", key: true}
	elasticPump       = way{contender: flushingPump, label: "goroutine and 2 chans", key: true}
	elasticOwn        = way{contender: elastic, label: "sluice.Elastic", words: "through a sluice.Elastic", key: true}
	elasticWays       = []way{
		elasticUnbuffered, elasticBuffered, elasticPump,
		{contender: bounded1024, label: "sluice.Bounded"},
		elasticOwn,
		{contender: elasticBatches, label: fmt.Sprintf("Elastic, batches of %d", workload.BatchSize)},
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
	c.Answer = "sluice.Elastic " + speed(pump, "a goroutine between two built-in channels") + "; it " +
		speed(builtIn, "a built-in channel of 1024 slots") + "."
	c.Advice = "Use sluice.Elastic, with a limit, where bursts must not block the sender."
	if more(pump) {
		c.claims = append(c.claims, newClaim(aboutElastic, pump, "As a queue that grows, sluice.Elastic is %s times as fast as a goroutine between two channels"+
			instead(c.cost(elasticOwn.label), c.cost(elasticPump.label))+". Use it there."))
	}
	c.claims = append(c.claims, bufferClaim("1024 slots", c.cost(elasticUnbuffered.label), c.cost(elasticBuffered.label),
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

// bufferClaim is the gain of a buffer.
func bufferClaim(size, without, with string, slower stat.Change) []claim {
	if !more(slower) {
		return nil
	}
	return []claim{newClaim(aboutBuffers, slower, "A buffer of "+size+" makes a channel %s times as fast"+instead(with, without)+
		". Buffer busy channels whose sender need not wait.")}
}
