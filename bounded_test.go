package sluice_test

import (
	"math"
	"testing"

	"github.com/sluice-go/sluice"
)

// A capacity that no memory could hold costs what is queued.
func TestHugeCapacity(t *testing.T) {
	for _, capacity := range []int{1 << 20, math.MaxInt32, math.MaxInt} {
		numbers := sluice.NewBounded[uint64](capacity, nil)
		empties := sluice.NewBounded[struct{}](capacity, nil)
		giants := sluice.NewBounded[[1 << 16]byte](capacity, nil)
		for range 100 {
			if numbers.TrySend(1) != nil || empties.TrySend(struct{}{}) != nil || giants.TrySend([1 << 16]byte{}) != nil {
				t.Fatalf("a Bounded of %d is full", capacity)
			}
		}
		if numbers.Cap() != capacity || numbers.Len() != 100 || empties.Len() != 100 || giants.Len() != 100 {
			t.Errorf("capacity %d: Cap %d, Len %d, %d, %d", capacity, numbers.Cap(), numbers.Len(), empties.Len(), giants.Len())
		}
		if held := numbers.Stats().Bytes; held > 4096 {
			t.Errorf("capacity %d: %d bytes held for 100 values", capacity, held)
		}
	}
}
