package sluice_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/sluicetest"
)

// A metered channel is a user's own kind: it counts failed calls of Send.
type metered[T any] struct {
	*sluice.Bounded[T]
	failed atomic.Int64
}

func newMetered[T any](capacity int) *metered[T] {
	return &metered[T]{Bounded: sluice.NewBounded[T](capacity, nil)}
}

func (m *metered[T]) Send(ctx context.Context, v T) error {
	err := m.Bounded.Send(ctx, v)
	if err != nil {
		m.failed.Add(1)
	}
	return err
}

// TestOwnKind shows how to test a kind from outside package sluice. It is here, and not in package
// sluicetest, because the compiler needs seconds for each type of elements of a Bounded, and the
// tests of this package have these types anyway.
func TestOwnKind(t *testing.T) {
	const capacity = 8
	sluicetest.Run(t, sluicetest.Kind{
		Capacity: capacity,
		Variant:  true, // TestConformance has a Bounded in full
		Numbers:  func(func(uint64)) sluicetest.Channel[uint64] { return newMetered[uint64](capacity) },
		Pointers: func() sluicetest.Channel[*sluicetest.Parcel] { return newMetered[*sluicetest.Parcel](capacity) },
		Strings:  func() sluicetest.Channel[string] { return newMetered[string](capacity) },
		Empties:  func() sluicetest.Channel[struct{}] { return newMetered[struct{}](capacity) },
		Giants:   func() sluicetest.Channel[sluicetest.Giant] { return newMetered[sluicetest.Giant](capacity) },
	})
}
