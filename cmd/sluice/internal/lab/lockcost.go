package lab

import (
	"cmp"
	"fmt"
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
		Topic: "short jobs",
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
			"One feeder sends jobs to the workers, which send results to one receiver. A figure is their time as a multiple " +
				"of the ideal: 1.26 is an overhead of 26%. For sleeping jobs the ideal is their nominal time, as in the study. For busy jobs it is the time of the " +
				"same loops in the same number of goroutines without a channel, measured right before each run of each " +
				"contender; one repetition is the median of up to three such pairs.",
			"“published” has unbuffered channels, and workers that select between a job and a channel that ends them. The " +
				"study's workers slept, so GOMAXPROCS did not limit how many worked at the same time.",
			"“no channel” is the same number of sleeps in as many goroutines, which take them from a counter: its overhead " +
				"is the timer's, and is not charged to the channels.",
			"workers.Run and workers.Map size their batches themselves. With workers.Run, the results pass one by one " +
				"through a sluice.Bounded. batch.Sender serves a feeder that does not have its jobs in slices.",
		},
		PublishedIn: timesAlone,
	},
	Sections:  lockSections,
	Published: lockPublished(),
	Conclude:  lockConclusion,
}

const (
	sectionBusy    SectionID = "busy"
	sectionBatch   SectionID = "batch"
	sectionWorkers SectionID = "workers"
	sectionSleep   SectionID = "sleep"
)

// The contenders of this study alone.
const (
	publishedFarm ContenderID = "published"
	nativeSlices  ContenderID = "native_slices_of_64"
	workersMap    ContenderID = "workers.Map"
	senderMap     ContenderID = "batch.Sender_of_64_Map"

	// In the section batch, whose axis is the size of a batch:
	nativeBatches  ContenderID = "native_slices"
	boundedBatches ContenderID = "sluice.Bounded_batches"
	senderBatches  ContenderID = "batch.Sender_Map"
)

const (
	farmWorkers = 3  // of the study
	farmBatch   = 64 // jobs, where batches are not the question
	transfers   = 2  // values sent per job: the job, and its result
)

// timesIdeal is the unit of a farm's time, as a multiple of the time of the
// jobs alone.
const timesIdeal = "x-ideal"

// timesAlone shows it. The study has overheads: 26% are 1.26 times the ideal.
var timesAlone = Measure{Unit: timesIdeal, Axis: "times the jobs alone"}

// The sizes of sleeping jobs, of busy jobs, a factor of about three apart, and of jobs in
// batches.
var (
	studySleeps = []time.Duration{100 * time.Microsecond, time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second}
	jobSizes    = []time.Duration{100, 300, time.Microsecond, 3 * time.Microsecond, 10 * time.Microsecond, 30 * time.Microsecond, 100 * time.Microsecond}
	batchedJobs = []time.Duration{100, time.Microsecond, 10 * time.Microsecond}
	batchSizes  = []int{1, 4, 16, 64, 256, 1024}
)

func lockPublished() (figures []Published) {
	for i, values := range [][]float64{{126.10, 13.33, 1.31, 0.14, 0.02}, {136, 15, 1.5, 0.16, 0.02}} {
		panel := Panel{Procs: i + 1}
		for j, value := range values {
			size := format.Duration(studySleeps[j])
			figures = append(figures, Published{
				Row: panel.String(), Column: fmt.Sprintf("sleeps of %s (%v%% overhead)", size, value), Value: 1 + value/100,
				Section: sectionSleep, Panel: panel, X: size, Contender: publishedFarm, Ours: workersMap,
			})
		}
	}
	return figures
}

