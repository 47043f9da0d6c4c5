package locked

import (
	"context"
	"reflect"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/sluice-go/sluice/internal/engine"
)

// TestSize: an Engine fits into eight cache lines. The runtime has a size for that, so each begins
// with one.
func TestSize(t *testing.T) {
	const most = 8 * 64
	if size := unsafe.Sizeof(Engine[string]{}); size > most {
		t.Errorf("an engine of %d bytes, want at most %d", size, most)
	}
}

// settled waits until every goroutine is parked or gone, and checks the invariants.
func settled(t *testing.T, e *Engine[int]) {
	t.Helper()
	synctest.Wait()
	if err := check(e, true); err != nil {
		t.Fatal(err)
	}
}

// expectWaiting asserts the number of waiting senders and receivers.
func expectWaiting(t *testing.T, e *Engine[int], senders, receivers int) {
	t.Helper()
	settled(t, e)
	if s := e.Stats(); s.SendersWaiting != senders || s.ReceiversWaiting != receivers {
		t.Fatalf("%d senders and %d receivers wait, want %d and %d", s.SendersWaiting, s.ReceiversWaiting, senders, receivers)
	}
}

// unused returns the number of waiters that are kept for another wait.
func unused(e *Engine[int]) uint64 {
	return reflect.ValueOf(&e.receivers.List).Elem().FieldByName("frees").Uint()
}

// TestFirstComeFirstServed parks five goroutines on one side, cancels some of them,
// in either order, and serves the others, in FIFO order.
func TestFirstComeFirstServed(t *testing.T) {
	const n = 5
	for leaving := range 1 << n {
		for _, backwards := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				receivers := New(engine.Config[int]{})
				senders := New(engine.Config[int]{})
				var recvs, sends [n]*call
				for i := range n {
					recvs[i] = startRecv(receivers)
					sends[i] = startSend(senders, i+1)
					synctest.Wait()
				}
				stay := n
				for i := range n {
					if backwards {
						i = n - 1 - i
					}
					if leaving>>i&1 == 0 {
						continue
					}
					stay--
					recvs[i].cancel()
					sends[i].cancel()
					expectWaiting(t, receivers, 0, stay)
					expectWaiting(t, senders, stay, 0)
					if !recvs[i].done || recvs[i].err != context.Canceled || sends[i].err != context.Canceled {
						t.Fatalf("canceled: %+v, %+v", recvs[i], sends[i])
					}
				}
				for i := range n {
					if leaving>>i&1 != 0 {
						continue
					}
					if err := receivers.TrySend(10 + i); err != nil {
						t.Fatalf("TrySend to a waiting receiver: %v", err)
					}
					settled(t, receivers)
					if !recvs[i].done || recvs[i].err != nil || recvs[i].v != 10+i {
						t.Fatalf("leaving %05b: receiver %d was not the next: %+v", leaving, i, recvs[i])
					}
					if v, err := senders.TryRecv(); v != i+1 || err != nil {
						t.Fatalf("leaving %05b: received %d, %v, want %d", leaving, v, err, i+1)
					}
					settled(t, senders)
				}
				expectWaiting(t, receivers, 0, 0)
				expectWaiting(t, senders, 0, 0)
			})
		}
	}
}

// TestWaiterIsReused: the one waiter of an engine is reused for each wait, in
// whatever way the wait before it ended.
func TestWaiterIsReused(t *testing.T) {
	type ending struct {
		name string
		run  func(t *testing.T, e *Engine[int])
	}
	endings := []ending{
		{"a receiver served", func(t *testing.T, e *Engine[int]) {
			r := startRecv(e)
			synctest.Wait()
			if err := e.TrySend(7); err != nil {
				t.Fatal(err)
			}
			if synctest.Wait(); r.v != 7 || r.err != nil {
				t.Fatalf("served with 7: %+v", r)
			}
		}},
		{"a receiver canceled", func(t *testing.T, e *Engine[int]) {
			r := startRecv(e)
			synctest.Wait()
			r.cancel()
			if synctest.Wait(); !r.done || r.v != 0 || r.err != context.Canceled {
				t.Fatalf("canceled: %+v", r)
			}
		}},
		{"a sender served", func(t *testing.T, e *Engine[int]) {
			s := startSend(e, 8)
			synctest.Wait()
			if v, err := e.TryRecv(); v != 8 || err != nil {
				t.Fatal(v, err)
			}
			if synctest.Wait(); !s.done || s.err != nil {
				t.Fatalf("served: %+v", s)
			}
		}},
		{"a sender canceled", func(t *testing.T, e *Engine[int]) {
			s := startSend(e, 9)
			synctest.Wait()
			s.cancel()
			if synctest.Wait(); !s.done || s.err != context.Canceled {
				t.Fatalf("canceled: %+v", s)
			}
		}},
		{"a receiver served and canceled", func(t *testing.T, e *Engine[int]) {
			r := startRecv(e)
			synctest.Wait()
			e.lock.Lock() // it can run only afterwards
			r.cancel()
			e.handOff(e.receivers.pop(), 7)
			e.unlock()
			if synctest.Wait(); r.v != 7 || r.err != nil {
				t.Fatalf("served with 7, and canceled: %+v", r)
			}
		}},
	}
	for _, before := range endings {
		for _, after := range endings {
			t.Run(before.name+", then "+after.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					e := New(engine.Config[int]{})
					for range 8 { // with both a token and a canceled context the runtime chooses at random
						before.run(t, e)
						settled(t, e)
						after.run(t, e)
						settled(t, e)
					}
					if unused(e) != 1 {
						t.Fatalf("%d waiters were allocated, want one", unused(e))
					}
				})
			})
		}
	}
}

