package semaphore

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
)

var orders = map[string]*Options{"FIFO": nil, "barging": {Barging: true}}

// each runs test in a bubble, for both orders.
func each(t *testing.T, test func(t *testing.T, o *Options)) {
	for name, o := range orders {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, o) })
		})
	}
}

// check checks what holds while no method runs and no waiter is awake.
func check(t *testing.T, s *Semaphore) {
	t.Helper()
	q, state := &s.queue, s.state.Load()
	var want int64
	if first := q.waiters.First(); first != nil {
		want = waiting
		if free := state >> freeShift; free >= first.Value.n {
			t.Errorf("%d permits are free, and the first waiter wants %d", free, first.Value.n)
		}
	}
	if q.strict() {
		want |= strict
	}
	if bits := state & (waiting | strict); bits != want {
		t.Errorf("bits %b, want %b", bits, want)
	}
	n := 0
	for w := q.waiters.First(); w != nil; w = w.Next() {
		if w.Value.state != queued || w.Parker.Pending() {
			t.Errorf("waiter %d: state %d, token %v", n, w.Value.state, w.Parker.Pending())
		}
		n++
	}
	if n != q.waiters.Len() {
		t.Errorf("%d waiters, counted %d", n, q.waiters.Len())
	}
	var unused []*waiter
	for range 8 { // as many as a test has waiters, or new ones
		w := q.waiters.Get()
		if w.Parker.Pending() {
			t.Error("an unused waiter has a token")
		}
		unused = append(unused, w)
	}
	for _, w := range slices.Backward(unused) {
		q.waiters.Put(w)
	}
}

// expect checks the counters, too.
func expect(t *testing.T, s *Semaphore, taken int64, waiting int) {
	t.Helper()
	synctest.Wait()
	check(t, s)
	if s.Taken() != taken || s.Waiting() != waiting {
		t.Errorf("%d taken, %d wait; want %d, %d", s.Taken(), s.Waiting(), taken, waiting)
	}
}

// acquire acquires n permits in a goroutine.
func acquire(ctx context.Context, s *Semaphore, n int64) (result chan error) {
	result = make(chan error, 1)
	go func() { result <- s.Acquire(ctx, n) }()
	synctest.Wait()
	return result
}

func TestAcquireRelease(t *testing.T) {
	each(t, func(t *testing.T, o *Options) {
		s := New(3, o)
		if err := s.Acquire(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		if s.TryAcquire(2) || !s.TryAcquire(1) || !s.TryAcquire(0) {
			t.Error("TryAcquire takes what is not free, or not what is free")
		}
		expect(t, s, 3, 0)
		a := acquire(t.Context(), s, 2)
		expect(t, s, 3, 1)
		s.Release(1)
		expect(t, s, 2, 1)
		s.Release(1)
		expect(t, s, 3, 0)
		if err := <-a; err != nil {
			t.Error(err)
		}
		s.Release(3)
		expect(t, s, 0, 0)
	})
}

// Without barging, permits are granted in the order of the calls, and a request that does
// not fit holds up those behind it.
func TestFIFO(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(4, nil)
		_ = s.TryAcquire(4)
		three, one := acquire(t.Context(), s, 3), acquire(t.Context(), s, 1)
		two, last := acquire(t.Context(), s, 2), acquire(t.Context(), s, 1)
		s.Release(2)
		expect(t, s, 2, 4) // 3 does not fit, and 1 is behind it
		if s.TryAcquire(1) {
			t.Error("TryAcquire passes a waiter")
		}
		s.Release(1)
		expect(t, s, 4, 3)
		if len(three) != 1 || len(one) != 0 {
			t.Error("not in order")
		}
		s.Release(3)
		expect(t, s, 4, 1)
		if len(one) != 1 || len(two) != 1 || len(last) != 0 {
			t.Error("not in order")
		}
		s.Release(1)
		expect(t, s, 4, 0)
	})
}

