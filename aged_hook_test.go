package sluice_test

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
)

// These tests are about the hook for values that are too old: it may use channels, wait for them, and
// panic.

// TestMaxAgeHook: OnUndelivered may use the channel. If it panics, so does the call, and nothing
// else is lost.
func TestMaxAgeHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c *sluice.Aged[int]
		c = sluice.NewAged(3, &sluice.AgedOptions[int]{MaxAge: time.Second, OnUndelivered: func(v int, _ sluice.Reason) {
			if v%2 == 1 {
				panic(v)
			}
			_ = c.TrySend(v + 100)
		}})
		_, _ = c.SendBatch(t.Context(), []int{1, 2})
		time.Sleep(time.Minute)
		if p := recovered(func() { _, _ = c.TryRecv() }); p != 1 {
			t.Errorf("TryRecv panicked with %v, want 1", p)
		}
		if v, err := c.TryRecv(); v != 102 || err != nil {
			t.Errorf("after the panic: %d, %v", v, err)
		}
		// A sender that waits and is woken by the timer.
		_, _ = c.SendBatch(t.Context(), []int{3, 4, 6})
		start := time.Now()
		if p := recovered(func() { _ = c.Send(t.Context(), 8) }); p != 3 || time.Since(start) != time.Second+1 {
			t.Errorf("the sender panicked with %v after %v, want 3", p, time.Since(start))
		}
		if s := c.Stats(); s.SendersWaiting != 0 || s.SendWaits != 1 || s.Len != 3 { // 8 was sent
			t.Errorf("after the panic: %+v", s)
		}
		v, err := c.TryRecv() // and 4 and 6 are sent again, the latter by the send of the former
		if got := slices.Collect(c.Drain()); !slices.Equal(got, []int{104, 106}) || v != 8 || err != nil {
			t.Errorf("received %d, %v, and then %d", v, err, got)
		}
		// The queue of senders has forgotten the one that panicked: the next one is woken.
		_, _ = c.SendBatch(t.Context(), []int{10, 12, 14})
		time.AfterFunc(time.Millisecond, func() { _, _ = c.TryRecv() })
		if err := c.Send(t.Context(), 16); err != nil {
			t.Errorf("Send after a receive: %v", err)
		}
	})
}

// TestMaxAgePanicWakes: if the hook that a sender calls panics, the next one that waits gets the
// room of the next value all the same.
func TestMaxAgePanicWakes(t *testing.T) {
	for name, send := range waysToSend {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			c := sluice.NewAged(2, &sluice.AgedOptions[int]{MaxAge: 10 * time.Second, OnUndelivered: func(v int, _ sluice.Reason) { panic(v) }})
			_ = c.TrySend(1)
			time.Sleep(time.Second)
			_ = c.TrySend(2)
			var group sync.WaitGroup
			for v := 1; v <= 2; v++ {
				group.Go(func() {
					defer func() {
						want := time.Duration(9+v)*time.Second + 1
						if p, since := recover(), time.Since(start); p != v || since != want {
							t.Errorf("%s: sender %d panicked with %v after %v, want %v", name, v, p, since, want)
						}
					}()
					err := send(t.Context(), c, 10+v)
					t.Errorf("%s: sender %d returned %v", name, v, err)
				})
				synctest.Wait()
			}
			group.Wait()
			if got := slices.Collect(c.Drain()); !slices.Equal(got, []int{11, 12}) {
				t.Errorf("%s: received %d", name, got)
			}
		})
	}
}

// TestMaxAgeHookWaits: a hook may wait for room in its own channel, whichever send calls it.
func TestMaxAgeHookWaits(t *testing.T) {
	for name, send := range waysToSend {
		synctest.Test(t, func(t *testing.T) {
			var c *sluice.Aged[int]
			c = sluice.NewAged(1, &sluice.AgedOptions[int]{MaxAge: 10 * time.Second, OnUndelivered: func(v int, _ sluice.Reason) {
				_ = c.Send(t.Context(), v+10)
				_ = c.Send(t.Context(), v+20)
			}})
			_ = c.TrySend(1)
			time.AfterFunc(time.Second, func() {
				if err := send(t.Context(), c, 2); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				c.Close()
			})
			time.Sleep(11 * time.Second) // the sender calls the hook
			var got []int
			for v, err := c.Recv(t.Context()); err == nil; v, err = c.Recv(t.Context()) {
				got = append(got, v)
				time.Sleep(time.Millisecond)
			}
			if !slices.Equal(got, []int{2, 11, 21}) {
				t.Errorf("%s: received %d", name, got)
			}
		})
	}
}

