package contender

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sluice-go/sluice/workers"
)

// A Farm passes jobs to workers, and their results back: the subject of the
// study "Go Lock Cost".
type Farm struct {
	Name string
	// Run lets the given number of workers do n jobs, each by a call of job,
	// while one receiver tallies the results. It returns the tally and the time
	// from the first send to the last result. All its goroutines have ended
	// when it returns.
	Run func(workers int, n uint64, job func()) (Tally, time.Duration)
}

// A shop contains the parts of a farm's run.
type shop struct {
	feed  func()       // sends all jobs and closes
	work  func()       // run by each worker until no job is left
	ended func()       // closes the results when all workers have ended
	tally func() Tally // receives results until they are closed
	stop  func()       // ends the remaining workers after the clock has stopped
}

// run runs s. The goroutines exist before the clock starts, as in the study.
func (s shop) run(workers int) (Tally, time.Duration) {
	tallied := make(chan Tally, 1)
	go func() { tallied <- s.tally() }()
	var staff sync.WaitGroup
	for range workers {
		staff.Go(s.work)
	}
	if s.ended != nil {
		go func() { staff.Wait(); s.ended() }()
	}
	began := time.Now()
	s.feed()
	t := <-tallied
	elapsed := time.Since(began)
	if s.stop != nil {
		s.stop()
	}
	staff.Wait()
	return t, elapsed
}

// PublishedFarm is the farm of the study: two built-in channels without a
// buffer, workers that select between a job and their end, and a receiver that
// counts until all jobs are accounted for.
func PublishedFarm() Farm {
	return Farm{"published", func(workers int, n uint64, job func()) (Tally, time.Duration) {
		jobs, results, die := make(chan uint64), make(chan uint64), make(chan bool)
		return shop{
			feed: func() { ends{s: jobs}.Send(0, n) },
			work: func() {
				for {
					select {
					case v := <-jobs:
						job()
						results <- v
					case <-die:
						return
					}
				}
			},
			tally: func() Tally { return ends{r: results}.Recv(n) },
			stop: func() {
				for range workers {
					die <- true
				}
			},
		}.run(workers)
	}}
}

// Between is two channels of a contender with the given number of slots, and workers that
// receive from one of them and send to the other, in batches if the contender does.
func Between(c Contender, slots int) Farm {
	return Farm{fmt.Sprintf("%s, %d slots", c.Name, slots), func(workers int, n uint64, job func()) (Tally, time.Duration) {
		jobs, results := c.Make(slots), c.Make(slots)
		return shop{
			feed:  func() { jobs.Send(0, n); jobs.Close() },
			work:  func() { between(jobs, results, job) },
			ended: results.Close,
			tally: func() Tally { return results.Recv(All) },
		}.run(workers)
	}}
}

// between is the loop of a worker between two channels of one kind.
func between(jobs, results Channel, job func()) {
	switch jobs := jobs.(type) {
	case native:
		out := results.(native).s
		for v := range jobs.r {
			job()
			out <- v
		}
	case slices: // a slice returns with the results
		out := results.(slices).c
		for batch := range jobs.c {
			for range batch {
				job()
			}
			out <- batch
		}
	case ours:
		out := results.(ours).c
		if jobs.size > 0 {
			jobs.eachBatch(func(batch []uint64) {
				for range batch {
					job()
				}
				_, _ = out.SendBatch(jobs.ctx, batch)
			})
			return
		}
		for v, err := jobs.c.Recv(jobs.ctx); err == nil; v, err = jobs.c.Recv(jobs.ctx) {
			job()
			_ = out.Send(jobs.ctx, v) // the tally reveals unsent values
		}
	default:
		panic(fmt.Sprintf("contender: no worker for a %T", jobs))
	}
}

// farmSlots is the capacity of a farm's buffered channels, in jobs.
const farmSlots = 1024

// WorkersFarm is workers.Run on a sluice.Bounded, with another one for the
// results, which are sent one by one.
func WorkersFarm(ctx context.Context) Farm {
	return Farm{"workers.Run", func(count int, n uint64, job func()) (Tally, time.Duration) {
		jobs, results := ours{ctx: ctx, c: newBounded(farmSlots, Options{})}, ours{ctx: ctx, c: newBounded(farmSlots, Options{})}
		return shop{
			feed: func() { jobs.Send(0, n); jobs.Close() },
			work: func() {
				_ = workers.Run(ctx, jobs.c, count, func(ctx context.Context, v uint64) error {
					job()
					return results.c.Send(ctx, v)
				}, nil)
			},
			ended: results.Close,
			tally: func() Tally { return results.Recv(All) },
		}.run(1) // starts the workers
	}}
}

// MapFarm is workers.Map on a sluice.Bounded: the receiver is the loop over its
// results. With a size above 1, the feeder has a batch.Sender of that size, and
// MaxBatch is set to it.
func MapFarm(ctx context.Context, size int) Farm {
	name, o := "workers.Map", (*workers.MapOptions[uint64])(nil)
	if size > 1 {
		name = fmt.Sprintf("batch.Sender %d, workers.Map", size)
		o = &workers.MapOptions[uint64]{MaxBatch: size}
	}
	return Farm{name, func(count int, n uint64, job func()) (Tally, time.Duration) {
		jobs := ours{ctx: ctx, c: newBounded(max(4*size, farmSlots), Options{})}
		var feeder Channel = jobs
		if size > 1 {
			feeder = batching{ours{ctx, jobs.c, size}}
		}
		results := workers.Map(ctx, jobs.c, count, func(_ context.Context, v uint64) (uint64, error) {
			job()
			return v, nil
		}, o)
		return shop{
			feed: func() { feeder.Send(0, n); jobs.Close() },
			tally: func() (t Tally) {
				for v := range results.All() {
					t.Add(v)
				}
				return t
			},
		}.run(0) // Map starts the workers
	}}
}
