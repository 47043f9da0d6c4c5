package sluice_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
)

// These tests are about what other calls do at the moment at which the oldest value becomes too old.
// Whatever it is, the senders that wait get its room.

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

// TestMaxAgeSlowSelect: a Select is the first that waits, and slow when the timer fires: the next sender
// gets the room. Another call makes room for the Select, or takes it. Then the Select sends, or gives up.
func TestMaxAgeSlowSelect(t *testing.T) {
	for _, test := range []struct {
		name    string
		timeout time.Duration // of the Select
		others  func(c *sluice.Aged[int])
	}{
		{"it sends", time.Hour, func(c *sluice.Aged[int]) { _, _ = c.TryRecv() }},
		{"it gives up", 13 * time.Second, func(c *sluice.Aged[int]) { _ = c.TrySend(4) }},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			c := sluice.NewAged(1, &sluice.AgedOptions[int]{MaxAge: 10 * time.Second})
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
				if err := c.Send(t.Context(), 3); err != nil || time.Since(start) != 10*time.Second+1 {
					t.Errorf("%s: Send: %v after %v, want 10s and 1ns", test.name, err, time.Since(start))
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
			c := sluice.NewAged(1, &sluice.AgedOptions[int]{MaxAge: 10 * time.Second})
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
	for name, call := range map[string]func(c *sluice.Aged[int]){
		"TryRecv": func(c *sluice.Aged[int]) { _, _ = c.TryRecv() },
		"TrySend": func(c *sluice.Aged[int]) { _ = c.TrySend(9) },
	} {
		for _, timeout := range []time.Duration{10*time.Second + 1, time.Hour} { // of the first sender
			for range 300 {
				synctest.Test(t, func(t *testing.T) {
					c := sluice.NewAged(1, &sluice.AgedOptions[int]{MaxAge: 10 * time.Second})
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

// On one P, a goroutine that was woken polls only when the one that runs gives up the P. spin does not.
func spin(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
	}
}

// TestMaxAgeCanceledSender: a sender whose context has ended sends if there was room before that.
func TestMaxAgeCanceledSender(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for name, send := range waysToSend {
		c := sluice.NewAged(1, &sluice.AgedOptions[int]{MaxAge: 5 * time.Millisecond, OnUndelivered: func(_ int, _ sluice.Reason) {}})
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
