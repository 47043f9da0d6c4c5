package batch_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
	"github.com/sluice-go/sluice/internal/suite"
)

type load struct {
	sizes    []int
	asked    []int // how often each value was asked for its size
	max      int
	maxBytes int
	policy   batch.TooLarge
	dropped  []int
}

func newLoad(random *rand.Rand, n int, policy batch.TooLarge) *load {
	l := &load{sizes: make([]int, n), asked: make([]int, n), policy: policy}
	l.max, l.maxBytes = 1+random.IntN(40), 1+random.IntN(200)
	if random.IntN(4) == 0 {
		l.max = 1000
	}
	largest := []int{1, l.maxBytes/10 + 1, l.maxBytes, l.maxBytes + l.maxBytes/5 + 1}[random.IntN(4)]
	for i := range l.sizes {
		l.sizes[i] = random.IntN(largest + 1)
	}
	return l
}

func (l *load) options() *batch.Options[int] {
	o := &batch.Options[int]{TooLarge: l.policy, Size: func(v int) int {
		l.asked[v]++
		return l.sizes[v]
	}}
	if l.policy == batch.Drop {
		o.OnUndelivered = func(v int, why sluice.Reason) {
			if why != sluice.Overflowed {
				panic(fmt.Sprint("dropped for ", why))
			}
			l.dropped = append(l.dropped, v)
		}
	}
	return o
}

func (l *load) batches(first int) (all [][]int, dropped []int, failed bool) {
	var b []int
	sum := 0
	end := func() {
		if len(b) > 0 {
			all = append(all, b)
		}
		b, sum = nil, 0
	}
	for v := first; v < len(l.sizes); v++ {
		size := l.sizes[v]
		switch {
		case size > l.maxBytes && l.policy == batch.Drop:
			dropped = append(dropped, v)
			continue
		case size > l.maxBytes && l.policy == batch.Fail:
			end()
			return all, dropped, true
		case sum+size > l.maxBytes:
			end()
		}
		b, sum = append(b, v), sum+size
		if sum >= l.maxBytes || len(b) == l.max {
			end()
		}
	}
	end()
	return all, dropped, false
}

func (l *load) check(t *testing.T, batches [][]int) {
	t.Helper()
	for _, b := range batches {
		sum := 0
		for _, v := range b {
			sum += l.sizes[v]
		}
		if len(b) > l.max || sum > l.maxBytes && (len(b) > 1 || l.policy != batch.Alone) || len(b) == 0 {
			t.Errorf("a batch of %d values and %d bytes, limits %d and %d", len(b), sum, l.max, l.maxBytes)
		}
	}
	for v, n := range l.asked {
		if n > 1 {
			t.Errorf("value %d was asked %d times for its size", v, n)
		}
	}
}

var policies = []batch.TooLarge{batch.Alone, batch.Fail, batch.Drop}

func inLoads(t *testing.T, f func(t *testing.T, random *rand.Rand, l *load, r receiver)) {
	seeds := uint64(suite.Rounds(30, 150))
	for name, make := range queues {
		t.Run(name, func(t *testing.T) {
			for seed := range seeds {
				synctest.Test(t, func(t *testing.T) {
					s, r, end := make()
					defer end()
					random := rand.New(rand.NewPCG(seed, 12))
					l := newLoad(random, random.IntN(500), policies[seed%3])
					go func() {
						for v := range l.sizes {
							if err := s.Send(t.Context(), v); err != nil {
								return
							}
						}
						s.Close()
					}()
					f(t, random, l, r)
					if t.Failed() {
						t.Fatalf("seed %d: limits %d and %d, %v, sizes %v", seed, l.max, l.maxBytes, l.policy, l.sizes)
					}
				})
			}
		})
	}
}

func TestReceiveMaxBytesModel(t *testing.T) {
	inLoads(t, func(t *testing.T, random *rand.Rand, l *load, r receiver) {
		batches := batch.Receive(t.Context(), sluice.LeaveOpen(r), l.max, withBytes(int64(l.maxBytes), time.Hour, l.options()))
		for first := 0; ; {
			var got [][]int
			for left := true; left; {
				left = false
				for b := range batches.All() {
					got = append(got, slices.Clone(b))
					if left = random.IntN(4) == 0; left {
						break
					}
				}
			}
			want, dropped, failed := l.batches(first)
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("got %v, want %v", got, want)
			}
			l.check(t, got)
			if l.policy == batch.Drop && (!slices.Equal(l.dropped, dropped) || batches.Dropped() != uint64(len(dropped))) {
				t.Errorf("dropped %v and counted %d, want %v", l.dropped, batches.Dropped(), dropped)
			}
			if !failed {
				if err := batches.Err(); err != nil {
					t.Errorf("Err: %v", err)
				}
				return
			}
			for _, b := range got {
				first += len(b)
			}
			if first = l.takeFailed(t, batches, first); t.Failed() {
				return
			}
		}
	})
}

func (l *load) takeFailed(t *testing.T, batches *batch.Batches[int], v int) int {
	t.Helper()
	for range 2 { // the second loop fails as the first one did
		var e *batch.TooLargeError
		if err := batches.Err(); !errors.As(err, &e) || !errors.Is(err, sluice.ErrTooLarge) || e.Size != int64(l.sizes[v]) || e.MaxBytes != int64(l.maxBytes) {
			t.Errorf("Err: %v for a value of %d bytes, limit %d", err, l.sizes[v], l.maxBytes)
			return 0
		}
		for b := range batches.All() {
			t.Errorf("a second loop yields %v", b)
		}
	}
	rest := batches.TakeRest()
	if len(rest) == 0 || rest[0] != v || batches.TakeRest() != nil {
		t.Errorf("TakeRest: %v, want %d and what came after it", rest, v)
	}
	return v + len(rest)
}
