package sluice_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
)

// TestBoundedOfZero: a Bounded of capacity 0 behaves like a Rendezvous.
func TestBoundedOfZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sluice.NewBounded[int](0, nil)
		if err := c.TrySend(1); err != sluice.ErrFull {
			t.Errorf("TrySend without a receiver: %v", err)
		}
		sent := false
		go func() {
			_ = c.Send(t.Context(), 2)
			sent = true
		}()
		if synctest.Wait(); sent || c.Len() != 0 || c.Cap() != 0 {
			t.Errorf("without a receiver: Send returned: %v; Len %d, Cap %d", sent, c.Len(), c.Cap())
		}
		if v, err := c.TryRecv(); v != 2 || err != nil {
			t.Errorf("TryRecv: %d, %v", v, err)
		}
		c.Close()
	})
}

// TestHugeCapacity: the largest capacities neither allocate their slots in advance
// nor overflow an int.
func TestHugeCapacity(t *testing.T) {
	for _, limit := range []int{math.MaxInt, math.MaxInt/8 + 1, math.MaxInt - 1, math.MaxInt32} {
		checkOneValue(t, sluice.NewElastic[string](limit, nil), limit, "seven")
		mustReturn(t, func() {
			checkOneValue(t, sluice.NewBounded[struct{}](limit, nil), limit, struct{}{})
			c := sluice.NewBounded[string](limit, nil)
			checkOneValue(t, c, limit, "seven")
			if held := c.Stats().Bytes; held > 1024 {
				t.Errorf("capacity %d: %d bytes held for one value", limit, held)
			}
		})
	}
}

func checkOneValue[T comparable](t *testing.T, c sluice.Channel[T], capacity int, v T) {
	t.Helper()
	if c.Cap() != capacity {
		t.Errorf("made with %d: Cap is %d", capacity, c.Cap())
	}
	if err := c.TrySend(v); err != nil || c.Len() != 1 {
		t.Errorf("capacity %d: TrySend: %v, Len is %d", capacity, err, c.Len())
	}
	if got, err := c.TryRecv(); got != v || err != nil {
		t.Errorf("capacity %d: TryRecv: %v, %v", capacity, got, err)
	}
}

// mustReturn fails t if f takes longer than 20 seconds, and abandons it then.
func mustReturn(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("a constructor hangs")
	}
}
