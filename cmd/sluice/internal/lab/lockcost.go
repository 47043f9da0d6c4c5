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

// lockCostStudy asks how long a job must be to be worth a channel.
var lockCostStudy = register(Experiment{
	Study: Study{
		Name:  LockCost,
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

// micros writes a duration in µs, for an axis: "0.1".
func micros(d time.Duration) string {
	return format.In(d, time.Microsecond)
}

// jobLabel names the size of a job in a benchmark's name.
func jobLabel(length time.Duration) measure.Label {
	return measure.Label{Key: "job", Value: strings.ReplaceAll(length.String(), "µ", "u")}
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

// A namedFarm is a farm with its ID in this experiment.
type namedFarm struct {
	id   ContenderID
	farm contender.Farm
}

// lockRoster returns all farms.
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

// jobSizes are the sizes of busy jobs, a factor of about three apart.
var jobSizes = []time.Duration{
	100, 300, time.Microsecond, 3 * time.Microsecond, 10 * time.Microsecond, 30 * time.Microsecond, 100 * time.Microsecond,
}

func lockBusy(s Scale) Section {
	section := Section{Sweep: Sweep{
		Name:  sectionBusy,
		Title: "Jobs that compute",
		Text: "Three workers, and jobs that keep a processor busy for the given time. A buffer has 1024 slots; a slice or a " +
			"batch 64 jobs.",
		Axis:     "size of a job, µs",
		Measures: []Measure{busyOverhead},
	}}
	sizes := jobSizes
	if s.Size == Quick {
		sizes = []time.Duration{100, time.Microsecond, 10 * time.Microsecond}
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

// heldUp is the most work in a batch. With more, the other workers would wait
// for the last batch of a run for longer than the whole run takes.
const heldUp = 1100 * time.Microsecond

const tooLongABatch = "a batch of such jobs would take more than a millisecond"

// ofJobs returns the panel of jobs of that size.
func ofJobs(size time.Duration) Panel { return Panel{Job: size} }

func lockBatch(s Scale) Section {
	section := Section{Sweep: Sweep{
		Name:  sectionBatch,
		Title: "Batches",
		Text: "Three workers that receive jobs, do them and send their results in batches of the given size. No batch takes " +
			"more than about a millisecond. With workers.Map, the size is the most that a worker takes at once.",
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

// lockBacklog measures the cost of receiving jobs alone.
func lockBacklog(s Scale) Section {
	section := Section{Sweep: Sweep{
		Name:  sectionBacklog,
		Title: "Receiving from a backlog",
		Text: "All jobs are in the channel when the workers start, one worker per processor, and there are no results: " +
			"overhead is the cost of receiving. workers.Run aims at 0.25% of its workers' time.",
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
