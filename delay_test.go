package sluice_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/sluicetest"
)

// after sends v into d, due after the given number of seconds.
func after(t *testing.T, d *sluice.Delay[int], seconds, v int) sluice.Pending[int] {
	t.Helper()
	p, err := d.SendAfter(canceledContext(), time.Duration(seconds)*time.Second, v)
	if err != nil {
		t.Fatalf("SendAfter of %d: %v", v, err)
	}
	return p
}

// TestDelayTimes: a receive gets each value at its time, to the nanosecond, also one that is
// sent later and due sooner.
func TestDelayTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		d := sluice.NewDelay[int](100, nil)
		start := time.Now()
		for _, s := range []int{5, 3, 9, 3} {
			after(t, d, s, s)
		}
		if _, err := d.TryRecv(); err != sluice.ErrEmpty || d.Len() != 4 {
			t.Errorf("TryRecv before the first is due: %v; Len %d", err, d.Len())
		}
		go func() {
			time.Sleep(time.Second)
			if _, err := d.SendAt(ctx, start.Add(2*time.Second), 2); err != nil {
				t.Error(err)
			}
			time.Sleep(5 * time.Second)
			_ = d.Send(ctx, 6) // at once
			d.Close()
		}()
		var got []int
		for {
			v, err := d.Recv(ctx)
			if err != nil {
				if err != sluice.ErrClosed {
					t.Error(err)
				}
				break
			}
			if since := time.Since(start); since != time.Duration(v)*time.Second {
				t.Errorf("%d was received after %v", v, since)
			}
			got = append(got, v)
		}
		if !slices.Equal(got, []int{2, 3, 3, 5, 6, 9}) {
			t.Errorf("received %v", got)
		}
	})
}

// TestDelayFair: several receivers, each gets one of the values at its time.
func TestDelayFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := sluice.NewDelay[int](100, nil)
		start := time.Now()
		for range 5 {
			go func() {
				for {
					v, err := d.Recv(context.Background())
					if err != nil {
						return
					}
					if since := time.Since(start); since != time.Duration(v)*time.Second {
						t.Errorf("%d was received after %v", v, since)
					}
				}
			}()
		}
		for range 100 {
			after(t, d, rand.IntN(50), 0).Cancel()
			s := rand.IntN(50)
			after(t, d, s, s)
		}
		d.Close()
		time.Sleep(time.Minute)
		synctest.Wait()
		if s := d.Stats(); s.Len != 0 || s.ReceiversWaiting != 0 {
			t.Errorf("Len %d, ReceiversWaiting %d after all times", s.Len, s.ReceiversWaiting)
		}
	})
}

func TestDelayCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		d := sluice.NewDelay[int](2, nil)
		first, second := after(t, d, 1, 1), after(t, d, 2, 2)
		var err error
		sent := false
		go func() { _, err = d.SendAfter(ctx, 3*time.Second, 3); sent = true }()
		synctest.Wait()
		if v, ok := first.Cancel(); v != 1 || !ok {
			t.Errorf("Cancel: %d, %v", v, ok)
		}
		if v, ok := first.Cancel(); v != 0 || ok {
			t.Errorf("a second Cancel: %d, %v", v, ok)
		}
		if synctest.Wait(); !sent || err != nil {
			t.Errorf("the sender that waited for room: %v, %v", sent, err)
		}
		if v, ok := first.Cancel(); v != 0 || ok {
			t.Errorf("Cancel of a value whose slot another one has: %d, %v", v, ok)
		}
		start := time.Now()
		if v, err := d.Recv(ctx); v != 2 || err != nil || time.Since(start) != 2*time.Second {
			t.Errorf("received %d, %v after %v", v, err, time.Since(start))
		}
		if _, ok := second.Cancel(); ok {
			t.Error("a received value was canceled")
		}
		if _, ok := (sluice.Pending[int]{}).Cancel(); ok {
			t.Error("the zero Pending was canceled")
		}
		if s := d.Stats(); s.Sent != 3 || s.Received != 2 || s.Len != 1 {
			t.Errorf("Sent %d, Received %d, Len %d", s.Sent, s.Received, s.Len)
		}
		full := sluice.NewDelay(1, &sluice.DelayOptions[int]{Overflow: sluice.DropNewest})
		kept := after(t, full, 1, 1)
		if _, ok := after(t, full, 1, 2).Cancel(); ok {
			t.Error("a dropped value was canceled")
		}
		if v, ok := kept.Cancel(); v != 1 || !ok {
			t.Errorf("Cancel: %d, %v", v, ok)
		}
	})
}

