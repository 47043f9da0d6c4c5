package segqueue

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/suite"
	"github.com/sluice-go/sluice/internal/waitq"
)

// A stepper is a SendBatch that a test takes step by step: the loop of sendSlow.
type stepper struct {
	e    *Engine[int]
	vs   []int
	n    int
	call call
}

// poll is one attempt under the lock. It reports whether all values have been sent.
func (s *stepper) poll() bool {
	side := &s.e.send
	word := side.lock()
	if side.takeRescued(&s.call) {
		s.n++
	}
	if side.antiBarging && s.e.yieldToWaiters(word, &s.call) {
		return false
	}
	if s.n += s.e.put(word, s.vs[s.n:], nil, &s.call); s.n < len(s.vs) {
		return false
	}
	if s.call.wait.Leave() && s.e.Len() < int(s.e.limit) {
		s.e.senders.Wake()
	}
	return true
}

// step is one step of the wait. It blocks if the stepper is queued and was not woken.
func (s *stepper) step() {
	s.e.send.step(context.Background(), &s.call, &s.e.recv, s.e.senders, s.e.receivers, s.e.spinDelay)
}

// join takes steps until s is queued, and polls once more.
func (s *stepper) join() {
	for !s.call.wait.Joined() {
		s.poll()
		s.step()
	}
	s.poll()
}

// TestBatchWithProgress: a wake-up that was spurious because the batch had polled
// before and sent a part is not a loss; and a batch at the end of the queue does
// not starve.
func TestBatchWithProgress(t *testing.T) {
	e := New(engine.Config[int]{Limit: 4})
	got := map[int]int{}
	recv := func() {
		v, err := e.TryRecv()
		if err != nil {
			t.Fatal(err)
		}
		got[v]++
	}
	barge := func() {
		recv()
		if err := e.TrySend(0); err != nil {
			t.Fatal(err)
		}
	}
	for range 4 {
		_ = e.TrySend(0)
	}
	batch := &stepper{e: e, vs: []int{100, 101, 102}}
	single := &stepper{e: e, vs: []int{200}}
	batch.join()
	single.join()
	for range maxLosses - 1 {
		barge()
		batch.step() // is woken
		batch.poll() // spurious wake-up
		batch.step() // rejoins
		if batch.poll() {
			t.Fatal("a batch of three was sent without room")
		}
	}
	recv() // frees a slot, and wakes the batch, which is about to poll anyway
	batch.poll()
	if batch.n != 1 {
		t.Fatalf("the batch sent %d values into one slot", batch.n)
	}
	batch.step()
	batch.poll() // the wake-up is spurious: one more than maxLosses
	if batch.call.starving || e.send.word.Load()&starving != 0 {
		t.Fatal("a batch starves after it has sent a part")
	}
	batch.step() // goes to the end
	batch.poll()
	for range maxLosses {
		barge()
		single.step()
		if single.poll() {
			t.Fatal("a value was sent without room")
		}
		single.step()
		single.poll()
	}
	if !single.call.starving {
		t.Fatal("a sender does not starve after maxLosses spurious wake-ups")
	}
	recv()
	if err := e.TrySend(0); err != engine.ErrFull { // it rescues the starving sender
		t.Fatalf("TrySend, with one slot and a starving sender: %v, want ErrFull", err)
	}
	for e.Len() > 0 {
		recv()
	}
	if single.step(); !single.poll() {
		t.Fatal("a starving sender was not served")
	}
	for batch.n < 3 {
		if batch.call.wait.Joined() && !batch.call.wait.Woken() {
			batch.step()
		}
		batch.poll()
	}
	for e.Len() > 0 {
		recv()
	}
	for _, v := range []int{100, 101, 102, 200} {
		if got[v] != 1 {
			t.Errorf("%d was received %d times", v, got[v])
		}
	}
	if word := e.send.word.Load(); word&flags != 0 {
		t.Errorf("the flags are %#x, want none", word&flags)
	}
}

// aboutToStarve returns a call that was woken, and starves if that
// wake-up was spurious.
func aboutToStarve() call {
	var queue waitq.Queue
	t := call{losses: maxLosses - 1}
	t.wait.Join(&queue, nil)
	queue.Wake()
	t.wait.Step()
	return t
}

// TestBatchDoesNotStarveAgain: a rescued batch has made progress, and goes to the
// end of the queue.
func TestBatchDoesNotStarveAgain(t *testing.T) {
	var s side[int]
	starved := aboutToStarve()
	s.unlock(s.recordLoss(&starved, s.lock(), new(int)))
	if !starved.starving {
		t.Fatal("the call does not starve")
	}
	s.rescued = true
	if !s.takeRescued(&starved) || !starved.wait.Progressed() || starved.losses != 0 {
		t.Errorf("after the rescue: %+v", starved)
	}
}

