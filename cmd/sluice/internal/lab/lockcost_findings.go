package lab

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

func lockConclusion(m *Measured) Conclusion {
	c := Conclusion{
		Summary:  lockSummary(m),
		Findings: lockFindings(m),
		Tables: slices.DeleteFunc(
			[]Table{m.costTable(), m.smallestTable(), m.batchTable(), m.sleepTable()},
			func(t Table) bool { return len(t.Rows) == 0 }),
	}
	m.lockAnswer(&c)
	return c
}

// jobPlaces are the sizes of busy jobs in ns, and batchPlaces the sizes of
// batches, as numbers on their axes.
var jobPlaces, batchPlaces = numbers(jobSizes), numbers(batchSizes)

func numbers[N ~int | ~int64](of []N) []float64 {
	var all []float64
	for _, n := range of {
		all = append(all, float64(n))
	}
	return all
}

func nameOfJob(ns float64) string { return format.Duration(time.Duration(math.Round(ns))) }

// nameOfBatch names the smallest whole batch of at least that size.
func nameOfBatch(size float64) string { return strconv.Itoa(int(math.Ceil(size - 0.001))) }

// smallest returns the shortest busy job on which a contender's overhead is
// below the limit.
func (m *Measured) smallest(panel Panel, id ContenderID) (threshold, bool) {
	return thresholdOf(m.steps(sectionBusy, panel, id, jobPlaces, func(ns float64) string { return micros(time.Duration(ns)) }))
}

// batchFor returns the smallest batch of such jobs with an overhead below the
// limit.
func (m *Measured) batchFor(size time.Duration, id ContenderID) (threshold, bool) {
	return thresholdOf(m.steps(sectionBatch, ofJobs(size), id, batchPlaces, func(n float64) string { return strconv.Itoa(int(n)) }))
}

// ways returns the IDs of all farms.
func ways() []ContenderID {
	var all []ContenderID
	for _, c := range lockRoster() {
		all = append(all, c.id)
	}
	return all
}

func (m *Measured) costTable() Table {
	t := Table{
		Title: "Transfer cost",
		Text: "The cost of one value, which is a send with its receive. It is fitted to the time beyond the jobs alone, by size " +
			"of the job, up to " + format.Duration(fittedUpTo) + ": a constant part per job, divided by the two values of a job (the job " +
			"and its result), and a part that grows with the job, because processors wait for work; neither below zero. Wall-clock " +
			"time; medians of one line per repetition, with 95% intervals.",
		Head: []string{"channel"},
	}
	panels := m.panels(sectionBusy)
	for _, panel := range panels {
		t.Head = append(t.Head, panel.String()+": one value, ns", "plus, % of the job")
	}
	t.Rows = m.rows(ways(), len(panels), func(id ContenderID, i int) []string {
		c, ok := m.cost(panels[i], id)
		if !ok {
			return nil
		}
		return []string{within(c.transfer), within(c.share)}
	}, 2)
	return t
}

func (m *Measured) smallestTable() Table {
	panels := m.panels(sectionBusy)
	t := Table{
		Title: "The shortest job that spends less than 1% on the channels",
		Text: "Interpolated between two measured sizes, as a power of the size, from medians that are assumed to fall with the size, " +
			"but no faster than it grows; in brackets the same for the ends of the 95% intervals.",
		Head: []string{"channel"},
	}
	for _, panel := range panels {
		t.Head = append(t.Head, panel.String())
	}
	t.Rows = m.rows(ways(), len(panels), func(id ContenderID, i int) []string {
		if least, ok := m.smallest(panels[i], id); ok {
			return []string{least.text(nameOfJob)}
		}
		return nil
	}, 1)
	return t
}

var batchWays = []ContenderID{nativeBatches, boundedBatches, senderBatches}

func (m *Measured) batchTable() Table {
	t := Table{
		Title: "The smallest batch that brings a job under 1%",
		Text:  "Found in the same way, by the measured sizes of batches.",
		Head:  []string{"channel"},
	}
	for _, size := range batchedJobs {
		t.Head = append(t.Head, ofJobs(size).String())
	}
	t.Rows = m.rows(batchWays, len(batchedJobs), func(id ContenderID, i int) []string {
		if least, ok := m.batchFor(batchedJobs[i], id); ok {
			return []string{least.text(nameOfBatch)}
		}
		return nil
	}, 1)
	return t
}

// rows lays out a table with a row per contender. cells returns the width cells
// of one of the columns, or nil, which becomes cells without a figure. A
// contender without any figure has no row.
func (m *Measured) rows(contenders []ContenderID, columns int, cells func(id ContenderID, column int) []string, width int) [][]string {
	var rows [][]string
	for _, id := range contenders {
		row, known := []string{NameOf(id)}, false
		for column := range columns {
			found := cells(id, column)
			known = known || found != nil
			if found == nil {
				found = slices.Repeat([]string{"too few sizes"}, width)
			}
			row = append(row, found...)
		}
		if known {
			rows = append(rows, row)
		}
	}
	return rows
}

