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
	unbuffered := way{Native, "chan, unbuffered", "through an unbuffered channel"}
	buffered := way{Native, "chan, " + most + " slots", "through one of " + most + " slots"}
	c.Chart = Chart{"1 sender, 1 receiver, " + m.procs(SectionOneWay, panel), PerValue.Axis, append(
		m.bars(SectionOneWay, panel, none, Native, []way{
			unbuffered, {withHandOff, "sluice.Rendezvous", ""}, {withNoHandOff, "the same, no hand-off", ""}}),
		m.bars(SectionOneWay, panel, most, "", []way{
			buffered, {withHandOff, "sluice.Bounded, " + most + " slots", ""}, {withNoHandOff, "Bounded, no hand-off", ""}})...)}
	c.costs, c.sentence = c.Chart, costSentence(c.Chart, []way{unbuffered, buffered})

	handOff := m.place(SectionOneWay, panel, none, withHandOff, withNoHandOff)
	many, known := times(handOff)
	switch {
	case known && handOff.Median > 0:
		c.Answer = fmt.Sprintf("Yes: without a hand-off to the waiting receiver, a value takes %s times as long through an unbuffered channel.", many)
	case known:
		c.Answer = fmt.Sprintf("No: without a hand-off to the waiting receiver, an unbuffered channel is %s times as fast.", many)
	default:
		c.Answer = "A hand-off to a waiting receiver makes no difference beyond noise to an unbuffered channel."
	}
	slower := stat.Between(m.Samples(SectionOneWay, panel, most, Native, measure.NsPerOp), m.Samples(SectionOneWay, panel, none, Native, measure.NsPerOp))
	c.Advice = "Nothing to change: the built-in channel and sluice both hand off."
	if gain, known := times(slower); known && slower.Median > 0 {
		c.Advice += fmt.Sprintf(" A buffer gains more: %s slots make a value %s times as fast.", most, gain)
	}
	c.claims = m.bufferClaim("without", c.cost(unbuffered.label), "with "+most+" slots", c.cost(buffered.label), slower, c.Conditions)
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