// TestPositionAfterAPart: a batch that sent a part before it had to wait keeps its
// position after a spurious wake-up.
func TestPositionAfterAPart(t *testing.T) {
	e := New(engine.Config[int]{Limit: 4})
	for range 3 {
		_ = e.TrySend(0)
	}
	batch := &stepper{e: e, vs: []int{1, 2}}
	batch.join()
	behind := &stepper{e: e, vs: []int{3}}
	behind.join()
	_, _ = e.TryRecv()
	_ = e.TrySend(0)
	batch.step()
	batch.poll() // spurious wake-up
	batch.step() // rejoins
	batch.poll()
	_, _ = e.TryRecv()
	if batch.n != 1 {
		t.Fatalf("the batch sent %d values", batch.n)
	}
	batch.step() // blocks forever if another sender was woken
	if !batch.poll() {
		t.Error("the batch was woken, and found no room")
	}
}

// TestOscillationAllocs: a queue whose length oscillates does not allocate, with each
// combination of promises.
func TestOscillationAllocs(t *testing.T) {
	const oscillations = 200
	levels := []int{1, 144, 1168, 100, 1000, 5000}
	if !suite.All() {
		levels = levels[:3]
	}
	for single := range 4 {
		for _, shrink := range []engine.Shrink{engine.ShrinkHalf, engine.ShrinkEmpty, engine.NoShrink} {
			for _, level := range levels {
				for _, by := range []int{20, 100, 300} {
					if by > 200 && by > level {
						continue // exceeds the spare memory that may be kept
					}
					e := New(engine.Config[int]{
						Limit: 1 << 30, Elastic: true, Shrink: shrink,
						SingleSender: single&1 != 0, SingleReceiver: single&2 != 0,
					})
					oscillate := func() {
						for range by {
							_ = e.TrySend(1)
						}
						for range by {
							_, _ = e.TryRecv()
						}
					}
					for range level {
						_ = e.TrySend(1)
					}
					for range 1000/by + 10 { // through a few segments
						oscillate()
					}
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					for range oscillations {
						oscillate()
					}
					runtime.ReadMemStats(&after)
					if n := after.Mallocs - before.Mallocs; n > oscillations/20 {
						t.Errorf("shrink mode %d, single %d: %d oscillations of %d above %d allocate %d times", shrink, single, oscillations, by, level, n)
					}
				}
			}
		}
	}
}

// TestShrinkLater: if the send lock is taken while the last value is received, the
// large segment is freed at the next poll of a receiver.
func TestShrinkLater(t *testing.T) {
	e := New(engine.Config[int]{Limit: 1 << 30, Elastic: true})
	for range 100_000 {
		_ = e.TrySend(1)
	}
	for range 99_999 {
		_, _ = e.TryRecv()
	}
	word := e.send.lock() // as Stats does
	_, _ = e.TryRecv()
	e.send.unlock(word)
	_, _ = e.TryRecv()
	if held := e.Stats().Bytes; held > 4096 {
		t.Errorf("%d bytes held after the drain", held)
	}
}

// TestNotAloneBesideStarving: while a receiver starves, no other one waits alone, so that none
// is served before it.
func TestNotAloneBesideStarving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New(engine.Config[int]{Limit: 20})
		neverTries(e)
		var starves call
		starves.wait.Join(e.receivers, nil)
		for range maxLosses { // is woken, finds nothing, and rejoins
			_ = e.TrySend(1)
			_, _ = e.TryRecv()
			starves.wait.Step()
			if _, err := e.take(e.recv.lock(), make([]int, 1), nil, &starves); err != engine.ErrEmpty || !starves.wait.Woken() {
				t.Fatal(err)
			}
			starves.wait.Step()
		}
		if e.recv.word.Load()&starving == 0 {
			t.Fatal("the receiver does not starve")
		}
		other := recvLater(context.Background(), e)
		starved := new(received)
		go func() {
			starved.v, starved.err = e.recvOne(context.Background(), &starves, false)
		}()
		synctest.Wait()
		_ = e.TrySend(2)
		if synctest.Wait(); starved.v != 2 || other.v != 0 {
			t.Errorf("a value was sent: the starving receiver has %d, the other one %d", starved.v, other.v)
		}
		_ = e.TrySend(3)
		if synctest.Wait(); other.v != 3 || e.receivers.HandOffs() != 0 {
			t.Errorf("two values were sent: the other receiver has %d; %d were handed off", other.v, e.receivers.HandOffs())
		}
	})
}
