package broadcast

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestLateExpiry: a call of the timer that is late, and finds that another one has made the
// subscription lax, leaves it so: it has received nothing.
func TestLateExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New[int](4, 0)
		s, err := h.Subscribe(Config{Capacity: 4, Patience: time.Second, DropsAfter: true}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for v := range 20 {
			if err := h.Send(t.Context(), v); err != nil {
				t.Fatal(err)
			}
			if v > 4 {
				s.expire()
			}
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("20 sends took %v, want 1s: a subscription that is stuck delays one", took)
		}
		if v, err := s.TryRecv(); v != 16 || err != nil {
			t.Errorf("received %d, %v; want 16", v, err)
		}
	})
}
