package sluice_test

import (
	"fmt"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/suite"
	"github.com/sluice-go/sluice/sluicetest"
)

// A ranked describes a Priority, except for its element type.
type ranked struct {
	levels, limit int
	overflow      sluice.Overflow
	spread        bool // values are spread over the levels, otherwise on the last one
}

func (r ranked) String() string {
	name := fmt.Sprint("Priority ", r.levels, " ", r.limit)
	if r.overflow != sluice.Block {
		name += " " + r.overflow.String()
	}
	if r.spread {
		name += " spread"
	}
	return name
}

// openRanked returns a new Priority of that description.
func openRanked[T any](r ranked, onDrop func(T)) sluicetest.Channel[T] {
	o := &sluice.PriorityOptions[T]{Overflow: r.overflow, OnUndelivered: dropped(onDrop)}
	if r.spread {
		o.LevelOf = func(v T) int {
			if n, ok := any(v).(uint64); ok {
				return int(n * 7 % uint64(r.levels))
			}
			return 0
		}
	}
	return sluice.NewPriority(r.levels, r.limit, o)
}

func (r ranked) kind() sluicetest.Kind {
	k := sluicetest.Kind{
		Capacity:  r.limit,
		Overflow:  r.overflow,
		MaxBypass: maxBypass,
		Memory:    &sluicetest.Memory{Idle: float64(1024 + 512*r.levels)},
		Numbers:   func(onDrop func(uint64)) sluicetest.Channel[uint64] { return openRanked(r, onDrop) },
		Pointers:  func() sluicetest.Channel[*sluicetest.Parcel] { return openRanked[*sluicetest.Parcel](r, nil) },
		Strings:   func() sluicetest.Channel[string] { return openRanked[string](r, nil) },
		Empties:   func() sluicetest.Channel[struct{}] { return openRanked[struct{}](r, nil) },
		Giants:    func() sluicetest.Channel[sluicetest.Giant] { return openRanked[sluicetest.Giant](r, nil) },
	}
	if r.spread {
		k.Order = sluicetest.AnyOrder
	}
	if r.limit == sluice.Unlimited {
		k.Memory.Queued, k.Memory.QueuedPeak, k.Memory.Drained = 17, 26, float64(4096+1024*8*r.levels)
	}
	return k
}

func TestPriority(t *testing.T) {
	for i, r := range []ranked{
		{levels: 4, limit: 3}, {levels: 4, limit: 3, spread: true}, // in full
		{levels: 4, limit: sluice.Unlimited}, {levels: 1, limit: 1}, {levels: 64, limit: 1024},
		{levels: 4, limit: 64, spread: true}, {levels: 3, limit: sluice.Unlimited, spread: true},
		{levels: 4, limit: 1, overflow: sluice.Reject}, {levels: 4, limit: 100, overflow: sluice.Reject, spread: true},
		{levels: 4, limit: 3, overflow: sluice.DropNewest},
	} {
		k := r.kind()
		k.Variant = i >= 2 || !suite.All()
		t.Run(r.String(), func(t *testing.T) { sluicetest.Run(t, k) })
	}
}
