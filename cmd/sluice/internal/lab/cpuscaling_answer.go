package lab

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/bench/workload"
	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// batchWords name the size of a batch.
var batchWords = strconv.Itoa(workload.BatchSize)

// Ways of the load with one consumer. The overview has all of them, and the
// study all but the first and the elastic one.
var (
	cpuUnbuffered = way{contender: withSlots(Native, 0), label: "chan, unbuffered", words: "through an unbuffered channel"}
	cpuOne        = way{contender: Native, label: "chan, " + strconv.Itoa(studySlots) + " slots", words: "with " + strconv.Itoa(studySlots) + " slots", key: true}
	cpuSingle     = []way{
		{contender: ownBounded, label: "sluice.Bounded"},
		{contender: elastic, label: "sluice.Elastic"},
		{contender: ownSharded, label: "sluice.Sharded"},
	}
	cpuLanes   = way{contender: ShardedLanes, label: "sluice.Sharded, RecvBatch"} // receives in batches
	cpuBatches = []way{
		{contender: OwnSlices, label: "chan of slices of " + batchWords, words: "each in slices of " + batchWords},
		{contender: batchSender, label: "sluice batches of " + batchWords},
	}
)

// cpuAnswer fills in the answer of the study and its part of an overview, from
// the place with the most CPUs.
func (m *Measured) cpuAnswer(c *Conclusion) {
	panel := Panel{Load: LoadOneConsumer}
	x, ok := m.most(SectionRemedies, panel, Native)
	if !ok {
		return
	}
	ways := slices.Concat([]way{cpuOne}, cpuSingle, []way{cpuLanes}, cpuBatches)
	gain := func(w way) stat.Change { return m.place(SectionRemedies, panel, x, w.contender, Native) }
	batches, kind := largest(cpuBatches, gain), largest(cpuSingle, gain)
	for i := range ways {
		ways[i].key = ways[i].key || ways[i].contender == batches.contender || ways[i].contender == kind.contender
	}
	conditions := format.Plural(number(x), "sender") + ", 1 receiver, GOMAXPROCS=" + x
	c.costs = Chart{conditions, PerValue.Axis, slices.Concat(
		m.bars(SectionCapacity, Panel{}, x, Native, []way{cpuUnbuffered}),
		m.bars(SectionRemedies, panel, x, Native, ways))}
	c.sentence = costSentence(c.costs, append([]way{cpuUnbuffered}, ways...))
	c.Chart = Chart{conditions, PerValue.Axis, m.bars(SectionRemedies, panel, x, Native,
		slices.DeleteFunc(slices.Clone(ways), func(w way) bool { return w.contender == elastic && kind.contender != elastic }))}
	c.Bars = c.Bars[:min(len(c.Bars), mostBars)]

	c.Answer = fmt.Sprintf("On %s, sending batches of %s %s", format.Plural(number(x), "CPU"), batchWords,
		c.costs.speed(gain(batches), batches.label, cpuOne.label, "sending single values through one built-in channel"))
	if more(gain(kind)) {
		c.Answer += "; for single values, " + kind.label + " " + c.costs.speed(gain(kind), kind.label, cpuOne.label, "the built-in channel")
	}
	c.Answer += m.withSenders() + "."
	c.Advice = m.cpuAdvice(gain(batches), gain(kind), kind)
	if number(x) <= 2 {
		c.Advice += " How a channel slows down with more CPUs, only a machine with more of them shows."
	}
	c.claims = slices.Concat(
		m.batchClaim(batches, gain(batches), c.costs),
		m.kindClaim(kind, gain(kind), c.costs),
		m.timeoutClaim(panel, x),
		c.costs.bufferClaim(cpuUnbuffered.label, cpuOne.label, strconv.Itoa(studySlots),
			stat.Between(m.Samples(SectionRemedies, panel, x, Native, measure.NsPerOp), m.Samples(SectionCapacity, Panel{}, x, cpuUnbuffered.contender, measure.NsPerOp))),
		m.scalingClaim())
}

