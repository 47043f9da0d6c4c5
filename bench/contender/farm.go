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
// study "Go Lock Cost". It is a contender of its own rather than a use of
// Channel, so that its workers are the loops that a user would write, without
// an interface call per job.
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
	return Farm{
		Name: "published",
		Run: func(workers int, n uint64, job func()) (Tally, time.Duration) {
			jobs, results, die := make(chan uint64), make(chan uint64), make(chan bool)
			return shop{
				feed: func() {
					for v := range n {
						jobs <- v
					}
				},
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
				tally: func() (t Tally) {
					for t.Count < n {
						t.Add(<-results)
					}
					return t
				},
				stop: func() {
					for range workers {
						die <- true
					}
				},
			}.run(workers)
		},
	}
}

// NativeFarm is two built-in channels with the given number of slots, and
// workers that range over one of them.
func NativeFarm(slots int) Farm {
	return Farm{
		Name: fmt.Sprintf("native, %d slots", slots),
		Run: func(workers int, n uint64, job func()) (Tally, time.Duration) {
			jobs, results := make(chan uint64, slots), make(chan uint64, slots)
			return shop{
				feed: func() {
					for v := range n {
						jobs <- v
					}
					close(jobs)
				},
				work: func() {
					for v := range jobs {
						job()
						results <- v
					}
				},
				ended: func() { close(results) },
				tally: ends{r: results}.Drain,
			}.run(workers)
		},
	}
}

// farmSlots is the capacity of a farm's buffered channels, in jobs.
const farmSlots = 1024

// NativeBatchFarm is two built-in channels of slices of the given size. The
// feeder allocates each slice, and it returns with the results. The channels
// have slots for as many jobs as the other farms', but for at least four
// slices.
func NativeBatchFarm(size int) Farm {
	return Farm{
		Name: fmt.Sprintf("native, slices of %d", size),
		Run: func(workers int, n uint64, job func()) (Tally, time.Duration) {
			slots := max(4, farmSlots/size)
			jobs, results := slices{make(chan []uint64, slots)}, slices{make(chan []uint64, slots)}
			return shop{
				feed: func() { jobs.SendRangeBatch(0, n, size); jobs.Close() },
				work: func() {
					for batch := range jobs.c {
						for range batch {
							job()
						}
						results.c <- batch
					}
				},
				ended: results.Close,
				tally: results.Drain,
			}.run(workers)
		},
	}
}

// RendezvousFarm is two sluice.Rendezvous.
func RendezvousFarm(ctx context.Context) Farm {
	return Farm{
		Name: "sluice.Rendezvous",
		Run: func(workers int, n uint64, job func()) (Tally, time.Duration) {
			jobs, results := sluice.NewRendezvous[uint64](nil), sluice.NewRendezvous[uint64](nil)
			return shop{
				feed: func() { rendezvous{ctx, jobs}.SendRange(0, n); jobs.Close() },
				work: func() {
					for {
						v, err := jobs.Recv(ctx)
						if err != nil {
							return
						}
						job()
						_ = results.Send(ctx, v) // the tally reveals unsent values
					}
				},
				ended: results.Close,
				tally: rendezvous{ctx, results}.Drain,
			}.run(workers)
		},
	}
}

// BoundedFarm is two sluice.Bounded of 1024 slots.
func BoundedFarm(ctx context.Context) Farm {
	return Farm{
		Name: "sluice.Bounded",
		Run: func(workers int, n uint64, job func()) (Tally, time.Duration) {
			jobs, results := sluice.NewBounded[uint64](farmSlots, nil), sluice.NewBounded[uint64](farmSlots, nil)
			return shop{
				feed: func() { bounded{ctx, jobs}.SendRange(0, n); jobs.Close() },
				work: func() {
					for {
						v, err := jobs.Recv(ctx)
						if err != nil {
							return
						}
						job()
						_ = results.Send(ctx, v)
					}
				},
				ended: results.Close,
				tally: bounded{ctx, results}.Drain,
			}.run(workers)
		},
	}
}