// lockSummary returns the cost of one value at two processors, or else at the
// largest measured number with a CPU each, and the jobs that should be batched.
func lockSummary(m *Measured) []string {
	var summary []string
	for _, panel := range m.panels(sectionBusy) {
		if xs := m.xs(sectionBusy, panel); len(summary) > 0 && m.beyond(sectionBusy, panel, xs[0]) {
			break
		}
		price, ok := m.cost(panel, native1024)
		bare, ok2 := m.cost(panel, nativeUnbuffered)
		least, ok3 := m.smallest(panel, native1024)
		if !ok || !ok2 || !ok3 {
			continue
		}
		text := ""
		if price.transfer.Known() && bare.transfer.Known() {
			text = fmt.Sprintf("One value costs %s through a buffered channel and %s through an unbuffered one (%s). ",
				price.short(), bare.short(), m.procs(sectionBusy, panel))
		}
		switch least.found {
		case never:
			text += fmt.Sprintf("Jobs of up to %s spend more than 1%% on the channel: batch them.", nameOfJob(least.last))
		case everywhere:
			text += fmt.Sprintf("Jobs of %s or more need no batches.", nameOfJob(least.at))
		default:
			text += fmt.Sprintf("Jobs shorter than %s spend more than 1%% on the channel: batch them.", nameOfJob(least.at))
		}
		summary = []string{text}
		if batch, ok := m.batchFor(time.Microsecond, boundedBatches); ok && (batch.found == interpolated || batch.found == reached) {
			summary = append(summary, fmt.Sprintf("Through a sluice.Bounded, jobs of 1 µs spend less than 1%% in batches of %s or more.", nameOfBatch(batch.at)))
		}
		if panel == atProcs(2) {
			break
		}
	}
	return summary
}

func lockFindings(m *Measured) []string {
	var findings []string
	for _, panel := range m.panels(sectionBusy) {
		findings = append(findings, m.prices(panel))
	}
	for _, panel := range m.panels(sectionBusy) {
		findings = append(findings, m.smallestJobs(panel))
	}
	for _, size := range batchedJobs {
		findings = append(findings, m.batches(size))
	}
	for _, change := range []struct{ base, other ContenderID }{
		{nativeUnbuffered, rendezvous}, {native1024, bounded1024}, {native1024, workersMap},
	} {
		for _, size := range []time.Duration{100, 10 * time.Microsecond} {
			var places []place
			for _, panel := range m.panels(sectionBusy) {
				if c, ok := m.change(sectionBusy, panel, micros(size), change.base, change.other); ok {
					places = append(places, place{m.marked(strconv.Itoa(panel.Procs), "busy", panel, micros(size)), c})
				}
			}
			findings = append(findings, effect(NameOf(change.other)+" instead of "+NameOf(change.base)+", with jobs of "+format.Duration(size)+",", atGOMAXPROCS, places))
		}
	}
	findings = append(findings, m.notInJobs(), m.byWorkers())
	for _, panel := range m.panels(sectionSleep) {
		findings = append(findings, m.timer(panel))
	}
	return slices.DeleteFunc(findings, func(f string) bool { return f == "" })
}

// prices describes the transfer cost of some of the channels.
func (m *Measured) prices(panel Panel) string {
	var found, unknown []string
	for _, id := range []ContenderID{publishedFarm, nativeUnbuffered, native1024, rendezvous, bounded1024, elastic} {
		c, ok := m.cost(panel, id)
		through := "through “" + NameOf(id) + "”"
		switch {
		case !ok:
		case c.transfer.Known():
			found = append(found, c.text()+" "+through)
		default:
			unknown = append(unknown, through)
		}
	}
	text := "At " + m.markedPanel(sectionBusy, panel) + " one value, a job or a result, "
	switch {
	case len(found) == 0 && len(unknown) == 0:
		return ""
	case len(unknown) == 0:
		return text + "costs " + format.And(found) + "."
	case len(found) > 0:
		text += "costs " + format.And(found) + "; "
	}
	return text + "what it costs " + format.And(unknown) + " is " + format.NotKnownHere + "."
}

func (m *Measured) smallestJobs(panel Panel) string {
	var found []string
	for _, id := range []ContenderID{nativeUnbuffered, native1024, nativeSlices, bounded1024, workersMap} {
		if least, ok := m.smallest(panel, id); ok {
			found = append(found, "“"+NameOf(id)+"” "+least.text(nameOfJob))
		}
	}
	if len(found) == 0 {
		return ""
	}
	return "The shortest job that spends less than 1% on the channels at " + m.markedPanel(sectionBusy, panel) + ": " + strings.Join(found, "; ") + "."
}

func (m *Measured) batches(size time.Duration) string {
	var found []string
	for _, id := range batchWays {
		if least, ok := m.batchFor(size, id); ok {
			found = append(found, "“"+NameOf(id)+"” "+least.text(nameOfBatch))
		}
	}
	if len(found) == 0 {
		return ""
	}
	return "The smallest batch that brings jobs of " + format.Duration(size) + " under 1%: " + strings.Join(found, "; ") + "."
}

// notInJobs describes the overhead of workers.Run: the part of its workers' time
// outside the jobs.
func (m *Measured) notInJobs() string {
	var found []string
	for _, x := range m.xs(sectionBacklog, Panel{}) {
		var shares []float64
		for _, ratio := range m.Samples(sectionBacklog, Panel{}, x, workersBacklog, timesIdeal) {
			shares = append(shares, 100*(1-1/ratio))
		}
		if len(shares) > 0 {
			found = append(found, percents(stat.Summarize(shares))+" with jobs of "+x+" µs")
		}
	}
	if len(found) == 0 {
		return ""
	}
	return "With a backlog, workers.Run takes this part of its workers' time: " + format.And(found) + "."
}

// byWorkers repeats the study's variation of the number of workers.
func (m *Measured) byWorkers() string {
	var found []string
	for _, x := range m.xs(sectionWorkers, Panel{}) {
		if ratios := m.Samples(sectionWorkers, Panel{}, x, publishedFarm, timesIdeal); len(ratios) > 0 {
			found = append(found, percents(overhead.Show(stat.Summarize(ratios)))+" with "+x)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return "The study found that the number of workers hardly matters. Here, with the published channels, the overhead of busy jobs of 1 µs is " +
		format.And(found) + "."
}
