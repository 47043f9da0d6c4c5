package workers_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
	"github.com/sluice-go/sluice/fan"
	"github.com/sluice-go/sluice/workers"
)

// A storm is one random pipeline: senders, a Map, and a way to receive its results.
type storm struct {
	*rand.Rand
	n       int // values per sender
	senders int
	failAt  int // the job that fails, or -1
	leaveAt int // the result after which the receiver leaves, or -1
	ordered bool
	pauses  bool

	jobs            *sluice.Bounded[int]
	sent            atomic.Int64
	began, reported atomic.Int64 // jobs given to f, and jobs reported as unprocessed
}

var errJob = errors.New("the job failed")

func newStorm(seed uint64) *storm {
	r := rand.New(rand.NewPCG(seed, 1))
	s := &storm{
		Rand: r, n: 1 + r.IntN(300), senders: 1 + r.IntN(3), failAt: -1, leaveAt: -1,
		ordered: r.IntN(2) == 0, pauses: r.IntN(3) == 0, jobs: sluice.NewBounded[int](r.IntN(20), nil),
	}
	if r.IntN(2) == 0 {
		s.failAt = r.IntN(s.n)
	}
	if r.IntN(2) == 0 {
		s.leaveAt = r.IntN(s.n)
	}
	return s
}

func (s *storm) send(t *testing.T, all *sync.WaitGroup) {
	for range s.senders {
		all.Go(func() {
			for i := range s.n {
				if err := s.jobs.Send(context.Background(), i); err != nil {
					if err != sluice.ErrClosed {
						t.Error(err)
					}
					return
				}
				s.sent.Add(1)
			}
		})
	}
	go func() {
		all.Wait()
		s.jobs.Close()
	}()
}

func (s *storm) results(ctx context.Context) *workers.Results[int] {
	return workers.Map(ctx, s.jobs, 1+s.IntN(4), func(_ context.Context, v int) (int, error) {
		s.began.Add(1)
		if s.pauses {
			time.Sleep(time.Duration(v%7) * 100 * time.Microsecond)
		}
		if v == s.failAt {
			return 0, errJob
		}
		return v, nil
	}, &workers.MapOptions[int]{Ordered: s.ordered, OnUnprocessed: func(int) { s.reported.Add(1) }})
}

// leaves reports whether the receiver of got results leaves now.
func (s *storm) leaves(got int) bool { return s.leaveAt >= 0 && got >= s.leaveAt }

// The ways to receive results return how many they received, and how the results ended.

func (s *storm) loop(_ context.Context, results *workers.Results[int]) (got int, err error) {
	for range results.All() {
		if got++; s.leaves(got) {
			break
		}
	}
	return got, results.Err()
}

func (s *storm) inBatches(ctx context.Context, results *workers.Results[int]) (got int, err error) {
	batches := batch.Receive(ctx, results, 1+s.IntN(20), &batch.Options[int]{Linger: time.Duration(s.IntN(3)) * time.Millisecond})
	for b := range batches.All() {
		if got += len(b); s.leaves(got) {
			break
		}
	}
	return got, batches.Err()
}

func (s *storm) together(ctx context.Context, results *workers.Results[int]) (int, error) {
	var got atomic.Int64
	var errs [3]error
	var receivers sync.WaitGroup
	for i := range errs {
		receivers.Go(func() {
			buf := make([]int, 5)
			for errs[i] == nil {
				var n int
				n, errs[i] = results.RecvBatch(ctx, buf)
				if s.leaves(int(got.Add(int64(n)))) {
					results.Close()
				}
			}
		})
	}
	receivers.Wait()
	for _, err := range errs {
		if errors.Is(err, sluice.ErrClosed) { // this receiver knows of no failure
			return int(got.Load()), nil
		}
	}
	return int(got.Load()), errors.Join(errs[:]...)
}

func (s *storm) fannedIn(ctx context.Context, results *workers.Results[int]) (got int, err error) {
	out, ended := sluice.NewBounded[int](1+s.IntN(10), nil), make(chan error, 1)
	go func() {
		_, err := fan.In(ctx, out, sluice.Receiver[int](results))
		out.Close()
		ended <- err
	}()
	values := out.Values(context.Background())
	for range values.All() {
		if got++; s.leaves(got) {
			out.Close()
			break
		}
	}
	return got, <-ended
}

// TestStorm: random pipelines that fail, are left or are canceled at any point, whichever way
// the results are received. No sender hangs, each job sent was given to f, reported, or is
// still in the channel, and a failure reaches every receiver.
func TestStorm(t *testing.T) {
	for seed := range uint64(400) {
		synctest.Test(t, func(t *testing.T) {
			s := newStorm(seed)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			canceled := s.IntN(3) == 0
			if canceled {
				time.AfterFunc(time.Duration(s.IntN(5000))*time.Microsecond, cancel)
			}
			ways := []func(context.Context, *workers.Results[int]) (int, error){s.loop, s.inBatches, s.together, s.fannedIn}
			way := s.IntN(len(ways))
			var senders sync.WaitGroup
			s.send(t, &senders)
			results := s.results(ctx)
			got, err := ways[way](ctx, results)
			senders.Wait()
			results.Close()
			if began, reported, left := s.began.Load(), s.reported.Load(), s.jobs.Len(); began+reported+int64(left) != s.sent.Load() {
				t.Errorf("seed %d: %d sent, but %d begun, %d reported, %d left", seed, s.sent.Load(), began, reported, left)
			}
			whole := !canceled && s.leaveAt < 0
			if whole && s.failAt < 0 && (got != s.n*s.senders || err != nil) {
				t.Errorf("seed %d, way %d: %d of %d results, %v", seed, way, got, s.n*s.senders, err)
			}
			if whole && s.failAt >= 0 && !errors.Is(err, errJob) {
				t.Errorf("seed %d, way %d: a job failed, and the results ended with %v", seed, way, err)
			}
		})
	}
}
