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
	"github.com/sluice-go/sluice/sluicetest"
)

// A loss is a value that OnUndelivered got, and when.
type loss struct {
	v     int
	why   sluice.Reason
	after time.Duration
}

// lossy returns an Aged with a MaxAge of ten seconds, and the losses so far.
func lossy(limit int, o sluice.AgedOptions[int]) (*sluice.Aged[int], *[]loss) {
	start, losses := time.Now(), new([]loss)
	o.MaxAge = 10 * time.Second
	var lock sync.Mutex
	o.OnUndelivered = func(v int, why sluice.Reason) {
		lock.Lock()
		defer lock.Unlock()
		*losses = append(*losses, loss{v, why, time.Since(start)})
	}
	return sluice.NewAged(limit, &o), losses
}

// TestMaxAge: a value of exactly MaxAge is received, and an older one is not; nothing happens
// without a call.
func TestMaxAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, losses := lossy(10, sluice.AgedOptions[int]{})
		for v := range 3 {
			_ = c.TrySend(v)
			time.Sleep(time.Second)
		}
		time.Sleep(7 * time.Second)
		if v, err := c.TryRecv(); v != 0 || err != nil {
			t.Errorf("after 10 s: %d, %v", v, err)
		}
		time.Sleep(time.Second + 1)
		if c.Len() != 2 || len(*losses) != 0 {
			t.Errorf("Len %d, losses %v before a call", c.Len(), *losses)
		}
		if v, err := c.TryRecv(); v != 2 || err != nil {
			t.Errorf("after 11 s: %d, %v", v, err)
		}
		want := []loss{{1, sluice.TooOld, 11*time.Second + 1}}
		if s := c.Stats(); !slices.Equal(*losses, want) || s.Sent != 3 || s.Received != 2 || s.Dropped != 1 || s.TooOld != 1 || s.Len != 0 {
			t.Errorf("losses %v, want %v; %+v", *losses, want, s)
		}
		if _, err := c.TryRecv(); err != sluice.ErrEmpty {
			t.Errorf("TryRecv of an empty channel: %v", err)
		}
		_ = c.TrySend(5)
		time.Sleep(time.Minute)
		if _, err := c.TryRecv(); err != sluice.ErrEmpty {
			t.Errorf("TryRecv with a value that is too old: %v", err)
		}
		_ = c.TrySend(6)
		c.Close()
		time.Sleep(time.Minute)
		if _, err := c.Recv(t.Context()); err != sluice.ErrClosed {
			t.Errorf("Recv from a closed channel with a value that is too old: %v", err)
		}
	})
}

// TestMaxAgeReceiverWaits: a receiver does not get what is too old when it comes, and gets the
// next value when it is sent.
func TestMaxAgeReceiverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, losses := lossy(10, sluice.AgedOptions[int]{})
		_, _ = c.SendBatch(t.Context(), []int{1, 2})
		time.Sleep(time.Minute)
		time.AfterFunc(time.Second, func() { _, _ = c.SendBatch(t.Context(), []int{3, 4, 5}) })
		buf := make([]int, 9)
		n, err := c.RecvBatch(t.Context(), buf)
		if !slices.Equal(buf[:n], []int{3, 4, 5}) || err != nil || len(*losses) != 2 {
			t.Errorf("received %d, %v; losses %v", buf[:n], err, *losses)
		}
	})
}

// TestMaxAgeMakesRoom: a full channel whose oldest values are too old has room, under each
// policy.
func TestMaxAgeMakesRoom(t *testing.T) {
	for _, policy := range []sluice.Overflow{sluice.Block, sluice.Reject, sluice.DropNewest, sluice.DropOldest} {
		synctest.Test(t, func(t *testing.T) {
			c, losses := lossy(3, sluice.AgedOptions[int]{Overflow: policy})
			_, _ = c.SendBatch(t.Context(), []int{1, 2})
			time.Sleep(5 * time.Second)
			_ = c.TrySend(3)
			time.Sleep(5*time.Second + 1)
			if err := c.TrySend(4); err != nil || c.Len() != 2 || len(*losses) != 2 || (*losses)[1].why != sluice.TooOld {
				t.Errorf("%v: TrySend: %v, Len %d, losses %v", policy, err, c.Len(), *losses)
			}
		})
	}
}