// TestMaxAgePanicStorm: hooks that panic leave no sender asleep.
func TestMaxAgePanicStorm(t *testing.T) {
	for range 200 {
		c := sluice.NewAged(2, &sluice.AgedOptions[int]{MaxAge: 200 * time.Microsecond, OnUndelivered: func(v int, _ sluice.Reason) {
			if v == 2 {
				panic(v)
			}
		}})
		_, _ = c.SendBatch(t.Context(), []int{1, 2})
		var group sync.WaitGroup
		for v := range 6 {
			group.Go(func() {
				defer func() { _ = recover() }()
				_ = c.Send(t.Context(), 10+v)
			})
			runtime.Gosched()
		}
		group.Wait()
	}
}

// TestMaxAgeHookOfSelect: the hook of a Select that receives waits for room in the channel of another
// case. The Select has left all queues, so it does not keep that room from the hook.
func TestMaxAgeHookOfSelect(t *testing.T) {
	for range 10 { // the order of the polls is random
		synctest.Test(t, func(t *testing.T) {
			out := sluice.NewElastic[int](1, nil)
			_ = out.TrySend(0)
			in := sluice.NewAged(9, &sluice.AgedOptions[int]{MaxAge: time.Second, OnUndelivered: func(v int, _ sluice.Reason) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := out.Send(ctx, -v); err != nil {
					t.Errorf("the hook waited beside free room: %v", err)
				}
			}})
			slow := script(map[int]func(){3: func() { // one value is too old afterward, and one is not
				_ = in.TrySend(7)
				time.Sleep(600 * time.Millisecond)
				_ = in.TrySend(8)
				time.Sleep(600 * time.Millisecond)
			}})
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				defer cancel()
				_, _ = sluice.Select(ctx, sluice.OnSend(out, 1), sluice.OnRecv(in), sluice.OnRecv(slow))
			}()
			time.Sleep(5 * time.Second)
			for err := error(nil); err == nil; _, err = out.Recv(ctx) {
			}
		})
	}
}

// TestMaxAgeHookBesideReceiver: the hook of a Select that receives fills the channel again, while a
// receiver waits. It is woken for each value, so none of them becomes too old.
func TestMaxAgeHookBesideReceiver(t *testing.T) {
	for range 10 { // the order of the polls is random
		synctest.Test(t, func(t *testing.T) {
			var lost []int
			var c *sluice.Aged[int]
			c = sluice.NewAged(2, &sluice.AgedOptions[int]{MaxAge: 10 * time.Second, OnUndelivered: func(v int, _ sluice.Reason) {
				if lost = append(lost, v); len(lost) == 1 {
					_ = c.Send(t.Context(), v+10)
					_ = c.Send(t.Context(), v+20)
				}
			}})
			slow := script(map[int]func(){3: func() { time.Sleep(13 * time.Second) }})
			var group sync.WaitGroup
			group.Go(func() { _, _ = sluice.Select(t.Context(), sluice.OnRecv(c), sluice.OnRecv(slow)) })
			time.Sleep(time.Second)
			group.Go(func() {
				for err := error(nil); err == nil; _, err = c.Recv(t.Context()) {
				}
			})
			time.Sleep(time.Second)
			_ = c.TrySend(1)
			time.Sleep(5 * time.Second)
			_ = c.TrySend(2)
			time.Sleep(time.Hour)
			c.Close()
			group.Wait()
			if len(lost) > 1 {
				t.Errorf("lost %v while a receiver waited", lost)
			}
		})
	}
}

// agePair sends 7 and 8. With a MaxAge of 3 ms, 7 is too old afterward, and 8 is not.
func agePair(c *sluice.Aged[int]) {
	_ = c.TrySend(7)
	spin(2 * time.Millisecond)
	_ = c.TrySend(8)
	spin(1200 * time.Microsecond)
}

// parked waits until n receivers wait.
func parked(c *sluice.Aged[int], n int) {
	for c.Stats().ReceiversWaiting != n {
		runtime.Gosched()
	}
	time.Sleep(2 * time.Millisecond)
}