// TestDelayCancelFirst: while a receiver waits, its first value is canceled: it waits for the
// next one.
func TestDelayCancelFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := sluice.NewDelay[int](10, nil)
		first := after(t, d, 1, 1)
		after(t, d, 5, 5)
		start := time.Now()
		go func() {
			time.Sleep(time.Millisecond)
			first.Cancel()
		}()
		if v, err := d.Recv(context.Background()); v != 5 || err != nil || time.Since(start) != 5*time.Second {
			t.Errorf("received %d, %v after %v", v, err, time.Since(start))
		}
	})
}

// TestDelayClose: what Close does with values that are not due, and how CancelAll ends the
// channel at once.
func TestDelayClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		d := sluice.NewDelay[int](10, nil)
		after(t, d, 1, 1)
		after(t, d, 3, 3)
		after(t, d, 2, 2)
		errs := make(chan error, 3)
		start := time.Now()
		for range 3 {
			go func() {
				_, err := d.Recv(ctx)
				errs <- err
			}()
		}
		synctest.Wait()
		d.Close()
		if err := d.Send(ctx, 1); err != sluice.ErrClosed {
			t.Errorf("Send after Close: %v", err)
		}
		if _, err := d.TryRecv(); err != sluice.ErrEmpty {
			t.Errorf("TryRecv after Close, before a value is due: %v", err)
		}
		if err := <-errs; err != nil || time.Since(start) != time.Second {
			t.Errorf("the first receiver: %v after %v", err, time.Since(start))
		}
		if all := d.CancelAll(); !slices.Equal(all, []int{2, 3}) {
			t.Errorf("CancelAll returned %v", all)
		}
		for range 2 {
			if err := <-errs; err != sluice.ErrClosed || time.Since(start) != time.Second {
				t.Errorf("a receiver after CancelAll: %v after %v", err, time.Since(start))
			}
		}
	})
}

// TestDelayReady: Ready becomes readable when a value is due, and is closed when the channel
// is closed and all are due.
func TestDelayReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := sluice.NewDelay[int](10, nil)
		for _, s := range []int{1, 2, 2, 4} {
			after(t, d, s, s)
		}
		start := time.Now()
		time.AfterFunc(3*time.Second, d.Close)
		var got []string
		for open := true; open; {
			_, open = <-d.Ready()
			for v := range d.Drain() {
				got = append(got, fmt.Sprint(v, " at ", time.Since(start)))
			}
		}
		if want := []string{"1 at 1s", "2 at 2s", "2 at 2s", "4 at 4s"}; !slices.Equal(got, want) {
			t.Errorf("received %q, want %q", got, want)
		}
		// It is closed before the values are received.
		d = sluice.NewDelay[int](10, nil)
		after(t, d, 1, 1)
		d.Close()
		start = time.Now()
		for open := true; open; {
			_, open = <-d.Ready()
		}
		if since := time.Since(start); since != time.Second || d.Len() != 1 {
			t.Errorf("closed after %v, with %d values", since, d.Len())
		}
	})
}

// TestDelaySelect: a Select receives a value when it is due, or leaves before.
func TestDelaySelect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		d, other := sluice.NewDelay[int](10, nil), sluice.NewBounded[int](16, nil)
		after(t, d, 2, 2)
		start := time.Now()
		due, now := sluice.OnRecv(d), sluice.OnRecv(other)
		if chosen, _ := sluice.Select(ctx, due, now, sluice.Default); chosen != sluice.Default {
			t.Errorf("chosen %v before a value is due", chosen)
		}
		time.AfterFunc(time.Second, func() { _ = other.TrySend(1) })
		for i, want := range []sluice.Case{now, due} {
			chosen, err := sluice.Select(ctx, due, now)
			if chosen != want || err != nil || time.Since(start) != time.Duration(i+1)*time.Second {
				t.Errorf("chosen %v, %v after %v", chosen, err, time.Since(start))
			}
		}
		if due.Value != 2 {
			t.Errorf("received %d", due.Value)
		}
	})
}

