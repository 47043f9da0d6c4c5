package sluice_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/sluicetest"
)

// giant is a value of a size that fills 1 MiB of slots with 16.
type giant = sluicetest.Giant

// TestLargeBoundedReusesSlots: a Bounded of more than 1 MiB does not allocate once its slots
// have been in use, whether it is filled and emptied or rarely has a value.
func TestLargeBoundedReusesSlots(t *testing.T) {
	for name, o := range map[string]*sluice.BoundedOptions[giant]{
		"default":         nil,
		"single sender":   {SingleSender: true},
		"single receiver": {SingleReceiver: true},
		"one to one":      {SingleSender: true, SingleReceiver: true},
	} {
		c := sluice.NewBounded(94, o)
		burst := func(values int) {
			for range values {
				_ = c.TrySend(giant{})
			}
			for range values {
				_, _ = c.TryRecv()
			}
		}
		burst(c.Cap())
		if n := testing.AllocsPerRun(20, func() { burst(10); burst(1); burst(2); burst(3) }); n > 0 {
			t.Errorf("%s: %.0f allocations for bursts after the channel was full", name, n)
		}
		if n := mallocs(func() { relay(c, 2000) }); n > 100 {
			t.Errorf("%s: %d allocations for 2,000 values from one goroutine to another", name, n)
		}
	}
}

// TestLargeBoundedMemory: the slots of a Bounded that has been full hold little more than its
// capacity, however its length varies afterwards.
func TestLargeBoundedMemory(t *testing.T) {
	const capacity = 46
	c := sluice.NewBounded[giant](capacity, nil)
	for n := range 40 {
		for range capacity - n {
			_ = c.TrySend(giant{})
		}
		for c.Len() > n {
			_, _ = c.TryRecv()
		}
	}
	if held, slots := c.Stats().Bytes, int64(capacity*len(giant{})); held < slots || held > slots+slots/8 {
		t.Errorf("%d bytes are held, the slots of the capacity are %d", held, slots)
	}
}

// relay sends values from one goroutine to another, mostly one at a time: the receiver waits.
func relay(c sluice.Channel[giant], values int) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range values {
			_, _ = c.Recv(context.Background())
		}
	}()
	for n := range values {
		_ = c.Send(context.Background(), giant{})
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
