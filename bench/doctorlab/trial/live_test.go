package main

import (
	"bytes"
	"slices"
	"testing"
)

// From a scenario's address to the remedy, and to what the remedy gives. What is
// asserted are answers: whether channels are the problem, where, and what to do.
// Gains hang on how busy the machine is: they are printed beside the prediction,
// and -live measures them with more rounds. The scenarios are those whose answers stay
// the same beside a neighbour who takes both processors; beside more of them there may
// be none, which the doctor must say then, and why.
func TestLive(t *testing.T) {
	names := []string{"unbuffered-stages", "poller", "slow-upload"}
	if testing.Short() {
		names = names[:1]
	}
	programs, all := scenariosOf(t)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			i := slices.IndexFunc(all, func(p scenario) bool { return p.Name == name })
			if i < 0 {
				t.Fatal("there is no such scenario")
			}
			var out bytes.Buffer
			if err := tryLive(t.Context(), &out, programs, all[i], 1); err != nil {
				t.Error(err)
			}
			t.Log(out.String())
		})
	}
}
