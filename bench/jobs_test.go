package bench_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/workload"
	"github.com/sluice-go/sluice/workers"
)

// jobLengths lists the durations of the jobs in the benchmarks below.
var jobLengths = []time.Duration{100 * time.Nanosecond, time.Microsecond, 100 * time.Microsecond}

// BenchmarkJobs runs each pool with a producer and three workers.
func BenchmarkJobs(b *testing.B) {
	pools := []contender.Contender{
		contender.Native(),
		contender.Bounded(context.Background(), nil),
		contender.ByHand(context.Background()),
	}
	for _, length := range jobLengths {
		for _, w := range []workload.Workload{workload.Jobs(1024, 3, length), workload.JobsInBatches(1024, 3, length)} {
			b.Run(w.Name, func(b *testing.B) {
				for _, c := range pools {
					if !w.Can(c) {
						continue
					}
					b.Run(c.Name, func(b *testing.B) {
						r, err := w.Run(c, uint64(b.N))
						if err != nil {
							b.Fatal(err)
						}
						b.ReportMetric(r.NsPerItem(), "ns/op")
					})
				}
			})
		}
	}
}

// backlog returns a closed channel with n jobs.
func backlog(n int) *sluice.Elastic[int] {
	c := sluice.NewElastic(sluice.Unlimited, &sluice.ElasticOptions[int]{Shrink: sluice.NoShrink})
	run := make([]int, n)
	_, _ = c.SendBatch(context.Background(), run)
	c.Close()
	return c
}

// BenchmarkShare reports the percentage of the workers' time that is not spent
// in jobs, with a worker per P and a backlog. The baseline runs the same jobs
// in plain loops on as many goroutines, in turns with the pool.
func BenchmarkShare(b *testing.B) {
	for _, length := range jobLengths {
		b.Run(length.String(), func(b *testing.B) {
			turns, count := workload.Turns(length), min(runtime.GOMAXPROCS(0), runtime.NumCPU())
			jobs := int(20*time.Millisecond/length) * count
			var loops, pools time.Duration
			for b.Loop() {
				began := time.Now()
				var all sync.WaitGroup
				for range count {
					all.Go(func() {
						for range jobs / count {
							_ = workload.Busy(turns)
						}
					})
				}
				all.Wait()
				loops += time.Since(began)
				c := backlog(jobs)
				began = time.Now()
				_ = workers.Run(context.Background(), c, count, func(context.Context, int) error {
					_ = workload.Busy(turns)
					return nil
				}, nil)
				pools += time.Since(began)
			}
			b.ReportMetric(100*(1-float64(loops)/float64(pools)), "%not-in-f")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkOneJob sends one job at a time and waits for its end: the cost of
// idle workers.
func BenchmarkOneJob(b *testing.B) {
	for _, count := range []int{1, 3, 100} {
		done := make(chan struct{}, 1)
		b.Run(fmt.Sprintf("%d/native", count), func(b *testing.B) {
			c := make(chan int, 1024)
			var all sync.WaitGroup
			for range count {
				all.Go(func() {
					for range c {
						done <- struct{}{}
					}
				})
			}
			for b.Loop() {
				c <- 0
				<-done
			}
			close(c)
			all.Wait()
		})
		b.Run(fmt.Sprintf("%d/Workers", count), func(b *testing.B) {
			c := sluice.NewBounded[int](1024, nil)
			var all sync.WaitGroup
			all.Go(func() {
				_ = workers.Run(context.Background(), c, count, func(context.Context, int) error {
					done <- struct{}{}
					return nil
				}, nil)
			})
			b.ReportAllocs()
			for b.Loop() {
				_ = c.Send(context.Background(), 0)
				<-done
			}
			c.Close()
			all.Wait()
		})
	}
}

// BenchmarkMap runs three workers on jobs that take almost no time: the cost of
// a job and its result.
func BenchmarkMap(b *testing.B) {
	b.Run("native", func(b *testing.B) {
		in, out := make(chan int, 1024), make(chan int, 1024)
		var working atomic.Int64
		working.Store(3)
		for range 3 {
			go func() {
				for v := range in {
					out <- v
				}
				if working.Add(-1) == 0 {
					close(out)
				}
			}()
		}
		go func() {
			for i := range b.N {
				in <- i
			}
			close(in)
		}()
		for range out {
		}
	})
	for _, ordered := range []bool{false, true} {
		b.Run(fmt.Sprintf("ordered=%v", ordered), func(b *testing.B) {
			c := backlog(b.N)
			m := workers.Map(context.Background(), c, 3, func(_ context.Context, v int) (int, error) { return v, nil },
				&workers.MapOptions[int]{Ordered: ordered})
			b.ReportAllocs()
			b.ResetTimer()
			n := 0
			for range m.All() {
				n++
			}
			if n != b.N {
				b.Fatalf("%d results of %d", n, b.N)
			}
		})
	}
}
