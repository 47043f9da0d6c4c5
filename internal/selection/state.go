// Package selection is the state of one Select: it ensures that exactly one of
// the queues and engines in which the Select waits selects a case.
package selection

import (
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/internal/park"
)

// A State is shared by all entries of one Select, one for each case. Its zero
// value is ready to use.
//
// A wait queue notifies the Select, which then tries the case itself (see
// waitq.Queue). An engine claims the Select and completes the operation on its
// behalf (see package locked). One word decides which of them comes first:
//
//	inactive    the Select has no entries, or its context has ended: no selection
//	polling     a queue may notify; no engine may claim, because the Select may be
//	            about to complete an operation itself
//	waiting     the poll found nothing: queues may notify, engines may claim
//	parked      like waiting, and the goroutine sleeps: the selector must Unpark it
//	selected+i  case i was selected; nothing else can be
//
// Each transition is one CAS, except that BeginPoll is a Swap by the Select's own
// goroutine. polling -> waiting happens with the locks of all engines held that
// may claim, after a poll of each under these locks. A partner that arrived
// earlier was seen by the poll; one that arrives later sees the state waiting.
//
// No token is left behind. Only the transition parked -> selected sends a token,
// and Park does not return before it has received it. If the context ends, Park
// attempts parked -> inactive. If that succeeds, no token will come; if it fails,
// Park waits for the token that must come. So no token reaches a later wait,
// and the Parker's slot is free when a token arrives.
//
// No selection is lost. A queue that cannot notify the Select wakes the next
// waiter; an engine that cannot claim it serves the next one. And the Select polls
// all its cases after each BeginPoll.
type State struct {
	word   atomic.Uint32
	parker park.Parker
	parks  uint64
	since  park.Since // of the call, shared by its entries
}

const (
	inactive uint32 = iota
	polling
	waiting
	parked
	selected // + index of the case
)

// Start begins a call. No entry has joined a queue yet.
func (s *State) Start() { s.since.Reset() }

// Since records when the call began to wait.
func (s *State) Since() *park.Since { return &s.since }

// BeginPoll allows queues to notify the Select. No token is outstanding.
func (s *State) BeginPoll() {
	if !s.parker.Valid() {
		s.parker = park.NewParker()
	}
	s.word.Swap(polling)
}

// Parker returns the Parker to unpark. It is valid after the first BeginPoll.
func (s *State) Parker() park.Parker { return s.parker }

// AcceptClaims allows engines to claim the Select. It fails if a queue has
// notified it. The caller holds the locks of all its engines, and has polled each.
func (s *State) AcceptClaims() bool { return s.word.CompareAndSwap(polling, waiting) }

// PrepareToPark announces that the goroutine will sleep. It fails if a case was
// selected; then no token will come.
func (s *State) PrepareToPark() bool {
	for {
		word := s.word.Load()
		if word >= selected {
			return false
		}
		if s.word.CompareAndSwap(word, parked) {
			return true
		}
	}
}

// Park waits until a case is selected. If done is closed first, Park returns
// false, and no case will be selected. It follows a PrepareToPark that succeeded;
// start is the result of Since().Begin() after that. spent is the time to add to each
// queue's Tally, 0 if this wait was not measured.
func (s *State) Park(done <-chan struct{}, start time.Duration) (woken bool, spent time.Duration) {
	s.parks++
	weight := park.Weight(s.parks)
	woken = s.park(done)
	if weight > 0 {
		spent = (park.Now() - start) * time.Duration(weight)
	}
	return woken, spent
}

func (s *State) park(done <-chan struct{}) bool {
	if s.parker.Park(done) {
		return true
	}
	if s.word.CompareAndSwap(parked, inactive) {
		return false
	}
	return s.parker.Park(nil) // selected meanwhile: the token is on its way
}

// Selected returns the index of the selected case. There must be one.
func (s *State) Selected() int { return int(s.word.Load() - selected) }

// Notify selects case i so that the Select tries it, and reports whether that
// succeeded. If unpark is true, the caller must Unpark the goroutine.
func (s *State) Notify(i int) (ok, unpark bool) { return s.selectFrom(i, polling) }

// Claim selects case i on behalf of an engine that will complete its operation,
// and reports whether that succeeded. If unpark is true, the caller must Unpark
// the goroutine.
func (s *State) Claim(i int) (ok, unpark bool) { return s.selectFrom(i, waiting) }

// Claimable reports whether Claim may succeed.
func (s *State) Claimable() bool {
	word := s.word.Load()
	return word == waiting || word == parked
}

// selectFrom selects case i if least <= word < selected.
func (s *State) selectFrom(i int, least uint32) (ok, unpark bool) {
	for {
		word := s.word.Load()
		if word < least || word >= selected {
			return false, false
		}
		if s.word.CompareAndSwap(word, selected+uint32(i)) {
			return true, word == parked
		}
	}
}
