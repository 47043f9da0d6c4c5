package contender

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sluice-go/sluice"
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

// between returns a farm whose jobs and results pass through two channels. work
// is the loop of a worker between them.
func between[C Channel](name string, build func() C, work func(jobs, results C, job func())) Farm {
	return Farm{name, func(workers int, n uint64, job func()) (Tally, time.Duration) {
		jobs, results := build(), build()
		return shop{
			feed:  func() { jobs.Send(0, n); jobs.Close() },
			work:  func() { work(jobs, results, job) },
			ended: results.Close,
			tally: func() Tally { return results.Recv(All) },
		}.run(workers)
	}}
}

// NativeFarm is two built-in channels with the given number of slots, and
// workers that range over one of them.
func NativeFarm(slots int) Farm {
	build := func() ends { c := make(chan uint64, slots); return ends{c, c} }
	return between(fmt.Sprintf("native, %d slots", slots), build, func(jobs, results ends, job func()) {
		for v := range jobs.r {
			job()
			results.s <- v
		}
	})
}

// farmSlots is the capacity of a farm's buffered channels, in jobs.
const farmSlots = 1024

// NativeBatchFarm is two built-in channels of slices of the given size. The
// feeder allocates each slice, and it returns with the results. The channels
// have slots for as many jobs as the other farms', but for at least four
// slices.
func NativeBatchFarm(size int) Farm {
	build := func() slices { return slices{make(chan []uint64, max(4, farmSlots/size)), size} }
	return between(fmt.Sprintf("native, slices of %d", size), build, func(jobs, results slices, job func()) {
		for batch := range jobs.c {
			for range batch {
				job()
			}
			results.c <- batch
		}
	})
}

// ownFarm is two channels of this library.
func ownFarm(name string, ctx context.Context, build func() sluice.Channel[uint64]) Farm {
	return between(name, func() ours { return ours{ctx: ctx, c: build()} }, func(jobs, results ours, job func()) {
		for {
			v, err := jobs.c.Recv(ctx)
			if err != nil {
				return
			}
			job()
			_ = results.c.Send(ctx, v) // the tally reveals unsent values
		}
	})
}

// RendezvousFarm is two sluice.Rendezvous.
func RendezvousFarm(ctx context.Context) Farm {
	return ownFarm("sluice.Rendezvous", ctx, func() sluice.Channel[uint64] { return sluice.NewRendezvous[uint64](nil) })
}

// BoundedFarm is two sluice.Bounded of 1024 slots.
func BoundedFarm(ctx context.Context) Farm {
	return ownFarm("sluice.Bounded", ctx, func() sluice.Channel[uint64] { return newBounded(farmSlots, Options{}) })
}

// ElasticFarm is two sluice.Elastic without a limit.
func ElasticFarm(ctx context.Context) Farm {
	return ownFarm("sluice.Elastic", ctx, func() sluice.Channel[uint64] { return newElastic(Options{}) })
}

// BoundedBatchFarm is two sluice.Bounded of at least 1024 slots, with
// handwritten batches of at most the given size at every end.
func BoundedBatchFarm(ctx context.Context, size int) Farm {
	build := func() ours { return ours{ctx, newBounded(max(4*size, farmSlots), Options{}), size} }
	return between(fmt.Sprintf("sluice.Bounded, batches of %d", size), build, func(jobs, results ours, job func()) {
		jobs.eachBatch(size, func(batch []uint64) {
			for range batch {
				job()
			}
			_, _ = results.c.SendBatch(ctx, batch)
		})
	})
}

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