func TestCancel(t *testing.T) {
	each(t, func(t *testing.T, o *Options) {
		s := New(4, o)
		_ = s.TryAcquire(3)
		ctx, cancel := context.WithCancel(t.Context())
		large, small := acquire(ctx, s, 4), (chan error)(nil)
		if o == nil {
			small = acquire(t.Context(), s, 1) // behind it
			expect(t, s, 3, 2)
		}
		cancel()
		synctest.Wait()
		if err := <-large; err != context.Canceled {
			t.Error(err)
		}
		taken := int64(3)
		if small != nil {
			taken++ // nothing holds it up any more
			if err := <-small; err != nil {
				t.Error(err)
			}
		}
		expect(t, s, taken, 0)
		// A context that is done matters only to a call that has to wait.
		if err := s.Acquire(ctx, 4-taken); err != nil {
			t.Error(err)
		}
		if err := s.Acquire(ctx, 1); err != context.Canceled {
			t.Error(err)
		}
		expect(t, s, 4, 0)
	})
}

// With barging, running goroutines pass the first waiter, but not forever: neither if they
// are faster when it is awake, nor if it wants more than is ever free at once.
func TestBargingIsBounded(t *testing.T) {
	for name, test := range map[string]struct {
		n     int64
		barge func(*Semaphore) (passed bool)
	}{
		"one permit": {1, func(s *Semaphore) bool {
			s.state.Add(permit) // a Release
			s.queue.lock.Lock()
			var due wakeList
			s.serve(&due)
			s.queue.lock.Unlock()
			defer due.wake() // only now the waiter, which is awake, can run
			return s.TryAcquire(1)
		}},
		"many permits": {8, func(s *Semaphore) bool { s.Release(1); return s.TryAcquire(1) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := test.n
				s := New(8, &Options{Barging: true})
				_ = s.TryAcquire(8)
				waiter := acquire(t.Context(), s, n)
				passed := 0
				for len(waiter) == 0 && passed < 1000 {
					if test.barge(s) {
						passed++
					}
					synctest.Wait()
					check(t, s)
					if n > 1 && s.Taken() < 8 && s.state.Load()&strict != 0 {
						s.Release(s.Taken()) // the others end, one after the other
						synctest.Wait()
					}
				}
				if passed == 0 || passed > maxLosses {
					t.Errorf("%d goroutines passed the waiter, want 1 to %d", passed, maxLosses)
				}
				if err := <-waiter; err != nil {
					t.Error(err)
				}
				expect(t, s, s.Taken(), 0)
				if s.state.Load()&strict != 0 {
					t.Error("still strict")
				}
			})
		})
	}
}

func TestResize(t *testing.T) {
	each(t, func(t *testing.T, o *Options) {
		s := New(4, o)
		_ = s.TryAcquire(4)
		a := acquire(t.Context(), s, 2)
		s.Resize(6)
		expect(t, s, 6, 0)
		if err := <-a; err != nil {
			t.Error(err)
		}
		b, c := acquire(t.Context(), s, 3), acquire(t.Context(), s, 2)
		s.Resize(2)
		expect(t, s, 6, 1)
		if err := <-b; err != sluice.ErrTooLarge {
			t.Errorf("3 of 2 permits: %v", err)
		}
		s.Release(4)
		expect(t, s, 2, 1)
		s.Release(2)
		expect(t, s, 2, 0)
		if err := <-c; err != nil {
			t.Error(err)
		}
		s.Resize(0)
		s.Release(2)
		expect(t, s, 0, 0)
		if s.Cap() != 0 || s.TryAcquire(1) || s.Acquire(t.Context(), 1) != sluice.ErrTooLarge {
			t.Error("a semaphore without permits has one")
		}
	})
}

