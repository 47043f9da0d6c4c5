package lab

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/workload"
	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// lockCostStudy asks how long a job must be to be worth a channel.
var lockCostStudy = Experiment{
	Study: Study{
		Name:  "lock-cost",
		Title: "How short may a job be?",
		Prediction: "A job and its result pass two channels. That costs a fraction of a microsecond if no goroutine has to wake " +
			"another, and more otherwise: jobs of about 10 µs spend less than 1% on the channels, jobs of 1 µs only in " +
			"batches. With sleeping jobs, most of the overhead is the timer's, probably in the study too.",
		Source: Source{
			Author:  "M. Hrivnak",
			Title:   "Go Lock Cost",
			Year:    2013,
			Machine: "2-core Core2 Duo T8300, Linux 3.11",
			Go:      "1.1.2",
		},
		Notes: []string{
			"One feeder sends jobs to the workers, which send results to one receiver. Overhead is the time beyond the " +
				"ideal. For sleeping jobs the ideal is their nominal time, as in the study. For busy jobs it is the time of the " +
				"same loops in the same number of goroutines without a channel, measured right before each run of each " +
				"contender; one repetition is the median of up to three such pairs.",
			"“published” has unbuffered channels, and workers that select between a job and a channel that ends them. The " +
				"study's workers slept, so GOMAXPROCS did not limit how many worked at the same time.",
			"“no channel” is the same number of sleeps in as many goroutines, which take them from a counter: its overhead " +
				"is the timer's, and is not charged to the channels.",
			"workers.Run and workers.Map size their batches themselves. With workers.Run, the results pass one by one " +
				"through a sluice.Bounded. batch.Sender serves a feeder that does not have its jobs in slices.",
		},
		PublishedIn: overhead,
	},
	Sections:  lockSections,
	Published: lockPublished(),
	Conclude:  lockConclusion,
}

const (
	sectionBusy    SectionID = "busy"
	sectionBatch   SectionID = "batch"
	sectionWorkers SectionID = "workers"
	sectionBacklog SectionID = "backlog"
	sectionSleep   SectionID = "sleep"
)

// The contenders of this study alone.
var (
	publishedFarm = named("published")
	nativeSlices  = named("native, slices of 64")
	workersRun    = named("workers.Run")
	workersMap    = named("workers.Map")
	senderMap     = named("batch.Sender of 64, Map")

	// In the section batch, whose axis is the size of a batch:
	nativeBatches  = named("native, slices")
	boundedBatches = named("sluice.Bounded, batches")
	senderBatches  = named("batch.Sender, Map")

	// In the section backlog:
	nativeBacklog  = named("native, a slot for each")
	byHandBacklog  = named("sluice.Bounded, 64 by hand")
	workersBacklog = named("workers.Run, a backlog")
)

const (
	farmWorkers = 3  // of the study
	farmBatch   = 64 // jobs, where batches are not the question
	transfers   = 2  // values sent per job: the job, and its result
)

// timesIdeal is the unit of a farm's time, as a multiple of the time of the
// jobs alone.
const timesIdeal = "x-ideal"

// overhead shows timesIdeal as the study does. The overhead of busy jobs is
// known less precisely than the overhead of sleeping ones, so its charts end
// earlier.
var (
	overhead     = Measure{Unit: timesIdeal, Axis: "% overhead", Above: 1, Per: 0.01, Floor: 0.01}
	busyOverhead = Measure{Unit: timesIdeal, Axis: "% overhead", Above: 1, Per: 0.01, Floor: 0.1}
)

// The sizes of sleeping jobs, of busy jobs, a factor of about three apart, and of jobs in
// batches.
var (
	studySleeps = []time.Duration{100 * time.Microsecond, time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second}
	jobSizes    = []time.Duration{100, 300, time.Microsecond, 3 * time.Microsecond, 10 * time.Microsecond, 30 * time.Microsecond, 100 * time.Microsecond}
	batchedJobs = []time.Duration{100, time.Microsecond, 10 * time.Microsecond}
	batchSizes  = []int{1, 4, 16, 64, 256, 1024}
)

