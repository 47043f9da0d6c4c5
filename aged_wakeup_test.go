package sluice_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
)

// These tests are about what happens between the wake-up of a sender and its next poll. Whatever it
// is, the others that wait get room when the oldest value becomes too old.

// A scripted is a channel of another package that is always empty. Call number n of TryRecv first
// calls do[n]. In a Select with another case that must wait, call 2 is the last one before the Select
// joins its queues, and call 3 is behind that.
type scripted struct {
	ready chan struct{}
	n     int
	do    map[int]func()
}

func script(do map[int]func()) *scripted { return &scripted{ready: make(chan struct{}), do: do} }

func (s *scripted) Ready() <-chan struct{} { return s.ready }

func (s *scripted) TryRecv() (int, error) {
	s.n++
	if do := s.do[s.n]; do != nil {
		do()
	}
	return 0, sluice.ErrEmpty
}

// TestMaxAgeSlowSelect: a Select is woken by the timer, and slow. Meanwhile another call drops the
// value. Then the Select sends, or gives up.
func TestMaxAgeSlowSelect(t *testing.T) {
	for _, test := range []struct {
		name    string
		timeout time.Duration // of the Select
		others  func(c *sluice.Elastic[int])
		want    time.Duration // when the next sender gets room
	}{
		{"it sends", time.Hour, func(c *sluice.Elastic[int]) { _, _ = c.TryRecv() }, 25*time.Second + 1},
		{"it gives up", 13 * time.Second, func(c *sluice.Elastic[int]) { _ = c.TrySend(4) }, 22*time.Second + 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			c := sluice.NewElastic(1, &sluice.ElasticOptions[int]{MaxAge: 10 * time.Second})
			_ = c.TrySend(1)
			slow := script(map[int]func(){3: func() { time.Sleep(15 * time.Second) }})
			var group sync.WaitGroup
			group.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), test.timeout)
				defer cancel()
				if _, err := sluice.Select(ctx, sluice.OnSend(c, 2), sluice.OnRecv(slow)); (err == nil) != (test.timeout == time.Hour) {
					t.Errorf("%s: Select: %v", test.name, err)
				}
			})
			time.Sleep(time.Second)
			group.Go(func() {
				if err := c.Send(t.Context(), 3); err != nil || time.Since(start) != test.want {
					t.Errorf("%s: Send: %v after %v, want %v", test.name, err, time.Since(start), test.want)
				}
			})
			time.Sleep(11 * time.Second)
			test.others(c)
			time.Sleep(time.Minute)
			if n := c.Stats().SendersWaiting; n > 0 {
				t.Errorf("%s: %d senders wait although the oldest value is too old", test.name, n)
				c.Close()
			}
			group.Wait()
		})
	}
}

// TestMaxAgeJoinsEmpty: the channel is empty when a Select joins its queue, and full in the poll
// behind that.
func TestMaxAgeJoinsEmpty(t *testing.T) {
	for range 40 { // the order of the polls is random
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			c := sluice.NewElastic(1, &sluice.ElasticOptions[int]{MaxAge: 10 * time.Second})
			_ = c.TrySend(1)
			other := script(map[int]func(){
				2: func() { _, _ = c.TryRecv() },
				3: func() { _ = c.TrySend(9) },
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			_, err := sluice.Select(ctx, sluice.OnSend(c, 2), sluice.OnRecv(other))
			if since := time.Since(start); err != nil || since > 10*time.Second+1 {
				t.Errorf("Select: %v after %v", err, since)
			}
		})
	}
}

// TestMaxAgeCallsAtOnce: two senders wait, and others call when the timer wakes the first one.
func TestMaxAgeCallsAtOnce(t *testing.T) {
	for name, call := range map[string]func(c *sluice.Elastic[int]){
		"TryRecv": func(c *sluice.Elastic[int]) { _, _ = c.TryRecv() },
		"TrySend": func(c *sluice.Elastic[int]) { _ = c.TrySend(9) },
	} {
		for _, timeout := range []time.Duration{10*time.Second + 1, time.Hour} { // of the first sender
			for range 300 {
				synctest.Test(t, func(t *testing.T) {
					c := sluice.NewElastic(1, &sluice.ElasticOptions[int]{MaxAge: 10 * time.Second})
					_ = c.TrySend(1)
					for v, timeout := range []time.Duration{timeout, time.Hour} {
						go func() {
							ctx, cancel := context.WithTimeout(t.Context(), timeout)
							defer cancel()
							_ = c.Send(ctx, 2+v)
						}()
						synctest.Wait()
					}
					for range 3 {
						time.AfterFunc(10*time.Second+1, func() { call(c) })
					}
					time.Sleep(time.Minute)
					if n := c.Stats().SendersWaiting; n > 0 {
						t.Errorf("%s, %v: %d senders wait although the oldest value is too old", name, timeout, n)
						c.Close()
					}
					synctest.Wait()
				})
			}
		}
	}
}

