package park

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/internal/callsite"
)

func TestParkerTakesOneToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewParker()
		if !p.Valid() || (Parker{}).Valid() || p.Pending() {
			t.Error("a new Parker is not valid, or the zero value is, or a token is pending")
		}
		p.Unpark()
		if !p.Pending() || !p.Park(nil) || p.Pending() {
			t.Error("a token delivered before Park was not taken")
		}
		done := make(chan struct{})
		ended := false
		go func() {
			if p.Park(done) {
				t.Error("Park took a token that was never delivered")
			}
			ended = true
		}()
		synctest.Wait()
		if ended {
			t.Error("Park returned without a token, before done was closed")
		}
		close(done)
		synctest.Wait()
		if !ended {
			t.Error("Park did not return after done was closed")
		}
	})
}

// TestAgeIsNeverNegative: the inspecting goroutine may have read the clock before
// the wait began.
func TestAgeIsNeverNegative(t *testing.T) {
	var s Since
	before := Now()
	if s.Age(before) != 0 {
		t.Error("the zero Since has an age")
	}
	began := s.Begin()
	for began == before { // until the clock advances
		s.Reset()
		began = s.Begin()
	}
	if age := s.Age(before); age != 0 {
		t.Errorf("age %v for a wait that began after now", age)
	}
	if age := s.Age(began + 5); age != 5 {
		t.Errorf("age %v after 5 ns", age)
	}
}

// TestProbe: the first operation on each side takes a sample, and so does the first one after each
// call of Stats. Without a name there are no samples.
func TestProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var nameless Tally
		nameless.Probe()
		nameless.Sample(Now())
		(*callsite.Sites)(nil).ProbeNext()
		sites := callsite.New()
		var send, receive Tally
		send.Watch(sites.Send)
		receive.Watch(sites.Receive)
		samples := func(side *callsite.Side) (n float64) {
			for _, site := range side.Sites() {
				n += site.Weight
			}
			return math.Round(n) // they decay with time
		}
		for stats := range 3 {
			for range 5 {
				send.Probe()
				time.Sleep(10 * time.Millisecond) // long enough for another sample
			}
			if got := samples(sites.Send); int(got) != stats+1 {
				t.Errorf("%v samples of senders after %d calls of Stats", got, stats)
			}
			sites.ProbeNext()
		}
		if got := samples(sites.Receive); got != 0 {
			t.Errorf("%v samples of receivers that were not there", got)
		}
		receive.Probe()
		receive.Sample(Now() + time.Second)
		if got := samples(sites.Receive); got != 2 {
			t.Errorf("%v samples of a receiver, want a probe and one more", got)
		}
	})
}
