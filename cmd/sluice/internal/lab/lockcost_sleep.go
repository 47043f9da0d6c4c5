package lab

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/bench/workload"
	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// lockSleep is the study as published: its jobs sleep.
func lockSleep(s Scale) Section {
	section := Section{Sweep: Sweep{
		Name:  sectionSleep,
		Title: "Jobs that sleep, as published",
		Text: "Three workers whose jobs are a time.Sleep. A sleep lasts longer than its argument: “no channel” is the " +
			"overhead of the sleeps alone.",
		Axis:     "size of a job",
		Measures: []Measure{overhead},
	}}
	sizes := studySleeps[:]
	switch s.Size {
	case Standard:
		sizes = sizes[:3] // the others take too long for a default
	case Quick:
		sizes = sizes[1:2]
	}
	for _, procs := range s.procs(1, 2) {
		for _, size := range sizes {
			jobs := s.sleeps(size)
			p := s.point(sectionSleep, atProcs(procs), "sleep", format.Duration(size), procs, jobs, []measure.Label{jobLabel(size)})
			p.Target = 0 // a sleep needs no warm-up
			p.Pass = time.Duration(jobs/farmWorkers) * max(size, shortestSleep)
			if s.Size == AsPublished && s.Count == 0 {
				p.Count = 1 // as in the study: one run of all sizes takes minutes
			}
			p.Entries = append(p.Entries, sleeping(alone, size, jobs, func(job func()) (time.Duration, error) {
				return workload.Alone(farmWorkers, uint64(jobs), 1, job), nil
			}))
			for _, c := range lockRoster() {
				switch c.id {
				case nativeSlices, rendezvous, elastic, workersRun, senderMap:
					continue
				case native1024, bounded1024:
					if s.Size == AsPublished {
						continue
					}
				}
				p.Entries = append(p.Entries, sleeping(c.id, size, jobs, func(job func()) (time.Duration, error) {
					return workload.Farm(c.farm, farmWorkers, uint64(jobs), job)
				}))
			}
			p.LeftOut = notSleeping
			section.Points = append(section.Points, p)
		}
	}
	return section
}

// shortestSleep is the approximate duration of the shortest sleep on most systems.
const shortestSleep = time.Millisecond

const fewerThanABatch = "a run of the longer sleeps has less than one batch"

// notSleeping are the contenders that the sleeps leave out.
var notSleeping = []measure.LeftOut{
	{Contender: nativeSlices, Reason: fewerThanABatch},
	{Contender: senderMap, Reason: fewerThanABatch},
}

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

// A slack is the overhead of sleeps in percent, the timer's part and the channels'
// part. All three are from pairs of the same round.
type slack struct {
	all, timer stat.Summary
	channels   stat.Change // a difference in percentage points, not a ratio
}

// slack splits the published farm's overhead into the timer's part and the
// channels'.
func (m *Measured) slack(panel Panel, x string) (s slack, ok bool) {
	without := m.Samples(sectionSleep, panel, x, alone, timesIdeal)
	with := m.Samples(sectionSleep, panel, x, publishedFarm, timesIdeal)
	if len(without) == 0 || len(with) == 0 {
		return s, false
	}
	return slack{
		all:      overhead.Show(stat.Summarize(with)),
		timer:    overhead.Show(stat.Summarize(without)),
		channels: stat.Change{Summary: stat.Summarize(differences(without, with)).In(overhead.Per)},
	}, true
}

// operation returns the cost of a channel operation by the study's formula: the
// channels' part of a job's time, divided by the two transfers of each job.
func (s slack) operation(size time.Duration) stat.Summary {
	perJob := float64(size) / farmWorkers / float64(time.Microsecond)
	return s.channels.In(100 * transfers / perJob)
}

func (m *Measured) sleepTable() Table {
	t := Table{
		Title: "The timer and the channels",
		Text: "Overhead of the sleeping jobs as published; of the same sleeps without channels in the same round, which is the " +
			"timer's; and the difference, which is the most that the channels can cost. The study attributed all of it to " +
			"the channels: 21 µs per operation, with two operations per job.",
		Head: []string{"sleeps", "overhead, %", "without channels, %", "channels' part, points", "per operation, µs"},
	}
	for _, panel := range m.panels(sectionSleep) {
		for _, size := range studySleeps {
			s, ok := m.slack(panel, format.Duration(size))
			if !ok {
				continue
			}
			operation := "not beyond noise"
			switch {
			case s.channels.Confidence == 0:
				operation = "no interval"
			case s.channels.Clear() && s.channels.Median > 0:
				operation = within(s.operation(size))
			}
			t.Rows = append(t.Rows, []string{
				panel.String() + ", " + format.Duration(size), within(s.all), within(s.timer), within(s.channels.Summary), operation,
			})
		}
	}
	return t
}

// timer describes the cause of the overhead of the shortest sleep.
func (m *Measured) timer(panel Panel) string {
	for _, size := range studySleeps {
		s, ok := m.slack(panel, format.Duration(size))
		if !ok {
			continue
		}
		text := fmt.Sprintf("Sleeps of %s at %s, as published, have an overhead of %s; without any channel, %s: ",
			format.Duration(size), m.marked(panel.String(), sectionSleep, panel, format.Duration(size)), percents(s.all), percents(s.timer))
		switch {
		case s.channels.Confidence == 0:
			return text + "too few repetitions to separate the channels' part."
		case s.channels.Clear() && s.channels.Median < 0:
			return text + "the overhead is the timer's, and is smaller where channels distribute the sleeps."
		case s.channels.Clear():
			return text + "the overhead is the timer's, plus " + within(s.channels.Summary) + " percentage points of the channels."
		}
		return text + "the overhead is the timer's; the channels add nothing beyond noise."
	}
	return ""
}
