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
var kinds = map[string]func() sluice.Channel[int]{
	"Rendezvous": func() sluice.Channel[int] { return sluice.NewRendezvous[int](nil) },
	"Bounded 1":  func() sluice.Channel[int] { return sluice.NewBounded[int](1, nil) },
	"Bounded 64": func() sluice.Channel[int] { return sluice.NewBounded[int](64, nil) },
	"Elastic":    func() sluice.Channel[int] { return sluice.NewElastic[int](sluice.Unlimited, nil) },
}

// anyKind makes one channel of each kind, by name.
func anyKind() map[string]sluice.Channel[int] {
	made := make(map[string]sluice.Channel[int], len(kinds))
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
