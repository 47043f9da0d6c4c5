package sluice

import (
	"context"
	"testing"

	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/selection"
	"github.com/sluice-go/sluice/internal/waitq"
)

// A fakeCase is a Case that runs hooks of a test, with an entry in a wait queue of its
// own.
type fakeCase struct {
	queue  waitq.Queue
	wait   *waitq.Entry
	own    caseEntry
	joined func()      // called after the case has joined the queue
	poll   func() bool // reports whether the case can proceed
}

func newFakeCase(joined func(), poll func() bool) *fakeCase {
	s := &fakeCase{joined: joined, poll: poll}
	s.wait = waitq.NewEntry(&s.queue, func() bool { return false })
	s.own.use(s)
	return s
}

func (s *fakeCase) try() (bool, error)           { return s.poll(), nil }
func (s *fakeCase) entry() *caseEntry            { return &s.own }
func (s *fakeCase) look(tried bool) (bool, bool) { return tried, tried }

func (s *fakeCase) Join(c *selection.State, number int) {
	s.wait.Join(c, number)
	s.joined()
}

func (s *fakeCase) Leave()             { s.wait.Leave() }
func (s *fakeCase) Tally() *park.Tally { return s.wait.Tally() }

// TestSelectContextAmongWakeUps: a Select that never parks, because a spurious wake-up
// arrives before each park, still notices that its context is done.
func TestSelectContextAmongWakeUps(t *testing.T) {
	const enough, tooMany = 9, 1000
	ctx, cancel := context.WithCancel(context.Background())
	var s *fakeCase
	polls := 0
	s = newFakeCase(func() { s.queue.Wake() }, func() bool {
		if polls++; polls == enough {
			cancel()
		}
		return polls == tooMany // ends a Select that would hang
	})
	if chosen, err := Select(ctx, s); chosen != nil || err != context.Canceled {
		t.Errorf("a case was chosen: %v, %v, after %d polls", chosen != nil, err, polls)
	}
	if q := s.queue.Snapshot(0, nil); !s.queue.Idle() || q.Waiting != 0 || q.Waits != 0 {
		t.Errorf("%d entries in the queue, %d waits", q.Waiting, q.Waits)
	}
}

// TestSelectIsFairAfterJoin: if two cases can proceed once the Select has joined all
// wait queues, it chooses each equally often.
func TestSelectIsFairAfterJoin(t *testing.T) {
	const n = 20_000
	for _, size := range []int{5, fewCases + 4} {
		joined := 0
		cases := make([]Case, size)
		for i := range cases {
			cases[i] = newFakeCase(func() { joined++ }, func() bool { return joined == size && (i == 1 || i == 2) })
		}
		first := 0
		for range n {
			joined = 0
			if chosen, _ := Select(context.Background(), cases...); chosen == cases[1] {
				first++
			}
		}
		if first < n/2-n/40 || first > n/2+n/40 {
			t.Errorf("%d cases, 2 can proceed: the first was chosen %d of %d times", size, first, n)
		}
	}
}