// ElasticFarm is two sluice.Elastic without a limit.
func ElasticFarm(ctx context.Context) Farm {
	return Farm{
		Name: "sluice.Elastic",
		Run: func(workers int, n uint64, job func()) (Tally, time.Duration) {
			jobs, results := sluice.NewElastic[uint64](sluice.Unlimited, nil), sluice.NewElastic[uint64](sluice.Unlimited, nil)
			return shop{
				feed: func() { elastic{ctx, jobs}.SendRange(0, n); jobs.Close() },
				work: func() {
					for {
						v, err := jobs.Recv(ctx)
						if err != nil {
							return
						}
						job()
						_ = results.Send(ctx, v)
					}
				},
				ended: results.Close,
				tally: elastic{ctx, results}.Drain,
			}.run(workers)
		},
	}
}

// BoundedBatchFarm is two sluice.Bounded of at least 1024 slots, with
// handwritten batches of at most the given size at every end.
func BoundedBatchFarm(ctx context.Context, size int) Farm {
	return Farm{
		Name: fmt.Sprintf("sluice.Bounded, batches of %d", size),
		Run: func(workers int, n uint64, job func()) (Tally, time.Duration) {
			slots := max(4*size, farmSlots)
			jobs, results := sluice.NewBounded[uint64](slots, nil), sluice.NewBounded[uint64](slots, nil)
			return shop{
				feed: func() { bounded{ctx, jobs}.SendRangeBatch(0, n, size); jobs.Close() },
				work: func() {
					buf := make([]uint64, size)
					for {
						got, err := jobs.RecvBatch(ctx, buf)
						if err != nil {
							return
						}
						for range got {
							job()
						}
						_, _ = results.SendBatch(ctx, buf[:got])
					}
				},
				ended: results.Close,
				tally: func() Tally { return bounded{ctx, results}.DrainBatch(size) },
			}.run(workers)
		},
	}
}

// WorkersFarm is workers.Run on a sluice.Bounded, with another one for the
// results, which are sent one by one.
func WorkersFarm(ctx context.Context) Farm {
	return Farm{
		Name: "workers.Run",
		Run: func(count int, n uint64, job func()) (Tally, time.Duration) {
			jobs, results := sluice.NewBounded[uint64](farmSlots, nil), sluice.NewBounded[uint64](farmSlots, nil)
			return shop{
				feed: func() { bounded{ctx, jobs}.SendRange(0, n); jobs.Close() },
				work: func() {
					_ = workers.Run(ctx, jobs, count, func(ctx context.Context, v uint64) error {
						job()
						return results.Send(ctx, v)
					}, nil)
				},
				ended: results.Close,
				tally: bounded{ctx, results}.Drain,
			}.run(1) // starts the workers
		},
	}
}

// MapFarm is workers.Map on a sluice.Bounded: the receiver is the loop over its
// results. With a size above 1, the feeder has a batch.Sender of that size, and
// MaxBatch is set to it.
func MapFarm(ctx context.Context, size int) Farm {
	f := Farm{Name: "workers.Map"}
	var o *workers.MapOptions[uint64]
	if size > 1 {
		f.Name = fmt.Sprintf("batch.Sender %d, workers.Map", size)
		o = &workers.MapOptions[uint64]{MaxBatch: size}
	}
	f.Run = func(count int, n uint64, job func()) (Tally, time.Duration) {
		jobs := sluice.NewBounded[uint64](max(4*size, farmSlots), nil)
		feed := bounded{ctx, jobs}.SendRange
		if size > 1 {
			feed = batching{bounded: bounded{ctx, jobs}, size: size}.SendRange
		}
		results := workers.Map(ctx, jobs, count, func(_ context.Context, v uint64) (uint64, error) {
			job()
			return v, nil
		}, o)
		return shop{
			feed: func() { feed(0, n); jobs.Close() },
			tally: func() (t Tally) {
				for v := range results.All() {
					t.Add(v)
				}
				return t
			},
		}.run(0) // Map starts the workers
	}
	return f
}
