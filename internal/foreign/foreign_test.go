package foreign

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/internal/selection"
)

// polling returns the state of a Select that polls.
func polling() *selection.State {
	s := new(selection.State)
	s.Start()
	s.BeginPoll()
	return s
}

// selected reports whether s was selected, and by its case with that index.
func selected(s *selection.State, index int) bool {
	return !s.PrepareToPark() && s.Selected() == index
}

// TestTokenNotifiesAll: one token of Ready notifies every Select that has joined, and the
// watcher ends with the last one that leaves: the bubble would report it.
func TestTokenNotifiesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ready := make(chan struct{}, 1)
		var entries [3]*RecvEntry
		var states [3]*selection.State
		for i := range entries {
			entries[i], states[i] = NewRecvEntry(ready), polling()
			entries[i].Join(states[i], i)
		}
		entries[2].Leave()
		ready <- struct{}{}
		synctest.Wait()
		if !selected(states[0], 0) || !selected(states[1], 1) || selected(states[2], 2) {
			t.Error("a token must notify the entries that have joined, and no other")
		}
		entries[0].Leave()
		entries[1].Leave()
		entries[1].Leave() // once more does nothing
		if len(watchers.entries) != 0 {
			t.Errorf("%d watchers are left", len(watchers.entries))
		}
	})
}

// TestStaleWatcher: a token that a stopped watcher took reaches the Selects that have joined
// since.
func TestStaleWatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ready := make(chan struct{}, 1)
		e, s := NewRecvEntry(ready), polling()
		e.Join(s, 4)
		deliver(ready, true) // as the watcher of a former set does
		if !selected(s, 4) {
			t.Error("the token was lost")
		}
		e.Leave()
	})
}

// TestReadyClosed: when Ready is closed, the entry notifies its Select, and polls from then
// on.
func TestReadyClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ready := make(chan struct{}, 1)
		e, s := NewRecvEntry(ready), polling()
		e.Join(s, 1)
		close(ready)
		synctest.Wait()
		if !selected(s, 1) || len(watchers.entries) != 0 {
			t.Errorf("not notified, or %d watchers are left", len(watchers.entries))
		}
		for range 3 {
			s.BeginPoll()
			e.Join(s, 1)
			time.Sleep(maxDelay)
			if !selected(s, 1) {
				t.Error("the entry does not poll")
			}
		}
		e.Leave()
	})
}

// TestSendEntryDelays: the delays double up to the maximum, and begin anew after Leave; a
// timer that fires later than Leave notifies no Select.
func TestSendEntryDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, s := new(SendEntry), polling()
		for range 2 {
			for want := firstDelay; want <= 2*maxDelay; want *= 2 {
				want := min(want, maxDelay)
				e.Join(s, 7)
				time.Sleep(want - 1)
				if synctest.Wait(); selected(s, 7) {
					t.Fatalf("notified before %v", want)
				}
				s.BeginPoll()
				time.Sleep(time.Nanosecond)
				if synctest.Wait(); !selected(s, 7) {
					t.Fatalf("not notified after %v", want)
				}
				s.BeginPoll()
			}
			e.Leave()
		}
		e.Join(s, 7)
		e.Leave()
		e.fire() // the timer was late
		time.Sleep(time.Second)
		if selected(s, 7) {
			t.Error("notified after Leave")
		}
	})
}
