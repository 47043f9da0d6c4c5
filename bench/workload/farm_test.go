package workload_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/workload"
)

// farms returns every farm.
func farms() []contender.Farm {
	background := context.Background()
	return []contender.Farm{
		contender.PublishedFarm(),
		contender.Between(contender.Native(), 0),
		contender.Between(contender.Native(), 1024),
		contender.Between(contender.NativeSlices(1), 1024),
		contender.Between(contender.NativeSlices(64), 1024),
		contender.Between(contender.Rendezvous(background, nil), 0),
		contender.Between(contender.Bounded(background, nil), 1024),
		contender.Between(contender.Elastic(background, nil), 0),
		contender.Between(contender.Bounded(background, nil).InBatches(1), 1024),
		contender.Between(contender.Bounded(background, nil).InBatches(64), 1024),
		contender.WorkersFarm(background),
		contender.MapFarm(background, 1),
		contender.MapFarm(background, 64),
	}
}

// Each job is done once and its result comes back once, with any number of
// workers, and all goroutines have ended: otherwise the bubble would not end.
func TestEveryFarmDoesTheJobs(t *testing.T) {
	for _, f := range farms() {
		for _, workers := range []int{1, 3, 10} {
			for _, n := range []uint64{1, 2, 100, 5000} {
				t.Run(fmt.Sprintf("%s/%d/%d", f.Name, workers, n), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						var done atomic.Uint64
						if _, err := workload.Farm(f, workers, n, func() { done.Add(1) }); err != nil {
							t.Error(err)
						}
						if done.Load() != n {
							t.Errorf("%d jobs done, want %d", done.Load(), n)
						}
					})
				})
			}
		}
	}
}

// On a clock that advances only during sleeps, a farm of single jobs takes
// exactly the ideal time: its workers all sleep at once, and the clock runs
// from the first job to the last result.
func TestSleepingFarmsTakeTheIdeal(t *testing.T) {
	const workers, n, sleep = 3, 30, time.Millisecond
	job := func() { time.Sleep(sleep) }
	for _, f := range farms() {
		if strings.Contains(f.Name, "64") {
			continue // one worker would take all jobs
		}
		t.Run(f.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				took, err := workload.Farm(f, workers, n, job)
				if err != nil || took != n/workers*sleep {
					t.Errorf("took %v (%v), want %v", took, err, n/workers*sleep)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		if took := workload.Alone(workers, n, 1, job); took != n/workers*sleep {
			t.Errorf("alone the jobs took %v, want %v", took, n/workers*sleep)
		}
	})
}

func TestFarmsThatLoseJobsAreErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		want string
		lie  func(t *contender.Tally)
	}{
		{"one less", "99 values of 100", func(t *contender.Tally) { t.Count-- }},
		{"another one", "the sum", func(t *contender.Tally) { t.Sum++ }},
	} {
		f := contender.Between(contender.Native(), 1)
		honest := f.Run
		f.Run = func(workers int, n uint64, job func()) (contender.Tally, time.Duration) {
			tally, elapsed := honest(workers, n, job)
			tt.lie(&tally)
			return tally, elapsed
		}
		took, err := workload.Farm(f, 3, 100, func() {})
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), f.Name) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if took != 0 {
			t.Errorf("%s: a result beside the error: %v", tt.name, took)
		}
	}
}

// Alone is exact even if the portion does not divide the number of jobs.
func TestAloneDoesEachJobOnce(t *testing.T) {
	for _, workers := range []int{1, 3, 10} {
		for _, n := range []uint64{0, 1, 99, 100, 101} {
			for _, portion := range []uint64{1, 7, 100, 1000} {
				var done atomic.Uint64
				workload.Alone(workers, n, portion, func() { done.Add(1) })
				if done.Load() != n {
					t.Errorf("%d workers, portions of %d: %d jobs done, want %d", workers, portion, done.Load(), n)
				}
			}
		}
	}
}