func lockPublished() []Published {
	var figures []Published
	for i, values := range [][]float64{{126.10, 13.33, 1.31, 0.14, 0.02}, {136, 15, 1.5, 0.16, 0.02}} {
		panel := Panel{Procs: i + 1}
		for j, value := range values {
			size := format.Duration(studySleeps[j])
			figures = append(figures, Published{
				Row: panel.String(), Column: "sleeps of " + size, Value: value,
				Section: sectionSleep, Panel: panel, X: size, Contender: publishedFarm, Ours: workersMap,
			})
		}
	}
	return figures
}

func lockSections(s Scale) []Section {
	if s.Size == AsPublished {
		return arranged(lockSleep(s))
	}
	return arranged(lockBusy(s), lockBatch(s), lockWorkers(s), lockBacklog(s), lockSleep(s))
}

// A namedFarm is a farm with its ID in this experiment.
type namedFarm struct {
	id   ContenderID
	farm contender.Farm
}

// lockRoster returns all farms.
func lockRoster() []namedFarm {
	return []namedFarm{
		{publishedFarm, contender.PublishedFarm()},
		{nativeUnbuffered, contender.Between(contender.Native(), 0)},
		{native1024, contender.Between(contender.Native(), 1024)},
		{nativeSlices, contender.Between(contender.NativeSlices(farmBatch), 1024)},
		{rendezvous, contender.Between(contender.Rendezvous(background, nil), 0)},
		{bounded1024, contender.Between(contender.Bounded(background, nil), 1024)},
		{elastic, contender.Between(contender.Elastic(background, nil), unbounded)},
		{workersRun, contender.WorkersFarm(background)},
		{workersMap, contender.MapFarm(background, 1)},
		{senderMap, contender.MapFarm(background, farmBatch)},
	}
}

// A grind is a number of busy jobs for some workers.
type grind struct {
	workers int
	length  time.Duration
	jobs    int // in a run
	portion int // jobs that a goroutine takes at once in the run without a channel
	pairs   int // pairs of runs, with and without a channel, per figure
}

// grind returns jobs of the given length for workers that receive up to batch
// of them at once. At most procs workers run at the same time. A run has enough
// jobs for each processor that its last batch, for which the other processors
// may have to wait, is a small part of the run, but no more than limit in all.
func (s Scale) grind(workers, procs, batch int, length time.Duration) grind {
	atOnce := min(workers, procs, s.cpus())
	slice := [...]time.Duration{Standard: 1600 * time.Microsecond, Quick: 800 * time.Microsecond}[s.Size]
	limit := [...]int{Standard: 15_000, Quick: 4_000}[s.Size] // short jobs cost much, one by one
	least := [...]int{Standard: 60, Quick: 12}[s.Size]
	long := slice
	if batch >= 16 { // the first and the last batch are a large part, too
		long *= 3
		limit *= 4
	}
	each := max(int(long/length), least*batch/8, least)
	jobs := max(min(each*atOnce, limit), 8*batch)
	takes := time.Duration(jobs/atOnce) * length
	return grind{
		workers: workers,
		length:  length,
		jobs:    jobs,
		portion: max(int(10*time.Microsecond/length), 1),
		pairs:   min(max(int(3*slice/takes), 1), 3),
	}
}

// inBatches returns g for a contender that sends batches of that size. Without
// a channel a portion then is as large, so that the wait for the last batch is
// in both times: the batches cause it, not the channel.
func (g grind) inBatches(size int) grind {
	g.portion = max(g.portion, size)
	return g
}

// enter enters a contender that does the jobs of g in run. The same jobs
// without a channel precede each run, so that a slow phase of the machine slows
// both. A short disturbance affects one of several pairs, and their median
// counts.
func (g grind) enter(id ContenderID, run func(job func()) (time.Duration, error)) measure.Entry {
	return measure.Entry{Contender: id, Pass: func() (measure.Reading, error) {
		turns := workload.Turns(g.length)
		job := func() { _ = workload.Busy(turns) }
		var ratios, times []float64
		for range g.pairs {
			ideal := workload.Alone(g.workers, uint64(g.jobs), uint64(g.portion), job)
			took, err := run(job)
			if err != nil {
				return measure.Reading{}, err
			}
			ratios = append(ratios, float64(took)/float64(ideal))
			times = append(times, float64(took)/float64(g.jobs))
		}
		return farmed(g.pairs*g.jobs, stat.Summarize(ratios).Median, stat.Summarize(times).Median), nil
	}}
}