// TestMaxAgeWakesSenders: senders that wait get the room at the moment at which values are too
// old, without a receiver; also in a Select, and also if the first of them gives up.
func TestMaxAgeWakesSenders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, losses := lossy(2, sluice.AgedOptions[int]{})
		start := time.Now()
		_ = c.TrySend(1)
		time.Sleep(time.Second)
		_ = c.TrySend(2)
		short, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		var group sync.WaitGroup
		for i, send := range []func() error{
			func() error { return c.Send(short, 100) },
			func() error { return c.Send(t.Context(), 3) },
			func() error {
				_, err := sluice.Select(t.Context(), sluice.OnSend(c, 4))
				return err
			},
			func() error { _, err := c.SendBatch(t.Context(), []int{5, 6}); return err },
		} {
			want := []time.Duration{6 * time.Second, 10*time.Second + 1, 11*time.Second + 1, 21*time.Second + 2}[i]
			group.Go(func() {
				err := send()
				if since := time.Since(start); (err == nil) != (i > 0) || since != want {
					t.Errorf("sender %d: %v after %v, want %v", i, err, since, want)
				}
			})
			synctest.Wait()
		}
		group.Wait()
		var lost []int
		for _, l := range *losses {
			lost = append(lost, l.v)
		}
		if got := slices.Collect(c.Drain()); !slices.Equal(lost, []int{1, 2, 3, 4}) || !slices.Equal(got, []int{5, 6}) {
			t.Errorf("lost %v, then received %v", lost, got)
		}
	})
}

// waysToSend are the calls that wait for room.
var waysToSend = map[string]func(ctx context.Context, c *sluice.Aged[int], v int) error{
	"Send": func(ctx context.Context, c *sluice.Aged[int], v int) error { return c.Send(ctx, v) },
	"SendBatch": func(ctx context.Context, c *sluice.Aged[int], v int) error {
		_, err := c.SendBatch(ctx, []int{v})
		return err
	},
	"Select": func(ctx context.Context, c *sluice.Aged[int], v int) error {
		_, err := sluice.Select(ctx, sluice.OnSend(c, v))
		return err
	},
}

// TestMaxAgeOrder: senders that wait get the room of values that become too old in the order in
// which they came, also if the hook that each of them calls takes long.
func TestMaxAgeOrder(t *testing.T) {
	for name, send := range waysToSend {
		synctest.Test(t, func(t *testing.T) {
			const limit, senders = 3, 9
			var lost []int
			var lock sync.Mutex
			c := sluice.NewAged(limit, &sluice.AgedOptions[int]{MaxAge: 10 * time.Second, OnUndelivered: func(v int, _ sluice.Reason) {
				lock.Lock()
				lost = append(lost, v)
				lock.Unlock()
				time.Sleep(time.Millisecond)
			}})
			for v := range limit {
				_ = c.TrySend(v)
				time.Sleep(time.Second)
			}
			var group sync.WaitGroup
			for v := limit; v < limit+senders; v++ {
				group.Go(func() {
					if err := send(t.Context(), c, v); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				})
				synctest.Wait()
			}
			group.Wait()
			got := slices.Collect(c.Drain())
			if !slices.Equal(lost, []int{0, 1, 2, 3, 4, 5, 6, 7, 8}) || !slices.Equal(got, []int{9, 10, 11}) {
				t.Errorf("%s: lost %d, received %d", name, lost, got)
			}
		})
	}
}

// TestMaxAgeAfterReceive: the oldest value, for which senders wait, is received in the meantime, and the
// sender that is left gets the room of the next one.
func TestMaxAgeAfterReceive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, losses := lossy(2, sluice.AgedOptions[int]{})
		start := time.Now()
		_ = c.TrySend(1)
		time.Sleep(5 * time.Second)
		_ = c.TrySend(2)
		var group sync.WaitGroup
		for i, want := range []time.Duration{6 * time.Second, 15*time.Second + 1} {
			group.Go(func() {
				if err := c.Send(t.Context(), 3+i); err != nil || time.Since(start) != want {
					t.Errorf("sender %d: %v after %v, want %v", i, err, time.Since(start), want)
				}
			})
			synctest.Wait()
		}
		time.Sleep(time.Second)
		if v, err := c.TryRecv(); v != 1 || err != nil {
			t.Errorf("received %d, %v", v, err)
		}
		group.Wait()
		if len(*losses) != 1 || (*losses)[0].v != 2 {
			t.Errorf("losses: %v", *losses)
		}
	})
}

// TestMaxAgeSelectWaits: a Select is the only one that waits for room.
func TestMaxAgeSelectWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := lossy(1, sluice.AgedOptions[int]{})
		start := time.Now()
		_ = c.TrySend(1)
		if _, err := sluice.Select(t.Context(), sluice.OnSend(c, 2)); err != nil || time.Since(start) != 10*time.Second+1 {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// TestMaxAgeNoTimer: a sender that has left leaves no timer, and one that waits does not keep
// the channel of a bubble awake more than once for each value.
func TestMaxAgeNoTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hook := 0
		c := sluice.NewAged(1, &sluice.AgedOptions[int]{MaxAge: time.Second, OnUndelivered: func(_ int, _ sluice.Reason) { hook++ }})
		_ = c.TrySend(1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := c.Send(ctx, 2); err != context.DeadlineExceeded {
			t.Errorf("Send: %v", err)
		}
		time.Sleep(time.Hour)
		if hook != 0 || c.Len() != 1 {
			t.Errorf("OnUndelivered was called %d times without a call, Len %d", hook, c.Len())
		}
		if err := c.TrySend(3); err != nil || hook != 1 {
			t.Errorf("TrySend: %v, OnUndelivered was called %d times", err, hook)
		}
	})
}

