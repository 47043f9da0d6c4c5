package workers_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/suite"
	"github.com/sluice-go/sluice/workers"
)

// A roster checks that no key has more jobs than it may at the same time, and that the
// jobs of a key that has one at a time run in order.
type roster struct {
	t      *testing.T
	perKey int32
	keys   []struct {
		running atomic.Int32
		last    int // guarded by running, if perKey is 1
	}
}

func newRoster(t *testing.T, keys, perKey int) *roster {
	r := &roster{t: t, perKey: int32(perKey)}
	r.keys = make([]struct {
		running atomic.Int32
		last    int
	}, keys)
	for i := range r.keys {
		r.keys[i].last = -1
	}
	return r
}

// key has a busy key with half of the jobs.
func (r *roster) key(job int) int {
	if job%2 == 0 {
		return 0
	}
	return job * 7 % len(r.keys)
}

// run runs a job.
func (r *roster) run(job int, f func()) {
	k := &r.keys[r.key(job)]
	if n := k.running.Add(1); n > r.perKey {
		r.t.Errorf("job %d is the %d-th of its key at the same time", job, n)
	}
	if r.perKey == 1 {
		if k.last >= job {
			r.t.Errorf("job %d of a key after %d", job, k.last)
		}
		k.last = job
	}
	defer k.running.Add(-1)
	f()
}

func TestRunKeyed(t *testing.T) {
	const jobs = 3000
	for name, make := range jobChannels {
		for seed := range uint64(12) {
			random := rand.New(rand.NewPCG(seed, 9))
			n, perKey, keys := 1+random.IntN(8), 1+random.IntN(3)*random.IntN(2), 1+random.IntN(40)
			o := &workers.KeyedOptions[int]{PerKey: perKey, MaxAhead: []int{0, 1, 2, 70}[random.IntN(4)]}
			t.Run(fmt.Sprintf("%s n=%d keys=%d %d %d", name, n, keys, perKey, o.MaxAhead), func(t *testing.T) {
				c, l, r := make(), newTimesheet(t, jobs), newRoster(t, keys, perKey)
				go func() {
					feed(t.Context(), c, jobs)
					c.Close()
				}()
				err := workers.RunKeyed(t.Context(), c, n, r.key, func(_ context.Context, job int) error {
					r.run(job, func() {
						l.do(job)
						switch job % 97 {
						case 0:
							runtime.Gosched()
						case 1:
							time.Sleep(10 * time.Microsecond)
						}
					})
					return nil
				}, o)
				if err != nil || l.done.Load() != jobs {
					t.Errorf("%d of %d jobs: %v", l.done.Load(), jobs, err)
				}
			})
		}
	}
}

func TestRunKeyedExcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sluice.NewElastic[int](sluice.Unlimited, nil)
		var done, excess []int
		release := make(chan struct{})
		ended := make(chan error)
		go func() {
			ended <- workers.RunKeyed(t.Context(), c, 1, func(job int) int { return job % 10 }, func(_ context.Context, job int) error {
				<-release
				done = append(done, job)
				return nil
			}, &workers.KeyedOptions[int]{MaxPerKey: 2, OnExcess: func(job int) { excess = append(excess, job) }})
		}()
		_ = c.TrySend(0) // runs
		synctest.Wait()
		for _, job := range []int{10, 20, 30, 1, 40, 11, 21} {
			_ = c.TrySend(job)
		}
		c.Close()
		close(release)
		if err := <-ended; err != nil || !slices.Equal(excess, []int{30, 40, 21}) || len(done) != 5 {
			t.Errorf("done %v, excess %v: %v", done, excess, err)
		}
	})
}

// TestRunKeyedDoesNotAllocate: neither a job nor a key costs an allocation.
func TestRunKeyedDoesNotAllocate(t *testing.T) {
	if suite.Race {
		t.Skip("the race detector allocates")
	}
	const burst = 5000
	c := sluice.NewElastic[int](sluice.Unlimited, &sluice.ElasticOptions[int]{Shrink: sluice.NoShrink})
	ended, all := make(chan struct{}), make(chan struct{})
	var left atomic.Int64
	go func() {
		defer close(ended)
		_ = workers.RunKeyed(context.Background(), c, 3, func(job int) int { return job % 900 }, func(context.Context, int) error {
			if left.Add(-1) == 0 {
				all <- struct{}{}
			}
			return nil
		}, nil)
	}()
	jobs := make([]int, burst)
	for i := range jobs {
		jobs[i] = i
	}
	n := testing.AllocsPerRun(20, func() {
		left.Store(burst)
		_, _ = c.SendBatch(context.Background(), jobs)
		<-all
	})
	if n > burst/100 { // leaders are interrupted at times, which costs two allocations
		t.Errorf("%v allocations for %d jobs", n, burst)
	}
	c.Close()
	<-ended
}

// TestRunKeyedLongOnExcess: while OnExcess runs, other workers run jobs; after an error it
// is not called with more than was received.
func TestRunKeyedLongOnExcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sluice.NewElastic[int](sluice.Unlimited, nil)
		var excess atomic.Int32
		began := time.Now()
		var first atomic.Int64 // when a job was done
		go func() {
			time.Sleep(time.Second)
			_, _ = c.SendBatch(context.Background(), append(make([]int, 1000), 1))
		}()
		err := workers.RunKeyed(t.Context(), c, 4, func(job int) int { return job }, func(ctx context.Context, job int) error {
			if excess.Load() > 100 {
				return errPlanted
			}
			time.Sleep(time.Millisecond)
			first.CompareAndSwap(0, int64(time.Since(began)))
			return nil
		}, &workers.KeyedOptions[int]{MaxPerKey: 1, OnExcess: func(int) {
			excess.Add(1)
			time.Sleep(100 * time.Millisecond)
		}})
		if at := time.Duration(first.Load()); err != errPlanted || excess.Load() > 200 || at != time.Second+time.Millisecond {
			t.Errorf("%d jobs of 999 are excess; a job was done after %v: %v", excess.Load(), at, err)
		}
	})
}