// TestClose: Close serves all waiters of either side.
func TestClose(t *testing.T) {
	for name, config := range variants() {
		if config.Overflow != engine.Block {
			continue
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, start := range []func(e *Engine[int]) *call{
					startRecv,
					func(e *Engine[int]) *call { return startSend(e, 4) },
				} {
					e := config.new()
					var calls []*call
					for range 10 {
						calls = append(calls, start(e))
					}
					settled(t, e)
					e.Close()
					settled(t, e)
					closed := 0
					for _, c := range calls {
						if c.done && c.err == engine.ErrClosed {
							closed++
						}
					}
					if closed != len(calls)-e.Len() { // some senders found room
						t.Fatalf("%d of %d calls end with ErrClosed, %d values are queued", closed, len(calls), e.Len())
					}
				}
			})
		})
	}
}

// TestLargeValueKeepsItsPosition: smaller values do not barge in front of a value
// that does not fit yet. They wait behind it until it is queued or canceled.
func TestLargeValueKeepsItsPosition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New(engine.Config[int]{Limit: 5, Elastic: true, MaxBytes: 10, Size: func(v int) int { return v }})
		crowd := func() (large *call) {
			_ = e.TrySend(8)
			large = startSend(e, 9)
			settled(t, e)
			for range 4 {
				startSend(e, 1)
			}
			expectWaiting(t, e, 5, 0)
			if err := e.TrySend(1); err != engine.ErrFull {
				t.Fatalf("TrySend in front of a large value that waits: %v", err)
			}
			return large
		}
		receive := func(values ...int) {
			for _, want := range values {
				if v, err := e.TryRecv(); v != want || err != nil {
					t.Fatalf("TryRecv: %d, %v, want %d", v, err, want)
				}
			}
		}
		crowd()
		receive(8) // makes room for the large value and a small one
		expectWaiting(t, e, 3, 0)
		receive(9) // makes room for all others
		expectWaiting(t, e, 0, 0)
		receive(1, 1, 1, 1)

		crowd().cancel()
		if expectWaiting(t, e, 2, 0); e.store.(*sized[int]).bytes != 10 {
			t.Fatalf("%+v after a large value was canceled, want 10 bytes", e.store)
		}
		receive(8, 1, 1, 1, 1)
		expectWaiting(t, e, 0, 0)
	})
}

// TestDropAllocs: drops do not allocate.
func TestDropAllocs(t *testing.T) {
	const boxed = 1 << 20 // an interface with this int has memory
	for _, policy := range []engine.Overflow{engine.DropNewest, engine.DropOldest} {
		e := New(engine.Config[int]{Limit: 2, Overflow: policy, OnDrop: func(int) {}})
		op := func() { _ = e.Send(context.Background(), boxed) }
		for range 3 {
			op()
		}
		if n := testing.AllocsPerRun(100, op); n > 0 {
			t.Errorf("policy %d: a drop allocates %v times", policy, n)
		}
	}
}

// A lateLook is a schedule one of whose looks at the clock comes late.
type lateLook struct {
	*schedule[int]
	left int // looks before it
}

func (s *lateLook) able() bool {
	if s.left--; s.left == 0 {
		time.Sleep(time.Second)
	}
	return s.schedule.able()
}

// TestDueMeanwhile: a value that becomes due while the lock is held is received, and is not left to
// a timer that is stopped because the value is due.
func TestDueMeanwhile(t *testing.T) {
	for looks := range 6 {
		synctest.Test(t, func(t *testing.T) {
			timed := NewTimed(engine.Config[int]{Limit: 1}, nil)
			d := timed.Engine
			_ = d.Ready()
			_, _ = timed.SendAfter(t.Context(), time.Second, 7)
			d.timer.of.Reset(time.Minute) // it is late
			d.store = &lateLook{timed.schedule, looks + 1}
			r := startRecv(d)
			time.Sleep(time.Hour)
			if synctest.Wait(); !r.done || r.v != 7 || r.err != nil {
				t.Errorf("late at look %d: done %v, %d, %v", looks, r.done, r.v, r.err)
			}
			d.Close()
			timed.CancelAll()
		})
	}
}

// TestTicketOfFailed: a send that waited and has failed has no ticket, which could be that of another
// value.
func TestTicketOfFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timed := NewTimed(engine.Config[int]{Limit: 1}, nil)
		d := timed.Engine
		_, _ = timed.SendAfter(t.Context(), time.Minute, 7)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if ticket, err := timed.SendAfter(ctx, time.Minute, 8); err != context.DeadlineExceeded || ticket != (Ticket{}) {
			t.Errorf("canceled: %v, %v", ticket, err)
		}
		time.AfterFunc(time.Second, d.Close)
		if ticket, err := timed.SendAfter(t.Context(), time.Minute, 8); err != engine.ErrClosed || ticket != (Ticket{}) {
			t.Errorf("closed: %v, %v", ticket, err)
		}
	})
}

// TestDueInTurn: a receive that comes between the time at which a value is due and the timer does not
// overtake the receiver that waits.
func TestDueInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timed := NewTimed(engine.Config[int]{Limit: 2}, nil)
		d := timed.Engine
		_, _ = timed.SendAfter(t.Context(), time.Second, 7)
		_, _ = timed.SendAfter(t.Context(), time.Second, 8)
		r := startRecv(d)
		synctest.Wait()
		d.timer.of.Reset(time.Minute) // it is late
		time.Sleep(time.Second)
		if v, err := d.TryRecv(); v != 8 || err != nil {
			t.Errorf("received %d, %v", v, err)
		}
		if synctest.Wait(); !r.done || r.v != 7 {
			t.Errorf("the receiver that waits: done %v, %d", r.done, r.v)
		}
	})
}