// TestMaxAgePanicStorm: hooks that panic leave no sender asleep.
func TestMaxAgePanicStorm(t *testing.T) {
	for range 200 {
		c := sluice.NewElastic(2, &sluice.ElasticOptions[int]{MaxAge: 200 * time.Microsecond, OnDrop: func(v int) {
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
			in := sluice.NewElastic(9, &sluice.ElasticOptions[int]{MaxAge: time.Second, OnDrop: func(v int) {
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
			var c *sluice.Elastic[int]
			c = sluice.NewElastic(2, &sluice.ElasticOptions[int]{MaxAge: 10 * time.Second, OnDrop: func(v int) {
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

// On one P, a goroutine that was woken polls only when the one that runs gives up the P. spin does not.
func spin(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
	}
}

// agePair sends 7 and 8. With a MaxAge of 3 ms, 7 is too old afterward, and 8 is not.
func agePair(c *sluice.Elastic[int]) {
	_ = c.TrySend(7)
	spin(2 * time.Millisecond)
	_ = c.TrySend(8)
	spin(1200 * time.Microsecond)
}

// parked waits until n receivers wait.
func parked(c *sluice.Elastic[int], n int) {
	for c.Stats().ReceiversWaiting != n {
		runtime.Gosched()
	}
	time.Sleep(2 * time.Millisecond)
}

// TestMaxAgePanicKeeps: a receive whose hook panics has received nothing.
func TestMaxAgePanicKeeps(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	receives := map[string]func(c *sluice.Elastic[int]) error{
		"Recv":      func(c *sluice.Elastic[int]) error { _, err := c.Recv(t.Context()); return err },
		"RecvBatch": func(c *sluice.Elastic[int]) error { _, err := c.RecvBatch(t.Context(), make([]int, 2)); return err },
		"Select":    func(c *sluice.Elastic[int]) error { _, err := sluice.Select(t.Context(), sluice.OnRecv(c)); return err },
	}
	for name, receive := range receives {
		for range 5 {
			var hooked atomic.Int32
			c := sluice.NewElastic(9, &sluice.ElasticOptions[int]{MaxAge: 3 * time.Millisecond, OnDrop: func(v int) {
				hooked.Add(1)
				panic(v)
			}})
			done := make(chan any)
			go func() {
				defer func() { done <- recover() }()
				_ = receive(c)
			}()
			parked(c, 1)
			func() {
				defer func() { _ = recover() }() // on a slow machine the second send drops 7
				agePair(c)
			}()
			stop := time.AfterFunc(200*time.Millisecond, c.Close)
			panicked := <-done
			stop.Stop()
			if s := c.Stats(); panicked != nil && (int(hooked.Load()) != int(s.TooOld) || s.Received != 0) {
				t.Errorf("%s: panicked with %v: %d hooks, %+v", name, panicked, hooked.Load(), s)
			}
		}
	}
}

// TestMaxAgeDropsAndWaits: a Select finds a value to drop, and one to receive, which a receiver that
// starves gets. The Select calls the hook before it waits.
func TestMaxAgeDropsAndWaits(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for range 12 { // the order of the polls is random
		var hooks atomic.Int32
		c := sluice.NewElastic(9, &sluice.ElasticOptions[int]{MaxAge: 3 * time.Millisecond, OnDrop: func(int) { hooks.Add(1) }})
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
		for start := time.Now(); uint64(hooks.Load()) != c.Stats().TooOld; time.Sleep(time.Millisecond) {
			if time.Since(start) > 5*time.Second {
				t.Errorf("the hook was called %d times: %+v", hooks.Load(), c.Stats())
				break
			}
		}
		cancel()
		group.Wait()
	}
}

// TestMaxAgeCanceledSender: a sender whose context has ended sends if there was room before that.
func TestMaxAgeCanceledSender(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for name, send := range waysToSend {
		c := sluice.NewElastic(1, &sluice.ElasticOptions[int]{MaxAge: 5 * time.Millisecond, OnDrop: func(int) {}})
		_ = c.TrySend(1)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- send(ctx, c, 2) }()
		for c.Stats().SendersWaiting != 1 && len(done) == 0 { // a slow one need not wait
			runtime.Gosched()
		}
		runtime.Gosched()
		spin(7 * time.Millisecond)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMaxAgeAllPanic: a batch calls the hook with each value that it drops, even if all calls panic.
func TestMaxAgeAllPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 1000
		hooks := 0
		c := sluice.NewElastic(n, &sluice.ElasticOptions[int]{MaxAge: time.Second, OnDrop: func(v int) {
			hooks++
			panic(v)
		}})
		_, _ = c.SendBatch(t.Context(), make([]int, n))
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

// TestMaxAgeHookOfRecv: a receiver that was woken calls the hook, which sends a value and waits until
// another receiver has it.
func TestMaxAgeHookOfRecv(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for range 5 {
		var c *sluice.Elastic[int]
		got := make(chan int, 9)
		missed := false
		c = sluice.NewElastic(9, &sluice.ElasticOptions[int]{MaxAge: 3 * time.Millisecond, OnDrop: func(v int) {
			if v != 7 {
				return
			}
			_ = c.TrySend(10)
			for start := time.Now(); len(got) == 0 && !missed; runtime.Gosched() {
				missed = time.Since(start) > 5*time.Second
			}
		}})
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() {
				for v, err := c.Recv(t.Context()); err == nil; v, err = c.Recv(t.Context()) {
					got <- v
				}
			})
		}
		parked(c, 2)
		agePair(c)
		parked(c, 2) // all values have left the channel
		c.Close()
		group.Wait()
		if missed {
			t.Error("the other receiver was not woken")
		}
	}
}
