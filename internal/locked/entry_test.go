package locked

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/selection"
)

// A selectCall is a minimal Select over entries of one engine: two receives, and a
// send of call.v if that is not 0.
type selectCall struct {
	call
	received int
	recvErr  error
	sel      selection.State
}

// errOther is the error of an operation that was not selected.
var errOther = context.DeadlineExceeded

func startSelect(e *Engine[int], v int) *selectCall {
	s := &selectCall{recvErr: errOther}
	sent := v
	entries := []*entry[int]{e.NewEntry(&s.received, false).(*entry[int]), e.NewEntry(&s.received, false).(*entry[int])}
	if v != 0 {
		entries = append(entries, e.NewEntry(&sent, true).(*entry[int]))
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.v, s.err, s.cancel = v, errOther, cancel
	go func() {
		i, err := s.run(ctx, e, entries)
		for _, p := range entries {
			p.Leave()
		}
		if i >= 0 {
			entries[i].Finish()
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

// run returns the index of the entry that proceeded, or -1 if ctx was canceled.
func (s *selectCall) run(ctx context.Context, e *Engine[int], entries []*entry[int]) (int, error) {
	for i, p := range entries {
		p.Prepare()
		if p.sends && e.config.Overflow != engine.Block {
			err := e.TrySend(*p.value)
			return i, err
		}
	}
	for {
		s.sel.BeginPoll()
		entries[0].Lock()
		able := -1
		for i, p := range entries {
			if p.CanProceed() {
				able = i
			}
		}
		if able >= 0 {
			done, err := entries[able].Proceed()
			if done {
				return able, err
			}
			if err == engine.ErrHook {
				for _, p := range entries {
					p.Leave()
				}
				entries[able].Finish()
			}
			continue
		}
		s.sel.AcceptClaims()
		for i, p := range entries {
			p.Join(&s.sel, i)
		}
		entries[0].Unlock()
		runtime.Gosched()
		if s.sel.PrepareToPark() {
			if woken, _ := s.sel.Park(ctx.Done(), s.sel.Since().Begin()); !woken {
				return -1, nil
			}
		}
		if done, err := entries[s.sel.Selected()].Result(); done {
			return s.sel.Selected(), err
		}
	}
}

// wait makes a Select wait with one entry, whose poll has found nothing.
func wait(c *selection.State, p *entry[int]) {
	c.BeginPoll()
	p.Lock()
	c.AcceptClaims()
	p.Join(c, 0)
	p.Unlock()
}

// TestEntryIsSkipped: a Select that is awake in its turn is skipped, polls by
// itself, and otherwise keeps its position.
func TestEntryIsSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New(engine.Config[int]{})
		var c selection.State
		var got int
		p := e.NewEntry(&got, false).(*entry[int])
		join := func() {
			c.BeginPoll()
			e.lock.Lock()
			if p.CanProceed() {
				t.Error("CanProceed is true without a partner")
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
		if err := e.TrySend(1); err != nil { // to the receiver behind it
			t.Error(err)
		}
		if synctest.Wait(); !later.done || later.v != 1 {
			t.Errorf("the later receiver got %d", later.v)
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
			t.Errorf("%v, the later receiver has returned: %v", err, later.done)
		}
		if done, err := p.Result(); !done || err != nil || got != 3 {
			t.Errorf("served: %v, %v, %d", done, err, got)
		}
		if p.Leave(); p.waiter.Value.value != 0 || p.waiter.Select != nil || p.joined {
			t.Errorf("after it: %+v", &p.waiter)
		}
		_ = e.TrySend(4)
		if synctest.Wait(); later.v != 4 {
			t.Errorf("the later receiver got %d", later.v)
		}
	})
}

// TestLeaveAdmitsNext: when a Select leaves whose value did not fit, the senders
// behind it proceed.
func TestLeaveAdmitsNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New(engine.Config[int]{Limit: 9, Elastic: true, MaxBytes: 9, Size: func(v int) int { return v }})
		_ = e.TrySend(5)
		large := startSelect(e, 0) // receives the queued value
		synctest.Wait()
		if large.received != 5 {
			t.Fatalf("received %d", large.received)
		}
		_ = e.TrySend(5)
		var c selection.State
		v := 6
		p := e.NewEntry(&v, true).(*entry[int])
		p.Prepare()
		wait(&c, p)
		small := startSend(e, 1)
		if synctest.Wait(); small.done {
			t.Error("a sender barged in front of the Select")
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

// TestSkippedEntryFindsRoom: a Select that was skipped while there was room for its
// value finds it, although a larger value waits by now.
func TestSkippedEntryFindsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New(engine.Config[int]{Limit: 9, Elastic: true, MaxBytes: 9, Size: func(v int) int { return v }})
		_ = e.TrySend(5)
		_ = e.TrySend(4)
		var c selection.State
		v := 3
		p := e.NewEntry(&v, true).(*entry[int])
		p.Prepare()
		wait(&c, p)
		large := startSend(e, 9)
		synctest.Wait()
		c.BeginPoll() // awake
		if v, err := e.TryRecv(); v != 5 || err != nil {
			t.Errorf("%d, %v", v, err)
		}
		e.lock.Lock()
		if !p.CanProceed() {
			t.Error("CanProceed is false, although there is room")
		}
		if done, err := p.Proceed(); !done || err != nil || e.Len() != 2 {
			t.Errorf("%v, %v, Len %d", done, err, e.Len())
		}
		p.Leave()
		_, _ = e.TryRecv()
		_, _ = e.TryRecv()
		if synctest.Wait(); !large.done || e.Len() != 1 {
			t.Errorf("the larger value was sent: %v, Len %d", large.done, e.Len())
		}
	})
}

// TestClaimedPartner: a partner that another queue has claimed is skipped, both by
// a poll and by a Proceed after a poll that has seen it.
func TestClaimedPartner(t *testing.T) {
	e := New(engine.Config[int]{})
	var receiver, sender selection.State
	var got int
	v := 1
	in, out := e.NewEntry(&got, false).(*entry[int]), e.NewEntry(&v, true).(*entry[int])
	for _, seen := range []bool{true, false} {
		receiver.BeginPoll()
		sender.BeginPoll()
		in.Lock()
		receiver.AcceptClaims()
		in.Join(&receiver, 0)
		if !out.CanProceed() {
			t.Error("CanProceed does not see the partner")
		}
		receiver.Claim(7)
		if !seen && out.CanProceed() {
			t.Error("CanProceed sees a partner that cannot be claimed")
		}
		if done, err := out.Proceed(); done || err != nil {
			t.Errorf("Proceed: %v, %v", done, err)
		}
		if e.Len() != 0 || e.receivers.Len() != 0 {
			t.Errorf("%d queued, %d receivers", e.Len(), e.receivers.Len())
		}
		in.Leave()
	}
}

// claimable returns the waiters that can be claimed.
func (l *queue[T]) claimable() (ws []*waiter[T]) {
	for w := l.First(); w != nil; w = w.Next() {
		if w.Select == nil || w.Select.Claimable() {
			ws = append(ws, w)
		}
	}
	return ws
}

// unpaired reports whether a sender and a receiver wait that do not belong to one
// Select.
func unpaired[T any](senders, receivers []*waiter[T]) bool {
	for _, s := range senders {
		for _, r := range receivers {
			if s.Select == nil || s.Select != r.Select {
				return true
			}
		}
	}
	return false
}

// TestFailedProceed: a Proceed that fails does not change the value of its case.
func TestFailedProceed(t *testing.T) {
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
		t.Fatal("CanProceed is false")
	}
	c.Claim(1) // another queue claims the other Select
	done, err := mine.Proceed()
	if done || v != 5 {
		t.Errorf("%v, %v: Value %d, want 5", done, err, v)
	}
}

