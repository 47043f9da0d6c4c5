package segqueue

import (
	"testing"

	"github.com/sluice-go/sluice/internal/engine"
)

// A goroutine that rescues a starving one, and then finds that its own operation cannot
// proceed, decides so while it holds its lock. The other side, and Len, run meanwhile. In
// these tests they run between that decision and the unlock.

// TestRescuedReceive: once a receiver that rescues has found the channel empty, the rescued
// value is not queued for any other goroutine. Otherwise the values of later sends would be
// counted together with it, and "empty" would be true at no moment.
func TestRescuedReceive(t *testing.T) {
	e := New(engine.Config[int]{Limit: 4})
	r := &e.recv
	starved := aboutToStarve()
	r.unlock(r.recordLoss(&starved, r.lock(), nil))
	_ = e.TrySend(5)

	word := e.rescueReceiver(&call{}, r.lock())
	if e.run(word&^flags, e.send.word.Load()) {
		t.Fatal("the channel is not empty after the rescue")
	}
	if _, empty := e.WouldBlock(nil); e.Len() != 0 || !empty {
		t.Errorf("after the rescuer found nothing: Len %d, empty %v", e.Len(), empty)
	}
	for v := range 4 {
		if err := e.TrySend(v); err != nil {
			t.Errorf("send %d into 4 free slots: %v", v+1, err)
		}
	}
	if n := e.Len(); n != 4 {
		t.Errorf("after 4 sends: Len %d", n)
	}
	r.unlock(word)

	if !r.takeRescued(&starved) || *r.rescue != 5 {
		t.Errorf("the starving receiver got %d, want 5", *r.rescue)
	}
	checkQueued(t, e, 0, 1, 2, 3)
}

// TestRescuedSend: once a sender that rescues has found the channel full, the rescued value
// is queued for every other goroutine.
func TestRescuedSend(t *testing.T) {
	e := New(engine.Config[int]{Limit: 2})
	s := &e.send
	_, _ = e.TrySend(1), e.TrySend(2)
	starved, value := aboutToStarve(), 3
	s.unlock(s.recordLoss(&starved, s.lock(), &value))
	_, _ = e.TryRecv()

	word := e.rescueSender(&call{}, s.lock())
	if e.room(word&^flags, e.recv.word.Load()) {
		t.Fatal("the channel has room after the rescue")
	}
	if _, full := e.WouldBlock(new(int)); e.Len() != 2 || !full {
		t.Errorf("after the rescuer found no room: Len %d, full %v", e.Len(), full)
	}
	checkQueued(t, e, 2, 3)
	s.unlock(word)

	if !s.takeRescued(&starved) {
		t.Error("the starving sender does not know that its value was sent")
	}
	checkQueued(t, e)
}

// TestRescueKeepsSleepers: a rescue keeps the flag of a goroutine that sleeps until the lock
// is free, so the unlock wakes it.
func TestRescueKeepsSleepers(t *testing.T) {
	e := New(engine.Config[int]{Limit: 4})
	r := &e.recv
	starved := aboutToStarve()
	r.unlock(r.recordLoss(&starved, r.lock(), nil))
	_ = e.TrySend(5)
	word := r.lock()
	r.word.Or(sleepers)
	word = e.rescueReceiver(&call{}, word)
	if now := r.word.Load(); now != word|locked|sleepers {
		t.Errorf("the word is %#x, want %#x", now, word|locked|sleepers)
	}
	r.unlock(word)
}

// checkQueued receives all values, and reports those that differ from want.
func checkQueued(t *testing.T, e *Engine[int], want ...int) {
	t.Helper()
	for i, v := range want {
		if got, err := e.TryRecv(); got != v || err != nil {
			t.Errorf("value %d is %d, %v, want %d", i, got, err, v)
		}
	}
	if v, err := e.TryRecv(); err != engine.ErrEmpty {
		t.Errorf("after %d values: %d, %v, want ErrEmpty", len(want), v, err)
	}
}