// Each method of a zero value panics with the name of the constructor.
func TestZeroValue(t *testing.T) {
	for name, call := range map[string]func(s *Semaphore){
		"Acquire":         func(s *Semaphore) { _ = s.Acquire(t.Context(), 1) },
		"Acquire of 0":    func(s *Semaphore) { _ = s.Acquire(t.Context(), 0) },
		"TryAcquire":      func(s *Semaphore) { s.TryAcquire(1) },
		"TryAcquire of 0": func(s *Semaphore) { s.TryAcquire(0) },
		"Release":         func(s *Semaphore) { s.Release(1) },
		"Release of 0":    func(s *Semaphore) { s.Release(0) },
		"Resize":          func(s *Semaphore) { s.Resize(1) },
		"Close":           func(s *Semaphore) { s.Close() },
		"Cap":             func(s *Semaphore) { s.Cap() },
		"Taken":           func(s *Semaphore) { s.Taken() },
		"Waiting":         func(s *Semaphore) { s.Waiting() },
	} {
		func() {
			defer func() {
				if p := recover(); p != "semaphore: Semaphore: a zero value: make a Semaphore with New" {
					t.Errorf("%s: panic %v", name, p)
				}
			}()
			call(new(Semaphore))
		}()
	}
}

func TestInvalid(t *testing.T) {
	var none context.Context
	s := New(2, nil)
	_ = s.TryAcquire(1)
	for want, f := range map[string]func(){
		"semaphore: New: capacity is -1 (want 0 to ":                      func() { New(-1, nil) },
		"semaphore: Resize: capacity is -1 (want 0 to ":                   func() { s.Resize(-1) },
		fmt.Sprint("semaphore: New: capacity is ", uint64(maxCapacity+1)): func() { New(maxCapacity+1, nil) },
		"semaphore: Acquire: nil context":                                 func() { _ = s.Acquire(none, 1) },
		"semaphore: TryAcquire: negative number of permits -1":            func() { s.TryAcquire(-1) },
		"semaphore: Release: negative number of permits -1":               func() { s.Release(-1) },
		"semaphore: Release of 2 permits, but only 1 are taken":           func() { s.Release(2) },
		"semaphore: Release of 9223372036854775807 permits, but":          func() { s.Release(1<<63 - 1) },
	} {
		func() {
			defer func() {
				if p := recover(); p == nil || !strings.HasPrefix(p.(string), want) {
					t.Errorf("panic %v, want %q", p, want)
				}
			}()
			f()
		}()
	}
	if s.Taken() != 1 || s.TryAcquire(1<<62) || s.Acquire(t.Context(), 1<<62) != sluice.ErrTooLarge {
		t.Error("an invalid call changed the semaphore")
	}
	large := New(maxCapacity, nil)
	if !large.TryAcquire(maxCapacity) || large.TryAcquire(1) {
		t.Error("maxCapacity permits are not maxCapacity permits")
	}
	large.Release(maxCapacity)
}

func TestAllocatesNothing(t *testing.T) {
	for name, o := range orders {
		s := New(1, o)
		turn := make(chan struct{})
		done := make(chan struct{})
		go func() { // each Acquire of the test has to wait
			defer close(done)
			for range turn {
				for s.Waiting() == 0 {
					runtime.Gosched()
				}
				s.Release(1)
			}
		}()
		ctx, cancel := context.WithCancel(t.Context())
		_ = s.TryAcquire(1)
		if n := testing.AllocsPerRun(100, func() {
			turn <- struct{}{}
			if err := s.Acquire(ctx, 1); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
		cancel()
		close(turn)
		<-done
	}
}

// A failing context is a context of the user whose methods panic.
type failing struct {
	context.Context
	err bool // Err panics; otherwise Done does
}

func (f failing) Err() error {
	if f.err {
		panic("Err")
	}
	return f.Context.Err()
}

func (f failing) Done() <-chan struct{} {
	if !f.err {
		panic("Done")
	}
	return f.Context.Done()
}

// TestFailingContext: a panic of the context leaves the semaphore as it was.
func TestFailingContext(t *testing.T) {
	each(t, func(t *testing.T, o *Options) {
		s := New(1, o)
		_ = s.TryAcquire(1)
		for _, ctx := range []context.Context{failing{t.Context(), true}, failing{t.Context(), false}} {
			func() {
				defer func() {
					if recover() == nil {
						t.Error("the panic was hidden")
					}
				}()
				_ = s.Acquire(ctx, 1)
			}()
		}
		expect(t, s, 1, 0)
		s.Release(1)
		expect(t, s, 0, 0)
		if !s.TryAcquire(1) {
			t.Error("the permit is lost")
		}
	})
}