func (g grind) farm(id ContenderID, f contender.Farm) measure.Entry {
	return g.enter(id, func(job func()) (time.Duration, error) {
		return workload.Farm(f, g.workers, uint64(g.jobs), job)
	})
}

// farmed returns the figures of a number of jobs: their time as a multiple of the
// ideal, and ns per job.
func farmed(jobs int, ratio, ns float64) measure.Reading {
	return measure.Reading{Ops: jobs, Figures: []measure.Figure{{Unit: timesIdeal, Value: ratio}, {Unit: measure.NsPerOp, Value: ns}}}
}

// micros writes a duration in µs, for an axis: "0.1".
func micros(d time.Duration) string { return format.In(d, time.Microsecond) }

// jobLabel names the size of a job in a benchmark's name.
func jobLabel(length time.Duration) measure.Label {
	return measure.Label{Key: "job", Value: strings.ReplaceAll(length.String(), "µ", "u")}
}

// heldUp is the most work in a batch. With more, the other workers would wait
// for the last batch of a run for longer than the whole run takes.
const heldUp = 1100 * time.Microsecond

const tooLongABatch = "a batch of such jobs would take more than a millisecond"

func lockBusy(s Scale) Section {
	section := newSection(sectionBusy, "Jobs that compute", "size of a job, µs",
		"Three workers, and jobs that keep a processor busy for the given time. A buffer has 1024 slots; a slice or a "+
			"batch 64 jobs.",
		busyOverhead)
	sizes := jobSizes
	if s.Size == Quick {
		sizes = []time.Duration{100, time.Microsecond, 10 * time.Microsecond}
	}
	for _, procs := range s.procs(1, 2) {
		for _, size := range sizes {
			g := s.grind(farmWorkers, procs, 1, size)
			p := section.point(s, Panel{Procs: procs}, micros(size), procs, g.jobs, jobLabel(size))
			for _, c := range lockRoster() {
				switch {
				case c.id != nativeSlices:
					p.Entries = append(p.Entries, g.farm(c.id, c.farm))
				case farmBatch*size <= heldUp:
					p.Entries = append(p.Entries, g.inBatches(farmBatch).farm(c.id, c.farm))
				default:
					p.leaveOut(tooLongABatch, c.id)
				}
			}
		}
	}
	return section
}

func lockBatch(s Scale) Section {
	section := newSection(sectionBatch, "Batches", "jobs in a batch",
		"Three workers that receive jobs, do them and send their results in batches of the given size. No batch takes "+
			"more than about a millisecond. With workers.Map, the size is the most that a worker takes at once.",
		busyOverhead)
	batches := batchSizes
	if s.Size == Quick {
		batches = []int{1, 64}
	}
	procs := s.home(1, 2)
	for _, size := range batchedJobs {
		for _, batch := range batches {
			if time.Duration(batch)*size > heldUp {
				continue
			}
			g, x := s.grind(farmWorkers, procs, batch, size), strconv.Itoa(batch)
			p := section.point(s, Panel{Job: size}, x, procs, g.jobs, jobLabel(size), measure.Label{Key: "batch", Value: x})
			slots := max(1024, 4*batch)
			p.Entries = []measure.Entry{
				g.inBatches(batch).farm(nativeBatches, contender.Between(contender.NativeSlices(batch), slots)),
				g.inBatches(batch).farm(boundedBatches, contender.Between(contender.Bounded(background, nil).InBatches(batch), slots)),
				g.farm(senderBatches, contender.MapFarm(background, batch)),
			}
		}
	}
	return section
}

func lockWorkers(s Scale) Section {
	const size = time.Microsecond
	section := newSection(sectionWorkers, "How many workers", "workers",
		"Jobs that compute for "+format.Duration(size)+".",
		busyOverhead)
	procs := s.home(1, 2)
	for _, workers := range []int{1, 3, 10} {
		g, x := s.grind(workers, procs, 1, size), strconv.Itoa(workers)
		p := section.point(s, Panel{}, x, procs, g.jobs, jobLabel(size), measure.Label{Key: "workers", Value: x})
		for _, c := range lockRoster() {
			switch c.id {
			case publishedFarm, nativeUnbuffered, native1024, bounded1024, workersMap:
				p.Entries = append(p.Entries, g.farm(c.id, c.farm))
			}
		}
	}
	return section
}