// TestDelayPast: a time that has passed, and one that never comes.
func TestDelayPast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		d := sluice.NewDelay[int](10, nil)
		for i, at := range []time.Time{{}, time.Now().Add(-time.Hour), time.Now()} {
			if _, err := d.SendAt(ctx, at, i); err != nil {
				t.Fatal(err)
			}
		}
		after(t, d, -1, 3)
		if got := received(t, d, 4); !slices.Equal(got, []int{0, 1, 2, 3}) {
			t.Errorf("received %v", got)
		}
		for _, at := range []time.Time{time.Unix(1<<60, 0), time.Now().Add(math.MaxInt64)} {
			if _, err := d.SendAt(ctx, at, 1); err != nil {
				t.Fatal(err)
			}
		}
		waiting, cancel := context.WithTimeout(ctx, 1000*time.Hour)
		defer cancel()
		if _, err := d.Recv(waiting); err != context.DeadlineExceeded {
			t.Errorf("Recv of a value that is never due: %v", err)
		}
	})
}

// TestDelayOldestValue: the age is for how long the next value has been due.
func TestDelayOldestValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := sluice.NewDelay[int](10, nil)
		after(t, d, 2, 2)
		for _, want := range []time.Duration{0, 0, 0, time.Second, 2 * time.Second} {
			if got := d.Stats().OldestValue; got != want {
				t.Errorf("OldestValue is %v, want %v", got, want)
			}
			time.Sleep(time.Second)
		}
	})
}

// TestDelayIdle: an unused channel is garbage with its values, even if a receiver has waited for
// one that is due in an hour, and although the timer is set.
func TestDelayIdle(t *testing.T) {
	d := sluice.NewDelay[*sluicetest.Parcel](10, nil)
	value := new(sluicetest.Parcel)
	if _, err := d.SendAfter(canceledContext(), time.Hour, value); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if _, err := d.Recv(ctx); err != context.DeadlineExceeded {
		t.Fatal(err)
	}
	channel, queued := weak.Make(d), weak.Make(value)
	d.Ready() // sets the timer
	before := runtime.NumGoroutine()
	d, value = nil, nil
	for range 10 {
		runtime.GC()
	}
	if channel.Value() != nil || queued.Value() != nil {
		t.Errorf("kept alive: the channel %v, its value %v", channel.Value() != nil, queued.Value() != nil)
	}
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines, %d before", n, before)
	}
}

// TestDelayModel: random sends, receives and cancels, against a sorted slice.
func TestDelayModel(t *testing.T) {
	type value struct {
		at, v   int
		pending sluice.Pending[int]
	}
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			d := sluice.NewDelay[int](20, nil)
			var model []value
			now := 0
			for v := range 200 {
				switch rand.IntN(6) {
				case 0, 1, 2:
					at := now + rand.IntN(10)
					pending, err := d.SendAfter(canceledContext(), time.Duration(at-now), v)
					if full := len(model) == 20; full != (err != nil) {
						t.Fatalf("send with %d queued: %v", len(model), err)
					} else if full {
						continue
					}
					model = append(model, value{at, v, pending})
					slices.SortStableFunc(model, func(a, b value) int { return a.at - b.at })
				case 3, 4:
					got, err := d.TryRecv()
					if due := len(model) > 0 && model[0].at <= now; due != (err == nil) {
						t.Fatalf("TryRecv: %v, with %+v at %d", err, model, now)
					} else if due {
						if got != model[0].v {
							t.Fatalf("received %d, want %d", got, model[0].v)
						}
						model = model[1:]
					}
				default:
					if i := rand.IntN(30); i < len(model) {
						if got, ok := model[i].pending.Cancel(); !ok || got != model[i].v {
							t.Fatalf("Cancel: %d, %v, want %d", got, ok, model[i].v)
						}
						model = slices.Delete(model, i, i+1)
					}
					time.Sleep(time.Nanosecond)
					now++
				}
				if d.Len() != len(model) {
					t.Fatalf("Len is %d, want %d", d.Len(), len(model))
				}
			}
		})
	}
}
