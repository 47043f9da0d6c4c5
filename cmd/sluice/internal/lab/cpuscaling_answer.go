package lab

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/sluice-go/sluice/bench/workload"
	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// batchWords name the size of a batch.
var batchWords = strconv.Itoa(workload.BatchSize)

// Ways of the load with one consumer. The overview has all of them, and the
// study all but the first and the elastic one.
var (
	cpuUnbuffered = way{withSlots(Native, 0), "chan, unbuffered", "through an unbuffered channel"}
	cpuOne        = way{Native, "chan, " + strconv.Itoa(studySlots) + " slots", "through a buffered one"}
	cpuSingle     = []way{
		{ownBounded, "sluice.Bounded", ""},
		{elastic, "sluice.Elastic", ""},
		{ownSharded, "sluice.Sharded", ""},
		{ShardedLanes, "sluice.Sharded, lane each", ""},
	}
	cpuBatches = []way{
		{OwnSlices, "chan of slices of " + batchWords, ""},
		{batchSender, "batch.Sender of " + batchWords, "by a batch.Sender in batches of " + batchWords},
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
	ways := slices.Concat([]way{cpuOne}, cpuSingle, cpuBatches)
	conditions := format.Plural(number(x), "sender") + ", 1 receiver, GOMAXPROCS=" + x
	c.costs = Chart{conditions, PerValue.Axis, slices.Concat(
		m.bars(SectionCapacity, Panel{}, x, Native, []way{cpuUnbuffered}),
		m.bars(SectionRemedies, panel, x, Native, ways))}
	c.sentence = costSentence(c.costs, append([]way{cpuUnbuffered}, ways...))
	c.Chart = Chart{conditions, PerValue.Axis, m.bars(SectionRemedies, panel, x, Native,
		slices.DeleteFunc(slices.Clone(ways), func(w way) bool { return w.contender == elastic }))}

	gain := func(id ContenderID) stat.Change {
		gain, _ := m.change(SectionRemedies, panel, x, id, Native)
		return gain
	}
	best, kind := largest(cpuBatches, gain), largest(cpuSingle, gain)
	switch batchTimes, ok := times(gain(best.contender)); {
	case ok && gain(best.contender).Median > 0:
		c.Answer = fmt.Sprintf("On %s, batches of %d carry %s times as many values as single sends through one built-in channel (%s)",
			format.Plural(number(x), "CPU"), workload.BatchSize, batchTimes, best.label)
		c.Advice = "Send batches wherever a value may wait a moment."
	default:
		c.Answer = fmt.Sprintf("On %s, batches of %d carry no more than single sends through one built-in channel, beyond noise",
			format.Plural(number(x), "CPU"), workload.BatchSize)
	}
	if kindTimes, ok := times(gain(kind.contender)); ok && gain(kind.contender).Median > 0 {
		c.Answer += fmt.Sprintf("; a %s carries %s times as many.", kind.label, kindTimes)
		c.Advice += " Where values must go one by one, use a " + kind.label + "."
	} else {
		c.Answer += "; no other kind of channel carries more beyond noise."
		c.Advice += " Where values must go one by one, keep the built-in channel."
	}
	c.claims = slices.Concat(
		m.batchClaim(best, gain(best.contender), c.costs),
		m.kindClaim(kind, gain(kind.contender), c.costs),
		m.timeoutClaim(panel, x, c.Conditions),
		m.scalingClaim())
}

func number(x string) int {
	n, err := strconv.Atoi(x)
	if err != nil {
		panic("lab: the axis is a number: " + err.Error())
	}
	return n
}

// largest returns the way with the largest gain whose interval is known, or else
// the first.
func largest(ways []way, gain func(ContenderID) stat.Change) way {
	best, most := ways[0], 0.0
	for _, w := range ways {
		if g := gain(w.contender); g.Clear() && g.Lo > most {
			best, most = w, g.Lo
		}
	}
	return best
}

func (m *Measured) batchClaim(w way, gain stat.Change, costs Chart) []claim {
	size, ok := effectOf(gain)
	many, known := times(gain)
	if !ok || !known || gain.Median < 0 {
		return nil
	}
	return []claim{{aboutBatches, size, fmt.Sprintf("Batches carry the most: %s times as many values as single sends (%s, %s, instead of %s; %s). "+
		"Send batches wherever a value may wait a moment.", many, w.label, costs.cost(w.label), costs.cost(cpuOne.label), costs.Conditions)}}
}

func (m *Measured) kindClaim(w way, gain stat.Change, costs Chart) []claim {
	size, ok := effectOf(gain)
	many, known := times(gain)
	if !ok || !known || gain.Median < 0 {
		return nil
	}
	return []claim{{aboutKinds, size, fmt.Sprintf("For single values, %s carries %s times what one built-in channel carries (%s instead of %s; %s). "+
		"Use it for a channel that holds the program back.", w.label, many, costs.cost(w.label), costs.cost(cpuOne.label), costs.Conditions)}}
}

// timeoutClaim is the cost of a timeout for each send.
func (m *Measured) timeoutClaim(panel Panel, x, conditions string) []claim {
	slower, _ := m.change(SectionRemedies, panel, x, Native, timeAfter)
	size, ok := effectOf(slower)
	many, known := times(slower)
	if !ok || !known || slower.Median < 0 {
		return nil
	}
	return []claim{{aboutTimeouts, size, fmt.Sprintf("A select with time.After for each send costs %s times the send (%s). "+
		"Set one deadline for many sends, such as a context's.", many, conditions)}}
}

// scalingClaim is the throughput of one built-in channel with the most CPUs,
// relative to one with the fewest.
func (m *Measured) scalingClaim() []claim {
	counts, sweep := m.scaling(SectionShapes, Panel{}, manyToOne.of(Native))
	if len(counts) < 2 {
		return nil
	}
	last := len(counts) - 1
	slower := stat.Between(sweep[0], sweep[last])
	size, ok := effectOf(slower)
	many, known := times(slower)
	if !ok || !known || slower.Median < 0 {
		return nil
	}
	return []claim{{aboutScaling, size, fmt.Sprintf("One built-in channel carries %s times less with senders on %d CPUs than on %d. "+
		"Send batches, or give each group of senders a channel of its own.", many, counts[last], counts[0])}}
}