// TestStaleAfter: after an outage, new values come first and in order, and then the backlog,
// newest first.
func TestStaleAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sluice.NewAged(9, &sluice.AgedOptions[int]{StaleAfter: time.Minute, Overflow: sluice.DropOldest})
		for v := range 5 {
			_ = c.TrySend(v)
		}
		for v := range 2 { // without a backlog, values come in order
			if got, err := c.TryRecv(); got != v || err != nil {
				t.Errorf("received %d, %v, want %d", got, err, v)
			}
		}
		time.Sleep(time.Minute)
		_, _ = c.SendBatch(t.Context(), []int{5, 6, 7, 8, 9, 10, 11}) // 2 is dropped
		time.Sleep(time.Nanosecond)
		buf := make([]int, 20)
		n, err := c.RecvBatch(t.Context(), buf)
		if want := []int{5, 6, 7, 8, 9, 10, 11, 4, 3}; !slices.Equal(buf[:n], want) || err != nil {
			t.Errorf("received %d, %v, want %d", buf[:n], err, want)
		}
	})
}

// TestMaxAgeReady: a loop with Ready and Drain gets what is not too old, and stays awake for no
// value that is.
func TestMaxAgeReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, losses := lossy(10, sluice.AgedOptions[int]{})
		time.AfterFunc(time.Second, func() { _ = c.TrySend(1) })
		time.AfterFunc(20*time.Second, func() { _ = c.TrySend(2) })
		time.AfterFunc(30*time.Second, func() { _ = c.TrySend(3); c.Close() })
		pause := 11 * time.Second
		var got []int
		for open := true; open; {
			_, open = <-c.Ready()
			time.Sleep(pause)
			pause = 0
			got = slices.AppendSeq(got, c.Drain())
		}
		if len(*losses) != 1 || !slices.Equal(got, []int{2, 3}) {
			t.Errorf("received %v, losses %v", got, *losses)
		}
	})
}

// TestMaxAgeStorm: each value that was sent is received, or OnUndelivered gets it, exactly
// once. Values are too old after microseconds.
func TestMaxAgeStorm(t *testing.T) {
	for _, o := range []sluice.AgedOptions[int]{
		{MaxAge: 20 * time.Microsecond}, {MaxAge: time.Millisecond, StaleAfter: 10 * time.Microsecond},
		{MaxAge: 20 * time.Microsecond, Overflow: sluice.DropOldest}, {StaleAfter: 1, Overflow: sluice.DropNewest},
	} {
		const senders, each = 4, 3000
		seen := make([]atomic.Int32, senders*each)
		o.OnUndelivered = func(v int, _ sluice.Reason) { seen[v].Add(1) }
		c := sluice.NewAged(8, &o)
		var sending, receiving sync.WaitGroup
		for s := range senders {
			sending.Go(func() {
				for v := s * each; v < (s+1)*each; v += 2 {
					if v%100 < 10 {
						runtime.Gosched()
					}
					if v%3 == 0 {
						_, _ = sluice.Select(t.Context(), sluice.OnSend(c, v))
						_ = c.Send(t.Context(), v+1)
						continue
					}
					if n, err := c.SendBatch(t.Context(), []int{v, v + 1}); n != 2 || err != nil {
						t.Errorf("SendBatch: %d, %v", n, err)
					}
				}
			})
			receiving.Go(func() {
				buf := make([]int, 1+s*3)
				for n, err := 0, error(nil); err == nil; n, err = c.RecvBatch(t.Context(), buf) {
					for _, v := range buf[:n] {
						seen[v].Add(1)
					}
				}
			})
		}
		sending.Wait()
		c.Discard()
		receiving.Wait()
		for v := range seen {
			if n := seen[v].Load(); n != 1 {
				t.Fatalf("%+v: value %d was seen %d times", o, v, n)
			}
		}
		if s := c.Stats(); s.Len != 0 || s.SendersWaiting != 0 || s.ReceiversWaiting != 0 {
			t.Errorf("%+v at the end", s)
		}
	}
}

// TestMaxAgeGarbage: a channel with a sender's timer that has been stopped, or values that are too
// old, is garbage once nothing refers to it.
func TestMaxAgeGarbage(t *testing.T) {
	freed := make(chan bool, 1)
	func() {
		c := sluice.NewAged(1, &sluice.AgedOptions[*sluicetest.Parcel]{MaxAge: time.Hour})
		v := new(sluicetest.Parcel)
		runtime.AddCleanup(v, func(int) { freed <- true }, 0)
		_ = c.TrySend(v)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_ = c.Send(ctx, nil)
	}()
	for {
		runtime.GC()
		select {
		case <-freed:
			return
		case <-time.After(time.Millisecond):
		}
	}
}
