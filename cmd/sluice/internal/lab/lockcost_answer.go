package lab

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// lockWays are the ways in the study's chart.
var lockWays = []way{
	{nativeUnbuffered, "chan, unbuffered", ""},
	{native1024, "chan, 1024 slots", ""},
	{bounded1024, "sluice.Bounded", ""},
	{workersMap, "workers.Map", ""},
	{senderMap, fmt.Sprintf("batch.Sender of %d", farmBatch), ""},
	{nativeSlices, fmt.Sprintf("chan of slices of %d", farmBatch), ""},
}

// lockAnswer fills in the answer of the study and its part of an overview.
func (m *Measured) lockAnswer(c *Conclusion) {
	shown := micros(time.Microsecond)
	panel, ok := m.homePanel(sectionBusy, shown, native1024, timesIdeal)
	if !ok {
		return
	}
	c.Conditions = "jobs of 1 µs, 3 workers, " + m.procs(sectionBusy, panel)
	c.Unit = "% more time than the jobs alone"
	for _, w := range lockWays {
		if ratios := m.Samples(sectionBusy, panel, shown, w.contender, timesIdeal); len(ratios) > 0 {
			bar := barOf(w.label, overhead.Show(stat.Summarize(ratios)))
			bar.Baseline = w.contender == native1024
			c.Bars = append(c.Bars, bar)
		}
	}
	c.Answer = m.shortest(panel)
	c.Advice = "Batch shorter jobs: send slices of them, or use workers.Map, which sizes its batches itself."
	c.claims = m.jobsClaim(panel)
	if price, ok := m.cost(panel, native1024); ok && price.transfer.Known() {
		c.sentence = fmt.Sprintf("One value costs %s through a buffered channel (%s).",
			barOf("", price.transfer).text(" ns"), m.procs(sectionBusy, panel))
		if bare, ok := m.cost(panel, nativeUnbuffered); ok && bare.transfer.Known() {
			c.costs = Chart{m.procs(sectionBusy, panel), PerValue.Axis,
				[]Bar{barOf("chan, unbuffered", bare.transfer), barOf("chan, 1024 slots", price.transfer)}}
		}
	}
}

// shortest says how short a job may be to spend less than 1% on a buffered
// channel, as far as that is known.
func (m *Measured) shortest(panel Panel) string {
	least, ok := m.smallest(panel, native1024)
	if !ok {
		return ""
	}
	at := " (3 workers, " + m.procs(sectionBusy, panel) + ")."
	switch {
	case least.found == everywhere:
		return fmt.Sprintf("Jobs of %s and longer spend less than 1%% of their time on a buffered channel", nameOfJob(least.at)) + at
	case least.known():
		return fmt.Sprintf("Jobs shorter than %s spend more than 1%% of their time on a buffered channel", nameOfJob(least.at)) + at
	case least.low == reached || least.low == interpolated:
		return fmt.Sprintf("Jobs of up to %s, at least, spend more than 1%% of their time on a buffered channel", nameOfJob(least.lo)) + at
	case least.low == never:
		return fmt.Sprintf("Jobs of up to %s spend more than 1%% of their time on a buffered channel", nameOfJob(least.last)) + at
	}
	return "How short a job may be is " + format.NotKnownHere + at
}

// known reports whether the interval of the threshold is no wider than a decade.
func (t threshold) known() bool {
	between := func(found mode) bool { return found == reached || found == interpolated }
	return t.firm && between(t.found) && between(t.low) && between(t.top) && format.Known(t.at, t.lo, t.hi)
}

// jobsClaim is the overhead of the shortest measured jobs.
func (m *Measured) jobsClaim(panel Panel) []claim {
	for _, size := range jobSizes {
		one := m.Samples(sectionBusy, panel, micros(size), native1024, timesIdeal)
		batches := m.Samples(sectionBusy, panel, micros(size), nativeSlices, timesIdeal)
		if len(one) == 0 {
			continue
		}
		slow, fast := stat.Summarize(one), stat.Summarize(batches)
		if !slow.Known() || slow.Confidence == 0 || slow.Lo <= 1 {
			return nil
		}
		text := fmt.Sprintf("Jobs of %s take %s times as long when each passes a buffered channel", format.Duration(size), factorText(slow))
		if fast.Known() {
			text += fmt.Sprintf(", and %s times in slices of %d", factorText(fast), farmBatch)
		}
		text += " (3 workers, " + m.procs(sectionBusy, panel) + ")."
		if least, ok := m.smallest(panel, native1024); ok && least.known() {
			text += fmt.Sprintf(" Batch jobs shorter than %s: they spend more than 1%% on the channel.", nameOfJob(least.at))
		} else {
			text += " Send short jobs in batches."
		}
		return []claim{{aboutJobs, slow.Lo, text}}
	}
	return nil
}
