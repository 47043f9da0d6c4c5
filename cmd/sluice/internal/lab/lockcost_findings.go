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
	return Conclusion{
		Summary:  lockSummary(m),
		Findings: lockFindings(m),
		Tables: slices.DeleteFunc(
			[]Table{m.costTable(), m.smallestTable(), m.batchTable(), m.sleepTable()},
			func(t Table) bool { return len(t.Rows) == 0 }),
	}
}

// jobPlaces are the sizes of busy jobs in ns, and batchPlaces those of batches, as
// numbers on their axes.
var jobPlaces, batchPlaces = numbers(jobSizes), numbers(batchSizes)

func numbers[N ~int | ~int64](of []N) []float64 {
	var all []float64
	for _, n := range of {
		all = append(all, float64(n))
	}
	return all
}

func nameOfJob(ns float64) string { return format.Duration(time.Duration(math.Round(ns))) }

// nameOfBatch names a batch that is large enough: half a job is none.
func nameOfBatch(size float64) string { return strconv.Itoa(int(math.Ceil(size - 0.001))) }

// smallest is the smallest busy job of which a contender costs less than the limit.
func (m *Measured) smallest(panel Panel, who ContenderID) (threshold, bool) {
	return thresholdOf(m.steps(sectionBusy, panel, who, jobPlaces, func(ns float64) string { return micros(time.Duration(ns)) }))
}

// batchFor is the smallest batch of such jobs that does the same.
func (m *Measured) batchFor(size time.Duration, who ContenderID) (threshold, bool) {
	return thresholdOf(m.steps(sectionBatch, ofJobs(size), who, batchPlaces, func(n float64) string { return strconv.Itoa(int(n)) }))
}

// ways returns the names of all who hand jobs over.
func ways() []ContenderID {
	var all []ContenderID
	for _, c := range lockRoster() {
		all = append(all, c.id)
	}
	return all
}

func (m *Measured) costTable() Table {
	t := Table{
		Title: "What a hand-over costs",
		Text: "A line through what each way takes longer than the jobs alone, by size of the job, up to " + format.Duration(fittedUpTo) +
			": what is the same for each job, divided by its two hand-overs (a send with its receive; an operation is " +
			"half of that), and what grows with the job, because processors wait for work; neither below nothing. In " +
			"wall-clock time; medians of a line for each repetition, with 95% intervals.",
		Head: []string{"way"},
	}
	panels := m.panels(sectionBusy)
	for _, panel := range panels {
		t.Head = append(t.Head, panel.String()+": a hand-over, ns", "and of the job, %")
	}
	t.Rows = m.rows(ways(), len(panels), func(who ContenderID, i int) []string {
		c, ok := m.cost(panels[i], who)
		if !ok {
			return nil
		}
		return []string{within(c.handOver), within(c.share)}
	}, 2)
	return t
}

func (m *Measured) smallestTable() Table {
	panels := m.panels(sectionBusy)
	t := Table{
		Title: "The smallest job that loses less than 1%",
		Text: "Interpolated between two sizes that were measured, as a power of the size, from medians that are taken to fall with " +
			"it, but no faster than it grows; in brackets the same for the ends of the 95% intervals. “Measured” are the others.",
		Head: []string{"way"},
	}
	for _, panel := range panels {
		t.Head = append(t.Head, panel.String())
	}
	t.Rows = m.rows(ways(), len(panels), func(who ContenderID, i int) []string {
		if least, ok := m.smallest(panels[i], who); ok {
			return []string{least.text(nameOfJob)}
		}
		return nil
	}, 1)
	return t
}

var batchWays = []ContenderID{nativeBatches, boundedBatches, senderBatches}

func (m *Measured) batchTable() Table {
	t := Table{
		Title: "The batch that brings a job under 1%",
		Text:  "Found in the same way, over the sizes of batches that were measured.",
		Head:  []string{"way"},
	}
	for _, size := range batchedJobs {
		t.Head = append(t.Head, ofJobs(size).String())
	}
	t.Rows = m.rows(batchWays, len(batchedJobs), func(who ContenderID, i int) []string {
		if least, ok := m.batchFor(batchedJobs[i], who); ok {
			return []string{least.text(nameOfBatch)}
		}
		return nil
	}, 1)
	return t
}

