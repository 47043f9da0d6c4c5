package handoff

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/selection"
)

// A selecting is a Select over places of one engine, as short as it can be: to
// send call.v if that is not 0, and to receive, twice.
type selecting struct {
	call
	received int
	recvErr  error
	choice   selection.State
}

// errElse is the error of what a Select has not done.
var errElse = context.DeadlineExceeded

func startSelect(e *Engine[int], v int) *selecting {
	s := &selecting{recvErr: errElse}
	sent := v
	places := []*place[int]{e.NewEntry(&s.received, false).(*place[int]), e.NewEntry(&s.received, false).(*place[int])}
	if v != 0 {
		places = append(places, e.NewEntry(&sent, true).(*place[int]))
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.v, s.err, s.cancel = v, errElse, cancel
	go func() {
		i, err := s.run(ctx, e, places)
		for _, p := range places {
			p.Leave()
		}
		if i == 2 {
			s.err = err
		} else if i >= 0 {
			s.recvErr = err
		}
		s.done = true
	}()
	return s
}

// run returns the number of the place that proceeded, -1 if ctx ended it.
func (s *selecting) run(ctx context.Context, e *Engine[int], places []*place[int]) (int, error) {
	for i, p := range places {
		p.Prepare()
		if p.sends && e.config.Overflow != engine.Block {
			err := e.TrySend(*p.value)
			return i, err
		}
	}
	for {
		s.choice.BeginPoll()
		e.lock.Lock()
		able := -1
		for i, p := range places {
			if p.CanProceed() {
				able = i
			}
		}
		if able >= 0 {
			if done, err := places[able].Proceed(); done {
				return able, err
			}
			continue
		}
		s.choice.AcceptClaims()
		for i, p := range places {
			p.Join(&s.choice, i)
		}
		e.lock.Unlock()
		runtime.Gosched()
		if s.choice.PrepareToPark() {
			if woken, _ := s.choice.Park(ctx.Done()); !woken {
				return -1, nil
			}
		}
		if done, err := places[s.choice.Selected()].Result(); done {
			return s.choice.Selected(), err
		}
	}
}

// TestPlaceIsPassedOver: a Select that is awake when its turn comes is passed
// over, finds what there is itself, and otherwise has its turn again.
func TestPlaceIsPassedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New(engine.Config[int]{})
		var c selection.State
		var got int
		p := e.NewEntry(&got, false).(*place[int])
		join := func() {
			c.BeginPoll()
			e.lock.Lock()
			if p.CanProceed() {
				t.Error("able, with nobody there")
			}
			c.AcceptClaims()
			p.Join(&c, 0)
			e.lock.Unlock()
		}
		join()
		c.BeginPoll() // awake
		later := startRecv(e)
		synctest.Wait()
		join()
		c.BeginPoll()
		if err := e.TrySend(1); err != nil { // to the one behind
			t.Error(err)
		}
		if synctest.Wait(); !later.done || later.v != 1 {
			t.Errorf("the later one received %d", later.v)
		}
		sender := startSend(e, 2)
		_ = startRecv(e) // takes it
		synctest.Wait()
		later = startRecv(e)
		synctest.Wait()
		join() // at the front
		if err := check(e, false); err != nil {
			t.Error(err)
		}
		if err := e.TrySend(3); err != nil || later.done || !sender.done {
			t.Errorf("%v, the later one is done: %v", err, later.done)
		}
		if done, err := p.Result(); !done || err != nil || got != 3 {
			t.Errorf("served: %v, %v, %d", done, err, got)
		}
		if p.Leave(); p.waiter.value != 0 || p.waiter.choice != nil || p.joined {
			t.Errorf("after it: %+v", &p.waiter)
		}
		_ = e.TrySend(4)
		if synctest.Wait(); later.v != 4 {
			t.Errorf("the later one received %d", later.v)
		}
	})
}

// TestPlaceLeavesRoom: when a Select leaves that stood before others, those
// proceed who had no place because of it.
func TestPlaceLeavesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New(engine.Config[int]{Limit: 9, Elastic: true, LimitBytes: 9, Size: func(v int) int { return v }})
		_ = e.TrySend(5)
		large := startSelect(e, 0) // only to see that it takes what is there
		synctest.Wait()
		if large.received != 5 {
			t.Fatalf("received %d", large.received)
		}
		_ = e.TrySend(5)
		var c selection.State
		v := 6
		p := e.NewEntry(&v, true).(*place[int])
		p.Prepare()
		c.BeginPoll()
		e.lock.Lock()
		c.AcceptClaims()
		p.Join(&c, 0)
		e.lock.Unlock()
		small := startSend(e, 1)
		if synctest.Wait(); small.done {
			t.Error("it overtook the one before it")
		}
		p.Leave()
		if synctest.Wait(); !small.done || small.err != nil || e.Len() != 2 {
			t.Errorf("done %v, %v, Len %d", small.done, small.err, e.Len())
		}
		if err := check(e, true); err != nil {
			t.Error(err)
		}
	})
}

