package sluice_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/suite"
	"github.com/sluice-go/sluice/sluicetest"
)

// openDelay returns a new Delay. If dueAt, its option returns a time that has passed.
func openDelay[T any](limit int, overflow sluice.Overflow, onDrop func(T), dueAt bool) sluicetest.Channel[T] {
	o := &sluice.DelayOptions[T]{Overflow: overflow, OnUndelivered: dropped(onDrop)}
	if dueAt {
		o.DueAt = func(T) time.Time { return time.Time{} }
	}
	return sluice.NewDelay(limit, o)
}

func TestDelay(t *testing.T) {
	for i, test := range []struct {
		limit    int
		overflow sluice.Overflow
		dueAt    bool
	}{
		{3, sluice.Block, true}, // in full
		{sluice.Unlimited, sluice.Block, false}, {1, sluice.Block, false}, {64, sluice.Block, false},
		{3, sluice.Reject, false}, {100, sluice.DropNewest, false},
	} {
		k := sluicetest.Kind{
			Capacity:  test.limit,
			Overflow:  test.overflow,
			MaxBypass: maxBypass,
			Variant:   i >= 1 || !suite.All(),
			Memory:    &sluicetest.Memory{Idle: 2048},
			Numbers: func(onDrop func(uint64)) sluicetest.Channel[uint64] {
				return openDelay(test.limit, test.overflow, onDrop, test.dueAt)
			},
			Pointers: func() sluicetest.Channel[*sluicetest.Parcel] {
				return openDelay[*sluicetest.Parcel](test.limit, test.overflow, nil, test.dueAt)
			},
			Strings: func() sluicetest.Channel[string] {
				return openDelay[string](test.limit, test.overflow, nil, test.dueAt)
			},
			Empties: func() sluicetest.Channel[struct{}] {
				return openDelay[struct{}](test.limit, test.overflow, nil, test.dueAt)
			},
			Giants: func() sluicetest.Channel[sluicetest.Giant] {
				return openDelay[sluicetest.Giant](test.limit, test.overflow, nil, test.dueAt)
			},
		}
		t.Run(fmt.Sprint(test), func(t *testing.T) { sluicetest.Run(t, k) })
	}
}
