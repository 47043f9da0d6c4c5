package sluicetest_test

import (
	"fmt"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/sluicetest"
	"github.com/sluice-go/sluice/sluicetest/internal/mutant"
)

// kind describes a channel of package mutant.
func kind(limit int, overflow sluice.Overflow, fault mutant.Fault) sluicetest.Kind {
	return sluicetest.Kind{
		Capacity:  limit,
		Overflow:  overflow,
		Allocates: true,
		Numbers: func(onDrop func(uint64)) sluicetest.Channel[uint64] {
			return mutant.New(limit, overflow, onDrop, fault)
		},
		Pointers: func() sluicetest.Channel[*sluicetest.Parcel] {
			return mutant.New[*sluicetest.Parcel](limit, overflow, nil, fault)
		},
		Strings: func() sluicetest.Channel[string] {
			return mutant.New[string](limit, overflow, nil, fault)
		},
		Empties: func() sluicetest.Channel[struct{}] {
			return mutant.New[struct{}](limit, overflow, nil, fault)
		},
		Giants: func() sluicetest.Channel[sluicetest.Giant] {
			return mutant.New[sluicetest.Giant](limit, overflow, nil, fault)
		},
	}
}

// TestReference: a correct channel passes, at every capacity and policy that
// makes a difference to the suite.
func TestReference(t *testing.T) {
	for _, limit := range []int{0, 1, 2, 5, 64} {
		for _, overflow := range []sluice.Overflow{sluice.Block, sluice.Reject, sluice.DropNewest, sluice.DropOldest} {
			if limit == 0 && overflow == sluice.DropOldest {
				continue
			}
			t.Run(fmt.Sprint(limit, " ", overflow), func(t *testing.T) {
				sluicetest.Run(t, kind(limit, overflow, mutant.None))
			})
		}
	}
}
