package sluice_test

import (
	"context"
	"math/bits"
	"runtime"
	"testing"

	"github.com/sluice-go/sluice"
)

// perMiB is how many values fill 1 MiB of slots.
const perMiB = 1 << 20 / (bits.UintSize / 8)

// TestLargeBoundedReusesSlots: a Bounded of more than 1 MiB does not allocate once its slots
// have been in use, whether it is filled and emptied or rarely has a value.
func TestLargeBoundedReusesSlots(t *testing.T) {
	for name, o := range map[string]*sluice.BoundedOptions[int]{
		"default":         nil,
		"single sender":   {SingleSender: true},
		"single receiver": {SingleReceiver: true},
		"one to one":      {SingleSender: true, SingleReceiver: true},
	} {
		c := sluice.NewBounded(6*perMiB, o)
		burst := func(values int) {
			for range values {
				_ = c.TrySend(7)
			}
			for range values {
				_, _ = c.TryRecv()
			}
		}
		burst(c.Cap())
		if n := testing.AllocsPerRun(5, func() { burst(perMiB * 2 / 3); burst(1); burst(perMiB / 70); burst(perMiB / 5) }); n > 0 {
			t.Errorf("%s: %.0f allocations for bursts after the channel was full", name, n)
		}
		if n := mallocs(func() { relay(c, 20_000) }); n > 100 {
			t.Errorf("%s: %d allocations for 20,000 values from one goroutine to another", name, n)
		}
	}
}

// TestLargeBoundedMemory: the slots of a Bounded that has been full hold little more than its
// capacity, however its length varies afterwards.
func TestLargeBoundedMemory(t *testing.T) {
	const capacity = 3 * perMiB
	c := sluice.NewBounded[int](capacity, nil)
	for n := range 12 {
		for range capacity - perMiB/15*n {
			_ = c.TrySend(7)
		}
		for c.Len() > n {
			_, _ = c.TryRecv()
		}
	}
	if held, slots := c.Stats().Bytes, int64(capacity*bits.UintSize/8); held < slots || held > slots+slots/8 {
		t.Errorf("%d bytes are held, the slots of the capacity are %d", held, slots)
	}
}

// relay sends values from one goroutine to another, mostly one at a time: the receiver waits.
func relay(c sluice.Channel[int], values int) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range values {
			_, _ = c.Recv(context.Background())
		}
	}()
	for n := range values {
		_ = c.Send(context.Background(), 7)
		if n%8 == 0 {
			runtime.Gosched()
		}
	}
	<-done
}

// mallocs returns the number of allocations of all goroutines while f runs.
func mallocs(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}