// TestWouldBlock: the result takes waiters into account, and the mark is the same as long as
// the operation has been impossible.
func TestWouldBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		e := New(engine.Config[int]{})
		none, blocked := e.WouldBlock(nil)
		if again, _ := e.WouldBlock(nil); again != none || !blocked {
			t.Error("nothing has happened: another mark")
		}
		go func() { _ = e.Send(ctx, 1) }()
		if synctest.Wait(); e.blocked(nil) || !e.blocked(new(int)) {
			t.Error("a sender waits: only a receive can proceed")
		}
		cancel()
		synctest.Wait()
		if again, blocked := e.WouldBlock(nil); again == none || !blocked {
			t.Error("a sender has come and gone: the same mark")
		}
		none, _ = e.WouldBlock(new(int))
		receiver := startSelect(e, 0)
		if synctest.Wait(); !e.blocked(nil) || e.blocked(new(int)) {
			t.Error("a Select waits for a value: only a send can proceed")
		}
		receiver.cancel()
		synctest.Wait()
		if again, blocked := e.WouldBlock(new(int)); again == none || !blocked {
			t.Error("a receiver has come and gone: the same mark")
		}
	})
	sized := New(engine.Config[int]{Limit: 4, MaxBytes: 3, Elastic: true, Size: func(v int) int { return v }})
	_ = sized.TrySend(2)
	for size, want := range map[int]bool{0: false, 1: false, 2: true, 3: true, 4: false} {
		if sized.blocked(&size) != want {
			t.Errorf("a value of %d bytes where 1 is free: blocked %v", size, !want)
		}
	}
	if sized.Close(); sized.blocked(new(int)) || !New(engine.Config[int]{Limit: 4}).blocked(nil) {
		t.Error("a send to a closed channel would block, or a receive from an empty one would not")
	}
}