// lockBacklog measures the cost of receiving jobs alone.
func lockBacklog(s Scale) Section {
	section := newSection(sectionBacklog, "Receiving from a backlog", "size of a job, µs",
		"All jobs are in the channel when the workers start, one worker per processor, and there are no results: "+
			"overhead is the cost of receiving. workers.Run aims at 0.25% of its workers' time.",
		busyOverhead)
	sizes := []time.Duration{100, time.Microsecond, 10 * time.Microsecond, 100 * time.Microsecond}
	if s.Size == Quick {
		sizes = []time.Duration{time.Microsecond}
	}
	procs := s.home(1, 2)
	workers := min(procs, s.cpus())
	for _, size := range sizes {
		g, w := s.grind(workers, procs, farmBatch, size), workload.Backlog(workers, size)
		p := section.point(s, Panel{}, micros(size), procs, g.jobs, jobLabel(size))
		enter := func(g grind, id ContenderID, c contender.Contender) {
			p.Entries = append(p.Entries, g.enter(id, func(func()) (time.Duration, error) {
				r, err := w.Run(c, uint64(g.jobs))
				return r.Elapsed, err
			}))
		}
		enter(g, nativeBacklog, contender.Native())
		if farmBatch*size <= heldUp {
			enter(g.inBatches(farmBatch), byHandBacklog, contender.Bounded(background, nil).InBatches(farmBatch))
		} else {
			p.leaveOut(tooLongABatch, byHandBacklog)
		}
		enter(g, workersBacklog, contender.Bounded(background, nil))
	}
	return section
}

// lockSleep is the study as published: its jobs sleep.
func lockSleep(s Scale) Section {
	section := newSection(sectionSleep, "Jobs that sleep, as published", "size of a job",
		"Three workers whose jobs are a time.Sleep. A sleep lasts longer than its argument: “no channel” is the "+
			"overhead of the sleeps alone.",
		overhead)
	sizes := studySleeps
	farms := []ContenderID{publishedFarm, nativeUnbuffered, native1024, bounded1024, workersMap}
	switch s.Size {
	case Standard:
		sizes = sizes[:3] // the others take too long for a default
	case Quick:
		sizes = sizes[1:2]
	case AsPublished:
		farms = []ContenderID{publishedFarm, nativeUnbuffered, workersMap}
	}
	for _, procs := range s.procs(1, 2) {
		for _, size := range sizes {
			jobs := s.sleeps(size)
			p := section.point(s, Panel{Procs: procs}, format.Duration(size), procs, jobs, jobLabel(size))
			p.Target = 0 // a sleep needs no warm-up
			p.Pass = time.Duration(jobs/farmWorkers) * max(size, shortestSleep)
			if s.Size == AsPublished && s.Count == 0 {
				p.Count = 1 // as in the study: one run of all sizes takes minutes
			}
			p.Entries = append(p.Entries, sleeping(alone, size, jobs, func(job func()) (time.Duration, error) {
				return workload.Alone(farmWorkers, uint64(jobs), 1, job), nil
			}))
			for _, c := range lockRoster() {
				if slices.Contains(farms, c.id) {
					p.Entries = append(p.Entries, sleeping(c.id, size, jobs, func(job func()) (time.Duration, error) {
						return workload.Farm(c.farm, farmWorkers, uint64(jobs), job)
					}))
				}
			}
			p.leaveOut("a run of the longer sleeps has less than one batch", nativeSlices, senderMap)
		}
	}
	return section
}

// shortestSleep is the approximate duration of the shortest sleep on most systems.
const shortestSleep = time.Millisecond

