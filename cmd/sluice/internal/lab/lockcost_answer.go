package lab

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// Labels of bars that an answer quotes.
var (
	lockBuffered = "chan, 1024 slots"
	lockSlices   = fmt.Sprintf("chan of slices of %d", farmBatch)
)

// lockWays are the ways in the study's chart.
var lockWays = []way{
	{contender: nativeUnbuffered, label: "chan, unbuffered", key: true},
	{contender: native1024, label: lockBuffered, key: true},
	{contender: bounded1024, label: "sluice.Bounded"},
	{contender: workersMap, label: "sluice workers.Map"},
	{contender: senderMap, label: fmt.Sprintf("sluice batches of %d", farmBatch)},
	{contender: nativeSlices, label: lockSlices, key: true},
}

// lockAnswer fills in the answer of the study and its part of an overview.
func (m *Measured) lockAnswer(c *Conclusion) {
	shown := micros(time.Microsecond)
	panel, ok := m.homePanel(sectionBusy, shown, native1024, timesIdeal)
	if !ok {
		return
	}
	c.Conditions = "jobs of 1 µs, 3 workers, " + m.procs(sectionBusy, panel)
	if atOnce := min(farmWorkers, panel.Procs); atOnce > 1 && !m.beyond(sectionBusy, panel, shown) {
		c.Conditions = fmt.Sprintf("1 µs jobs, %d at once, against no channel, %s", atOnce, m.procs(sectionBusy, panel))
	}
	c.Unit = "% longer than without a channel"
	for _, w := range lockWays {
		if ratios := m.Samples(sectionBusy, panel, shown, w.contender, timesIdeal); len(ratios) > 0 {
			bar := barOf(w.label, overhead.Show(stat.Summarize(ratios)))
			bar.Limited = overhead.Limited(bar.Figure)
			bar.Baseline, bar.Key = w.contender == native1024, w.key
			c.Bars = append(c.Bars, bar)
		}
	}
	c.Answer = m.shortest(panel)
	c.Advice = "Batch shorter jobs: send slices of them, or use workers.Map, which sizes its batches itself."
	c.claims = m.jobsClaim(panel, c.Chart)
	if price, ok := m.cost(panel, native1024); ok && price.transfer.Known() {
		c.sentence = fmt.Sprintf("One value costs %s through a channel of 1024 slots (%s).",
			barOf("", price.transfer).Text(" ns"), m.procs(sectionBusy, panel))
		if bare, ok := m.cost(panel, nativeUnbuffered); ok && bare.transfer.Known() {
			c.costs = Chart{m.procs(sectionBusy, panel), PerValue.Axis,
				[]Bar{barOf("chan, unbuffered", bare.transfer), barOf("chan, 1024 slots", price.transfer)}}
		}
	}
}

// shortest returns how short a job may be to spend less than 1% on a buffered
// channel, as far as that is known.
func (m *Measured) shortest(panel Panel) string {
	least, ok := m.smallest(panel, native1024)
	if !ok {
		return ""
	}
	at := " (3 workers, " + m.procs(sectionBusy, panel) + ")."
	switch {
	case least.found == everywhere:
		return fmt.Sprintf("Jobs of %s and longer spend less than 1%% of their time on a channel of 1024 slots", nameOfJob(least.at)) + at
	case least.known():
		return fmt.Sprintf("Jobs shorter than %s spend more than 1%% of their time on a channel of 1024 slots", nameOfJob(least.at)) + at
	case least.low == reached || least.low == interpolated:
		return fmt.Sprintf("Jobs of up to %s, at least, spend more than 1%% of their time on a channel of 1024 slots", nameOfJob(least.lo)) + at
	case least.low == never:
		return fmt.Sprintf("Jobs of up to %s spend more than 1%% of their time on a channel of 1024 slots", nameOfJob(least.last)) + at
	}
	return least.roughly() + at
}

// roughly states a threshold that is not known: its order of magnitude still helps.
func (t threshold) roughly() string {
	if !t.estimated() {
		return "How short a job may be is " + format.NotKnownHere
	}
	return fmt.Sprintf("How short a job may be is known only roughly, about %s (%s to %s), which %s narrows",
		nameOfJob(t.at), nameOfJob(t.lo), nameOfJob(t.hi), format.RepeatMore)
}

// known reports whether the interval of the threshold is no wider than a decade.
func (t threshold) known() bool { return t.estimated() && format.Known(t.at, t.lo, t.hi) }

// estimated reports whether the threshold and both ends of its interval were
// reached, however wide that is.
func (t threshold) estimated() bool {
	between := func(found mode) bool { return found == reached || found == interpolated }
	return t.firm && between(t.found) && between(t.low) && between(t.top)
}

// jobsClaim is the overhead of the jobs in the chart.
func (m *Measured) jobsClaim(panel Panel, shown Chart) []claim {
	one := m.Samples(sectionBusy, panel, micros(time.Microsecond), native1024, timesIdeal)
	slow := stat.Change{Summary: stat.Summarize(one).Above(1)}
	if !more(slow) || !shown.bar(lockBuffered).Known {
		return nil
	}
	text := "Through a channel of 1024 slots, jobs of 1 µs take " + shown.bar(lockBuffered).Text("%") + " longer"
	if batched := shown.bar(lockSlices); batched.Shown() {
		text += ", and " + strings.Replace(batched.Text("%"), "< ", "less than ", 1) + fmt.Sprintf(" in slices of %d", farmBatch)
	}
	short := "short"
	if least, ok := m.smallest(panel, native1024); ok && least.known() {
		text += "; from " + nameOfJob(least.at) + " on, less than 1%"
		short = "shorter"
	}
	return []claim{newClaim(aboutJobs, slow, text+". Send several "+short+" jobs in one slice.")}
}