// cpuAdvice returns the remedy for a channel that carries too little.
func (m *Measured) cpuAdvice(batches, single stat.Change, kind way) string {
	var advice string
	if more(batches) {
		advice = "Send batches where a value may wait a moment. "
	}
	if more(single) {
		return advice + "Where values must go one by one, use " + kind.label + "."
	}
	return advice + "Where values must go one by one, keep the built-in channel."
}

func number(x string) int {
	n, err := strconv.Atoi(x)
	if err != nil {
		panic("lab: the axis is a number: " + err.Error())
	}
	return n
}

// largest returns the way with the largest gain beyond noise, by the end of its
// interval, or else the first.
func largest(ways []way, gain func(way) stat.Change) way {
	best, most := ways[0], 0.0
	for _, w := range ways {
		if g := gain(w); g.Clear() && g.Lo > most {
			best, most = w, g.Lo
		}
	}
	return best
}

// batchClaim is the gain of batches.
func (m *Measured) batchClaim(w way, gain stat.Change, costs Chart) []claim {
	if !more(gain) || !costs.know(w.label, cpuOne.label) {
		return nil
	}
	return []claim{newClaim(aboutBatches, gain, "Batches are "+costs.times(cpuOne.label, w.label, gain)+" times as fast as single values ("+w.label+
		": "+strings.TrimPrefix(costs.instead(w.label, cpuOne.label, ""), " (")+". Send batches where a value may wait a moment.")}
}

// kindClaim is the gain of the best kind for single values.
func (m *Measured) kindClaim(w way, gain stat.Change, costs Chart) []claim {
	if !more(gain) || !costs.know(w.label, cpuOne.label) {
		return nil
	}
	return []claim{newClaim(aboutKinds, gain, "For single values, "+w.label+" is "+costs.times(cpuOne.label, w.label, gain)+" times as fast as a built-in channel of its size"+
		costs.instead(w.label, cpuOne.label, "")+". Use it for the busiest channels.")}
}

// timeoutClaim is the cost of a timeout for each send.
func (m *Measured) timeoutClaim(panel Panel, x string) []claim {
	slower := m.place(SectionRemedies, panel, x, Native, timeAfter)
	const each = "select with time.After"
	costs := Chart{Bars: m.bars(SectionRemedies, panel, x, Native, []way{cpuOne, {contender: timeAfter, label: each}})}
	if !more(slower) || !costs.know(each, cpuOne.label) {
		return nil
	}
	return []claim{newClaim(aboutTimeouts, slower, "In a select with time.After, a send takes "+costs.times(each, cpuOne.label, slower)+" times as long"+
		costs.instead(each, cpuOne.label, "")+". Set one deadline for many sends with context.WithTimeout.")}
}

// moreCPUs is the change of the time per value of one built-in channel, from
// senders on the fewest CPUs to senders on the most.
func (m *Measured) moreCPUs() (slower stat.Change, few, many int) {
	counts, sweep := m.scaling(SectionShapes, Panel{}, manyToOne.of(Native))
	if len(counts) < 2 {
		return slower, 0, 0
	}
	last := len(counts) - 1
	return stat.Between(sweep[0], sweep[last]), counts[0], counts[last]
}

// withSenders returns how much one built-in channel slows down with more CPUs.
func (m *Measured) withSenders() string {
	slower, few, many := m.moreCPUs()
	switch {
	case more(slower):
		return fmt.Sprintf("; the built-in channel itself takes %s times as long with senders on %d CPUs as on %d", times(slower), many, few)
	case less(slower):
		return fmt.Sprintf("; the built-in channel itself is %s times as fast with senders on %d CPUs as on %d", times(slower), many, few)
	}
	return ""
}

// scalingClaim is a claim on the same, if the channel slows down.
func (m *Measured) scalingClaim() []claim {
	slower, few, many := m.moreCPUs()
	if !more(slower) {
		return nil
	}
	return []claim{newClaim(aboutScaling, slower, fmt.Sprintf("With senders on %d CPUs, a built-in channel takes %s times as long per value as on %d. "+
		"Send batches, or give groups of senders their own channels.", many, times(slower), few))}
}
