package semaphore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/spin"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/suite"
)

// Goroutines acquire, release, cancel and resize at random. There are never more permits
// taken than the largest size; with one permit, the race detector sees that only one
// goroutine holds it; in the end all are free.
func TestStorm(t *testing.T) {
	for name, o := range orders {
		for _, size := range []int64{1, 3, 16} {
			t.Run(fmt.Sprint(name, " ", size), func(t *testing.T) { storm(t, New(size, o), size) })
		}
	}
}

func storm(t *testing.T, s *Semaphore, size int64) {
	var held, most atomic.Int64
	guarded := 0 // by the permit, if there is one
	calls := suite.Rounds(300, 2000)
	var goroutines sync.WaitGroup
	for g := range 12 {
		goroutines.Go(func() {
			random := rand.New(rand.NewPCG(uint64(g), 1))
			for range calls {
				if random.IntN(50) == 0 && size > 1 {
					s.Resize(1 + random.Int64N(size))
				}
				n := 1 + random.Int64N(size)
				ctx, cancel := context.WithCancel(t.Context())
				if random.IntN(4) == 0 {
					ctx, cancel = context.WithTimeout(t.Context(), time.Duration(random.IntN(50))*time.Microsecond)
				}
				if err := s.Acquire(ctx, n); err == nil {
					if h := held.Add(n); h > most.Load() {
						most.Store(h)
					}
					if size == 1 {
						guarded++
					}
					if random.IntN(4) == 0 {
						runtime.Gosched()
					}
					held.Add(-n)
					s.Release(n)
				} else if err == sluice.ErrTooLarge && size == 1 {
					t.Error(err)
				}
				cancel()
			}
		})
	}
	goroutines.Wait()
	check(t, s)
	if s.Taken() != 0 || s.Waiting() != 0 || most.Load() > size {
		t.Errorf("%d permits are taken, %d goroutines wait; at most %d of %d permits were taken", s.Taken(), s.Waiting(), most.Load(), size)
	}
	if size == 1 && guarded == 0 {
		t.Error("nobody held the permit")
	}
}

// TestNoWakeUpIsLost: in each round one goroutine releases the permit at the moment in which
// the other begins to wait for it, and nobody mends it if that is missed.
func TestNoWakeUpIsLost(t *testing.T) {
	for name, o := range orders {
		t.Run(name, func(t *testing.T) {
			rounds := int64(suite.Rounds(5_000, 100_000))
			s := New(1, o)
			_ = s.TryAcquire(1)
			var round atomic.Int64
			go func() {
				for r := int64(1); r <= rounds; r++ {
					for tries := 1; round.Load() < r; tries++ {
						if tries%1000 == 0 {
							runtime.Gosched()
						}
					}
					_ = spin.Delay(int(r % 512)) // a different moment each round
					s.Release(1)
				}
			}()
			for r := int64(1); r <= rounds; r++ {
				round.Store(r)
				if err := s.Acquire(t.Context(), 1); err != nil { // or it never returns
					t.Fatal(err)
				}
			}
			check(t, s)
		})
	}
}

// TestTakenDuringResize: Taken does not see half of a Resize.
func TestTakenDuringResize(t *testing.T) {
	s := New(1, nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 20_000 {
			s.Resize(1 + int64(i%2)*99)
		}
	}()
	for {
		select {
		case <-done:
			return
		default:
			if taken := s.Taken(); taken != 0 {
				t.Fatalf("%d permits are taken, want 0", taken)
			}
		}
	}
}