func lockSections(s Scale) []Section {
	if s.Size == AsPublished {
		return []Section{lockSleep(s)}
	}
	return []Section{lockBusy(s), lockBatch(s), lockWorkers(s), lockSleep(s)}
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
		{"workers.Run", contender.WorkersFarm(background)},
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

// farm enters a contender that does the jobs of g. The same jobs without a channel precede
// each run, so that a slow phase of the machine slows both. A short disturbance affects one
// of several pairs, and their median counts.
func (g grind) farm(id ContenderID, f contender.Farm) measure.Entry {
	return measure.Entry{Contender: id, Pass: func() (measure.Reading, error) {
		turns := workload.Turns(g.length)
		job := func() { _ = workload.Busy(turns) }
		var ratios, times []float64
		for range g.pairs {
			ideal := workload.Alone(g.workers, uint64(g.jobs), uint64(g.portion), job)
			took, err := workload.Farm(f, g.workers, uint64(g.jobs), job)
			if err != nil {
				return measure.Reading{}, err
			}
			ratios = append(ratios, float64(took)/float64(ideal))
			times = append(times, float64(took)/float64(g.jobs))
		}
		return farmed(g.pairs*g.jobs, stat.Summarize(ratios).Median, stat.Summarize(times).Median), nil
	}}
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

func lockBusy(s Scale) Section {
	section := newSection(sectionBusy, "Jobs that compute", "size of a job, µs",
		"Three workers, and jobs that keep a processor busy for the given time. A buffer has 1024 slots; a slice or a "+
			"batch 64 jobs.",
		timesAlone)
	sizes := jobSizes
	if s.Size == Quick {
		sizes = []time.Duration{100, time.Microsecond, 10 * time.Microsecond}
	}
	for _, procs := range s.procs(1, 2) {
		for _, size := range sizes {
			g := s.grind(farmWorkers, procs, 1, size)
			p := section.point(s, Panel{}, micros(size), procs, g.jobs, jobLabel(size))
			for _, c := range lockRoster() {
				switch {
				case c.id != nativeSlices:
					p.Entries = append(p.Entries, g.farm(c.id, c.farm))
				case farmBatch*size <= heldUp:
					p.Entries = append(p.Entries, g.inBatches(farmBatch).farm(c.id, c.farm))
				default:
					p.leaveOut("a batch of such jobs would take more than a millisecond", c.id)
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
		timesAlone)
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
		timesAlone)
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

// lockSleep is the study as published: its jobs sleep.
func lockSleep(s Scale) Section {
	section := newSection(sectionSleep, "Jobs that sleep, as published", "size of a job",
		"Three workers whose jobs are a time.Sleep. A sleep lasts longer than its argument: “no channel” is the "+
			"overhead of the sleeps alone.",
		timesAlone)
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
			p := section.point(s, Panel{}, format.Duration(size), procs, jobs, jobLabel(size))
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

func lockConclusion(m Measured) Conclusion {
	c := Conclusion{Findings: lockFindings(m)}
	busy := m.in(sectionBusy).inUnit(timesIdeal)
	home, ok := busy.at(micros(time.Microsecond)).home(native1024)
	if !ok {
		return c
	}
	c.Chart = Chart{home.under("jobs of 1 µs, 3 workers"), "times as long as without a channel", home.bars(timesAlone, native1024,
		way{nativeUnbuffered, "chan, unbuffered", ""},
		way{native1024, "chan, 1024 slots", "as long through a channel of 1024 slots"},
		way{bounded1024, "sluice.Bounded", ""},
		way{workersMap, "sluice workers.Map", ""},
		way{senderMap, fmt.Sprintf("sluice batches of %d", farmBatch), ""},
		way{nativeSlices, fmt.Sprintf("chan of slices of %d", farmBatch), fmt.Sprintf("as long in slices of %d", farmBatch)})}
	c.Answer = "The shortest job that spends less than 1% of its time on a channel of 1024 slots (" + home.under("3 workers") + "): " +
		cmp.Or(shortest(busy.panel(home.Panel), native1024, microsOf), "undecided") + "."
	if costs := c.costs(); costs != "" {
		c.Answer += " Jobs of 1 µs take " + costs + "."
	}
	c.Advice = "Batch shorter jobs: send slices of them, or use workers.Map, which sizes its batches itself."
	return c
}

// under1 is the time of a job that is long enough, as a multiple of the ideal.
const under1 = 1.01

// shortest returns the place on a panel's axis from which on a contender's overhead is below
// 1%, as far as the measured places show it: "between 3 µs and 10 µs". All places from the
// second on are clearly below, and the first is clearly above. It returns "" for too few.
func shortest(panel Measured, id ContenderID, name func(spot) string) string {
	panel = panel.with(id)
	if len(panel) < 2 {
		return ""
	}
	above, below := -1, 0
	for i, p := range panel {
		ratio := p.summary(id)
		if ratio.Confidence > 0 && ratio.Lo > under1 {
			above = i
		}
		if ratio.Confidence == 0 || ratio.Hi > under1 {
			below = i + 1
		}
	}
	switch {
	case above < 0 && below == len(panel):
		return "undecided"
	case above < 0:
		return "at most " + name(panel[below])
	case below == len(panel):
		return "more than " + name(panel[above])
	}
	return "between " + name(panel[above]) + " and " + name(panel[below])
}

func microsOf(s spot) string { return s.X + " µs" }
func batchOf(s spot) string  { return s.X + " jobs" }

// lockFindings has the cost of a value, the shortest jobs and the smallest batches, and what
// the study found about workers and sleeps.
func lockFindings(m Measured) []string {
	var findings []string
	var farms []ContenderID
	for _, c := range lockRoster() {
		farms = append(farms, c.id)
	}
	each := func(subject string, ids []ContenderID, found func(ContenderID) string) {
		var places []place
		for _, id := range ids {
			if text := found(id); text != "" {
				places = append(places, place{"“" + NameOf(id) + "”", text})
			}
		}
		findings = append(findings, finding(subject, " with", places))
	}
	for _, panel := range m.in(sectionBusy).inUnit(timesIdeal).panels() {
		each("One value, which is a send with its receive, costs ("+panel[0].under("jobs of "+microsOf(panel[0]))+")", farms, func(id ContenderID) string {
			return valueCost(panel[0], id)
		})
		each("The shortest job that spends less than 1% on the channels ("+panel[0].under("3 workers")+") is", farms, func(id ContenderID) string {
			return shortest(panel, id, microsOf)
		})
	}
	for _, panel := range m.in(sectionBatch).inUnit(timesIdeal).panels() {
		each("The smallest batch that brings "+panel[0].under("jobs of "+format.Duration(panel[0].Panel.Job))+", under 1% is",
			[]ContenderID{nativeBatches, boundedBatches, senderBatches}, func(id ContenderID) string { return shortest(panel, id, batchOf) })
	}
	for _, change := range []struct{ base, other ContenderID }{
		{nativeUnbuffered, rendezvous}, {native1024, bounded1024}, {native1024, workersMap},
	} {
		for _, size := range []time.Duration{100, 10 * time.Microsecond} {
			findings = append(findings, m.in(sectionBusy).at(micros(size)).compare(
				NameOf(change.other)+" instead of “"+NameOf(change.base)+"”, with jobs of "+format.Duration(size)+",", change.base, change.other))
		}
	}
	var workers []place
	byWorkers := m.in(sectionWorkers).with(publishedFarm)
	for _, p := range byWorkers[min(1, len(byWorkers)):] {
		workers = append(workers, place{p.X, speed(stat.Between(byWorkers[0].samples(publishedFarm), p.samples(publishedFarm)))})
	}
	sleeps := m.in(sectionSleep).inUnit(timesIdeal)
	return said(append(findings,
		finding("The study found that the number of workers hardly matters. Instead of one, busy jobs of 1 µs with the published channels are", " with", workers),
		sleeps.compareBy("The study attributed the overhead of sleeps to its channels. Beside the same sleeps without any channel, they are", speed, " with sleeps of",
			func(s spot) string { return s.X + atProcs + " " + s.ps() }, alone, publishedFarm))...)
}

// valueCost returns the cost of one value through a farm's channels: the time of a short job
// beyond the ideal, divided by the two values of a job, its job and its result. Waiting for
// work is part of it.
func valueCost(at spot, id ContenderID) string {
	ns := at
	ns.unit = measure.NsPerOp
	var costs []float64
	times, ratios := ns.samples(id), at.samples(id)
	for i := range min(len(times), len(ratios)) {
		costs = append(costs, times[i]*(1-1/ratios[i])/transfers)
	}
	switch cost := stat.Summarize(costs); {
	case cost.N == 0:
		return ""
	case cost.Known() && cost.Confidence > 0:
		return format.Interval(cost.Median, cost.Lo, cost.Hi) + " ns"
	default:
		return fmt.Sprintf("between %s and %s ns (undecided)", format.Figure(cost.Lo), format.Figure(cost.Hi))
	}
}
