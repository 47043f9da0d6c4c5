package lab

import (
	"fmt"
	"strconv"

	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// directAnswer fills in the answer of the study and its part of an overview,
// without a buffer and with the study's largest.
func (m *Measured) directAnswer(c *Conclusion) {
	panel, ok := m.homePanel(SectionOneWay, "0", Native, measure.NsPerOp)
	if !ok {
		return
	}
	const none = "0"
	most := strconv.Itoa(directCapacities[len(directCapacities)-1])
	unbuffered := way{contender: Native, label: "chan, unbuffered", words: "through an unbuffered channel", key: true}
	buffered := way{contender: Native, label: "chan, " + most + " slots", words: "with " + most + " slots"}
	c.Chart = Chart{"1 sender, 1 receiver, " + m.procs(SectionOneWay, panel), PerValue.Axis, append(
		m.bars(SectionOneWay, panel, none, Native, []way{
			unbuffered,
			{contender: withHandOff, label: "sluice.Rendezvous", key: true},
			{contender: withNoHandOff, label: "Rendezvous without it", key: true},
		}),
		m.bars(SectionOneWay, panel, most, "", []way{
			buffered,
			{contender: withHandOff, label: "sluice.Bounded, " + most + " slots"},
			{contender: withNoHandOff, label: "Bounded without it"},
		})...)}
	c.costs, c.sentence = c.Chart, costSentence(c.Chart, []way{unbuffered, buffered})
	c.Answer = "A sluice.Rendezvous, which passes a value straight to a waiting receiver, " + c.speed(m.place(SectionOneWay, panel, none, withHandOff, withNoHandOff),
		"sluice.Rendezvous", "Rendezvous without it", "a copy that only wakes the receiver, which then tries again") + "."
	slower := stat.Between(m.Samples(SectionOneWay, panel, most, Native, measure.NsPerOp), m.Samples(SectionOneWay, panel, none, Native, measure.NsPerOp))
	c.Advice = "Nothing to change: the built-in channel and sluice both pass values straight on."
	if more(slower) && c.know(unbuffered.label, buffered.label) {
		c.Advice += fmt.Sprintf(" A buffer gains more: with %s slots, a channel is %s times as fast.", most, c.times(unbuffered.label, buffered.label, slower))
	}
	c.claims = c.bufferClaim(unbuffered.label, buffered.label, most, slower)
}

// homePanel returns the panel with two processors, or else with the most that
// have a CPU each, in which a contender was measured at a place.
func (m *Measured) homePanel(section SectionID, x string, id ContenderID, unit string) (home Panel, ok bool) {
	for _, panel := range m.panels(section) {
		if len(m.Samples(section, panel, x, id, unit)) == 0 || ok && m.beyond(section, panel, x) {
			continue
		}
		home, ok = panel, true
		if panel.Procs == 2 {
			break
		}
	}
	return home, ok
}
