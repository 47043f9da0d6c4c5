package main

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/bench/paced"
	"github.com/sluice-go/sluice/bench/results"
	"github.com/sluice-go/sluice/bench/workload"
)

// lasting returns the nanoseconds per value of a run that takes about d. run does the work
// with n values.
func lasting(d time.Duration, run func(n uint64) (workload.Result, error)) (float64, error) {
	for n := uint64(1000); ; n *= 4 {
		result, err := run(n)
		if err != nil {
			return 0, err
		}
		if result.Elapsed < d/4 {
			continue
		}
		runtime.GC()
		result, err = run(max(1000, uint64(float64(d)/result.NsPerItem())))
		return result.NsPerItem(), err
	}
}

// clocked returns the result of a run of n values.
func clocked(n uint64, run func() error) (workload.Result, error) {
	began := time.Now()
	err := run()
	return workload.Result{Items: n, Elapsed: time.Since(began)}, err
}

// medianOf returns the median of n measurements.
func medianOf(n int, measure func(i int) (float64, error)) (float64, error) {
	var values []float64
	for i := range n {
		v, err := measure(i)
		if err != nil {
			return 0, err
		}
		values = append(values, v)
	}
	return results.Median(values), nil
}

// idle returns the CPU time of the process during d, as a percentage of one core.
func idle(d time.Duration) float64 {
	time.Sleep(d / 4) // until all wait
	used, began := paced.CPU(), time.Now()
	time.Sleep(d)
	return 100 * float64(paced.CPU()-used) / float64(time.Since(began))
}

// stormSenders is how many goroutines send in a storm, to a contender that permits it.
const stormSenders = 8

// storm sends at full speed, closes the contender after d, and returns how many
// values whose send has succeeded were not received. A contender that must not be closed
// while others send is closed after their last send. In a broadcast, each value counts for
// each subscriber.
func storm(r row, n, copies int, d time.Duration) float64 {
	taken := make([]count, n)
	sink := r.exclusive()(n, func(i int, _ uint64) { taken[i].n++ })
	senders := stormSenders
	if q, ok := r.what.(queue); ok && q.OneSender || copies > 1 || r.alone {
		senders = 1
	}
	var sent atomic.Int64
	var stop atomic.Bool
	var all sync.WaitGroup
	for range senders {
		all.Go(func() {
			mine := int64(0)
			for sink.Put(uint64(mine)) {
				mine++
				if stop.Load() { // after one value at least
					break
				}
			}
			sent.Add(mine)
		})
	}
	time.Sleep(d)
	switch {
	case r.close == theContext:
		cancel()
		all.Wait()
	case !r.amid:
		stop.Store(true)
		all.Wait()
	}
	sink.Close()
	all.Wait()
	got := uint64(0)
	for i := range taken {
		got += taken[i].n
	}
	return float64(sent.Load()*int64(copies) - int64(got))
}

// A count belongs to one goroutine.
type count struct {
	n uint64
	_ [120]byte // no false sharing
}

// received fails unless all values arrived.
func received(got, want uint64) error {
	if got != want {
		return fmt.Errorf("received %d values of %d", got, want)
	}
	return nil
}
