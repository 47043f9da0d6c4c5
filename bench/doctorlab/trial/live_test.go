package main

import (
	"bytes"
	"slices"
	"testing"
)

// TestLive covers the path from an address to a remedy and its gain. It asserts
// the answers: whether channels are the problem, where, and what to do. Gains
// depend on other load, so they are only printed, and only the first is measured,
// which needs little CPU; -live measures all, for longer and in more rounds. The
// answers of these scenarios are stable with another busy process on both
// processors; with more of them there may be no answer, or a CPU limit, which the doctor
// must then explain.
func TestLive(t *testing.T) {
	t.Parallel()
	names := []string{"slow-upload", "unbuffered-stages", "poller"}
	if testing.Short() {
		names = names[:1]
	}
	programs, all := scenariosOf(t)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			i := slices.IndexFunc(all, func(p scenario) bool { return p.Name == name })
			if i < 0 {
				t.Fatal("unknown scenario")
			}
			rounds := 0
			if name == names[0] {
				rounds = 1
			}
			var out bytes.Buffer
			if err := tryLive(t.Context(), &out, programs, all[i], bareSeconds, rounds); err != nil {
				t.Error(err)
			}
			t.Log(out.String())
		})
	}
}