func (e *Engine[T]) blocked(v *T) bool {
	_, blocked := e.WouldBlock(v)
	return blocked
}

// TestServedByTime: a value becomes due while a Select joins. It may have been in the queue before,
// and joins with each of its entries, some of them twice.
func TestServedByTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timed := NewTimed(engine.Config[int]{Limit: 1}, nil)
		d := timed.Engine
		var c selection.State
		var got [2]int
		first, second := d.newEntry(&got[0], false), d.newEntry(&got[1], false)
		_, _ = timed.SendAfter(t.Context(), time.Second, 7)
		c.BeginPoll()
		d.acquire()
		if first.CanProceed() || second.CanProceed() {
			t.Error("a value is due too soon")
		}
		c.AcceptClaims()
		first.Join(&c, 0)
		d.timer.of.Reset(time.Minute) // it is late
		time.Sleep(time.Second)
		second.Join(&c, 1)
		first.Join(&c, 0)
		d.unlock()
		if done, err := first.Result(); !done || err != nil || got[0] != 7 {
			t.Errorf("done %v, %v, received %d", done, err, got[0])
		}
		first.Leave()
		second.Leave()
		if first.waiter.Value.outcome != left || d.takers != 0 || d.timer.at != never {
			t.Errorf("outcome %d, %d receivers wait, the timer is set for %d", first.waiter.Value.outcome, d.takers, d.timer.at)
		}
	})
}

// TestLeaveSkippedAdmitsNext: the same if the Select was skipped by a look that did not find room
// for its own value.
func TestLeaveSkippedAdmitsNext(t *testing.T) {
	one := 1
	for name, look := range map[string]func(e *Engine[int]){
		"TrySend":    func(e *Engine[int]) { _ = e.TrySend(one) },
		"WouldBlock": func(e *Engine[int]) { e.WouldBlock(&one) },
	} {
		synctest.Test(t, func(t *testing.T) {
			e := New(engine.Config[int]{Limit: 9, Elastic: true, MaxBytes: 9, Size: func(v int) int { return v }})
			_ = e.TrySend(5)
			var c selection.State
			v := 6
			p := e.newEntry(&v, true)
			p.Prepare()
			wait(&c, p)
			small := startSend(e, 3)
			synctest.Wait()
			c.Claim(1) // another case was selected
			if look(e); small.done || e.senders.Len() != 1 {
				t.Errorf("%s: done %v, %d senders", name, small.done, e.senders.Len())
			}
			p.Leave()
			if synctest.Wait(); !small.done || small.err != nil || e.Len() != 2 {
				t.Errorf("%s: done %v, %v, Len %d", name, small.done, small.err, e.Len())
			}
			e.Close()
		})
	}
}

// TestSkippedEntryTakesRoomOfOld: a Select that was skipped gets the room of a value that is too old
// before the senders behind it.
func TestSkippedEntryTakesRoomOfOld(t *testing.T) {
	for _, hook := range []func(int){nil, func(int) {}} {
		synctest.Test(t, func(t *testing.T) {
			e := NewAged(engine.Config[int]{Limit: 1}, Ages[int]{MaxAge: time.Second, OnExpire: hook})
			_ = e.TrySend(1)
			var c selection.State
			v := 2
			p := e.newEntry(&v, true)
			wait(&c, p)
			behind := startSend(e, 3)
			synctest.Wait()
			c.BeginPoll() // awake
			e.acquire()
			_ = e.noSender()              // a look skips it
			e.timer.of.Reset(time.Minute) // it is late
			e.unlock()
			time.Sleep(2 * time.Second)
			p.Lock()
			if !p.CanProceed() {
				t.Error("CanProceed is false, although the value is too old")
			}
			done, err := p.Proceed()
			p.Leave()
			p.Finish()
			if synctest.Wait(); !done || err != nil || behind.done {
				t.Errorf("the Select: %v, %v; the sender behind it: %v", done, err, behind.done)
			}
			e.Close()
		})
	}
}
