package segqueue

import (
	"context"
	"runtime"
	"testing"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/waitq"
)

// A stepper is a SendBatch that goes one step at a time: the loop of sendSlow,
// with the schedule in the hands of a test.
type stepper struct {
	e    *Engine[int]
	vs   []int
	n    int
	turn turn
}

// look is one look under the lock; it reports whether all has been sent.
func (s *stepper) look() bool {
	side := &s.e.send
	word := side.lock()
	if side.collect(&s.turn) {
		s.n++
	}
	if side.strict && s.e.standsBack(word, &s.turn) {
		return false
	}
	if s.n += s.e.put(word, s.vs[s.n:], &s.turn); s.n < len(s.vs) {
		return false
	}
	if s.turn.stay.Leave() && s.e.Len() < int(s.e.limit) {
		s.e.senders.Wake()
	}
	return true
}

// wait is one step on the way to sleep. It blocks only if nobody has woken the
// stepper.
func (s *stepper) wait() {
	s.e.send.wait(context.Background(), &s.turn, &s.e.recv, s.e.senders, s.e.receivers, s.e.pause)
}

// join takes the steps until s is in the line, and looks from there.
func (s *stepper) join() {
	for !s.turn.stay.Joined() {
		s.look()
		s.wait()
	}
	s.look()
}

// TestBatchThatHadItsTurn: the wake-up that a batch missed, because it looked by
// itself and sent a part, is not a loss that makes it starve; and it does not
// starve from the end of the line.
func TestBatchThatHadItsTurn(t *testing.T) {
	e := New(engine.Config[int]{Limit: 4})
	got := map[int]int{}
	recv := func() {
		v, err := e.TryRecv()
		if err != nil {
			t.Fatal(err)
		}
		got[v]++
	}
	overtake := func() {
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
		overtake()
		batch.wait() // wakes up
		batch.look() // in vain
		batch.wait() // rejoins
		if batch.look() {
			t.Fatal("a batch of three went into no room")
		}
	}
	recv() // makes room, and wakes the batch, which is about to look anyway
	batch.look()
	if batch.n != 1 {
		t.Fatalf("the batch sent %d values into room for 1", batch.n)
	}
	batch.wait()
	batch.look() // the wake-up is in vain: once more than maxLosses
	if batch.turn.starving || e.send.word.Load()&starving != 0 {
		t.Fatal("a batch starves that has just sent a part")
	}
	batch.wait() // goes to the end
	batch.look()
	for range maxLosses {
		overtake()
		single.wait()
		if single.look() {
			t.Fatal("a value went into no room")
		}
		single.wait()
		single.look()
	}
	if !single.turn.starving {
		t.Fatal("a sender does not starve that was overtaken so often")
	}
	recv()
	if err := e.TrySend(0); err != engine.ErrFull { // it sends for the starving one
		t.Fatalf("TrySend into the room of a sender that starves: %v", err)
	}
	for e.Len() > 0 {
		recv()
	}
	if single.wait(); !single.look() {
		t.Fatal("a sender was not served though it starved")
	}
	for batch.n < 3 {
		if batch.turn.stay.Joined() && !batch.turn.stay.Woken() {
			batch.wait()
		}
		batch.look()
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
		t.Errorf("the bits %#x stay", word&flags)
	}
}

// aboutToStarve is how far a call has come that was woken, and starves if that was
// in vain.
func aboutToStarve() turn {
	var line waitq.Queue
	t := turn{losses: maxLosses - 1}
	t.stay.Join(&line, nil)
	line.Wake()
	t.stay.Step()
	return t
}

// TestBatchDoesNotStarveAgain: a batch for which somebody sent one value has had
// its turn, and goes to the end.
func TestBatchDoesNotStarveAgain(t *testing.T) {
	var s side[int]
	starved := aboutToStarve()
	s.unlock(s.lost(&starved, s.lock(), new(int)))
	if !starved.starving {
		t.Fatal("it does not starve")
	}
	s.paid = true
	if !s.collect(&starved) || !starved.stay.Progressed() || starved.losses != 0 {
		t.Errorf("after its operation was done for it: %+v", starved)
	}
}

// TestPlaceAfterAPart: a batch of which a part went before it had to wait keeps
// its place when it is woken in vain.
func TestPlaceAfterAPart(t *testing.T) {
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
	batch.wait()
	batch.look() // in vain
	batch.wait() // rejoins
	batch.look()
	_, _ = e.TryRecv()
	if batch.n != 1 {
		t.Fatalf("the batch sent %d values", batch.n)
	}
	batch.wait() // blocks for ever if another was woken
	if !batch.look() {
		t.Error("the batch was woken, and has no room")
	}
}

// TestSwingsAllocateNothing counts single allocations, over many swings, with
// each combination of promises.
func TestSwingsAllocateNothing(t *testing.T) {
	const swings = 200
	levels := []int{1, 144, 1168, 100, 1000, 5000}
	if testing.Short() {
		levels = levels[:3]
	}
	for single := range 4 {
		for _, shrink := range []engine.Shrink{engine.ShrinkHalf, engine.ShrinkEmpty, engine.NoShrink} {
			for _, level := range levels {
				for _, by := range []int{20, 100, 300} {
					if by > 200 && by > level {
						continue // more than the spare memory that may be kept
					}
					e := New(engine.Config[uint64]{
						Limit: 1 << 30, Elastic: true, Shrink: shrink,
						SingleSender: single&1 != 0, SingleReceiver: single&2 != 0,
					})
					swing := func() {
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
					for range 1000/by + 10 { // through a few rings
						swing()
					}
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					for range swings {
						swing()
					}
					runtime.ReadMemStats(&after)
					if n := after.Mallocs - before.Mallocs; n > swings/20 {
						t.Errorf("mode %d, single %d: %d swings of %d above %d allocate %d times", shrink, single, swings, by, level, n)
					}
				}
			}
		}
	}
}

// TestShedLater: if somebody only looks at the channel while the last value goes,
// its large ring goes at the next look of a receiver.
func TestShedLater(t *testing.T) {
	e := New(engine.Config[uint64]{Limit: 1 << 30, Elastic: true})
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
