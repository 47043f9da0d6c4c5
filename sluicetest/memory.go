package sluicetest

import (
	"runtime"
	"testing"
)

// testMemory checks the limits of Kind.Memory against the live heap. The heap
// is noisy, so small amounts are measured on many channels at once.
func testMemory(t *testing.T, k Kind) {
	t.Run("idle", k.testMemoryIdle)
	if k.Memory.Queued > 0 {
		t.Run("queued", k.testMemoryQueued)
	}
	if k.Memory.Drained > 0 {
		t.Run("drained", k.testMemoryDrained)
	}
}

// backlog returns the number of values to queue: a million, or in a quick run just
// enough to exceed the noise.
func (k Kind) backlog() int {
	if k.quick() {
		return 1 << 17
	}
	return 1 << 20
}

func (k Kind) testMemoryIdle(t *testing.T) {
	channels := make([]Channel[uint64], 1000)
	before := liveHeap()
	for i := range channels {
		channels[i] = k.Numbers(nil)
	}
	if each := float64(liveHeap()-before) / float64(len(channels)); each > k.Memory.Idle {
		t.Errorf("an idle channel holds %.0f bytes, want at most %.0f", each, k.Memory.Idle)
	}
	runtime.KeepAlive(channels)
}

func (k Kind) testMemoryQueued(t *testing.T) {
	before := liveHeap()
	c := k.Numbers(nil)
	// Between two readings of the heap, the peak is at most the live heap at
	// the first plus the bytes allocated since.
	n := k.backlog()
	stride := n / 64
	if k.quick() {
		stride *= 2
	}
	peak := int64(0)
	for sent := 0; sent < n; sent += stride {
		held, allocated := liveHeap()-before, allocatedBytes()
		sendUpTo(t, c, sent, sent+stride)
		peak = max(peak, held+allocatedBytes()-allocated)
	}
	if each := float64(peak) / float64(n); each > k.Memory.QueuedPeak {
		t.Errorf("%.2f bytes held per value at the peak while filling, want at most %.2f", each, k.Memory.QueuedPeak)
	}
	if each := float64(liveHeap()-before) / float64(n); each > k.Memory.Queued {
		t.Errorf("%.2f bytes held per queued value, want at most %.2f", each, k.Memory.Queued)
	}
	if got := drain(c); got != n {
		t.Fatalf("drained %d of %d", got, n)
	}
}

func (k Kind) testMemoryDrained(t *testing.T) {
	channels := make([]Channel[uint64], 16)
	before := liveHeap()
	for i := range channels {
		channels[i] = k.Numbers(nil)
		sendUpTo(t, channels[i], 0, k.backlog()/len(channels))
		drain(channels[i])
	}
	if each := float64(liveHeap()-before) / float64(len(channels)); each > k.Memory.Drained {
		t.Errorf("%.0f bytes are held after a drain, want at most %.0f", each, k.Memory.Drained)
	}
	runtime.KeepAlive(channels)
}

func sendUpTo(t *testing.T, c Channel[uint64], from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		if err := c.TrySend(uint64(i)); err != nil {
			t.Fatalf("TrySend of value %d: %v", i, err)
		}
	}
}

// liveHeap collects garbage, twice because of pools, and returns the bytes in
// use.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// allocatedBytes returns the bytes allocated so far, freed or not.
func allocatedBytes() int64 {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.TotalAlloc)
}
