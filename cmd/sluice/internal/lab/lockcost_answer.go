package lab

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// lockWays are the ways in the study's chart.
var lockWays = []way{
	{contender: nativeUnbuffered, label: "chan, unbuffered", key: true},
	{contender: native1024, label: "chan, 1024 slots", key: true},
	{contender: bounded1024, label: "sluice.Bounded"},
	{contender: workersMap, label: "workers.Map"},
	{contender: senderMap, label: fmt.Sprintf("batch.Sender of %d", farmBatch)},
	{contender: nativeSlices, label: fmt.Sprintf("chan of slices of %d", farmBatch), key: true},
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
			bar.Baseline, bar.Key = w.contender == native1024, w.key
			c.Bars = append(c.Bars, bar)
		}
	}
	c.Answer = m.shortest(panel)
	c.Advice = "Batch shorter jobs: send slices of them, or use workers.Map, which sizes its batches itself."
	c.claims = m.jobsClaim(panel)
	if price, ok := m.cost(panel, native1024); ok && price.transfer.Known() {
		c.sentence = fmt.Sprintf("One value costs %s through a buffered channel (%s).",
			barOf("", price.transfer).Text(" ns"), m.procs(sectionBusy, panel))
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
		if len(one) == 0 {
			continue
		}
		slow := stat.Change{Summary: stat.Summarize(one).Above(1)}
		if !more(slow) {
			return nil
		}
		text := "Jobs of " + format.Duration(size) + " take %s times as long through a buffered channel"
		fast := stat.Summarize(m.Samples(sectionBusy, panel, micros(size), nativeSlices, timesIdeal))
		if fast.Known() {
			text += fmt.Sprintf(", and %s times in slices of %d", factorText(fast), farmBatch)
		}
		if least, ok := m.smallest(panel, native1024); ok && least.known() {
			text += ". Batch jobs shorter than " + nameOfJob(least.at) + ": they spend more than 1%% on the channel."
		} else {
			text += ". Send short jobs in batches."
		}
		return []claim{newClaim(aboutJobs, slow, text)}
	}
	return nil
}
