package sluice

import (
	"context"
	"testing"

	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/selection"
	"github.com/sluice-go/sluice/internal/waitq"
)

// A standIn is a case, and its place in a line, that does what a test says.
type standIn struct {
	line   waitq.Queue
	place  *waitq.Entry
	way    caseEntry
	joined func()      // when it is in line
	tried  func() bool // whether it can proceed
}

func newStandIn(joined func(), tried func() bool) *standIn {
	s := &standIn{joined: joined, tried: tried}
	s.place = waitq.NewEntry(&s.line, func() bool { return false })
	s.way.use(s)
	return s
}

func (s *standIn) try() (bool, error) { return s.tried(), nil }
func (s *standIn) entry() *caseEntry  { return &s.way }

func (s *standIn) Join(c *selection.State, number int) {
	s.place.Join(c, number)
	s.joined()
}

func (s *standIn) Leave()             { s.place.Leave() }
func (s *standIn) Tally() *park.Tally { return s.place.Tally() }

// TestSelectChosenInVain: the end of the context is noticed by a Select that never
// gets to sleep, as its line wakes it each time before that, and each time in vain.
func TestSelectChosenInVain(t *testing.T) {
	const enough, tooMany = 9, 1000
	ctx, cancel := context.WithCancel(context.Background())
	var s *standIn
	tries := 0
	s = newStandIn(func() { s.line.Wake() }, func() bool {
		if tries++; tries == enough {
			cancel()
		}
		return tries == tooMany // or it would hang
	})
	if chosen, err := Select(ctx, s); chosen != nil || err != context.Canceled {
		t.Errorf("one was chosen: %v, %v, after %d looks", chosen != nil, err, tries)
	}
	if l := s.line.Snapshot(0, nil); !s.line.Idle() || l.Waiting != 0 || l.Waits != 0 {
		t.Errorf("%d in line, %d waits", l.Waiting, l.Waits)
	}
}

// TestSelectIsFairInLine: of two that can proceed when the Select is in line, each
// is as likely, wherever they stand among those that cannot.
func TestSelectIsFairInLine(t *testing.T) {
	const n = 20_000
	for _, size := range []int{5, fewCases + 4} {
		inLine := 0
		cases := make([]Case, size)
		for i := range cases {
			cases[i] = newStandIn(func() { inLine++ }, func() bool { return inLine == size && (i == 1 || i == 2) })
		}
		first := 0
		for range n {
			inLine = 0
			if chosen, _ := Select(context.Background(), cases...); chosen == cases[1] {
				first++
			}
		}
		if first < n/2-n/40 || first > n/2+n/40 {
			t.Errorf("of 2 among %d the first is chosen %d of %d times", size, first, n)
		}
	}
}