// recovered returns the value that f panics with, or nil.
func recovered(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

// TestMaxAgePanicKeeps: a receive whose hook panics has received nothing, and the next value stays.
func TestMaxAgePanicKeeps(t *testing.T) {
	receives := map[string]func(c *sluice.Aged[int]) error{
		"Recv":      func(c *sluice.Aged[int]) error { _, err := c.Recv(t.Context()); return err },
		"RecvBatch": func(c *sluice.Aged[int]) error { _, err := c.RecvBatch(t.Context(), make([]int, 2)); return err },
		"Select":    func(c *sluice.Aged[int]) error { _, err := sluice.Select(t.Context(), sluice.OnRecv(c)); return err },
	}
	for name, receive := range receives {
		synctest.Test(t, func(t *testing.T) {
			hooked := 0
			c := sluice.NewAged(9, &sluice.AgedOptions[int]{MaxAge: 3 * time.Second, OnUndelivered: func(v int, _ sluice.Reason) {
				hooked++
				panic(v)
			}})
			_ = c.TrySend(7)
			time.Sleep(2 * time.Second)
			_ = c.TrySend(8)
			time.Sleep(2 * time.Second)
			if p := recovered(func() { _ = receive(c) }); p != 7 {
				t.Errorf("%s: panicked with %v, want 7", name, p)
			}
			if s := c.Stats(); hooked != 1 || s.TooOld != 1 || s.Received != 0 || s.Len != 1 {
				t.Errorf("%s: %d hooks, %+v", name, hooked, s)
			}
		})
	}
}

// TestMaxAgeDropsAndWaits: a Select finds a value to drop, and one to receive, which a receiver that
// starves gets. The Select calls the hook before it waits.
func TestMaxAgeDropsAndWaits(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for range 12 { // the order of the polls is random
		var hooks atomic.Int32
		c := sluice.NewAged(9, &sluice.AgedOptions[int]{MaxAge: 3 * time.Millisecond, OnUndelivered: func(_ int, _ sluice.Reason) { hooks.Add(1) }})
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { _, _ = c.Recv(ctx) })
		parked(c, 1)
		for range 16 { // lost wake-ups after which it starves
			_ = c.TrySend(1)
			_, _ = c.TryRecv()
			time.Sleep(200 * time.Microsecond)
		}
		other := script(map[int]func(){3: func() { agePair(c) }})
		group.Go(func() { _, _ = sluice.Select(ctx, sluice.OnRecv(c), sluice.OnRecv(other)) })
		time.Sleep(20 * time.Millisecond)
		for uint64(hooks.Load()) != c.Stats().TooOld { // forever, if the Select waits before it calls the hook
			time.Sleep(time.Millisecond)
		}
		cancel()
		group.Wait()
	}
}

// TestMaxAgeAllPanic: a batch calls the hook with each value that it drops, even if all calls panic.
func TestMaxAgeAllPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 1000
		hooks := 0
		c := sluice.NewAged(n, &sluice.AgedOptions[int]{MaxAge: time.Second, OnUndelivered: func(v int, _ sluice.Reason) {
			hooks++
			panic(v)
		}})
		_, _ = c.SendBatch(t.Context(), make([]int, n))
		time.Sleep(2 * time.Second)
		func() {
			defer func() { _ = recover() }()
			_, err := c.SendBatch(t.Context(), make([]int, n))
			t.Errorf("SendBatch: %v", err)
		}()
		if s := c.Stats(); hooks != n || s.TooOld != n || s.Len != n {
			t.Errorf("%d hooks, %+v", hooks, s)
		}
	})
}

// TestMaxAgeHookOfRecv: the hook of a receive sends a value and waits until another receiver has it.
func TestMaxAgeHookOfRecv(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c *sluice.Aged[int]
		other := make(chan int)
		c = sluice.NewAged(9, &sluice.AgedOptions[int]{MaxAge: 3 * time.Second, OnUndelivered: func(v int, _ sluice.Reason) {
			_ = c.TrySend(v + 1)
			if got := <-other; got != v+1 {
				t.Errorf("the other receiver has %d, want %d", got, v+1)
			}
		}})
		_ = c.TrySend(7)
		time.Sleep(4 * time.Second)
		ended := make(chan error)
		go func() { _, err := c.Recv(t.Context()); ended <- err }()
		synctest.Wait() // it calls the hook
		v, _ := c.Recv(t.Context())
		other <- v
		synctest.Wait()
		c.Close()
		if err := <-ended; err != sluice.ErrClosed {
			t.Errorf("Recv: %v", err)
		}
	})
}
