package batch_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
	"github.com/sluice-go/sluice/internal/suite"
)

// foreignReceiver is a receiver of another package.
type foreignReceiver struct{ *sluice.Bounded[int] }

// eachFlushed calls f with a channel and with how a loop receives from it: the lingers differ.
func eachFlushed(t *testing.T, f func(t *testing.T, c *sluice.Bounded[int], r sluice.BatchReceiver[int])) {
	for name, receiver := range map[string]func(c *sluice.Bounded[int]) sluice.BatchReceiver[int]{
		"kind":    func(c *sluice.Bounded[int]) sluice.BatchReceiver[int] { return c },
		"foreign": func(c *sluice.Bounded[int]) sluice.BatchReceiver[int] { return foreignReceiver{c} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := sluice.NewBounded[int](16, nil)
				f(t, c, receiver(c))
			})
		})
	}
}

// TestFlush: a batch that lingers is yielded at once; the one after it lingers again.
func TestFlush(t *testing.T) {
	eachFlushed(t, func(t *testing.T, c *sluice.Bounded[int], r sluice.BatchReceiver[int]) {
		ctx := context.Background()
		batches := batch.Receive(ctx, r, 10, &batch.Options[int]{Linger: time.Hour})
		began := time.Now()
		go func() {
			defer c.Close()
			_, _ = c.SendBatch(ctx, []int{1, 2})
			time.Sleep(time.Minute)
			_ = c.Send(ctx, 3)
			batches.Flush()
			synctest.Wait()
			_ = c.Send(ctx, 4)
			time.Sleep(2 * time.Hour)
		}()
		var got [][]int
		var at []time.Duration
		for vs := range batches.All() {
			got, at = append(got, slices.Clone(vs)), append(at, time.Since(began))
		}
		if want := [][]int{{1, 2, 3}, {4}}; !slices.EqualFunc(got, want, slices.Equal[[]int]) || at[0] != time.Minute || at[1] != time.Minute+time.Hour {
			t.Errorf("batches %v after %v, want %v after 1m and 1h1m", got, at, want)
		}
		if err := batches.Err(); err != nil {
			t.Error(err)
		}
		batches.Flush() // after the loop
	})
}

// TestFlushBeforeBatch: a Flush by the body, or before a value has come, is for the next batch.
func TestFlushBeforeBatch(t *testing.T) {
	eachFlushed(t, func(t *testing.T, c *sluice.Bounded[int], r sluice.BatchReceiver[int]) {
		batches := batch.Receive(t.Context(), r, 2, &batch.Options[int]{Linger: time.Hour})
		batches.Flush()
		go func() {
			time.Sleep(time.Minute)
			_ = c.TrySend(1)
		}()
		began := time.Now()
		for vs := range batches.All() {
			switch vs[0] {
			case 1:
				_, _ = c.SendBatch(t.Context(), []int{2, 3, 4})
				batches.Flush()
			case 4:
				c.Close()
			}
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("the loop took %v, want 1m", took)
		}
	})
}

// sentMeanwhile calls f after its first receive: what f does comes between two receives of a batch.
type sentMeanwhile struct {
	*sluice.Bounded[int]
	f func()
}

func (r *sentMeanwhile) RecvBatch(ctx context.Context, buf []int) (int, error) {
	n, err := r.Bounded.RecvBatch(ctx, buf)
	if r.f != nil {
		r.f()
		r.f = nil
	}
	return n, err
}

// TestFlushFillsBatch: values for which the flushed batch has no room do not linger either.
func TestFlushFillsBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sluice.NewBounded[int](16, nil)
		r := &sentMeanwhile{Bounded: c}
		batches := batch.Receive(t.Context(), r, 3, &batch.Options[int]{Linger: time.Hour})
		r.f = func() {
			_, _ = c.SendBatch(t.Context(), []int{2, 3, 4, 5})
			batches.Flush()
		}
		_ = c.Send(t.Context(), 1)
		began := time.Now()
		var got [][]int
		for vs := range batches.All() {
			got = append(got, slices.Clone(vs))
			if vs[len(vs)-1] == 5 {
				c.Close()
			}
		}
		if took := time.Since(began); took != 0 || !slices.EqualFunc(got, [][]int{{1, 2, 3}, {4, 5}}, slices.Equal[[]int]) {
			t.Errorf("batches %v in %v, want [[1 2 3] [4 5]] at once", got, took)
		}
	})
}

// TestFlushStorm: whatever the loop does at the moment, values that were sent before a Flush do not
// linger.
func TestFlushStorm(t *testing.T) {
	for _, of := range []bool{false, true} {
		c := sluice.NewBounded[int](16, nil)
		var r sluice.BatchReceiver[int] = c
		if of {
			r = foreignReceiver{c}
		}
		batches := batch.Receive(context.Background(), r, 4, &batch.Options[int]{Linger: 24 * time.Hour})
		got := make(chan int, 100)
		ended := make(chan bool)
		go func() {
			defer close(ended)
			for vs := range batches.All() {
				for _, v := range vs {
					got <- v
				}
			}
		}()
		rounds := suite.Rounds(300, 3000)
		for round := range rounds {
			n := 1 + round%7
			for v := range n {
				if v == n/2 && round%3 == 0 {
					batches.Flush()
				}
				_ = c.Send(context.Background(), v)
			}
			batches.Flush()
			for v := range n {
				if w := <-got; w != v {
					t.Fatalf("received %d, want %d", w, v)
				}
			}
		}
		c.Close()
		<-ended
	}
}
