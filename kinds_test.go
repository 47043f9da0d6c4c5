package sluice_test

import (
	"testing"

	"github.com/sluice-go/sluice"
)

// sequence is 0, 1, … n-1.
func sequence(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// kinds makes a channel of each kind, by name.
var kinds = map[string]func() sluice.Chan[int]{
	"Rendezvous": func() sluice.Chan[int] { return sluice.NewRendezvous[int](nil) },
	"Bounded 1":  func() sluice.Chan[int] { return sluice.NewBounded[int](1, nil) },
	"Bounded 64": func() sluice.Chan[int] { return sluice.NewBounded[int](64, nil) },
	"Elastic":    func() sluice.Chan[int] { return sluice.NewElastic[int](sluice.Unlimited, nil) },
}

// anyKind makes one channel of each kind, by name.
func anyKind() map[string]sluice.Chan[int] {
	made := make(map[string]sluice.Chan[int], len(kinds))
	for name, make := range kinds {
		made[name] = make()
	}
	return made
}

func mustSend(t *testing.T, s sluice.Sender[int], vs ...int) {
	t.Helper()
	for _, v := range vs {
		if err := s.Send(t.Context(), v); err != nil {
			t.Errorf("Send of %d: %v", v, err)
		}
	}
}