// TestPlaceReturnsToRoom: a Select that was passed over when there was room for
// its value finds it, though another waits by now whose value is larger.
func TestPlaceReturnsToRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New(engine.Config[int]{Limit: 9, Elastic: true, LimitBytes: 9, Size: func(v int) int { return v }})
		_ = e.TrySend(5)
		_ = e.TrySend(4)
		var c selection.State
		v := 3
		p := e.NewEntry(&v, true).(*place[int])
		p.Prepare()
		c.BeginPoll()
		e.lock.Lock()
		c.AcceptClaims()
		p.Join(&c, 0)
		e.lock.Unlock()
		large := startSend(e, 9)
		synctest.Wait()
		c.BeginPoll() // awake
		if v, err := e.TryRecv(); v != 5 || err != nil {
			t.Errorf("%d, %v", v, err)
		}
		e.lock.Lock()
		if !p.CanProceed() {
			t.Error("there is room for it")
		}
		if done, err := p.Proceed(); !done || err != nil || e.Len() != 2 {
			t.Errorf("%v, %v, Len %d", done, err, e.Len())
		}
		p.Leave()
		_, _ = e.TryRecv()
		_, _ = e.TryRecv()
		if synctest.Wait(); !large.done || e.Len() != 1 {
			t.Errorf("the larger one is done: %v, Len %d", large.done, e.Len())
		}
	})
}

// TestPlacesThatCannotMeet: a partner that has been chosen elsewhere is none: not
// to one who looks, and not to one who had seen it just before.
func TestPlacesThatCannotMeet(t *testing.T) {
	e := New(engine.Config[int]{})
	var receiver, sender selection.State
	var got int
	v := 1
	in, out := e.NewEntry(&got, false).(*place[int]), e.NewEntry(&v, true).(*place[int])
	for _, seen := range []bool{true, false} {
		receiver.BeginPoll()
		sender.BeginPoll()
		in.Lock()
		receiver.AcceptClaims()
		in.Join(&receiver, 0)
		if !out.CanProceed() {
			t.Error("it does not see its partner")
		}
		receiver.Claim(7)
		if !seen && out.CanProceed() {
			t.Error("it sees a partner that is none")
		}
		if done, err := out.Proceed(); done || err != nil {
			t.Errorf("Proceed: %v, %v", done, err)
		}
		if e.Len() != 0 || e.receivers.n != 0 {
			t.Errorf("%d queued, %d receivers", e.Len(), e.receivers.n)
		}
		in.Leave()
	}
}

// servable returns the waiters but those of Selects that are awake, or have been
// chosen: they must take themselves out.
func (l *line[T]) servable() (ws []*waiter[T]) {
	for w := l.first; w != nil; w = w.next {
		if w.choice == nil || w.choice.Claimable() {
			ws = append(ws, w)
		}
	}
	return ws
}

// strangers reports whether a sender and a receiver wait that are not one Select.
func strangers[T any](senders, receivers []*waiter[T]) bool {
	for _, s := range senders {
		for _, r := range receivers {
			if s.choice == nil || s.choice != r.choice {
				return true
			}
		}
	}
	return false
}

// A Proceed in vain must leave the Value of its case alone.
func TestPlaceProceedsInVain(t *testing.T) {
	e := New(engine.Config[int]{})
	v, out := 5, 7
	mine := e.NewEntry(&v, false).(engine.HandoffEntry)
	theirs := e.NewEntry(&out, true).(engine.HandoffEntry)
	var c selection.State
	c.BeginPoll()
	theirs.Lock()
	c.AcceptClaims()
	theirs.Join(&c, 0)
	theirs.Unlock()

	mine.Lock()
	if !mine.CanProceed() {
		t.Fatal("not able")
	}
	c.Claim(1) // the other Select is served elsewhere
	done, err := mine.Proceed()
	if done || v != 5 {
		t.Errorf("%v, %v: Value %d, want 5", done, err, v)
	}
}
