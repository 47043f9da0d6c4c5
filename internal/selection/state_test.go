package selection

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestStates covers each state: what may select a case, and whether the selector
// must unpark the goroutine.
func TestStates(t *testing.T) {
	type attempt struct{ ok, unpark bool }
	for name, test := range map[string]struct {
		to              func(s *State)
		claim, notify   attempt
		claimable       bool
		accepts, parked bool
	}{
		"inactive": {func(*State) {}, attempt{}, attempt{}, false, false, true},
		"polling":  {func(s *State) { s.BeginPoll() }, attempt{}, attempt{true, false}, false, true, true},
		"waiting":  {func(s *State) { s.BeginPoll(); s.AcceptClaims() }, attempt{true, false}, attempt{true, false}, true, false, true},
		"parked":   {func(s *State) { s.BeginPoll(); s.PrepareToPark() }, attempt{true, true}, attempt{true, true}, true, false, true},
		"selected": {func(s *State) { s.BeginPoll(); s.PrepareToPark(); s.Claim(3) }, attempt{}, attempt{}, false, false, false},
	} {
		in := func() *State { s := new(State); test.to(s); return s }
		if ok, unpark := in().Claim(2); (attempt{ok, unpark}) != test.claim {
			t.Errorf("%s: Claim returned %v, %v", name, ok, unpark)
		}
		if ok, unpark := in().Notify(2); (attempt{ok, unpark}) != test.notify {
			t.Errorf("%s: Notify returned %v, %v", name, ok, unpark)
		}
		if got := in().Claimable(); got != test.claimable {
			t.Errorf("%s: Claimable is %v", name, got)
		}
		if got := in().AcceptClaims(); got != test.accepts {
			t.Errorf("%s: AcceptClaims is %v", name, got)
		}
		if got := in().PrepareToPark(); got != test.parked {
			t.Errorf("%s: PrepareToPark is %v", name, got)
		}
	}
	s := new(State)
	s.BeginPoll()
	if s.AcceptClaims(); s.Selected() != 0 {
		if ok, _ := s.Claim(5); !ok || s.Selected() != 5 {
			t.Errorf("case %d was selected, want 5", s.Selected())
		}
	}
}

// TestPark: Park ends with the token of the selector, or when done is closed. If
// both happen, it takes the token.
func TestPark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(State)
		for _, claimed := range []bool{true, false} {
			for range 300 {
				done := make(chan struct{})
				s.BeginPoll()
				s.PrepareToPark()
				go func() {
					time.Sleep(time.Second)
					ok := false
					if claimed {
						if ok, _ = s.Claim(1); !ok {
							t.Error("a parked Select could not be claimed")
						}
					}
					close(done)
					if ok {
						time.Sleep(time.Second) // the token arrives after done is closed
						s.Parker().Unpark()
					}
				}()
				if woken, _ := s.Park(done, 0); woken != claimed {
					t.Fatalf("woken %v, want %v", woken, claimed)
				}
				if s.Parker().Pending() {
					t.Fatal("a token is left after Park")
				}
				if ok, _ := s.Claim(1); ok {
					t.Fatal("a Select was claimed while inactive")
				}
			}
		}
	})
}