// sleeps returns the number of jobs of a run: 12 s of work, as in the study, or
// some milliseconds; always the same number for each worker.
func (s Scale) sleeps(size time.Duration) int {
	work := [...]time.Duration{
		Standard: 30 * time.Millisecond, Quick: 3 * time.Millisecond, AsPublished: 12 * time.Second,
	}[s.Size]
	if s.Size != AsPublished && size < time.Millisecond {
		work /= 5 // such a short sleep lasts much longer than its argument
	}
	return max(1, int(work/size)/farmWorkers) * farmWorkers
}

// sleeping enters a contender that does jobs that sleep in run.
func sleeping(id ContenderID, size time.Duration, jobs int, run func(job func()) (time.Duration, error)) measure.Entry {
	return measure.Entry{Contender: id, Pass: func() (measure.Reading, error) {
		took, err := run(func() { time.Sleep(size) })
		if err != nil {
			return measure.Reading{}, err
		}
		ideal := time.Duration(jobs/farmWorkers) * size
		return farmed(jobs, float64(took)/float64(ideal), float64(took)/float64(jobs)), nil
	}}
}

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

func lockConclusion(m *Measured) Conclusion {
	c := Conclusion{Findings: lockFindings(m), Tables: lockTables(m)}
	busy := m.in(sectionBusy).in(timesIdeal)
	home, ok := busy.at(micros(time.Microsecond)).home(native1024)
	if !ok {
		return c
	}
	panel := busy.where(func(s spot) bool { return s.Panel == home.Panel })
	c.Conditions = "jobs of 1 µs, 3 workers, " + home.conditions()
	if atOnce := min(farmWorkers, home.Procs); atOnce > 1 && !home.Beyond {
		c.Conditions = fmt.Sprintf("1 µs jobs, %d at once, against no channel, %s", atOnce, home.conditions())
	}
	c.Unit = "% longer than without a channel"
	c.Bars = home.bars(overhead, native1024, lockWays...)
	least := smallestJob(panel, native1024)
	if text := least.text(nameOfJob); text != "" {
		c.Answer = "The shortest job that spends less than 1% of its time on a channel of 1024 slots (3 workers, " + home.conditions() + "): " + text + "."
	}
	c.Advice = "Batch shorter jobs: send slices of them, or use workers.Map, which sizes its batches itself."
	c.claims = jobsClaim(home, c.Chart, least)
	price, ok := costOf(panel, native1024)
	if !ok || !price.transfer.Known() {
		return c
	}
	buffered := barOf(lockBuffered, price.transfer)
	c.sentence = fmt.Sprintf("One value costs %s through a channel of 1024 slots (%s).", buffered.Text(" ns"), home.conditions())
	if bare, ok := costOf(panel, nativeUnbuffered); ok && bare.transfer.Known() {
		c.costs = Chart{home.conditions(), PerValue.Axis, []Bar{barOf("chan, unbuffered", bare.transfer), buffered}}
	}
	return c
}

// jobsClaim is the overhead of the jobs in the chart.
func jobsClaim(home spot, shown Chart, least threshold) []claim {
	slow := stat.Change{Summary: home.summary(native1024).Above(1)}
	if !more(slow) || !shown.bar(lockBuffered).Known {
		return nil
	}
	text := "Through a channel of 1024 slots, jobs of 1 µs take " + shown.bar(lockBuffered).Text("%") + " longer"
	if batched := shown.bar(lockSlices); batched.Shown() {
		text += ", and " + strings.Replace(batched.Text("%"), "< ", "less than ", 1) + fmt.Sprintf(" in slices of %d", farmBatch)
	}
	short := "short"
	if least.known() {
		text += "; from " + nameOfJob(least.at) + " on, less than 1%"
		short = "shorter"
	}
	return []claim{newClaim(aboutJobs, slow, text+". Send several "+short+" jobs in one slice.")}
}

func nameOfJob(ns float64) string { return format.Duration(time.Duration(math.Round(ns))) }

// nameOfBatch names the smallest whole batch of at least that size.
func nameOfBatch(size float64) string { return strconv.Itoa(int(math.Ceil(size - 0.001))) }

// smallestJob returns the shortest busy job on which a contender's overhead is
// below the limit, in ns.
func smallestJob(panel spots, id ContenderID) threshold {
	var steps []step
	for _, size := range jobSizes {
		if ratio := panel.at(micros(size)).one().summary(id); ratio.N > 0 {
			steps = append(steps, step{float64(size), overhead.Show(ratio)})
		}
	}
	return thresholdOf(steps)
}

