package broadcast

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/internal/park"
)

// Eviction. A subscription with a time after which it is evicted may make publishers wait for
// that long without a receive. The first publisher that finds no room while it is in the
// wait queue notes when, and starts a timer. A receive or the departure of all publishers ends
// the episode; the timer then finds that, and a later episode begins anew.

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
	if s.evictAfter == 0 || h.senders.Idle() || s.stuck() {
		return
	}
	now := park.Now()
	for _, other := range h.roles[gated] {
		if other.evictAfter > 0 && other.bound() <= tail && !other.stuck() {
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
		s.timer = time.AfterFunc(s.evictAfter, s.expire)
	} else {
		s.timer.Reset(s.evictAfter)
	}
}

// expire is called by the timer of s.
func (s *Subscription[T]) expire() {
	h := s.hub
	h.acquire()
	if s.at[gated] < 0 || h.senders.Idle() || h.closed.Load() {
		s.stuckSince = 0
		h.lock.Unlock()
		return
	}
	if left := s.stuckSince + s.evictAfter - park.Now(); left > 0 { // a late call for an earlier episode
		s.timer.Reset(left)
		h.lock.Unlock()
		return
	}
	h.evict(s, s.stuckAt, s.evictAfter)
	lost := h.takeLost()
	h.lock.Unlock()
	if h.senders.Waiting() {
		h.senders.Wake()
	}
	report(lost)
}
