package measure

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestLockWaitShare(t *testing.T) {
	for _, tt := range []struct {
		waited  float64
		elapsed time.Duration
		procs   int
		want    float64
	}{
		{0, time.Second, 1, 0},
		{1, time.Second, 1, 100},
		{1, 2 * time.Second, 4, 12.5},
		{3, time.Second, 2, 150}, // three waiters on two Ps
	} {
		if got := lockWaitShare(tt.waited, tt.elapsed, tt.procs); got != tt.want {
			t.Errorf("%v s of %v on %d Ps are %v%%, want %v", tt.waited, tt.elapsed, tt.procs, got, tt.want)
		}
	}
}

// The figure accompanies the time, and grows when a goroutine waits for a mutex.
func TestWithLockWait(t *testing.T) {
	// With one P no goroutine spins: each one that finds the mutex locked
	// waits. Some of these many waits are sampled.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const waits = 1000
	contended := WithLockWait(func() (Reading, error) {
		var mu sync.Mutex
		entered := 0
		for range waits {
			mu.Lock()
			var waiter sync.WaitGroup
			waiter.Go(func() {
				mu.Lock()
				entered++
				mu.Unlock()
			})
			runtime.Gosched() // to the waiter
			mu.Unlock()
			waiter.Wait()
		}
		return Reading{Ops: entered, Elapsed: time.Nanosecond}, nil
	})
	reading, err := contended()
	if err != nil || reading.Ops != waits || reading.Elapsed != time.Nanosecond {
		t.Fatalf("the time is gone: %+v, %v", reading, err)
	}
	if len(reading.Figures) != 1 || reading.Figures[0].Unit != LockWait || reading.Figures[0].Value <= 0 {
		t.Errorf("a thousand waits for a mutex: %+v", reading.Figures)
	}
	wrong := errors.New("wrong tally")
	if reading, err := WithLockWait(func() (Reading, error) { return Reading{}, wrong })(); !errors.Is(err, wrong) || reading.Figures != nil {
		t.Errorf("of a failed pass: %+v, %v", reading, err)
	}
}

// sleeper receives from c: a profile shows its name.
//
//go:noinline
func sleeper(c <-chan int) { <-c }

// classOfTest separates the waits of sleeper from all others.
func classOfTest(functions []string) string {
	if slices.ContainsFunc(functions, func(f string) bool { return strings.HasSuffix(f, "measure.sleeper") }) &&
		strings.HasPrefix(functions[0], "runtime.chanrecv") {
		return "sleeper"
	}
	return ""
}

// letSleep is work in which sleeper waits once. In a bubble time advances only
// when all goroutines wait, so sleeper has parked when the sleep ends.
func letSleep(t *testing.T) func() error {
	return func() error {
		synctest.Test(t, func(*testing.T) {
			c := make(chan int)
			go sleeper(c)
			time.Sleep(time.Second)
			c <- 1
		})
		return nil
	}
}

// Blocked counts a wait under its class, but not a wait that ended before.
func TestBlocked(t *testing.T) {
	blocked, err := Blocked(letSleep(t), classOfTest)
	// One wait, of more nanoseconds than there are waits.
	if err != nil || blocked["sleeper"] <= 1 || len(blocked) != 1 {
		t.Errorf("a wait: %v, %v", blocked, err)
	}
	blocked, err = Blocked(func() error { return nil }, classOfTest)
	if err != nil || blocked["sleeper"] != 0 {
		t.Errorf("no wait, after one that was over: %v, %v", blocked, err)
	}
	before, err := waits(classOfTest)
	if err != nil {
		t.Fatal(err)
	}
	_ = letSleep(t)()
	after, err := waits(classOfTest)
	if err != nil || after["sleeper"] != before["sleeper"] {
		t.Errorf("the profile is still on: %v, then %v, %v", before, after, err)
	}
}

func TestBlockedFailsWithItsWork(t *testing.T) {
	wrong := errors.New("a value is missing")
	if blocked, err := Blocked(func() error { return wrong }, classOfTest); !errors.Is(err, wrong) || blocked != nil {
		t.Errorf("%v, %v", blocked, err)
	}
}

// growing is a queue with a known footprint: a slice with explicit doubling.
type growing struct {
	buf []uint64
	n   int
}

func (g *growing) fill(lo, hi int) {
	for v := lo; v < hi; v++ {
		if g.n == len(g.buf) {
			next := make([]uint64, 2*len(g.buf))
			copy(next, g.buf)
			g.buf = next
		}
		g.buf[g.n] = uint64(v)
		g.n++
	}
}

func TestFootprint(t *testing.T) {
	const n = 1 << 18
	tests := []struct {
		name                string
		empty               func(g *growing)
		peak, full, drained float64
	}{
		// Just before the queue is full, the last doubling holds 4 bytes per value
		// beside the 8 bytes of the new slice.
		{"keeps its memory", func(g *growing) { g.n = 0 }, 12, 8, 8 * n},
		{"gives it back", func(g *growing) { *g = growing{} }, 12, 8, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			figures := Footprint(n, 64, func() Queue {
				g := &growing{buf: make([]uint64, 1<<10)}
				return Queue{Fill: g.fill, Empty: func(int) { tt.empty(g) }}
			})
			for i, want := range []float64{tt.peak, tt.full, tt.drained} {
				got, slack := figures[i].Value, 0.02*want
				if i == 2 {
					slack = 0.02 * 8 * n // of its memory: the test binary allocates meanwhile, too
				}
				if math.Abs(got-want) > slack {
					t.Errorf("%s = %.2f, want about %.2f", figures[i].Unit, got, want)
				}
			}
		})
	}
}
