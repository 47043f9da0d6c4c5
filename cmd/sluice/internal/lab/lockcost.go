package lab

import (
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/workload"
	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

const (
	farmWorkers = 3  // of the study
	farmBatch   = 64 // jobs, where batches are not the question
)

// timesIdeal is the unit of what a farm takes, in times of what the jobs alone do.
const timesIdeal = "x-ideal"

// overhead shows it as the study does. That of busy jobs is not known as well as
// that of sleeping ones, so its charts end earlier.
var (
	overhead     = Measure{Unit: timesIdeal, Axis: "% overhead", Above: 1, Per: 0.01, Floor: 0.01}
	busyOverhead = Measure{Unit: timesIdeal, Axis: "% overhead", Above: 1, Per: 0.01, Floor: 0.1}
)

// lockCostStudy is the study of how much work a job must be to be worth a channel.
var lockCostStudy = register(Experiment{
	Study: Study{
		Name:  LockCost,
		Title: "How small may a job be?",
		Prediction: "A job and its result pass two channels, which costs a fraction of a microsecond where no goroutine has " +
			"to wake another, and more where each does: jobs of some 10 µs lose less than 1%, jobs of 1 µs only in " +
			"batches. Where jobs sleep, most of the overhead is the timer's; we suppose that it was in the study too.",
		Source: Source{
			Author:  "M. Hrivnak",
			Title:   "Go Lock Cost",
			Year:    2013,
			Machine: "2-core Core2 Duo T8300, Linux 3.11",
			Go:      "1.1.2",
		},
		Notes: []string{
			"One feeder sends jobs to the workers, who send results to one receiver. Overhead is what this takes longer " +
				"than the ideal: for sleeping jobs their nominal time, as in the study; for busy ones the time of the same " +
				"loops in as many goroutines without a channel, measured right before each run of each contender. Of " +
				"up to three such pairs the median is one repetition.",
			"The study's channels have no buffer, and its workers select between a job and a channel that ends them: that " +
				"is “published”. Its workers slept, so GOMAXPROCS did not limit how many worked at once.",
			"“no channel” is the same number of sleeps in as many goroutines that take them from a counter: what it is above " +
				"the ideal is the timer's doing, and is not charged to the channels.",
			"sluice.Workers and sluice.Map size their batches themselves. Of sluice.Workers the results go one by one " +
				"through a sluice.Bounded. A sluice.Batcher stands for a feeder that does not have its jobs in slices.",
		},
		PublishedIn: overhead,
	},
	Sections:  lockSections,
	Published: lockPublished(),
	Conclude:  lockConclusion,
})

func lockPublished() []Published {
	var figures []Published
	for i, values := range [][len(studySleeps)]float64{
		{126.10, 13.33, 1.31, 0.14, 0.02},
		{136, 15, 1.5, 0.16, 0.02},
	} {
		panel := atProcs(i + 1)
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

var studySleeps = [...]time.Duration{
	100 * time.Microsecond, time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second,
}

func lockSections(s Scale) []Section {
	sleep := lockSleep(s)
	if s.Size == AsPublished {
		return []Section{sleep}
	}
	return []Section{lockBusy(s), lockBatch(s), lockWorkers(s), lockBacklog(s), sleep}
}

// micros writes a length of time in µs: "0.1". An axis has no room for more.
func micros(d time.Duration) string {
	return format.In(d, time.Microsecond)
}

// jobLabel names the size of a job in a benchmark's name.
func jobLabel(length time.Duration) measure.Label {
	return measure.Label{Key: "job", Value: strings.ReplaceAll(length.String(), "µ", "u")}
}

// A grind is busy jobs for some workers.
type grind struct {
	workers int
	length  time.Duration
	jobs    int // in a run
	portion int // that a goroutine takes at once where there is no channel
	pairs   int // of runs with a channel and without, that make a figure
}

// grind returns jobs of that length, in batches of at most that many, for so many
// workers, of whom at most procs work at once: in a run, enough for each processor
// that the last batch of one, which the others may have to wait for, is little
// beside the whole, but no more than limit in all.
func (s Scale) grind(workers, procs, batch int, length time.Duration) grind {
	atOnce := min(workers, procs, s.cpus())
	slice := [...]time.Duration{Standard: 1600 * time.Microsecond, Quick: 300 * time.Microsecond}[s.Size]
	limit := [...]int{Standard: 15_000, Quick: 1_000}[s.Size] // what short jobs one by one cost is not little
	least := [...]int{Standard: 60, Quick: 6}[s.Size]
	long := slice
	if batch >= 16 { // the first and the last batch are not little either
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

// inBatches is g for a contender that hands over batches of that size by hand. The
// processors that wait at the end for the last of them wait without a channel too,
// where a portion is as large: that is the batches' doing, not the channel's.
func (g grind) inBatches(size int) grind {
	g.portion = max(g.portion, size)
	return g
}

// enter enters what run does with the jobs of g. Each run has the same jobs without
// a channel before it: what slows the machine for a while slows both. What slows one
// of them for a moment is in one of several pairs, of which the median counts.
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

// farmed is what so many jobs have for figures: what they took in times of the ideal,
// and ns for each of them.
func farmed(jobs int, ratio, ns float64) measure.Reading {
	return measure.Reading{Ops: jobs, Figures: []measure.Figure{{Unit: timesIdeal, Value: ratio}, {Unit: measure.NsPerOp, Value: ns}}}
}

// A named farm is a contender under the name that it has in this experiment.
type namedFarm struct {
	id   ContenderID
	farm contender.Farm
}

// lockRoster is everybody who can hand jobs over.
func lockRoster() []namedFarm {
	return []namedFarm{
		{publishedFarm, contender.PublishedFarm()},
		{nativeUnbuffered, contender.NativeFarm(0)},
		{native1024, contender.NativeFarm(1024)},
		{nativeSlices, contender.NativeBatchFarm(farmBatch)},
		{rendezvous, contender.RendezvousFarm(background)},
		{bounded1024, contender.BoundedFarm(background)},
		{elastic, contender.ElasticFarm(background)},
		{workersRun, contender.WorkersFarm(background)},
		{workersMap, contender.MapFarm(background, 1)},
		{senderMap, contender.MapFarm(background, farmBatch)},
	}
}

// jobSizes are those of the busy jobs, a factor of about three apart.
var jobSizes = []time.Duration{
	100, 300, time.Microsecond, 3 * time.Microsecond, 10 * time.Microsecond, 30 * time.Microsecond, 100 * time.Microsecond,
}

func lockBusy(s Scale) Section {
	section := Section{Sweep: Sweep{
		Name:  sectionBusy,
		Title: "Jobs that compute",
		Text: "Three workers, and jobs that keep a processor busy for that long. A buffer has 1024 slots, a slice or a " +
			"batch 64 jobs.",
		Axis:     "size of a job, µs",
		Measures: []Measure{busyOverhead},
	}}
	sizes := jobSizes
	if s.Size == Quick {
		sizes = []time.Duration{time.Microsecond, 10 * time.Microsecond}
	}
	for _, procs := range s.procs(1, 2) {
		for _, size := range sizes {
			g := s.grind(farmWorkers, procs, 1, size)
			p := s.point(sectionBusy, atProcs(procs), "busy", micros(size), procs, g.jobs, []measure.Label{jobLabel(size)})
			for _, c := range lockRoster() {
				switch {
				case c.id != nativeSlices:
					p.Entries = append(p.Entries, g.farm(c.id, c.farm))
				case farmBatch*size <= heldUp:
					p.Entries = append(p.Entries, g.inBatches(farmBatch).farm(c.id, c.farm))
				default:
					p.LeftOut = append(p.LeftOut, measure.LeftOut{Contender: c.id, Reason: tooLongABatch})
				}
			}
			section.Points = append(section.Points, p)
		}
	}
	return section
}

var (
	batchedJobs = []time.Duration{100, time.Microsecond, 10 * time.Microsecond}
	batchSizes  = []int{1, 4, 16, 64, 256, 1024}
)

// heldUp is how much work a batch may be: with more, the others would have to wait
// for the last batch of a run for longer than all of it takes.
const heldUp = 1100 * time.Microsecond

const tooLongABatch = "a batch of such jobs would be work for more than a millisecond"

// ofJobs is the panel of jobs of that size.
func ofJobs(size time.Duration) Panel { return Panel{Job: size} }

func lockBatch(s Scale) Section {
	section := Section{Sweep: Sweep{
		Name:  sectionBatch,
		Title: "Batches",
		Text: "Three workers that take, do and hand on jobs in batches of that size. No batch is more than about a " +
			"millisecond of work. With sluice.Map it is the most that a worker takes at once.",
		Axis:     "jobs in a batch",
		Measures: []Measure{busyOverhead},
	}}
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
			g := s.grind(farmWorkers, procs, batch, size)
			p := s.point(sectionBatch, ofJobs(size), "batch", strconv.Itoa(batch), procs, g.jobs,
				[]measure.Label{jobLabel(size), {Key: "batch", Value: strconv.Itoa(batch)}})
			p.Entries = []measure.Entry{
				g.inBatches(batch).farm(nativeBatches, contender.NativeBatchFarm(batch)),
				g.inBatches(batch).farm(boundedBatches, contender.BoundedBatchFarm(background, batch)),
				g.farm(senderBatches, contender.MapFarm(background, batch)),
			}
			section.Points = append(section.Points, p)
		}
	}
	return section
}

func lockWorkers(s Scale) Section {
	const size = time.Microsecond
	section := Section{Sweep: Sweep{
		Name:     sectionWorkers,
		Title:    "How many workers",
		Text:     "Jobs that compute for " + format.Duration(size) + ".",
		Axis:     "workers",
		Measures: []Measure{busyOverhead},
	}}
	procs := s.home(1, 2)
	for _, workers := range []int{1, 3, 10} {
		g := s.grind(workers, procs, 1, size)
		x := strconv.Itoa(workers)
		p := s.point(sectionWorkers, Panel{}, "workers", x, procs, g.jobs, []measure.Label{jobLabel(size), {Key: LabelWorkers, Value: x}})
		for _, c := range lockRoster() {
			switch c.id {
			case publishedFarm, nativeUnbuffered, native1024, bounded1024, workersMap:
				p.Entries = append(p.Entries, g.farm(c.id, c.farm))
			}
		}
		section.Points = append(section.Points, p)
	}
	return section
}

// lockBacklog is the cost of taking jobs alone.
func lockBacklog(s Scale) Section {
	section := Section{Sweep: Sweep{
		Name:  sectionBacklog,
		Title: "Taking jobs that are there",
		Text: "All jobs are in the channel when the workers begin, as many as processors work, and there are no results: " +
			"overhead is what taking jobs costs. sluice.Workers aims at 1% of its workers' time.",
		Axis:     "size of a job, µs",
		Measures: []Measure{busyOverhead},
	}}
	sizes := []time.Duration{100, time.Microsecond, 10 * time.Microsecond, 100 * time.Microsecond}
	if s.Size == Quick {
		sizes = []time.Duration{time.Microsecond}
	}
	procs := s.home(1, 2)
	workers := min(procs, s.cpus())
	for _, size := range sizes {
		g := s.grind(workers, procs, farmBatch, size)
		p := s.point(sectionBacklog, Panel{}, "backlog", micros(size), procs, g.jobs, []measure.Label{jobLabel(size)})
		w := workload.Backlog(workers, size)
		enter := func(g grind, id ContenderID, c contender.Contender) {
			p.Entries = append(p.Entries, g.enter(id, func(func()) (time.Duration, error) {
				r, err := w.Run(c, uint64(g.jobs))
				return r.Elapsed, err
			}))
		}
		enter(g, nativeBacklog, contender.Native())
		if farmBatch*size <= heldUp {
			enter(g.inBatches(farmBatch), byHandBacklog, contender.ByHand(background))
		} else {
			p.LeftOut = append(p.LeftOut, measure.LeftOut{Contender: byHandBacklog, Reason: tooLongABatch})
		}
		enter(g, workersBacklog, contender.Bounded(background, nil))
		section.Points = append(section.Points, p)
	}
	return section
}