// batchFor returns the smallest batch of the panel's jobs with an overhead below the
// limit.
func batchFor(panel spots, id ContenderID) threshold {
	var steps []step
	for _, p := range panel.with(id) {
		size, _ := strconv.Atoi(p.X)
		steps = append(steps, step{float64(size), overhead.Show(p.summary(id))})
	}
	return thresholdOf(steps)
}

// lockTables lists what is derived from the overheads.
func lockTables(m *Measured) []Table {
	var farms []ContenderID
	for _, c := range lockRoster() {
		farms = append(farms, c.id)
	}
	inPercent := m.in(sectionBusy).in(timesIdeal).panels()
	batches := m.in(sectionBatch).in(timesIdeal).panels()
	cost, smallest, batch := []string{"channel"}, []string{"channel"}, []string{"channel"}
	for _, panel := range inPercent {
		name := panel[0].Panel.String()
		cost, smallest = append(cost, name+": one value, ns", "plus, % of the job"), append(smallest, name)
	}
	for _, panel := range batches {
		batch = append(batch, panel[0].Panel.String())
	}
	return slices.DeleteFunc([]Table{{
		Title: "Transfer cost",
		Text: "The cost of one value, which is a send with its receive. It is fitted to the time beyond the jobs alone, by size " +
			"of the job, up to " + format.Duration(fittedUpTo) + ": a constant part per job, divided by the two values of a job (the job " +
			"and its result), and a part that grows with the job, because processors wait for work; neither below zero. Wall-clock " +
			"time; medians of one line per repetition, with 95% intervals.",
		Head: cost,
		Rows: rows(farms, inPercent, func(panel spots, id ContenderID) []string {
			c, ok := costOf(panel, id)
			if !ok {
				return []string{"", ""}
			}
			return []string{inCell(c.transfer), inCell(c.share)}
		}),
	}, {
		Title: "The shortest job that spends less than 1% on the channels",
		Text: "Interpolated between two measured sizes, as a power of the size, from medians that are assumed to fall with the size, " +
			"but no faster than it grows; in brackets the same for the ends of the 95% intervals.",
		Head: smallest,
		Rows: rows(farms, inPercent, func(panel spots, id ContenderID) []string { return []string{smallestJob(panel, id).text(nameOfJob)} }),
	}, {
		Title: "The smallest batch that brings a job under 1%",
		Text:  "Found in the same way, by the measured sizes of batches.",
		Head:  batch,
		Rows: rows([]ContenderID{nativeBatches, boundedBatches, senderBatches}, batches,
			func(panel spots, id ContenderID) []string { return []string{batchFor(panel, id).text(nameOfBatch)} }),
	}, {
		Title: "The timer and the channels",
		Text: "Overhead of the sleeping jobs as published; of the same sleeps without channels in the same round, which is the " +
			"timer's; and the difference, which is the most that the channels can cost. The study attributed all of it to " +
			"the channels: 21 µs per operation, with two operations per job.",
		Head: []string{"sleeps", "overhead, %", "without channels, %", "channels' part, points", "per operation, µs"},
		Rows: sleepRows(m.in(sectionSleep)),
	}}, func(t Table) bool { return len(t.Rows) == 0 })
}

// rows lays out a table with a row per contender, by the cells of each panel, which are ""
// without a figure. A contender without any figure has no row.
func rows(contenders []ContenderID, panels []spots, cells func(panel spots, id ContenderID) []string) [][]string {
	var rows [][]string
	for _, id := range contenders {
		row, known := []string{NameOf(id)}, false
		for _, panel := range panels {
			for _, cell := range cells(panel, id) {
				known = known || cell != ""
				row = append(row, cmp.Or(cell, "too few sizes"))
			}
		}
		if known {
			rows = append(rows, row)
		}
	}
	return rows
}

