package sluicetest_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/sluicetest"
)

// A metered channel counts the calls of Send that failed: a kind of a user's own.
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

// TestOwnKind is how a kind that is not of package sluice is tested.
func TestOwnKind(t *testing.T) {
	const capacity = 8
	sluicetest.Run(t, sluicetest.Kind{
		Capacity: capacity,
		Numbers:  func(func(uint64)) sluicetest.Channel[uint64] { return newMetered[uint64](capacity) },
		Pointers: func() sluicetest.Channel[*sluicetest.Parcel] { return newMetered[*sluicetest.Parcel](capacity) },
		Strings:  func() sluicetest.Channel[string] { return newMetered[string](capacity) },
		Empties:  func() sluicetest.Channel[struct{}] { return newMetered[struct{}](capacity) },
		Giants:   func() sluicetest.Channel[sluicetest.Giant] { return newMetered[sluicetest.Giant](capacity) },
	})
}
