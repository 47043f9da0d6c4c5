package sluice_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/suite"
	"github.com/sluice-go/sluice/sluicetest"
)

// An agedShape describes an Aged, except for its element type.
type agedShape struct {
	limit              int
	overflow           sluice.Overflow
	maxAge, staleAfter time.Duration
	shrink             sluice.ShrinkMode
}

func openAged[T any](s agedShape, onDrop func(T)) sluicetest.Channel[T] {
	return sluice.NewAged(s.limit, &sluice.AgedOptions[T]{
		Overflow: s.overflow, OnUndelivered: dropped(onDrop), MaxAge: s.maxAge, StaleAfter: s.staleAfter, Shrink: s.shrink,
	})
}

func (s agedShape) kind() sluicetest.Kind {
	k := sluicetest.Kind{
		Capacity:  s.limit,
		Overflow:  s.overflow,
		MaxBypass: maxBypass,
		Memory:    &sluicetest.Memory{Idle: 2048},
		Numbers:   func(onDrop func(uint64)) sluicetest.Channel[uint64] { return openAged(s, onDrop) },
		Pointers:  func() sluicetest.Channel[*sluicetest.Parcel] { return openAged[*sluicetest.Parcel](s, nil) },
		Strings:   func() sluicetest.Channel[string] { return openAged[string](s, nil) },
		Empties:   func() sluicetest.Channel[struct{}] { return openAged[struct{}](s, nil) },
		Giants:    func() sluicetest.Channel[sluicetest.Giant] { return openAged[sluicetest.Giant](s, nil) },
	}
	if s.staleAfter > 0 && s.staleAfter < time.Hour {
		k.Order = sluicetest.AnyOrder
	}
	if s.limit == sluice.Unlimited {
		k.Memory.Queued, k.Memory.QueuedPeak, k.Memory.Drained = 34, 52, 40<<10
		if s.shrink == sluice.NoShrink {
			k.Memory.Drained = 0
		}
	}
	return k
}

// TestAged: no test of the suite lasts for as long as the longer ages, and in the tests with the
// shorter one nearly every value is stale.
func TestAged(t *testing.T) {
	const long, short = 10_000 * time.Hour, 1
	for i, s := range []agedShape{
		{limit: sluice.Unlimited, maxAge: long}, {limit: 3, staleAfter: short}, // in full
		{limit: 1, maxAge: long}, {limit: 64, maxAge: long, staleAfter: long / 2},
		{limit: sluice.Unlimited, maxAge: long, shrink: sluice.ShrinkEmpty},
		{limit: sluice.Unlimited, staleAfter: short, shrink: sluice.NoShrink},
		{limit: 3, maxAge: long, overflow: sluice.Reject}, {limit: 100, maxAge: long, staleAfter: short, overflow: sluice.DropNewest},
		{limit: 1, maxAge: long, overflow: sluice.DropOldest}, {limit: 100, maxAge: long, staleAfter: long / 2, overflow: sluice.DropOldest},
		{limit: 5, staleAfter: short, overflow: sluice.DropNewest},
	} {
		k := s.kind()
		k.Variant = i >= 2 || !suite.All()
		t.Run(fmt.Sprint(s), func(t *testing.T) { sluicetest.Run(t, k) })
	}
}
