package broadcast

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/internal/park"
)

// Patience. A subscription with a patience may make publishers wait for that long without a
// receive. The first publisher that finds no room while it is in the wait queue notes when, and
// starts a timer. A receive or the departure of all publishers ends the episode; the timer then
// finds that, and a later episode begins anew.
//
// At the end of its patience a subscription is evicted, or becomes lax: publishers do not wait for
// it, and it drops its oldest values, as under DropOldest. The next publisher after a receive makes
// it gated again. Until then stuckAt equals next: a queue of its own moves both when it drops or
// skips a value. Afterwards tail <= next+capacity: a receive from the log first drops the values
// for which there is no room, under both locks.

// evict removes s, which had no room for after, unless it has received since it was at next. It
// reports whether it did. The lock is held.
func (h *Hub[T]) evict(s *Subscription[T], next uint64, after time.Duration) bool {
	err := fmt.Errorf("%w: its queue of %d values was full", ErrEvicted, s.capacity)
	if after > 0 {
		err = fmt.Errorf("%w, and it received nothing for %v", err, after)
	}
	if s.acquire() != next { // a receive that had begun before has ended
		s.release()
		return false
	}
	h.remove(s, err)
	h.evicted++
	s.receivers.WakeAll()
	return true
}

// arm is called when s, the blocker, has no room at tail. It begins an episode of each
// subscription without room, so that publishers wait for all of them at the same time. The
// lock is held.
func (h *Hub[T]) arm(s *Subscription[T], tail uint64) {
	if s.patience == 0 || h.senders.Idle() || s.stuck() {
		return
	}
	now := park.Now()
	for _, other := range h.roles[gated] {
		if other.patience > 0 && other.bound() <= tail && !other.stuck() {
			other.startEpisode(now)
		}
	}
}

// stuck reports whether s has received nothing since its episode began, so that its timer runs.
// The lock of the Hub is held.
func (s *Subscription[T]) stuck() bool {
	return s.stuckSince != 0 && s.stuckAt == s.word.Load()>>1
}

// startEpisode starts the timer. The lock of the Hub is held.
func (s *Subscription[T]) startEpisode(now time.Duration) {
	s.stuckAt, s.stuckSince = s.word.Load()>>1, now
	if s.timer == nil {
		s.timer = time.AfterFunc(s.patience, s.expire)
	} else {
		s.timer.Reset(s.patience)
	}
}

// expire is called by the timer of s.
func (s *Subscription[T]) expire() {
	h := s.hub
	h.acquire()
	if s.at[gated] < 0 || h.senders.Idle() || h.closed.Load() {
		if s.at[lax] < 0 { // or else this is a late call, after one that has made s lax
			s.stuckSince = 0
		}
		h.lock.Unlock()
		return
	}
	if left := s.stuckSince + s.patience - park.Now(); left > 0 { // a late call for an earlier episode
		s.timer.Reset(left)
		h.lock.Unlock()
		return
	}
	if !s.dropsAfter {
		h.evict(s, s.stuckAt, s.patience)
	} else if s.stuck() {
		h.relax(s)
	}
	lost := h.takeLost()
	h.lock.Unlock()
	if h.senders.Waiting() {
		h.senders.Wake()
	}
	report(lost)
}

// relax makes s lax, which is gated and stuck. The lock is held.
func (h *Hub[T]) relax(s *Subscription[T]) {
	h.drop(s, gated)
	h.add(s, lax)
	h.blocker.CompareAndSwap(s, nil)
}

// tighten makes those gated again that have received since they became lax. The lock is held.
func (h *Hub[T]) tighten() {
	for i := 0; i < len(h.roles[lax]); {
		if s := h.roles[lax][i]; s.stuck() {
			i++
		} else { // another one is at i now
			h.drop(s, lax)
			h.gateAt(s)
		}
	}
}
