package sluicetest

import (
	"testing"

	"github.com/sluice-go/sluice"
)

// A TrySend that returns ErrFull under DropOldest is right only for a kind with values in
// flight, and only beside another operation.
func TestFullUnderDropOldest(t *testing.T) {
	for _, c := range []struct {
		inFlight, alone bool
		kind            opKind
		policy          sluice.Overflow
		right           bool
	}{
		{true, false, opTrySend, sluice.DropOldest, true},
		{false, false, opTrySend, sluice.DropOldest, false},
		{true, true, opTrySend, sluice.DropOldest, false},
		{true, false, opSend, sluice.DropOldest, false},
		{true, false, opTrySend, sluice.DropNewest, false},
	} {
		m := &model{k: Kind{InFlight: c.inFlight, Overflow: c.policy, Capacity: 1}}
		err := m.checkResult(&step{alone: c.alone}, &operation{kind: c.kind, call: &call{err: sluice.ErrFull}})
		if (err == nil) != c.right {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