// lockFindings has the results that are not in the tables.
func lockFindings(m *Measured) []string {
	var findings []string
	for _, change := range []struct{ base, other ContenderID }{
		{nativeUnbuffered, rendezvous}, {native1024, bounded1024}, {native1024, workersMap},
	} {
		for _, size := range []time.Duration{100, 10 * time.Microsecond} {
			findings = append(findings, m.in(sectionBusy).at(micros(size)).effect(
				NameOf(change.other)+" instead of "+NameOf(change.base)+", with jobs of "+format.Duration(size)+",", byProcs, change.base, change.other))
		}
	}
	var outside, byWorkers []string
	for _, p := range m.in(sectionBacklog).in(timesIdeal).with(workersBacklog) {
		var shares []float64
		for _, ratio := range p.samples(workersBacklog) {
			shares = append(shares, 100*(1-1/ratio))
		}
		outside = append(outside, within(stat.Summarize(shares), "%", "%")+" with jobs of "+p.X+" µs")
	}
	for _, p := range m.in(sectionWorkers).in(timesIdeal).with(publishedFarm) {
		byWorkers = append(byWorkers, within(overhead.Show(p.summary(publishedFarm)), "%", "%")+" with "+p.X)
	}
	if len(outside) > 0 {
		findings = append(findings, "With a backlog, workers.Run takes this part of its workers' time: "+format.And(outside)+".")
	}
	if len(byWorkers) > 0 {
		findings = append(findings, "The study found that the number of workers hardly matters. Here, with the published channels, the overhead of busy jobs of 1 µs is "+
			format.And(byWorkers)+".")
	}
	for _, panel := range m.in(sectionSleep).panels() {
		findings = append(findings, timerFinding(panel))
	}
	return said(findings...)
}

// A slack is the overhead of sleeps in percent, the timer's part and the channels'
// part. All three are from pairs of the same round.
type slack struct {
	all, timer stat.Summary
	channels   stat.Change // a difference in percentage points, not a ratio
}

// slackAt splits the published farm's overhead into the timer's part and the
// channels'.
func slackAt(p spot) (s slack, ok bool) {
	p.unit = timesIdeal
	without, with := p.samples(alone), p.samples(publishedFarm)
	var points []float64
	for i := range min(len(without), len(with)) {
		points = append(points, (with[i]-without[i])/overhead.Per)
	}
	return slack{
		all:      overhead.Show(stat.Summarize(with)),
		timer:    overhead.Show(stat.Summarize(without)),
		channels: stat.Change{Summary: stat.Summarize(points)},
	}, len(points) > 0
}

// sleepRows has the cost of a channel operation by the study's formula: the channels' part
// of a job's time, divided by the two transfers of each job.
func sleepRows(sleeps spots) [][]string {
	var rows [][]string
	for _, p := range sleeps {
		s, ok := slackAt(p)
		if !ok {
			continue
		}
		size, _ := time.ParseDuration(strings.ReplaceAll(p.X, " ", ""))
		perJob := float64(size) / farmWorkers / float64(time.Microsecond)
		operation := "not beyond noise"
		switch {
		case s.channels.Confidence == 0:
			operation = "no interval"
		case s.channels.Clear() && s.channels.Median > 0:
			operation = inCell(s.channels.In(100 * transfers / perJob))
		}
		rows = append(rows, []string{
			p.Panel.String() + ", " + p.X, inCell(s.all), inCell(s.timer), inCell(s.channels.Summary), operation,
		})
	}
	return rows
}

// timerFinding describes the cause of the overhead of the shortest sleep.
func timerFinding(panel spots) string {
	for _, p := range panel {
		s, ok := slackAt(p)
		if !ok {
			continue
		}
		text := fmt.Sprintf("Sleeps of %s at %s, as published, have an overhead of %s; without any channel, %s: ",
			p.X, p.title(), within(s.all, "%", "%"), within(s.timer, "%", "%"))
		switch {
		case s.channels.Confidence == 0:
			return text + "too few repetitions to separate the channels' part."
		case s.channels.Clear() && s.channels.Median < 0:
			return text + "the overhead is the timer's, and is smaller where channels distribute the sleeps."
		case s.channels.Clear():
			return text + "the overhead is the timer's, plus " + within(s.channels.Summary, "", "") + " percentage points of the channels."
		}
		return text + "the overhead is the timer's; the channels add nothing beyond noise."
	}
	return ""
}