// rows lays out a table: for each who and each of so many columns the cells, or as
// many that say that there are none. It has no row of whom nothing is known.
func (m *Measured) rows(whos []ContenderID, columns int, cells func(who ContenderID, column int) []string, width int) [][]string {
	var rows [][]string
	for _, who := range whos {
		row, known := []string{NameOf(who)}, false
		for column := range columns {
			found := cells(who, column)
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

// lockSummary prices a hand-over at two processors or else the most that were measured
// and have a CPU each, and says who should batch.
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
		said := fmt.Sprintf("At %s a hand-over costs %s by a built-in channel of 1024 slots and %s by one without a buffer",
			m.markedPanel(sectionBusy, panel), price.text(), bare.text())
		switch least.found {
		case never:
			said += fmt.Sprintf("; jobs of up to %s are cheaper done in batches.", nameOfJob(least.last))
		case everywhere:
			said += fmt.Sprintf("; no job of %s or more needs batches.", nameOfJob(least.at))
		default:
			said += fmt.Sprintf("; through the former, jobs shorter than %s, lose more than 1%% and are cheaper done in batches.", least.text(nameOfJob))
		}
		summary = []string{said}
		if batch, ok := m.batchFor(time.Microsecond, boundedBatches); ok && (batch.found == interpolated || batch.found == reached) {
			summary = append(summary, fmt.Sprintf("Through a sluice.Bounded, jobs of 1 µs lose less than 1%% in batches of %s.", batch.text(nameOfBatch)))
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
			findings = append(findings, effect("Of the time of jobs of "+format.Duration(size)+", "+NameOf(change.other)+" in place of "+NameOf(change.base), atGOMAXPROCS, places))
		}
	}
	findings = append(findings, m.notInJobs(), m.byWorkers())
	for _, panel := range m.panels(sectionSleep) {
		findings = append(findings, m.timer(panel))
	}
	return slices.DeleteFunc(findings, func(f string) bool { return f == "" })
}

// prices says what a hand-over costs by some of the ways.
func (m *Measured) prices(panel Panel) string {
	var said []string
	for _, who := range []ContenderID{publishedFarm, nativeUnbuffered, native1024, rendezvous, bounded1024, elastic} {
		if c, ok := m.cost(panel, who); ok {
			said = append(said, c.text()+" by “"+NameOf(who)+"”")
		}
	}
	if len(said) == 0 {
		return ""
	}
	return "At " + m.markedPanel(sectionBusy, panel) + " a hand-over of a job or a result costs " + format.And(said) + "."
}

func (m *Measured) smallestJobs(panel Panel) string {
	var said []string
	for _, who := range []ContenderID{nativeUnbuffered, native1024, nativeSlices, bounded1024, workersMap} {
		if least, ok := m.smallest(panel, who); ok {
			said = append(said, "“"+NameOf(who)+"”: "+least.text(nameOfJob))
		}
	}
	if len(said) == 0 {
		return ""
	}
	return "The smallest job that loses less than 1% at " + m.markedPanel(sectionBusy, panel) + " — " + strings.Join(said, "; ") + "."
}

func (m *Measured) batches(size time.Duration) string {
	var said []string
	for _, who := range batchWays {
		if least, ok := m.batchFor(size, who); ok {
			said = append(said, "“"+NameOf(who)+"”: "+least.text(nameOfBatch))
		}
	}
	if len(said) == 0 {
		return ""
	}
	return "The batch that brings jobs of " + format.Duration(size) + " under 1% — " + strings.Join(said, "; ") + "."
}

// notInJobs says which part of their time the workers of sluice.Workers were not in
// the jobs.
func (m *Measured) notInJobs() string {
	var said []string
	for _, x := range m.xs(sectionBacklog, Panel{}) {
		var shares []float64
		for _, ratio := range m.Samples(sectionBacklog, Panel{}, x, workersBacklog, timesIdeal) {
			shares = append(shares, 100*(1-1/ratio))
		}
		if len(shares) > 0 {
			said = append(said, within(stat.Summarize(shares))+" % with jobs of "+x+" µs")
		}
	}
	if len(said) == 0 {
		return ""
	}
	return "Of the time of its workers, given a backlog, sluice.Workers needs for itself " + format.And(said) + "."
}

// byWorkers repeats the study's variation.
func (m *Measured) byWorkers() string {
	var said []string
	for _, x := range m.xs(sectionWorkers, Panel{}) {
		if ratios := m.Samples(sectionWorkers, Panel{}, x, publishedFarm, timesIdeal); len(ratios) > 0 {
			said = append(said, within(overhead.Show(stat.Summarize(ratios)))+" % with "+x)
		}
	}
	if len(said) == 0 {
		return ""
	}
	return "The study found that the number of workers hardly matters. Here busy jobs of 1 µs, handed over as published, lose " +
		format.And(said) + "."
}
